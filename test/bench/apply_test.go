package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
	"ebbtide/internal/sim"
)

// moment is an event with its time.
type moment struct {
	at time.Time
	ev engine.Event
}

// TestApply measures what an event costs the engine over a whole outage of estates of three sizes: the events of a simulated run
// are played again into a fresh engine, alone.
func TestApply(t *testing.T) {
	wanted(t)
	for _, c := range []struct {
		nodes, runs int
		most        float64 // microseconds
	}{{1_000, 5, 5}, {10_000, 3, 10}, {100_000, 1, 20}} {
		sc := wideOutage(t, c.nodes)
		events := eventsOf(t, sc)
		costs, total := make([]time.Duration, 0, c.runs*len(events)), time.Duration(0)
		for range c.runs {
			e := engine.New(sc.Settings)
			for _, m := range events {
				begun := time.Now()
				e.Apply(m.at, m.ev)
				took := time.Since(begun)
				costs, total = append(costs, took), total+took
			}
			require.False(t, e.Open(), "the outage is over")
		}
		slices.Sort(costs)
		mean := us(total / time.Duration(len(costs)))
		figure{
			Figure: fmt.Sprintf("engine_apply_%d_nodes", c.nodes), Value: mean, Unit: "µs/event", Target: fmt.Sprintf("<= %g", c.most),
			OK: mean <= c.most, Runs: c.runs,
			Note: fmt.Sprintf("mean of %d events; median %.1f µs, p99 %.1f µs, max %.0f µs", len(events), us(costs[len(costs)/2]),
				us(costs[len(costs)*99/100]), us(costs[len(costs)-1])),
		}.print(t)
	}
}

// wideOutage takes an estate down and brings it back, with limits that let that be over in hours. How long it takes is not
// worked out: that is not what is measured.
func wideOutage(t *testing.T, nodes int) sim.Scenario {
	s := estate(t, nodes, 20*time.Second, time.Minute)
	all := make([]plan.Node, s.Estate.Len())
	for i := range all {
		all[i] = *s.Estate.Node(i)
	}
	wide := max(1, nodes/1000)
	e, err := plan.NewEstate(all, []plan.Limit{{Class: "vm", Total: 60 * wide, PerHost: 8}, {Class: "host", Total: 4 * wide}})
	require.NoError(t, err)
	s.Estate = e
	sc := outage(s)
	sc.Forecast = func(*plan.Estate, effect.Estimate) foresight.Estimate {
		return foresight.Estimate{Need: []time.Duration{30 * time.Minute}, Hosts: 5 * time.Minute, Whole: time.Hour}
	}
	return sc
}

// eventsOf plays a scenario, and gives what its engine was told.
func eventsOf(t *testing.T, sc sim.Scenario) []moment {
	t.Helper()
	var events []moment
	sc.Witness = func(at time.Time, ev engine.Event) { events = append(events, moment{at, ev}) }
	r := sim.Check(sc)
	require.Empty(t, r.Violations)
	require.Empty(t, r.View.Outage, r.View.Waiting)
	return events
}
