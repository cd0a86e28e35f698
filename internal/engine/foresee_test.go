package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// pair is an engine for a host on two supplies, whose shutdown starts at a slack of 2 minutes with a reserve of 2.
func pair(t require.TestingT) *engine.Engine {
	supply := func(id string) plan.Node {
		return plan.Node{ID: id, Type: "supply", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut, plan.Start)}
	}
	host := plan.Node{ID: "host", Type: "host", Kind: plan.Host, FedBy: []string{"a", "b"}, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Stage: plan.ShutdownStage, Attempts: 1}
	for v := range host.Times {
		host.Times[v] = plan.Times{Nominal: time.Minute, Within: 5 * time.Minute}
	}
	estate, err := plan.NewEstate([]plan.Node{supply("a"), supply("b"), host}, nil)
	require.NoError(t, err)
	return engine.New(engine.Settings{
		Estate: estate, Mode: "simulate", Supplies: []power.Supply{{ID: "a"}, {ID: "b"}},
		Policy: power.Policy{Shutdown: power.Condition{Kind: power.SlackBelow, For: 2 * time.Minute}, Reserve: 2 * time.Minute},
	})
}

// driver feeds an engine a poll at a time, and answers what it asks as the test wants.
type driver struct {
	*engine.Engine
	now  time.Time
	need []time.Duration
}

func (d *driver) apply(ev engine.Event) (recorded []ledger.Record) {
	for _, one := range d.Apply(d.now, ev) {
		switch e := one.(type) {
		case effect.Append:
			recorded = append(recorded, e.Record)
		case effect.Estimate:
			recorded = append(recorded, d.apply(engine.Estimated{Serial: e.Serial, Need: d.need})...)
		case effect.Probe:
			recorded = append(recorded, d.apply(engine.Finished{Op: e.Op, Outcome: ledger.Done, Seen: plan.Observation{State: plan.On}})...)
		default:
		}
	}
	return recorded
}

func (d *driver) poll(supply string, runtime float64) []ledger.Record {
	return d.apply(engine.Read{Reading: power.Reading{
		Supply: supply, Status: power.OB, Runtime: power.Known(runtime),
		Load: power.Known(40),
	}})
}

func (d *driver) supply(id string) engine.SupplyView {
	views := d.View().Supplies
	return views[slices.IndexFunc(views, func(v engine.SupplyView) bool { return v.ID == id })]
}

func drive(t require.TestingT, need ...time.Duration) *driver {
	d := &driver{Engine: pair(t), now: time.Unix(1_800_000_000, 0), need: need}
	d.apply(engine.Started{})
	return d
}

// docs/adr/0011: slack is what may pass before the chance that the battery gives out first is 5%.
func TestSlackIsTheLastMomentAtWhichTheOddsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var need []time.Duration
		for range rapid.IntRange(1, 20).Draw(t, "shares") {
			need = append(need, time.Duration(rapid.IntRange(10, 1200).Draw(t, "need"))*time.Second)
		}
		slices.Sort(need)
		runtime := rapid.Float64Range(60, 7200).Draw(t, "runtime")
		d := drive(t, need...)
		d.poll("a", runtime)
		v := d.supply("a")
		require.True(t, v.Slack.Known)
		fails := func(after float64) float64 {
			sum := 0.0
			for _, n := range need {
				sum += v.State.Outlook.GivesOut(after + 120 + n.Seconds())
			}
			return sum / float64(len(need))
		}
		require.LessOrEqual(t, fails(v.Slack.Value-1), power.Pessimistic+1e-9)
		require.GreaterOrEqual(t, fails(v.Slack.Value+1), power.Pessimistic-1e-9)
		require.InDelta(t, fails(0), v.Odds.Value, 1e-9)

		// docs/ARCHITECTURE.md, rule 14: more battery never lessens it, a longer plan never adds to it.
		more := drive(t, need...)
		more.poll("a", runtime+rapid.Float64Range(0, 1000).Draw(t, "more"))
		require.GreaterOrEqual(t, more.supply("a").Slack.Value, v.Slack.Value-1)
		longer := slices.Clone(need)
		longer[len(longer)-1] += 10 * time.Minute
		d = drive(t, longer...)
		d.poll("a", runtime)
		require.LessOrEqual(t, d.supply("a").Slack.Value, v.Slack.Value+1)
	})
}

// What would be too late at the next poll starts at this one, and the record says from which numbers.
func TestTheShutdownLooksAPollAhead(t *testing.T) {
	t.Parallel()
	started := func(every time.Duration) (slack float64, n *ledger.Numbers) {
		d := drive(t, 5*time.Minute)
		for left := 2000.0; left > 0; left -= every.Seconds() {
			for _, rec := range d.poll("a", left) {
				if rec.Kind == ledger.Triggered && rec.Stage == plan.ShutdownStage {
					require.Equal(t, "slack is below 2m", rec.Reason)
					return *rec.Numbers.Slack, rec.Numbers
				}
			}
			d.poll("b", left)
			d.now = d.now.Add(every)
		}
		require.Fail(t, "it never started")
		return 0, nil
	}
	at1, n := started(time.Second)
	require.InDelta(t, 120, at1, 3, "with a poll a second, at the last moment")
	require.InDelta(t, 0.05, *n.Odds, 0.05)
	require.InDelta(t, 300, *n.Plan, 0.1)
	require.Equal(t, "the UPS's own runtime", n.By)
	at10, _ := started(10 * time.Second)
	require.Greater(t, at10, 120.0, "never later than that, however rare the polls")
	require.InDelta(t, 130, at10, 12)
}

// The load of a supply that gives out falls to the other: it lasts for less than it says.
func TestTheSurvivorCarriesTheLoad(t *testing.T) {
	t.Parallel()
	d := drive(t, time.Minute)
	d.poll("b", 3600)
	alone := d.supply("b").State.Left.Value
	d.poll("a", 600)
	d.poll("b", 3600)
	d.poll("b", 3600)
	carrying := d.supply("b").State.Left.Value
	first := d.supply("a").State.Left.Value
	require.Less(t, carrying, alone)
	require.Greater(t, carrying, first, "it still lasts longer than the other")
	// What is left when the other gives out burns at the rate of both loads.
	tracker := power.NewTracker(power.Supply{ID: "b"})
	require.InDelta(t, first+(alone-first)*tracker.Rate(40)/tracker.Rate(80), carrying, 1)
}

func TestItSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	d := drive(t, 5*time.Minute)
	require.Equal(t, "nothing is known: it has never been heard from", d.supply("a").Why)
	d.poll("a", 3600)
	require.Equal(t, "not starting yet: the battery lasts at least 36m (by the UPS's own runtime), and the plan and its reserve take up to 7m (p95); with the uncertainty of both combined, the plan can wait 29m; the battery is unproven; shutdown trigger: slack is below 2m", d.supply("a").Why)
	d.apply(engine.Read{Reading: power.Reading{Supply: "b", Status: power.OL}})
	require.Equal(t, "on line; if its mains failed now, how long its battery lasts is not known", d.supply("b").Why)
	d.apply(engine.Read{Reading: power.Reading{Supply: "b", Status: power.OL | power.BYPASS}})
	require.Equal(t, "on bypass: if mains power fails, its load loses power at once", d.supply("b").Why)
	for range 3 { // OFF beside OL is a habit of some, unless it goes on
		d.now = d.now.Add(10 * time.Second)
		d.apply(engine.Read{Reading: power.Reading{Supply: "b", Status: power.OFF}})
	}
	require.Equal(t, "its output is off: what it feeds gets no power from it", d.supply("b").Why)
}
