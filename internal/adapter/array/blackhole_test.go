package array

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/plan"
)

func serverAt(url string) rest.Server { return rest.Server{URL: url} }

// Probe and stop of an address from which nothing comes back end in their time and leave nothing behind.
func TestASilentApplianceIsUnreachableInTime(t *testing.T) {
	address := peertest.BlackHole(t)
	base := "https://" + address
	for connType, c := range map[string]struct {
		conn any
		node string
		spec declared
	}{
		"truenas":  {&TrueNASConn{Server: serverAt(base), Username: "ebbtide", APIKey: secretRef}, "truenas", &TrueNASSpec{}},
		"synology": {&SynologyConn{serverAt(base), account}, "synology", &SynologySpec{}},
		"ontap":    {&ONTAPConn{serverAt(base), account}, "ontap.cluster", &ONTAPSpec{Nodes: []string{address}}},
		"unity":    {&UnityConn{serverAt(base), account}, "unity", &UnitySpec{}},
		"nimble":   {&NimbleConn{serverAt(base), account}, "nimble.group", &NimbleSpec{}},
	} {
		t.Run(connType, func(t *testing.T) {
			left := peertest.NoGoroutineLeft(t)
			n, end := opened(t, connType, c.conn, c.node, c.spec, vault{})
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			seen, err := n.Probe(ctx)
			require.NoError(t, err)
			require.NoError(t, ctx.Err(), "there is time left to say so")
			require.Equal(t, plan.Unreachable, seen.State)
			require.ErrorIs(t, n.Do(ctx, adapter.Command{Verb: plan.Stop}), adapter.ErrUnreachable)
			require.NoError(t, end())
			left()
		})
	}
}
