package libvirt

import (
	"encoding/binary"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/libvirt/libvirttest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

type noSecrets struct{}

func (noSecrets) Secret(schema.SecretRef) (string, error) { return "", errors.New("no such secret") }

// opened is one node with its connection, made as the daemon makes them.
func opened(t *testing.T, conn *ConnSpec, kind string, spec any) (adapter.Node, *registry.Registry) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{Family()},
		[]schema.Connection{{Name: "kvm", Type: "libvirt", Spec: conn}},
		[]schema.Node{{ID: "node", Type: kind, Via: "kvm", Spec: spec}}, noSecrets{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("node")
	require.True(t, ok)
	return n, set
}

func truth(d *libvirttest.Daemon, name string) func() plan.State {
	return func() plan.State {
		switch d.State(name) {
		case libvirt.DomainRunning:
			return plan.On
		case libvirt.DomainShutdown:
			return plan.Stopping
		default:
			return plan.Off
		}
	}
}

func TestContract(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{
		Make: func(t *testing.T) *contracttest.Thing {
			d := libvirttest.New(t, libvirttest.Table)
			d.Start("web01", "")
			n, set := opened(t, &ConnSpec{URI: libvirttest.Table, Socket: d.Socket}, "libvirt.domain", &DomainSpec{Domain: "web01"})
			return &contracttest.Thing{
				Node: n, Can: domainVerbs, Close: set.Close, Truth: truth(d, "web01"),
				Vanish: func() { d.Vanish("web01") }, Silence: d.Kill, Freeze: d.Freeze,
			}
		},
	})
}

// TestRealGuests are guests under emulation, with firmware and ACPI registers: the power button is really pressed.
func TestRealGuests(t *testing.T) {
	d := libvirttest.New(t, libvirttest.QEMU)
	guest := func(t *testing.T, name string) adapter.Node {
		n, _ := opened(t, &ConnSpec{URI: libvirttest.QEMU, Socket: d.Socket}, "libvirt.domain",
			&DomainSpec{Domain: name, Agent: name == "deaf"})
		require.Equal(t, plan.On, contracttest.Probe(t, n).State)
		return n
	}
	t.Run("down by the button and up again", func(t *testing.T) {
		d.Guest("good", true, false)
		n := guest(t, "good")
		require.NoError(t, contracttest.Do(t, n, plan.Stop))
		require.Equal(t, "shut off", contracttest.UntilState(t, n, plan.Off).Detail)
		require.NoError(t, contracttest.Do(t, n, plan.Stop))
		require.NoError(t, contracttest.Do(t, n, plan.Start))
		require.NoError(t, contracttest.Do(t, n, plan.Start))
		contracttest.UntilState(t, n, plan.On)
		require.Equal(t, libvirt.DomainRunning, d.State("good"))
	})
	t.Run("deaf to the button", func(t *testing.T) {
		d.Guest("deaf", false, false)
		n := guest(t, "deaf")
		require.NoError(t, contracttest.Do(t, n, plan.Stop), "it has no agent, so the button is pressed")
		require.Equal(t, plan.On, contracttest.Probe(t, n).State, "a command that was accepted proves nothing")
		require.NoError(t, contracttest.Do(t, n, plan.Force))
		contracttest.UntilState(t, n, plan.Off)
	})
	t.Run("transient", func(t *testing.T) {
		d.Guest("once", true, true)
		n := guest(t, "once")
		require.NoError(t, contracttest.Do(t, n, plan.Stop))
		require.Contains(t, contracttest.UntilState(t, n, plan.Gone).Detail, "transient")
		err := contracttest.Do(t, n, plan.Start)
		require.ErrorIs(t, err, adapter.ErrGone)
		require.ErrorContains(t, err, "virsh define")
	})
	t.Run("saved", func(t *testing.T) {
		d.Guest("saved", true, false)
		n := guest(t, "saved")
		dom, err := d.Client().DomainLookupByName("saved")
		require.NoError(t, err)
		require.NoError(t, d.Client().DomainManagedSave(dom, 0))
		require.Equal(t, "off, its memory saved on disk", contracttest.UntilState(t, n, plan.Off).Detail)
		require.NoError(t, contracttest.Do(t, n, plan.Stop), "it is off")
		require.NoError(t, contracttest.Do(t, n, plan.Start))
		contracttest.UntilState(t, n, plan.On)
		require.NoError(t, contracttest.Do(t, n, plan.Stop), "it goes on where it was: the button was enabled before")
		contracttest.UntilState(t, n, plan.Off)
	})
}

func TestWhatIsPausedIsOnAndDoesNotShutDown(t *testing.T) {
	d := libvirttest.New(t, libvirttest.Table)
	dom := d.Start("db", "")
	n, _ := opened(t, &ConnSpec{URI: libvirttest.Table, Socket: d.Socket}, "libvirt.domain",
		&DomainSpec{UUID: uuid.UUID(dom.UUID).String()})
	require.NoError(t, d.Client().DomainSuspend(dom))
	o := contracttest.Probe(t, n)
	require.Equal(t, plan.On, o.State)
	require.Equal(t, "paused (by a person)", o.Detail)
	require.Contains(t, o.Caution, "virsh resume")
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "virsh resume")
	require.NoError(t, contracttest.Do(t, n, plan.Force))
	contracttest.UntilState(t, n, plan.Off)
}

func TestSelections(t *testing.T) {
	d := libvirttest.New(t, libvirttest.Table)
	d.Start("web01", "shop front")
	d.Start("web02", "shop back")
	d.Define("web03", "")
	d.Start("db01", "shop data")
	conn := &ConnSpec{URI: libvirttest.Table, Socket: d.Socket}
	for name, c := range map[string]struct {
		spec DomainsSpec
		want []string
	}{
		"by name":       {DomainsSpec{Select: Selection{Name: "web*"}}, []string{"web01 on", "web02 on", "web03 off"}},
		"but for":       {DomainsSpec{Select: Selection{Name: "web*"}, Exclude: []string{"*2"}}, []string{"web01 on", "web03 off"}},
		"by title":      {DomainsSpec{Select: Selection{Title: "shop*"}}, []string{"db01 on", "web01 on", "web02 on"}},
		"all":           {DomainsSpec{Select: Selection{All: true}}, []string{"db01 on", "test on", "web01 on", "web02 on", "web03 off"}},
		"by both":       {DomainsSpec{Select: Selection{Name: "web*", Title: "*back"}}, []string{"web02 on"}},
		"nothing there": {DomainsSpec{Select: Selection{Name: "none*"}}, nil},
	} {
		n, set := opened(t, conn, "libvirt.domains", &c.spec)
		sel, ok := set.Selector("node")
		require.True(t, ok, name)
		members, err := sel.Members(contracttest.Within(t, 10*time.Second))
		require.NoError(t, err, name)
		var got []string
		for _, m := range members {
			on := " off"
			if m.On {
				on = " on"
			}
			got = append(got, m.Name+on)
		}
		require.Equal(t, c.want, got, name)
		require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrRefused, name)
		if len(members) == 0 {
			continue
		}
		one, err := sel.Member(members[0].ID)
		require.NoError(t, err, name)
		require.Equal(t, plan.On, contracttest.Probe(t, one).State, name)

		lister, ok := set.Lister("kvm")
		require.True(t, ok)
		running, err := lister.Everything(contracttest.Within(t, 10*time.Second))
		require.NoError(t, err)
		require.Equal(t, []string{"db01", "test", "web01", "web02"},
			[]string{running[0].Name, running[1].Name, running[2].Name, running[3].Name})
		require.Len(t, running, 4, "one that is off is none")
	}
}

func TestAWatchTellsOfChanges(t *testing.T) {
	d := libvirttest.New(t, libvirttest.Table)
	dom := d.Start("web01", "")
	n, _ := opened(t, &ConnSpec{URI: libvirttest.Table, Socket: d.Socket}, "libvirt.domain", &DomainSpec{Domain: "web01"})
	seen, ended := make(chan plan.State, 10), make(chan error, 1)
	go func() {
		ended <- n.(adapter.Watcher).Watch(t.Context(), func(o plan.Observation) { seen <- o.State })
	}()
	require.Equal(t, plan.On, <-seen)
	require.NoError(t, d.Client().DomainDestroy(dom))
	require.Equal(t, plan.Off, <-seen)
	require.NoError(t, d.Client().DomainCreate(dom))
	require.Equal(t, plan.On, <-seen)
	d.Kill()
	require.ErrorIs(t, <-ended, adapter.ErrUnreachable)
}

func TestADaemonThatComesBackIsReachedAgain(t *testing.T) {
	d := libvirttest.New(t, libvirttest.Table)
	d.Start("web01", "")
	conn := &ConnSpec{URI: libvirttest.Table, Socket: filepath.Join(t.TempDir(), "none")}
	n, _ := opened(t, conn, "libvirt.domain", &DomainSpec{Domain: "web01"})
	_, err := n.Probe(contracttest.Within(t, time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	require.ErrorContains(t, err, "virtqemud-sock")

	n, _ = opened(t, &ConnSpec{URI: libvirttest.Table, Socket: d.Socket}, "libvirt.domain", &DomainSpec{Domain: "web01"})
	contracttest.Probe(t, n)
	d.Freeze()
	_, err = n.Probe(contracttest.Within(t, 100*time.Millisecond))
	require.Error(t, err)
	d.Thaw()
	require.Equal(t, plan.On, contracttest.Probe(t, n).State)
}

// TestAServerThatIsNotLibvirt answers with a message of 4 GB.
func TestAServerThatIsNotLibvirt(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for length := uint32(0xffffffff); ; length = 3 { // and then with one that is shorter than its own head
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(binary.BigEndian.AppendUint32(nil, length))
		}
	}()
	n, _ := opened(t, &ConnSpec{Socket: socket}, "libvirt.domain", &DomainSpec{})
	for range 2 {
		_, err = n.Probe(contracttest.Within(t, 5*time.Second))
		require.ErrorIs(t, err, adapter.ErrUnreachable)
	}
}

func TestChecks(t *testing.T) {
	for want, spec := range map[string]any{
		"need tls":              &ConnSpec{CAFile: "ca.pem"},
		"keep one way":          &ConnSpec{TLS: "kvm1", Socket: "/s", CAFile: "c", Cert: "c", Key: schema.SecretRef{Env: "K"}},
		"needs ca_file":         &ConnSpec{TLS: "kvm1"},
		"is not a UUID":         &DomainSpec{UUID: "web01"},
		"can't be combined":     &DomainSpec{UUID: "503c2f5d-7a3b-0d1e-9a4b-1c2d3e4f5a6b", Domain: "web01"},
		"select is empty":       &DomainsSpec{},
		"is malformed":          &DomainsSpec{Select: Selection{Name: "[a"}},
		`glob "[b" is malforme`: &DomainsSpec{Select: Selection{All: true}, Exclude: []string{"[b"}},
	} {
		var errs []error
		switch s := spec.(type) {
		case *ConnSpec:
			errs = checkConn(s)
		case *DomainSpec:
			errs = checkDomain(s)
		case *DomainsSpec:
			errs = checkDomains(s)
		}
		require.ErrorContains(t, errors.Join(errs...), want)
	}
}
