package timeline_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/sim"
	"ebbtide/internal/timeline"
	"ebbtide/test/dst"
)

// recorder writes records a second apart.
type recorder struct {
	t   *testing.T
	seq uint64
	at  time.Time
	tl  timeline.Timeline
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{t: t, at: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)}
	r.add(ledger.Record{
		Kind: ledger.Opened, Outage: "o1", Opening: ledger.Opening{Mode: "run", Digest: "abc"},
		Power: ledger.Power{Supplies: []string{"ups"}}, Reason: "on battery",
	})
	r.add(ledger.Record{Kind: ledger.Snapshot, Nodes: []ledger.NodeState{
		{Node: "vm", State: plan.On}, {Node: "nas", State: plan.On}, {Node: "spare", State: plan.Off},
	}})
	return r
}

func (r *recorder) add(rec ledger.Record) *recorder {
	r.seq++
	r.at = r.at.Add(time.Second)
	rec.Seq, rec.At, rec.Outage = r.seq, r.at, "o1"
	r.tl.Add(rec)
	return r
}

func (r *recorder) step(kind ledger.Kind, verb plan.Verb, node, reason string, outcome ...ledger.Outcome) *recorder {
	rec := ledger.Record{Kind: kind, Step: ledger.Step{Node: node, Verb: &verb}, Reason: reason}
	if len(outcome) > 0 {
		rec.Outcome = outcome[0]
	}
	return r.add(rec)
}

func (r *recorder) stepBy(cause ledger.Cause, kind ledger.Kind, verb plan.Verb, node, reason string) *recorder {
	return r.add(ledger.Record{Kind: kind, Step: ledger.Step{Node: node, Verb: &verb}, Reason: reason, Cause: cause})
}

func (r *recorder) last() timeline.Step {
	require.NotEmpty(r.t, r.tl.Steps)
	return r.tl.Steps[len(r.tl.Steps)-1]
}

func TestAStepThatIsProven(t *testing.T) {
	r := newRecorder(t).step(ledger.Intent, plan.Stop, "vm", "")
	require.Equal(t, timeline.Running, r.last().State)
	require.Equal(t, timeline.Summary{WasOn: 2, Running: 1}, r.tl.Summary)
	r.step(ledger.Proven, plan.Stop, "vm", "powered off")
	require.Equal(t, timeline.Proven, r.last().State)
	last := r.last()
	require.Equal(t, time.Second, last.Took())
	require.Equal(t, 1, last.Attempts)
	require.Equal(t, timeline.Summary{WasOn: 2, Down: 1, Proven: 1}, r.tl.Summary)
	r.add(ledger.Record{Kind: ledger.Reopened, Step: ledger.Step{Node: "vm"}, Reason: "is on again"})
	require.Equal(t, timeline.Summary{WasOn: 2, Pending: 1}, r.tl.Summary)
}

func TestALadder(t *testing.T) {
	r := newRecorder(t).
		step(ledger.Intent, plan.Stop, "vm", "").
		step(ledger.Accepted, plan.Stop, "vm", "a task runs", ledger.Busy)
	require.Equal(t, timeline.Pending, r.last().State)
	require.Equal(t, "busy: a task runs", r.last().Reason)
	r.step(ledger.Intent, plan.Stop, "vm", "").
		stepBy(ledger.Overtime, ledger.Intent, plan.Force, "vm", "not proven within 1m").
		step(ledger.Proven, plan.Stop, "vm", "powered off")
	require.Len(t, r.tl.Steps, 1)
	require.Equal(t, timeline.Stopped, r.last().State)
	require.Equal(t, plan.Stop, r.last().Verb)
	require.Equal(t, plan.Force, r.last().Rung)
	require.Equal(t, 3, r.last().Attempts)
	require.Equal(t, "not proven within 1m", r.last().Reason)
	require.Len(t, r.tl.Forced, 1)
	require.Equal(t, timeline.Summary{WasOn: 2, Down: 1, Forced: 1}, r.tl.Summary)
}

func TestFailureIsNeverShownAsSuccess(t *testing.T) {
	r := newRecorder(t).
		step(ledger.Intent, plan.Stop, "nas", "").
		step(ledger.Accepted, plan.Stop, "nas", "no answer", ledger.TimedOut).
		stepBy(ledger.Overtime, ledger.Failed, plan.Stop, "nas", "not proven within 5m")
	require.Equal(t, timeline.Failed, r.last().State)
	require.Equal(t, timeline.Summary{WasOn: 2, Failed: 1}, r.tl.Summary)
	r.step(ledger.Proven, plan.Stop, "nas", "settled after it had been given up")
	require.Equal(t, timeline.Summary{WasOn: 2, Down: 1, Proven: 1}, r.tl.Summary)
	r.step(ledger.Asked, plan.Stop, "valve", "")
	require.Equal(t, timeline.Running, r.last().State)
	r.add(ledger.Record{Kind: ledger.Closed, Reason: "not brought back: nas", Nodes: []ledger.NodeState{{Node: "nas"}, {Node: "nas"}}})
	require.Equal(t, timeline.Open, r.last().State)
	require.Equal(t, []string{"nas"}, r.tl.NotRestored)
	require.False(t, r.tl.End.IsZero())
}

func TestDirectionsHaveTheirOwnSteps(t *testing.T) {
	down, up := plan.Down, plan.Up
	r := newRecorder(t).
		step(ledger.Intent, plan.Stop, "vm", "").
		step(ledger.Intent, plan.Stop, "nas", "").
		step(ledger.NoReturn, plan.Stop, "nas", "")
	require.False(t, r.tl.NoReturn.IsZero())
	r.add(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: up}}).
		step(ledger.Proven, plan.Stop, "nas", "settled after the turn")
	require.Len(t, r.tl.Steps, 2)
	r.step(ledger.Proven, plan.Stop, "vm", "").
		step(ledger.Proven, plan.Start, "nas", "came with its power").
		add(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: down}}).
		step(ledger.Intent, plan.Stop, "nas", "")
	require.Len(t, r.tl.Steps, 4)
	require.True(t, r.tl.NoReturn.IsZero())
	require.Equal(t, timeline.Summary{WasOn: 2, Down: 1, Back: 1, Proven: 3, Running: 1}, r.tl.Summary)
	require.Equal(t, plan.Down, r.tl.Goal)
}

// What came up by itself, and is stopped again before anything is brought back, takes the time of its second stop.
func TestASecondStopHasItsOwnTime(t *testing.T) {
	r := newRecorder(t).
		step(ledger.Intent, plan.Stop, "vm", "").
		step(ledger.Proven, plan.Stop, "vm", "")
	r.at = r.at.Add(time.Hour)
	r.step(ledger.Intent, plan.Stop, "vm", "").
		step(ledger.Proven, plan.Stop, "vm", "")
	require.Len(t, r.tl.Steps, 2)
	for i := range r.tl.Steps {
		require.Equal(t, time.Second, r.tl.Steps[i].Took())
	}
	require.Equal(t, timeline.Summary{WasOn: 2, Down: 1, Proven: 2}, r.tl.Summary)
}

// A supply that turns the same way after another begins no new stretch: steps that are under way go on in theirs.
func TestSuppliesTurnOneAfterTheOther(t *testing.T) {
	r := newRecorder(t).add(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up, Supplies: []string{"a"}}}).
		step(ledger.Intent, plan.Start, "nas", "").
		add(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up, Supplies: []string{"b"}}}).
		step(ledger.Intent, plan.Start, "nas", "").
		step(ledger.Proven, plan.Start, "nas", "")
	require.Len(t, r.tl.Steps, 1)
	require.Equal(t, 2, r.last().Attempts)
	require.Equal(t, timeline.Proven, r.last().State)
}

// What the engine did not send by a fault of its own, and what became of an output, is told in plain words.
func TestFaultsAndOutputsAreTold(t *testing.T) {
	r := newRecorder(t)
	verb := plan.Stop
	for want, rec := range map[string]ledger.Record{
		"stop nas was not sent, because of a bug in Ebbtide: rule 1: vm uses it and is not proven off": {
			Kind: ledger.Forbidden,
			Step: ledger.Step{Node: "nas", Verb: &verb}, Reason: "rule 1: vm uses it and is not proven off",
		},
		"a bug in Ebbtide: a record was refused": {Kind: ledger.Forbidden, Reason: "a record was refused"},
		"ups: its output is on again": {
			Kind: ledger.Mains, Cause: ledger.Cycled, Power: ledger.Power{Supplies: []string{"ups"}},
			Reason: "its output is on again",
		},
	} {
		r.add(rec)
		require.Equal(t, want, r.tl.Phrase(&rec))
	}
}

func TestOrdersAreMarked(t *testing.T) {
	r := newRecorder(t).add(ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: ledger.Hold, By: "kim"}})
	require.True(t, r.tl.Hold)
	r.add(ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: ledger.Abort, By: "kim"}, Reason: "too late"})
	require.Equal(t, "abort by kim: refused, too late", r.tl.Marks[len(r.tl.Marks)-1].Text)
	r.add(ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: ledger.Resume, By: "kim"}})
	require.False(t, r.tl.Hold)
}

func TestWhatBelongsToNoOutageIsIgnored(t *testing.T) {
	var tl timeline.Timeline
	tl.Add(ledger.Record{Kind: ledger.Closed})
	require.Empty(t, tl.Marks)
}

// Whatever happens in an outage, its timeline counts each step once, ends with nothing under way, and says forced and
// failed where the records do.
func TestTimelinesOfDrawnOutages(t *testing.T) {
	schema := families.Schema()
	for seed := range uint64(60) {
		scenario, _, err := sim.Load("drawn", []byte(dst.Draw(dst.Seeded(seed))), nil, schema)
		require.NoError(t, err)
		result := sim.Run(scenario)
		var tl timeline.Timeline
		var before timeline.Timeline
		forced, failed := 0, 0
		for i, rec := range result.Records {
			if i == len(result.Records)/2 {
				before = tl.Clone()
			}
			if rec.Kind == ledger.Opened {
				forced, failed = 0, 0
			}
			tl.Add(rec)
			s := tl.Summary
			require.Equal(t, len(tl.Steps), s.Pending+s.Running+s.Proven+s.Failed+s.Forced+s.Open, "seed %d record %d", seed, i)
			require.LessOrEqual(t, s.Down+s.Back, s.WasOn)
			if rec.Kind == ledger.Intent && *rec.Verb == plan.Force {
				forced++
			}
			if rec.Kind == ledger.Failed {
				failed++
			}
			if rec.Kind == ledger.Closed {
				require.Zero(t, s.Pending+s.Running, "seed %d", seed)
				require.LessOrEqual(t, s.Failed, failed)
				require.GreaterOrEqual(t, len(tl.Forced), forced)
			}
		}
		text, err := json.Marshal(before)
		require.NoError(t, err)
		again := timeline.Timeline{}
		for _, rec := range result.Records[:len(result.Records)/2] {
			again.Add(rec)
		}
		want, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text), "a clone is not changed by what comes later")
	}
}

// TestAnObservedOutageSaysSo: of a whole outage that was only observed, everything that is told says so, and nothing reads as
// if it had been done.
func TestAnObservedOutageSaysSo(t *testing.T) {
	r := newRecorder(t)
	stop, force, cut, start := plan.Stop, plan.Force, plan.Cut, plan.Start
	want := []struct {
		rec  ledger.Record
		says string
	}{
		{ledger.Record{
			Kind: ledger.Opened, Opening: ledger.Opening{Mode: ledger.ModeObserve}, Outage: "o",
			Power: ledger.Power{Supplies: []string{"ups"}}, Reason: "on battery",
		}, "(observing) outage: ups: on battery"},
		{
			ledger.Record{Kind: ledger.Snapshot, Nodes: []ledger.NodeState{{Node: "vm", State: plan.On}, {Node: "nas", State: plan.On}}},
			"(observing) snapshot: 2 of 2 nodes on, would be brought back later",
		},
		{
			ledger.Record{
				Kind: ledger.Widened, Power: ledger.Power{Supplies: []string{"b"}},
				Nodes: []ledger.NodeState{{Node: "db", State: plan.On}},
			},
			"(observing) the outage now includes b: 3 nodes on, would be brought back later",
		},
		{
			ledger.Record{Kind: ledger.Widened, Nodes: []ledger.NodeState{{Node: "lab", State: plan.On}}},
			"(observing) lab could not be reached before: it is on, would be brought back later",
		},
		{
			ledger.Record{Kind: ledger.Triggered, Power: ledger.Power{Stage: "shutdown"}, Reason: "on battery for 1m"},
			"(observing) stage shutdown would start: on battery for 1m",
		},
		{ledger.Record{Kind: ledger.Intent, Step: ledger.Step{Node: "vm", Verb: &stop}}, ""},
		{
			ledger.Record{Kind: ledger.HeldBack, Step: ledger.Step{Node: "vm", Verb: &stop}, Reason: "app is on"},
			"(observing) vm: stop would be held back: app is on",
		},
		{
			ledger.Record{Kind: ledger.Intent, Step: ledger.Step{Node: "vm", Verb: &force}, Reason: "not proven within 1m"},
			"(observing) would power off vm: not proven within 1m",
		},
		{
			ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: "vm", Verb: &stop}, Reason: "rehearsed; really on"},
			"(observing) vm would be off",
		},
		{
			ledger.Record{Kind: ledger.Asked, Step: ledger.Step{Node: "valve", Verb: &stop}},
			"(observing) a person would be asked to stop valve",
		},
		{
			ledger.Record{Kind: ledger.Failed, Step: ledger.Step{Node: "valve", Verb: &stop}, Reason: "skipped"},
			"(observing) valve: stop would not have been proven: skipped",
		},
		{
			ledger.Record{Kind: ledger.NoReturn, Step: ledger.Step{Node: "nas", Verb: &stop}},
			"(observing) point of no return: the shutdown would be carried through before anything was brought back",
		},
		{
			ledger.Record{
				Kind: ledger.NoReturn, Cause: ledger.AfterAll, Power: ledger.Power{Supplies: []string{"ups"}},
				Step: ledger.Step{Node: "nas", Verb: &stop}, Reason: "it is off",
			},
			"(observing) ups: would be cut after all, to power-cycle nas: it is off",
		},
		{
			ledger.Record{Kind: ledger.Intent, Step: ledger.Step{Node: "ups", Verb: &cut}, Reason: "by deadline"},
			"(observing) would cut the output of ups: by deadline",
		},
		{ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: "ups", Verb: &cut}}, "(observing) ups would be cutting its output"},
		{ledger.Record{Kind: ledger.Mains, Power: ledger.Power{Supplies: []string{"ups"}}, Reason: "on line"}, "(observing) ups: on line"},
		{ledger.Record{
			Kind: ledger.Mains, Cause: ledger.Cycled, Power: ledger.Power{Supplies: []string{"ups"}},
			Reason: "its output is on again",
		}, "(observing) ups: its output would be on again"},
		{
			ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up}, Reason: "mains are back"},
			"(observing) would begin the power-up: mains are back",
		},
		{
			ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: "nas", Verb: &start}},
			"(observing) nas would be on again, without a command",
		},
		{ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: ledger.Hold, By: "kim"}}, "(observing) hold ordered by kim"},
		{
			ledger.Record{Kind: ledger.Gap, Reason: "Ebbtide was not running, and resumes now"},
			"(observing) Ebbtide was not running, and resumes now",
		},
		{
			ledger.Record{Kind: ledger.Closed, Reason: "everything that was on is on again"},
			"(observing) the outage is over (observed only): everything that was on is on again",
		},
	}
	for _, w := range want {
		r.add(w.rec)
		require.Equal(t, w.says, r.tl.Phrase(&w.rec))
	}
	require.True(t, r.tl.Observed())
	texts := []string{r.tl.Result}
	for _, m := range r.tl.Marks {
		texts = append(texts, m.Text)
	}
	for _, s := range r.tl.Steps {
		texts = append(texts, s.Reason)
	}
	for _, f := range r.tl.Forced {
		texts = append(texts, f.Reason)
	}
	for _, text := range texts {
		require.Regexp(t, `^(\(observing\) |rehearsed|$)`, text)
	}
}

// TestACutThatIsNotMadeIsNoneOfThoseThatWere: a supply takes its cut, and is released from it. One whose output was off stays cut.
func TestACutThatIsNotMadeIsNoneOfThoseThatWere(t *testing.T) {
	for cause, state := range map[ledger.Cause]timeline.State{"": timeline.Failed, ledger.Dark: timeline.Proven} {
		ups := ledger.Power{Supplies: []string{"ups"}}
		r := newRecorder(t).step(ledger.Intent, plan.Cut, "ups", "").step(ledger.Proven, plan.Cut, "ups", "")
		r.add(ledger.Record{Kind: ledger.Mains, Cause: cause, Power: ups})
		r.add(ledger.Record{
			Kind: ledger.Mains, Cause: ledger.Released, Power: ups,
			Reason: "it accepted its cut but did not carry it out, and its mains are back",
		})
		require.Equal(t, state, r.last().State)
	}
}
