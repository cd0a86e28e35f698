package vsphere

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/schema"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// quick is a pace for servers on loopback.
var quick = pace{
	wait: time.Second, grace: time.Second, call: 5 * time.Second,
	retry: 50 * time.Millisecond, longest: 200 * time.Millisecond,
	connect: 500 * time.Millisecond,
}

// secrets are literal here: a reference's Env is the secret itself.
type secrets struct{}

func (secrets) Secret(r schema.SecretRef) (string, error) {
	if r.IsZero() {
		return "", errors.New("no such secret")
	}
	return r.Env, nil
}

func simulate(t *testing.T, o vspheresim.Options) *vspheresim.Sim {
	t.Helper()
	s, err := vspheresim.New(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func spec(server *vspheresim.Server) *ConnectionSpec {
	return &ConnectionSpec{
		URL: server.URL(), Username: vspheresim.User,
		Password: schema.SecretRef{Env: vspheresim.Password}, Thumbprint: server.Thumbprint(),
	}
}

func dial(t *testing.T, name string, spec *ConnectionSpec) *Conn {
	t.Helper()
	return dialAt(t, quick, name, spec)
}

func dialAt(t *testing.T, p pace, name string, spec *ConnectionSpec) *Conn {
	t.Helper()
	c, err := connect(name, spec, secrets{}, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// estate is a simulator with a connection to its vCenter and, by host name, to its hosts.
type estate struct {
	*vspheresim.Sim
	vcenter *Conn
	hosts   map[string]*Conn
}

func start(t *testing.T, o vspheresim.Options) *estate {
	t.Helper()
	s := simulate(t, o)
	p := quick
	if len(o.VMs) >= 100 { // which the simulator may take long to tell of
		p = defaultPace
	}
	return &estate{Sim: s, vcenter: dialAt(t, p, "vcenter", spec(s.VCenter())), hosts: make(map[string]*Conn)}
}

// direct opens a host's own connection.
func (e *estate) direct(t *testing.T, name string) *vspheresim.Server {
	t.Helper()
	server, err := e.Direct(name)
	require.NoError(t, err)
	if e.hosts[name] == nil {
		e.hosts[name] = dial(t, name, spec(server))
	}
	return server
}

// untilOff waits for a host to be off: its agents end before that, so that it is silent.
func (e *estate) untilOff(t *testing.T, name string) {
	t.Helper()
	peertest.Until(t, name+" off", func() bool { return !e.HostOn(name) })
}

// node opens a node through the family, as the daemon does.
func (e *estate) node(t *testing.T, id, via string, spec any) adapter.Node {
	t.Helper()
	others := func(name string) (adapter.Conn, error) {
		if c := e.hosts[name]; c != nil {
			return c, nil
		}
		return nil, fmt.Errorf("no connection %q", name)
	}
	conn := adapter.Conn(e.vcenter)
	if via != "vcenter" {
		conn = e.hosts[via]
	}
	n, err := Family().Open(schema.Node{ID: id, Via: via, Spec: spec}, conn, others)
	require.NoError(t, err)
	return n
}

func (e *estate) vm(t *testing.T, name string) adapter.Node {
	t.Helper()
	return e.node(t, name, "vcenter", &VMSpec{})
}

// waitBroken waits until the watch of c is known to be broken.
func waitBroken(t *testing.T, c *Conn) {
	t.Helper()
	peertest.Until(t, "the watch breaks", func() bool {
		c.inventory.mu.Lock()
		defer c.inventory.mu.Unlock()
		return c.inventory.failure != nil
	})
}

func vms(names ...string) []vspheresim.VM {
	var all []vspheresim.VM
	for _, n := range names {
		all = append(all, vspheresim.VM{Name: n})
	}
	return all
}

// newVimClient knows of a server only its version and that it has advanced settings.
func newVimClient(api string) *vim25.Client {
	return &vim25.Client{ServiceContent: types.ServiceContent{
		About:   types.AboutInfo{ApiVersion: api},
		Setting: new(types.ManagedObjectReference),
	}}
}
