package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/timeline"
)

// seen is a sample without its time of day.
type seen struct {
	node string
	verb plan.Verb
	took time.Duration
	hung bool
}

func samples(r *recorder) []seen {
	var all []seen
	for _, s := range r.tl.Samples() {
		all = append(all, seen{s.Node, s.Verb, s.Took, s.Hung})
	}
	return all
}

// Each record is a second after the one before.
func TestWhatIsLearnedFromAStep(t *testing.T) {
	t.Parallel()
	up := plan.Up
	turn := func(r *recorder) *recorder {
		return r.add(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: up}})
	}
	order := func(r *recorder, v ledger.OrderVerb) *recorder {
		return r.add(ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: v, By: "kim"}})
	}
	for name, c := range map[string]struct {
		play func(*recorder)
		want []seen
	}{
		"it ended": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "").step(ledger.Proven, plan.Stop, "vm", "")
		}, []seen{{"vm", plan.Stop, time.Second, false}}},
		"it goes on": {func(r *recorder) { r.step(ledger.Intent, plan.Stop, "vm", "") }, nil},
		"it was already so": {func(r *recorder) {
			r.step(ledger.Proven, plan.Stop, "vm", "it was already so")
		}, nil},
		"a task ran first": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "").step(ledger.Accepted, plan.Stop, "vm", "a task runs", ledger.Busy).
				step(ledger.Intent, plan.Stop, "vm", "").step(ledger.Proven, plan.Stop, "vm", "")
		}, []seen{{"vm", plan.Stop, 3 * time.Second, false}}},
		"its time was over": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "").stepBy(ledger.Overtime, ledger.Intent, plan.Force, "vm", "not proven within 1m").
				step(ledger.Proven, plan.Stop, "vm", "")
		}, []seen{{"vm", plan.Stop, 0, true}, {"vm", plan.Force, time.Second, false}}},
		"the battery ran out first": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "").stepBy(ledger.Pressed, ledger.Intent, plan.Force, "vm",
				"the battery runs down faster").
				step(ledger.Proven, plan.Stop, "vm", "")
		}, []seen{{"vm", plan.Force, time.Second, false}}},
		"it was refused": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "").step(ledger.Accepted, plan.Stop, "vm", "no", ledger.Refused).
				step(ledger.Intent, plan.Force, "vm", "refused: no").step(ledger.Proven, plan.Stop, "vm", "")
		}, []seen{{"vm", plan.Force, time.Second, false}}},
		"it was given up": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "nas", "").stepBy(ledger.Overtime, ledger.Failed, plan.Stop, "nas", "not proven within 5m")
		}, []seen{{"nas", plan.Stop, 0, true}}},
		"it was given up, and came": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "nas", "").stepBy(ledger.Overtime, ledger.Failed, plan.Stop, "nas", "not proven within 5m").
				step(ledger.Proven, plan.Stop, "nas", "")
		}, []seen{{"nas", plan.Stop, 0, true}}},
		"it is gone": {func(r *recorder) {
			r.step(ledger.Intent, plan.Start, "vm", "").step(ledger.Failed, plan.Start, "vm", "it no longer exists")
		}, nil},
		"it was started twice": {func(r *recorder) {
			r.step(ledger.Intent, plan.Start, "vm", "").step(ledger.Intent, plan.Start, "vm", "").step(ledger.Proven, plan.Start, "vm", "")
		}, []seen{{"vm", plan.Start, 0, true}}},
		"nobody was there to see": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "").add(ledger.Record{Kind: ledger.Gap, Reason: "away"}).
				step(ledger.Intent, plan.Stop, "vm", "").step(ledger.Proven, plan.Stop, "vm", "").
				step(ledger.Intent, plan.Stop, "nas", "").step(ledger.Proven, plan.Stop, "nas", "")
		}, []seen{{"nas", plan.Stop, time.Second, false}}},
		"it was on hold": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "")
			order(order(r, ledger.Hold), ledger.Resume).step(ledger.Proven, plan.Stop, "vm", "").
				step(ledger.Intent, plan.Stop, "nas", "").step(ledger.Proven, plan.Stop, "nas", "")
		}, []seen{{"nas", plan.Stop, time.Second, false}}},
		"on hold, then forced": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "")
			order(order(r, ledger.Hold), ledger.Resume).stepBy(ledger.Overtime, ledger.Intent, plan.Force, "vm", "not proven within 1m").
				step(ledger.Proven, plan.Stop, "vm", "")
		}, []seen{{"vm", plan.Force, time.Second, false}}},
		"it was held back": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "nas", "").step(ledger.HeldBack, plan.Stop, "nas", "vm is on").
				step(ledger.Intent, plan.Stop, "nas", "").step(ledger.Proven, plan.Stop, "nas", "")
		}, nil},
		"it was on again": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "nas", "").step(ledger.Proven, plan.Stop, "nas", "").
				step(ledger.Reopened, plan.Stop, "nas", "is on again").step(ledger.Proven, plan.Stop, "nas", "")
		}, nil},
		"a person did it": {func(r *recorder) {
			r.step(ledger.Asked, plan.Stop, "valve", "").step(ledger.Proven, plan.Stop, "valve", "confirmed by kim")
		}, nil},
		"down and up": {func(r *recorder) {
			r.step(ledger.Intent, plan.Stop, "vm", "").step(ledger.Proven, plan.Stop, "vm", "")
			turn(r).step(ledger.Intent, plan.Start, "vm", "").step(ledger.Proven, plan.Start, "vm", "")
		}, []seen{{"vm", plan.Stop, time.Second, false}, {"vm", plan.Start, time.Second, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t)
			c.play(r)
			require.Equal(t, c.want, samples(r))
			copied := r.tl.Clone()
			require.Equal(t, r.tl.Samples(), copied.Samples())
		})
	}
}

// stopped is an outage of a mode in which a VM and a NAS went down and up, one of them by force.
func stopped(t *testing.T, mode ledger.Mode) *recorder {
	r := &recorder{t: t, at: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)}
	r.add(ledger.Record{
		Kind: ledger.Opened, Outage: "o1", Opening: ledger.Opening{Mode: mode},
		Power: ledger.Power{Supplies: []string{"ups"}},
	}).
		step(ledger.Intent, plan.Stop, "vm", "").
		step(ledger.Proven, plan.Stop, "vm", "").
		step(ledger.Intent, plan.Stop, "nas", "").
		stepBy(ledger.Overtime, ledger.Intent, plan.Force, "nas", "not proven within 1m").
		step(ledger.Proven, plan.Stop, "nas", "").
		add(ledger.Record{Kind: ledger.Spent, Power: ledger.Power{
			Supplies:  []string{"ups"},
			Discharge: &power.Discharge{Burn: 100, Took: 90 * time.Second, From: 100, To: 60, Empty: true},
		}}).
		add(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up}})
	for _, node := range []string{"vm", "nas", "spare"} {
		r.step(ledger.Proven, plan.Start, node, "")
	}
	return r
}

// Only what was really done teaches anything of durations. A battery that was drained was drained, whoever watched.
func TestModesThatTeach(t *testing.T) {
	t.Parallel()
	for _, mode := range []ledger.Mode{ledger.ModeRun, ledger.ModeDrill} {
		tl := stopped(t, mode).tl
		require.Len(t, tl.Samples(), 3)
		for _, s := range tl.Samples() {
			require.Equal(t, mode == "drill", s.Drill)
		}
		require.Equal(t, map[string]time.Time{"vm": tl.Start.Add(8 * time.Second)}, tl.Returned(), "nas was forced, spare was not stopped")
		require.Len(t, tl.Drained(), 1)
		require.Equal(t, mode == "drill", tl.Drained()[0].Drill)
		require.InDelta(t, 100, tl.Drained()[0].Burn, 0)
		last := tl.Discharges[0]
		require.Equal(t, "ups", last.Supply)
	}
	for _, mode := range []ledger.Mode{ledger.ModeObserve, ledger.ModeSimulate, ""} {
		tl := stopped(t, mode).tl
		require.Equal(t, []forecast.Sample(nil), tl.Samples())
		require.Empty(t, tl.Returned())
	}
	observed, simulated := stopped(t, "observe").tl, stopped(t, "simulate").tl
	require.Len(t, observed.Drained(), 1)
	require.Empty(t, simulated.Drained())
}

func TestADischargeInWords(t *testing.T) {
	t.Parallel()
	r := stopped(t, "run")
	marks := []string{}
	for _, m := range r.tl.Marks {
		if m.Kind == ledger.Spent {
			marks = append(marks, m.Text)
		}
	}
	require.Equal(t, []string{"ups was on battery for 1m 30s, from 100% to 60%, until it reported a low battery"}, marks)
	require.Equal(t, marks[0], r.tl.Phrase(&ledger.Record{
		Kind: ledger.Spent, Power: ledger.Power{
			Supplies:  []string{"ups"},
			Discharge: &power.Discharge{Took: 90 * time.Second, From: 100, To: 60, Empty: true},
		},
	}))
	require.Empty(t, timeline.Fold(nil).Discharges)
}
