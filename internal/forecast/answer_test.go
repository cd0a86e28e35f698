package forecast

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/effect"
	"ebbtide/internal/plan"
	"ebbtide/test/golden"
)

// drawQuestion asks at some moment of an outage: some nodes are down, some steps are under way.
func drawQuestion(t *rapid.T, e *plan.Estate) effect.Estimate {
	ask := effect.Estimate{Serial: rapid.IntRange(1, 99).Draw(t, "serial")}
	for i := e.Len() - 1; i >= 0; i-- {
		n := e.Node(i)
		ask.Scope = append(ask.Scope, n.ID)
		if rapid.IntRange(0, 3).Draw(t, "down") == 0 {
			continue
		}
		ask.Down = append(ask.Down, n.ID)
		if n.Can.Has(plan.Stop) && rapid.IntRange(0, 5).Draw(t, "running") == 0 {
			verb := rapid.SampledFrom([]plan.Verb{plan.Stop, plan.Force, plan.Flush}).Draw(t, "verb")
			ask.Running = append(ask.Running, effect.Underway{
				Node: n.ID, Verb: verb,
				For: time.Duration(rapid.IntRange(0, 900).Draw(t, "for")) * time.Second,
			})
		}
	}
	return ask
}

func TestAnswersAreSane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEstate(t)
		ask := drawQuestion(t, e)
		f := New(nil, rapid.IntRange(1, 120).Draw(t, "trials"))
		a := f.Answer(e, ask)
		require.Equal(t, ask.Serial, a.Serial)
		require.True(t, slices.IsSorted(a.Need))
		require.Len(t, a.Need, min(32, f.trials))
		require.GreaterOrEqual(t, a.Need[0], time.Duration(0))
		require.GreaterOrEqual(t, a.Whole, time.Duration(0))
		for i, stage := range a.Stages {
			require.True(t, stage.Stage != plan.ProtectStage || i == 0)
			require.True(t, stage.Stage != plan.ShutdownStage || i == len(a.Stages)-1)
		}
		require.LessOrEqual(t, len(a.Critical), 8)
		for i, c := range a.Critical {
			require.True(t, c.Share > 0 && c.Share <= 1)
			require.True(t, i == 0 || c.Share <= a.Critical[i-1].Share)
			require.Contains(t, ask.Down, c.Node)
		}
		require.Equal(t, a, f.Answer(e, ask), "the same question has the same answer")
		f.Answer(drawEstate(t), effect.Estimate{})
		f.Answer(e, effect.Estimate{Scope: ask.Down})
		require.Equal(t, a, f.Answer(e, ask), "whatever was asked before")
		require.Equal(t, a, New(nil, f.trials).Answer(e, ask))
	})
}

func TestNothingLeftTakesNoTime(t *testing.T) {
	e := sampleEstate(t, 60)
	ask := question(e, 0)
	ask.Down = nil
	a := New(nil, 50).Answer(e, ask)
	require.Zero(t, a.Need[len(a.Need)-1])
	require.Zero(t, a.Hosts)
	require.Zero(t, a.Tail)
	require.Positive(t, a.Whole)
	require.Empty(t, a.Critical)
}

// What is left of a step: never less than nothing; together with what it has taken, never more than it may take and
// what comes after a hang; and the longer it has been under way, the likelier it hangs.
func TestTheRestOfAStep(t *testing.T) {
	e := sampleEstate(t, 60)
	c := newCourse(e.Plan(plan.Down, nil), nil)
	vm, _ := e.Index("vm40")
	step, _ := c.plan.Find(vm, plan.Stop)
	within := e.Node(vm).Time(plan.Stop).Within
	hangBefore := uint32(0)
	for seconds := 1; seconds < 400; seconds += 7 {
		o := c.since(step, plan.Stop, time.Duration(seconds)*time.Second, nil)
		require.GreaterOrEqual(t, o.hang, hangBefore)
		hangBefore = o.hang
		o.forced = 0
		rest := int64(-1)
		for u := range uint64(1000) {
			left := o.rest(u<<54 | 1<<32 - 1) // ascending, and no hang
			require.GreaterOrEqual(t, left, max(rest, 0))
			require.LessOrEqual(t, left, max(0, within-time.Duration(seconds)*time.Second).Microseconds())
			rest = left
		}
	}
	hung := c.since(step, plan.Stop, 2*within, nil)
	for u := range uint64(1000) {
		require.InDelta(t, hung.force(mix(u)), hung.rest(mix(u)), 1, "what hangs is forced now")
	}
}

// One that has been under way for longer than any draw is has ended or hangs.
func TestTheRestOfWhatOutlastsEachDraw(t *testing.T) {
	e := sampleEstate(t, 60)
	c := newCourse(e.Plan(plan.Down, nil), nil)
	vm, _ := e.Index("vm40")
	step, _ := c.plan.Find(vm, plan.Stop)
	o := c.since(step, plan.Stop, 1000*time.Hour, nil)
	require.InDelta(t, 1, o.begun.past, 0)
	for u := range uint64(1000) {
		require.InDelta(t, o.force(u<<54|1<<32-1), o.rest(u<<54|1<<32-1), 1)
	}
}

// Its quantiles are those of the runs that take longer than it has.
func TestTheRestIsTheConditionalTail(t *testing.T) {
	e := sampleEstate(t, 60)
	c := newCourse(e.Plan(plan.Down, nil), nil)
	vm, _ := e.Index("vm40")
	step, _ := c.plan.Find(vm, plan.Stop)
	d := Prior(e.Node(vm), plan.Stop)
	elapsed := 30 * time.Second
	o := c.since(step, plan.Stop, elapsed, nil)
	var longer, rests []time.Duration
	for i := range 20_000 {
		u := (float64(i) + 0.5) / 20_000
		if took, hung := d.Draw(u); took > elapsed && !hung {
			longer = append(longer, took-elapsed)
		}
	}
	for i := range uint64(20_000) {
		if left := o.rest(mix(i)); left < (d.Within - elapsed).Microseconds() {
			rests = append(rests, time.Duration(left)*time.Microsecond)
		}
	}
	slices.Sort(rests)
	for _, p := range []float64{0.1, 0.5, 0.9} {
		require.InEpsilon(t, longer[int(p*float64(len(longer)))].Seconds(), rests[int(p*float64(len(rests)))].Seconds(), 0.05)
	}
}

// A story: what is answered in the course of an outage. -rewrite writes it anew.
func TestStory(t *testing.T) {
	e := sampleEstate(t, 60)
	k := Learn(storySamples(), time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC))
	f := New(k, DefaultTrials)
	var b strings.Builder
	tell := func(title string, running []effect.Underway, down func(n *plan.Node) bool) {
		ask := effect.Estimate{Running: running}
		for i := e.Len() - 1; i >= 0; i-- {
			ask.Scope = append(ask.Scope, e.Node(i).ID)
			if !down(e.Node(i)) {
				ask.Down = append(ask.Down, e.Node(i).ID)
			}
		}
		a := f.Answer(e, ask)
		s := func(d time.Duration) time.Duration { return d.Round(time.Second) }
		fmt.Fprintf(&b, "%s\n  need %s (p50) %s (p95) %s (p99), hosts %s, tail %s, whole %s\n", title, s(a.At(0.5)), s(a.At(0.95)),
			s(a.At(0.99)), s(a.Hosts), s(a.Tail), s(a.Whole))
		for _, stage := range a.Stages {
			fmt.Fprintf(&b, "  from %s on %s\n", stage.Stage, s(stage.Need))
		}
		for _, c := range a.Critical[:min(3, len(a.Critical))] {
			fmt.Fprintf(&b, "  critical: %s %s %.0f%%\n", c.Verb, c.Node, 100*c.Share)
		}
	}
	isVM := func(n *plan.Node) bool { return n.Kind == plan.VM }
	last := func(n *plan.Node) bool { return isVM(n) && n.ID != "vm0" }
	tell("nothing is down yet", nil, func(*plan.Node) bool { return false })
	tell("eight VMs stop", slices.Collect(func(yield func(effect.Underway) bool) {
		for i := range 8 {
			if !yield(effect.Underway{Node: fmt.Sprint("vm", 30+i), Verb: plan.Stop, For: 10 * time.Second}) {
				return
			}
		}
	}), func(*plan.Node) bool { return false })
	tell("the last VM stops for 20 s", []effect.Underway{{Node: "vm0", Verb: plan.Stop, For: 20 * time.Second}}, last)
	tell("for 170 s: it hangs", []effect.Underway{{Node: "vm0", Verb: plan.Stop, For: 170 * time.Second}}, last)
	tell("it is forced", []effect.Underway{{Node: "vm0", Verb: plan.Force, For: time.Second}}, last)
	tell("the VMs are down", nil, isVM)
	tell("the host is down", nil, func(n *plan.Node) bool { return isVM(n) || n.Kind == plan.Host })
	tell("the array has stopped", nil, func(n *plan.Node) bool { return n.Kind != plan.Supply })
	golden.Equal(t, "testdata/outage.txt", b.String())
}

// storySamples are three outages: VMs take a little longer than expected, and one hung.
func storySamples() []Sample {
	var seen []Sample
	for outage := range 3 {
		at := time.Date(2026, time.Month(3+3*outage), 1, 0, 0, 0, 0, time.UTC)
		for i := range 50 {
			seen = append(seen, Sample{
				Node: fmt.Sprint("vm", i), Type: "vm", Verb: plan.Stop, At: at, Nominal: 35 * time.Second,
				Took: time.Duration(38+(13*i+7*outage)%19) * time.Second, Hung: i == 17 && outage == 1,
			})
		}
		seen = append(seen, Sample{
			Node: "host0", Type: "host", Verb: plan.Stop, At: at, Nominal: 90 * time.Second,
			Took: time.Duration(100+outage) * time.Second,
		})
	}
	return seen
}
