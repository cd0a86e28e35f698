package sim_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
	"ebbtide/internal/sim"
)

var drawnOutages = sim.Odds{Outage: true}

// homeLab is an example runbook whose mains fail for so long after a minute.
func homeLab(t testing.TB, outage time.Duration) sim.Scenario {
	t.Helper()
	src, err := os.ReadFile(filepath.FromSlash("../../runbooks/home-lab.yaml"))
	require.NoError(t, err)
	rb, problems := runbook.Load("home-lab.yaml", src, families.Schema())
	require.False(t, problems.HasErrors())
	compiled, err := runbook.Compile(rb, families.Schema(), nil)
	require.NoError(t, err)
	doc := sim.Document{Version: sim.DocumentVersion, For: outage + 24*time.Hour, Events: []sim.EventDecl{
		{At: time.Minute, Supply: "ups", Mains: "off"}, {At: time.Minute + outage, Supply: "ups", Mains: "on"},
	}}
	sc, errs := doc.Build(compiled)
	require.Empty(t, errs)
	return sc
}

// drilled makes durations known: each step has taken its nominal time in ten drills.
func drilled(sc sim.Scenario) sim.Scenario {
	var seen []forecast.Sample
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range sc.Settings.Estate.Len() {
		n := sc.Settings.Estate.Node(i)
		for v := plan.Protect; v <= plan.Unprotect; v++ {
			for range 10 {
				seen = append(seen, forecast.Sample{
					Node: n.ID, Type: n.Type, Verb: v, At: now, Took: n.Time(v).Nominal,
					Nominal: n.Time(v).Nominal, Drill: true,
				})
			}
		}
	}
	sc.Forecast = forecast.New(forecast.Learn(seen, now), 100).Answer
	return sc
}

func TestTrialsRestOnTheirSeedsAlone(t *testing.T) {
	t.Parallel()
	var told []int
	trials := sim.Trials{Scenario: homeLab(t, time.Minute), Odds: drawnOutages, Runs: 60, Seed: 7, Workers: 1}
	alone, err := trials.Play(context.Background())
	require.NoError(t, err)
	trials.Workers, trials.Progress = 3, func(done int) { told = append(told, done) }
	shared, err := trials.Play(context.Background())
	require.NoError(t, err)
	require.Equal(t, alone, shared, "whoever plays them")
	require.Len(t, told, 60)
	require.True(t, slices.IsSorted(told))
	require.Positive(t, alone.Down.Count)
	require.Empty(t, alone.Broken)

	trials.Seed = 1007
	other, err := trials.Play(context.Background())
	require.NoError(t, err)
	require.NotEqual(t, alone.Down, other.Down, "other seeds, other nights")

	one := sim.Draw(trials.Scenario, 9, drawnOutages)
	outcome := sim.Judge(one, sim.Run(one))
	trials.Seed, trials.Runs = 9, 1
	single, err := trials.Play(context.Background())
	require.NoError(t, err)
	require.Equal(t, sim.Summarise(one.Settings.Policy, []sim.Outcome{outcome}, 9), single, "a trial can be played alone by its seed")
}

func TestTrialsEndWhenAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	trials := sim.Trials{Scenario: homeLab(t, time.Minute), Odds: drawnOutages, Runs: 1_000_000, Workers: 2}
	trials.Progress = func(int) { cancel() }
	_, err := trials.Play(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// TestAFullBatteryOutlastsAShortOutage: whatever is drawn, short of a battery that dies at once.
func TestAFullBatteryOutlastsAShortOutage(t *testing.T) {
	t.Parallel()
	sc := homeLab(t, 20*time.Second)
	for seed := range uint64(100) {
		drawn := sim.Draw(sc, seed, sim.Odds{})
		b := drawn.Batteries["ups"]
		b.DiesAt = 0
		drawn.Batteries["ups"] = b
		r := sim.Run(drawn)
		require.Empty(t, r.Crashed, "seed %d", seed)
		require.Empty(t, r.Violations, "seed %d", seed)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	judged := func(sc sim.Scenario) sim.Outcome { return sim.Judge(sc, sim.Run(sc)) }
	at := func(c power.Condition, outage time.Duration) sim.Scenario {
		sc := homeLab(t, outage)
		sc.Settings.Policy.Shutdown = c
		return sc
	}
	soon := power.Condition{Kind: power.OnBattery, For: 2 * time.Minute}

	needed := judged(at(soon, 3*time.Hour))
	require.True(t, needed.Shutdown)
	require.False(t, needed.Unnecessary, "three hours are too much for half an hour of battery")
	require.False(t, needed.Crashed, "this machine goes with its supply by plan")
	require.Empty(t, needed.Stranded)
	require.Greater(t, needed.Down, 2*time.Hour)
	require.Less(t, needed.Back, 2*time.Hour)
	require.Contains(t, needed.Slack, plan.ShutdownStage)
	require.Equal(t, "nas", needed.Critical[0].Node, "storage goes last of all")

	inVain := judged(at(soon, 4*time.Minute))
	require.True(t, inVain.Shutdown)
	require.True(t, inVain.Unnecessary)

	never := judged(at(power.Condition{}, 3*time.Hour))
	require.False(t, never.Shutdown)
	require.True(t, never.Crashed)

	hung := drilled(at(soon, 3*time.Hour))
	hung.Settings.Supplies = slices.Clone(hung.Settings.Supplies)
	hung.Settings.Supplies[0].Curve = nil // its UPS is believed: there is time enough to wait for what hangs
	hung.Batteries["ups"] = sim.Battery{Charge: 1, Runtime: 3 * time.Hour}
	hung.Took = map[sim.Action]time.Duration{{Node: "media", Verb: plan.Stop}: sim.Never}
	require.Equal(t, 1, judged(hung).Forced)
}

func TestAlternativesChangeTheTriggerAlone(t *testing.T) {
	t.Parallel()
	sc := homeLab(t, time.Minute)
	names := []string{}
	for i, alt := range sim.Alternatives(sc, drawnOutages) {
		names = append(names, alt.Name)
		p := alt.Scenario.Settings.Policy
		if i > 0 {
			require.NotEqual(t, sc.Settings.Policy.Shutdown, p.Shutdown, alt.Name)
			require.Contains(t, p.Shutdown.Needs(), power.LowBattery, alt.Name)
		}
		p.Shutdown = sc.Settings.Policy.Shutdown
		require.Equal(t, sc.Settings.Policy, p, alt.Name)
		require.Equal(t, sim.Draw(sc, 3, drawnOutages).Took, sim.Draw(alt.Scenario, 3, drawnOutages).Took, "the same night for all")
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), 5)
	require.NotEmpty(t, sc.Settings.Supplies[0].Curve, "the runbook's own is left as it is")
}

// TestADrawnStepTakesItsTime: the table is what happens, not the nominal time.
func TestADrawnStepTakesItsTime(t *testing.T) {
	t.Parallel()
	sc := drilled(homeLab(t, 3*time.Hour))
	sc.Settings.Policy.Shutdown = power.Condition{Kind: power.OnBattery, For: 2 * time.Minute}
	sc.Settings.Supplies = []power.Supply{{ID: "ups"}}
	sc.Batteries = map[string]sim.Battery{"ups": {Charge: 1, Runtime: 24 * time.Hour}} // nothing presses
	took := func(stop time.Duration) time.Duration {
		sc.Took = map[sim.Action]time.Duration{{Node: "media", Verb: plan.Stop}: stop}
		var intent time.Time
		for _, rec := range sim.Run(sc).Records {
			switch {
			case rec.Node != "media" || rec.Verb == nil || *rec.Verb != plan.Stop:
			case rec.Kind == ledger.Intent:
				intent = rec.At
			case rec.Kind == ledger.Proven:
				return rec.At.Sub(intent)
			}
		}
		require.Fail(t, "media never stopped")
		return 0
	}
	require.InDelta(t, 60, took(time.Minute).Seconds(), 6)
	require.InDelta(t, 20, took(20*time.Second).Seconds(), 6)
}

// A policy that waits for hours, with nothing to see meanwhile, is waited for: its night is not over before.
func TestANightIsNotOverBeforeItsPolicySaysSo(t *testing.T) {
	t.Parallel()
	sc := homeLab(t, 3*time.Hour)
	sc.Settings.Policy.Restore = power.Condition{Kind: power.All, Of: []power.Condition{{Kind: power.Online, For: 8 * time.Hour}}}
	r := sim.Check(sc)
	require.Greater(t, r.Ended, 11*time.Hour)
	require.Empty(t, r.View.Outage)
}
