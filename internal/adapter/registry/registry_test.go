package registry_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/wake"
	"ebbtide/internal/adapter/wol"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// bmcConn is a connection that can power on a node of the fake estate, and tells when it was closed.
type bmcConn struct {
	name   string
	node   *fake.Node
	closed *[]string
}

func (c bmcConn) Close() error {
	*c.closed = append(*c.closed, c.name)
	return nil
}

func (c bmcConn) PowerOn(ctx context.Context) error {
	return c.node.Do(ctx, adapter.Command{Verb: plan.Start})
}

// plainConn is a connection that can do nothing but end.
type plainConn struct{ bmcConn }

func (plainConn) PowerOn() {} // not adapter.Waker's

func (plainConn) Concurrency() int { return 7 }

func connections(e *fake.Estate, closed *[]string) adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{{Name: "bmc"}, {Name: "plain"}, {Name: "bad"}},
		Connect: func(d schema.Connection, _ adapter.Secrets) (adapter.Conn, error) {
			c := bmcConn{d.Name, e.Node("host"), closed}
			switch d.Type {
			case "bad":
				return nil, errors.New("no good")
			case "plain":
				return plainConn{c}, nil
			}
			return c, nil
		},
	}
}

func TestSetOpensWhatIsDeclared(t *testing.T) {
	e := fake.New(time.Now)
	host, vm := e.Add("host", fake.Spec{}), e.Add("vm", fake.Spec{})
	var closed []string
	set, err := registry.Open([]adapter.Family{e.Family(), connections(e, &closed)},
		[]schema.Connection{{Name: "a", Type: "bmc"}, {Name: "b", Type: "plain"}},
		[]schema.Node{
			{ID: "host", Type: "fake", Via: "b", Wake: &schema.Wake{Redfish: "a"}},
			{ID: "vms", Type: "fake.many"},
		}, nil)
	require.NoError(t, err)

	n, ok := set.Node("host")
	require.True(t, ok)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	require.Equal(t, plan.Off, host.State())
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	require.Equal(t, plan.On, host.State(), "woken by its BMC")
	require.Implements(t, (*adapter.Watcher)(nil), n, "a decorated node keeps its watch")

	_, ok = set.Selector("host")
	require.False(t, ok)
	sel, ok := set.Selector("vms")
	require.True(t, ok)
	members, err := sel.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 2)

	set.Decorate(func(d schema.Node, n adapter.Node) adapter.Node {
		require.NotEqual(t, "vms", d.ID)
		return decorate.Rehearse(n)
	})
	require.NoError(t, set.AddMember("vms/vm", "vms", "vm"))
	require.ErrorIs(t, set.AddMember("vms/x", "vms", "x"), adapter.ErrGone)
	require.ErrorContains(t, set.AddMember("vms/x", "host", "x"), `"host" stands for no other nodes`)
	n, ok = set.Node("vms/vm")
	require.True(t, ok)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	require.Equal(t, plan.On, vm.State(), "a member is decorated like the others")

	require.Equal(t, 7, set.Concurrency("b", 3), "it says so itself")
	require.Equal(t, 3, set.Concurrency("a", 3))
	_, ok = set.Node("nobody")
	require.False(t, ok)
	require.NoError(t, set.Close())
	require.Equal(t, []string{"b", "a"}, closed)
}

func TestSetReportsAllThatCannotBeMade(t *testing.T) {
	e := fake.New(time.Now)
	e.Add("host", fake.Spec{})
	var closed []string
	families := []adapter.Family{e.Family(), connections(e, &closed)}
	_, err := registry.Open(families, []schema.Connection{
		{Name: "a", Type: "bmc"},
		{Name: "a", Type: "bmc"},
		{Name: "b", Type: "bad"},
		{Name: "c", Type: "teletype"},
	}, nil, nil)
	require.ErrorContains(t, err, `cannot use connection "a": it is declared twice`)
	require.ErrorContains(t, err, `cannot use connection "b": no good`)
	require.ErrorContains(t, err, `cannot use connection "c": no adapter serves connections of type "teletype"`)
	require.Equal(t, []string{"a"}, closed, "what was open is closed again")

	_, err = registry.Open(families, []schema.Connection{{Name: "p", Type: "plain"}}, []schema.Node{
		{ID: "host", Type: "fake", Wake: &schema.Wake{IPMI: "p"}},
		{ID: "nobody", Type: "fake"},
		{ID: "x", Type: "abacus"},
		{ID: "y", Type: "fake", Via: "nowhere"},
		{ID: "many", Type: "fake.many", Healthy: []schema.HealthCheck{{TCP: "127.0.0.1:1"}}},
	}, nil)
	for _, want := range []string{
		`cannot use node "host": cannot use up.wake: connection "p" cannot power on a machine`,
		`cannot use node "nobody": the fake estate has no "nobody"`,
		`cannot use node "x": no adapter serves nodes of type "abacus"`,
		`cannot use node "y": connection "nowhere" is not declared`,
		`cannot use node "many": it stands for many nodes`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestWakeOnLAN(t *testing.T) {
	listener, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	e := fake.New(time.Now)
	host := e.Add("host", fake.Spec{})
	n, err := wake.With(host, schema.Node{
		ID:   "host",
		Wake: &schema.Wake{MAC: "00:11:22:aa:BB:cc", Broadcast: listener.LocalAddr().String()},
	}, nil)
	require.NoError(t, err)

	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}), "other verbs are the node's own")
	require.Equal(t, plan.Off, host.State())
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	require.Equal(t, plan.Off, host.State(), "its own start is not used")
	want, err := wol.Packet("00:11:22:aa:bb:cc")
	require.NoError(t, err)
	buf := make([]byte, 200)
	require.NoError(t, listener.SetReadDeadline(time.Now().Add(5*time.Second)))
	for range 3 {
		got, _, err := listener.ReadFrom(buf)
		require.NoError(t, err)
		require.Equal(t, want, buf[:got])
	}

	_, err = wake.With(host, schema.Node{Wake: &schema.Wake{MAC: "00:11:22:aa:bb"}}, nil)
	require.ErrorContains(t, err, `"00:11:22:aa:bb" is not a MAC address`)
	_, err = wake.With(host, schema.Node{Wake: &schema.Wake{MAC: "00:11:22:aa:bb:cc", IPMI: "x"}}, nil)
	require.ErrorContains(t, err, "only one way to wake: mac, redfish, ipmi or pdu")
	n, err = wake.With(host, schema.Node{Wake: &schema.Wake{Power: true}}, nil)
	require.NoError(t, err)
	require.Same(t, host, n)
}
