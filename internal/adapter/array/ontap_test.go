package array

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/ssh/sshsim"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ontapDouble is a cluster of two nodes, each with its management address; at the cluster is the first node's. It
// answers as the ONTAP REST API reference has it.
type ontapDouble struct {
	nodes []*appliance
	fail  string // what the jobs fail with
}

func startONTAP(t *testing.T) *ontapDouble {
	d := &ontapDouble{}
	for range 2 {
		d.nodes = append(d.nodes, newAppliance(t, d.answer))
	}
	return d
}

func (d *ontapDouble) answer(w http.ResponseWriter, r *http.Request) {
	if user, secret, _ := r.BasicAuth(); user != "ebbtide" || secret != planted {
		reply(w, http.StatusUnauthorized, object{"error": object{"code": "6691623", "message": "User is not authorized"}})
		return
	}
	id, _ := strings.CutPrefix(r.URL.Path, "/api/cluster/nodes/")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/api/cluster/nodes":
		records := []object{}
		for i, n := range d.nodes {
			state := "up"
			if n.truth() == plan.Off {
				state = "down"
			}
			records = append(records, object{"uuid": string(rune('a' + i)), "name": "filer-0" + string(rune('1'+i)), "state": state})
		}
		reply(w, http.StatusOK, object{"records": records, "num_records": len(records)})
	case r.Method == http.MethodPatch && (id == "a" || id == "b"):
		if q := r.URL.Query(); q.Get("action") != "shutdown" || q.Get("allow_data_outage") != "true" {
			reply(w, http.StatusBadRequest, object{})
			return
		}
		if d.fail == "" {
			d.nodes[id[0]-'a'].shutdown("halted " + id)
		}
		reply(w, http.StatusAccepted, object{"job": object{"uuid": "j" + id}})
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/cluster/jobs/"):
		if d.fail != "" {
			reply(w, http.StatusOK, object{"state": "failure", "message": d.fail})
			return
		}
		reply(w, http.StatusOK, object{"state": "running"})
	default:
		http.NotFound(w, r)
	}
}

// truth is On while one of its nodes is.
func (d *ontapDouble) truth() plan.State {
	truth := plan.Off
	for _, n := range d.nodes {
		if s := n.truth(); s == plan.On {
			return s
		} else if s == plan.Stopping {
			truth = s
		}
	}
	return truth
}

func (d *ontapDouble) off() {
	for _, n := range d.nodes {
		n.off()
	}
}

func (d *ontapDouble) spec() *ONTAPSpec {
	s := &ONTAPSpec{Silence: refusalIsSilence}
	for _, n := range d.nodes {
		u, _ := url.Parse(n.URL)
		s.Nodes = append(s.Nodes, u.Host)
	}
	return s
}

func (d *ontapDouble) open(t *testing.T) (adapter.Node, func() error) {
	return opened(t, "ontap", &ONTAPConn{d.nodes[0].server(), account}, "ontap.cluster", d.spec(), vault{})
}

func TestContractOfONTAP(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{Secrets: []string{planted}, Make: func(t *testing.T) *contracttest.Thing {
		d := startONTAP(t)
		n, end := d.open(t)
		return &contracttest.Thing{
			Node: n, Can: plan.VerbSet(plan.Stop), Truth: d.truth, Mute: true, Close: end, Silence: d.off, RefusalIsSilence: true,
			Freeze: func() {
				for _, n := range d.nodes {
					n.freeze()
				}
			},
		}
	}})
}

// The cluster's address is that of one node: it proves nothing of the others.
func TestONTAPIsOffWhenAllItsNodesAre(t *testing.T) {
	d := startONTAP(t)
	n, _ := d.open(t)
	seen, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.Observation{State: plan.On, Detail: "filer-01 is up, filer-02 is up"}, seen)
	d.nodes[0].off()
	seen, err = n.Probe(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State)
	require.Contains(t, seen.Detail, "this node still answers")

	require.NoError(t, contracttest.Do(t, n, plan.Stop), "it is halted through the address of the node that is there")
	require.Equal(t, []string{"halted b"}, d.nodes[1].told())
}

func TestONTAPSaysWhyAHaltFailed(t *testing.T) {
	d := startONTAP(t)
	d.fail = "Cannot shut down node: a takeover is in progress"
	n, _ := d.open(t)
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, d.fail)
	require.ErrorContains(t, err, "filer-01")
	require.ErrorContains(t, err, "filer-02", "the second is told although the first refuses")
}

// cliDouble is a system with a command line over SSH, that goes away after its last shutdown.
type cliDouble struct {
	*sshsim.Server
	*appliance // for its state alone
}

func startCLI(t *testing.T, commands func(d *cliDouble) map[string]sshsim.Handler) *cliDouble {
	d := &cliDouble{appliance: newAppliance(t, http.NotFound)}
	server, err := sshsim.Start(commands(d))
	require.NoError(t, err)
	d.Server = server
	t.Cleanup(server.Close)
	context.AfterFunc(d.ctx, server.Down)
	return d
}

// off takes its power: when it returns nothing of it answers any more.
func (d *cliDouble) off() {
	d.appliance.off()
	d.Down()
}

func (d *cliDouble) open(t *testing.T, nodeType string, spec declared) (adapter.Node, func() error) {
	conn := &ssh.ConnSpec{Address: d.Address(), User: sshsim.User, HostKey: d.HostKey(), Key: schema.SecretRef{Credential: "key"}}
	return opened(t, "ssh", conn, nodeType, spec, vault{"key": d.ClientKey()})
}

func (d *cliDouble) thing(n adapter.Node, end func() error) *contracttest.Thing {
	return &contracttest.Thing{
		Node: n, Can: plan.VerbSet(plan.Stop), Truth: d.truth, Mute: true, Close: end,
		Silence: d.off, Freeze: func() { d.Freeze(true) }, RefusalIsSilence: true,
	}
}

const ontapTable = "node      health\n--------- ------\nfiler-01  true\nfiler-02  true\n2 entries were displayed.\n"

func startONTAPCLI(t *testing.T, table string) *cliDouble {
	return startCLI(t, func(d *cliDouble) map[string]sshsim.Handler {
		return map[string]sshsim.Handler{
			showLine: func(context.Context, io.Reader) (string, int) { return table, 0 },
			haltLine: func(context.Context, io.Reader) (string, int) {
				d.shutdown("halt")
				return "", 0
			},
		}
	})
}

func TestContractOfONTAPByItsCommandLine(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{Make: func(t *testing.T) *contracttest.Thing {
		d := startONTAPCLI(t, ontapTable)
		return d.thing(d.open(t, "ontap.cluster", &ONTAPSpec{Silence: refusalIsSilence, Nodes: []string{d.Address()}}))
	}})
}

func TestONTAPsCommandLineIsRead(t *testing.T) {
	for table, want := range map[string]string{
		ontapTable: "filer-01 is up, filer-02 is up",
		strings.Replace(ontapTable, "02  true", "02  false", 1): "filer-01 is up, filer-02 is down",
	} {
		d := startONTAPCLI(t, table)
		n, _ := d.open(t, "ontap.cluster", &ONTAPSpec{Nodes: []string{d.Address()}})
		seen, err := n.Probe(contracttest.Within(t, 10*time.Second))
		require.NoError(t, err)
		require.Equal(t, plan.Observation{State: plan.On, Detail: want}, seen)
	}
	for out, want := range map[string]string{
		`Error: "system" is not a recognized command`: "the role of ebbtide may lack it",
		"There are no entries matching your query.\n": "lists no nodes",
	} {
		d := startONTAPCLI(t, out)
		n, _ := d.open(t, "ontap.cluster", &ONTAPSpec{Nodes: []string{d.Address()}})
		_, err := n.Probe(contracttest.Within(t, 10*time.Second))
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, want)
	}
}

// startEqualLogic is a group of two members, the second of which leads it. No manual with the exact words was at hand.
func startEqualLogic(t *testing.T) *cliDouble {
	return startCLI(t, func(d *cliDouble) map[string]sshsim.Handler {
		down := map[string]bool{}
		shut := func(name string) sshsim.Handler {
			return func(_ context.Context, stdin io.Reader) (string, int) {
				if said, _ := io.ReadAll(stdin); string(said) != "yes\n" {
					return "Error: not confirmed\n", 0
				}
				d.mu.Lock()
				down[name] = true
				d.asked = append(d.asked, name)
				all := len(down) == 2
				d.mu.Unlock()
				if all {
					d.shutdown("group")
				}
				return "", 0
			}
		}
		return map[string]sshsim.Handler{
			shutdownLine("eql1"): shut("eql1"), shutdownLine("eql2"): shut("eql2"),
			membersLine: func(context.Context, io.Reader) (string, int) {
				d.mu.Lock()
				defer d.mu.Unlock()
				text := "Name       Status  Version    Disks Capacity\n---------- ------- ---------- ----- --------\n"
				for _, name := range []string{"eql1", "eql2"} {
					status := "online "
					if down[name] {
						status = "offline"
					}
					text += name + "       " + status + " V10.0.3    24    10TB\n"
				}
				return text, 0
			},
		}
	})
}

func TestContractOfEqualLogic(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{Make: func(t *testing.T) *contracttest.Thing {
		d := startEqualLogic(t)
		return d.thing(d.open(t, "equallogic.group", &EqualLogicSpec{Silence: refusalIsSilence, Members: []string{"eql1", "eql2"}}))
	}})
}

func TestEqualLogicGoesDownInItsOrder(t *testing.T) {
	d := startEqualLogic(t)
	n, _ := d.open(t, "equallogic.group", &EqualLogicSpec{Members: []string{"eql1", "eql2"}})
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	require.Equal(t, []string{"eql1", "eql2", "group"}, d.told())

	d = startEqualLogic(t)
	n, _ = d.open(t, "equallogic.group", &EqualLogicSpec{Members: []string{"eql1", "other"}})
	_, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, `no member "other"`)
	require.Empty(t, d.told())
}
