package passive

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

func open(t *testing.T, d schema.Node) adapter.Node {
	set, err := registry.Open([]adapter.Family{Family()}, nil, []schema.Node{d}, nil)
	require.NoError(t, err)
	n, ok := set.Node(d.ID)
	require.True(t, ok)
	return n
}

func TestContract(t *testing.T) {
	for kind, can := range map[string]plan.Verbs{"passive": 0, "manual": plan.VerbSet(plan.Stop, plan.Start)} {
		t.Run(kind, func(t *testing.T) {
			contracttest.Run(t, contracttest.Subject{Make: func(t *testing.T) *contracttest.Thing {
				return &contracttest.Thing{Node: open(t, schema.Node{ID: "x", Type: kind}), Can: can}
			}})
		})
	}
}

func TestAPassiveNodeIsOnWhenItsChecksPass(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := open(t, schema.Node{ID: "switch", Type: "passive", Healthy: []schema.HealthCheck{{TCP: listener.Addr().String()}}})
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Observation{State: plan.On, Healthy: plan.Yes}, seen)

	require.NoError(t, listener.Close())
	seen, err = n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State)
	require.Equal(t, plan.No, seen.Healthy)
	require.Contains(t, seen.Detail, "connection refused")
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}), adapter.ErrRefused)
}
