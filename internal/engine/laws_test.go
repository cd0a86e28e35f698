package engine_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/engine"
	"ebbtide/internal/sim"
)

// The laws are drawn from a fixed seed, so that a run says the same twice; -rapid.seed and -rapid.checks look further.
func init() {
	for name, value := range map[string]string{"rapid.seed": "20261121", "rapid.checks": "400", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// TestLaws tries the rules of the design on drawn estates, outages, faults, orders and crashes. The referee sees the
// estate's truth, not what the engine believes.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := sim.Draw(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "d") })
		r := sim.Run(sc)
		if len(r.Violations) > 0 {
			t.Log("\n" + sim.Tell(r))
		}
		require.Empty(t, r.Violations)
		requireRestored(t, sc, r)
	})
}

// requireRestored is rules 8 and 20: with the mains back for good every node that was on is on, or is reported, or the
// outage waits for a person and says so.
func requireRestored(t require.TestingT, sc sim.Scenario, r *sim.Result) {
	if r.View.Outage != "" {
		require.True(t, r.View.Hold || r.View.Waiting != "", "the outage is stuck and does not say on what:\n%s", sim.Tell(r))
		return
	}
	var reported []string
	for _, rec := range r.Records {
		if rec.Kind == engine.Closed {
			for _, n := range rec.Nodes {
				reported = append(reported, n.Node)
			}
		}
	}
	for i := range sc.Settings.Estate.Len() {
		n := sc.Settings.Estate.Node(i)
		was := !slices.Contains(sc.Off, n.ID)
		if !was || n.Can == 0 || slices.Contains(r.On, n.ID) || slices.Contains(reported, n.ID) {
			continue
		}
		require.Fail(t, "not brought back and not reported", "%s\n%s", n.ID, sim.Tell(r))
	}
}
