package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
)

func TestADrawIsItsSeeds(t *testing.T) {
	t.Parallel()
	sc := homeLab(t, time.Minute)
	a, b, c := sim.Draw(sc, 5, drawnOutages), sim.Draw(sc, 5, drawnOutages), sim.Draw(sc, 6, drawnOutages)
	require.Equal(t, sim.Tell(sim.Run(a)), sim.Tell(sim.Run(b)))
	require.Equal(t, a.Took, b.Took)
	require.NotEqual(t, a.Took, c.Took)
	require.NotEqual(t, a.Batteries, c.Batteries)
	require.NotEqual(t, a.Changes, c.Changes)
	require.Nil(t, sc.Took, "what is drawn from stays as it is")
	require.Equal(t, sc.Changes, sim.Draw(sc, 5, sim.Odds{}).Changes, "an outage that is given stays")
}

// TestDrawnOdds holds draws against the numbers of docs/SIMULATE.md.
func TestDrawnOdds(t *testing.T) {
	t.Parallel()
	const draws = 4000
	sc := homeLab(t, time.Minute)
	proven := sc
	proven.Settings.Supplies = slices.Clone(sc.Settings.Supplies)
	proven.Settings.Supplies[0].Capacity = power.Capacity{Burn: 600}
	var dies, weak, weakProven, short, again, hung float64
	var lengths []time.Duration
	for seed := range uint64(draws) {
		d := sim.Draw(sc, seed, drawnOutages)
		b := d.Batteries["ups"]
		require.LessOrEqual(t, b.Health, 1.1, "no battery holds more than 1.1 times its sheet")
		require.Positive(t, b.Bias)
		add := func(to *float64, is bool) {
			if is {
				*to++
			}
		}
		add(&dies, b.DiesAt > 0)
		add(&weak, b.Health < 2./3)
		add(&weakProven, sim.Draw(proven, seed, drawnOutages).Batteries["ups"].Health < 2./3)
		add(&again, len(d.Changes) > 2)
		add(&hung, d.Took[sim.Action{Node: "media", Verb: plan.Stop}] == sim.Never)
		length := d.Changes[1].At - d.Changes[0].At
		add(&short, length < 5*time.Minute)
		lengths = append(lengths, length)
		require.Equal(t, d.For, d.Changes[len(d.Changes)-1].At+24*time.Hour)
	}
	slices.Sort(lengths)
	require.InDelta(t, 0.04, dies/draws, 0.01)
	require.InDelta(t, 0.184, weak/draws, 0.02, "ln(2/3) is 0.9 standard deviations of 0.45 below")
	require.Less(t, weakProven/draws, 0.005, "and 3.4 of 0.12")
	require.InDelta(t, 0.8, short/draws, 0.02)
	require.InDelta(t, 0.2, again/draws, 0.02)
	require.InDelta(t, 0.02, hung/draws, 0.01)
	require.InDelta(t, 60, lengths[draws/2].Seconds(), 6)
}
