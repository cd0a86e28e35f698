package retrospect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// order is what waits for what by the plan of a goal, and which of that was commanded; nil without the runbook.
type order struct {
	*edges
	made  map[int][]*timeline.Step // by step of the plan: those that were commanded and have ended
	given map[int]bool             // steps of the plan that were given up
	kinds map[kindOfStep][]*timeline.Step
}

// kindOfStep is what shares a limit.
type kindOfStep struct {
	typ  string
	verb plan.Verb
}

func (f *fold) orderOf(goal plan.Goal) *order {
	e := f.edges(goal)
	if e == nil {
		return nil
	}
	o := &order{edges: e, made: map[int][]*timeline.Step{}, given: map[int]bool{}, kinds: map[kindOfStep][]*timeline.Step{}}
	for i := range f.story.Steps {
		s := &f.story.Steps[i]
		at, known := e.find(s)
		if !known {
			continue
		}
		o.given[at] = o.given[at] || s.State == timeline.Failed
		if s.Attempts > 0 && !s.Ended.IsZero() {
			o.made[at] = append(o.made[at], s)
			k := kindOfStep{f.Find(s.Node).Type, s.Verb}
			o.kinds[k] = append(o.kinds[k], s)
		}
	}
	for _, all := range o.kinds {
		slices.SortStableFunc(all, func(a, b *timeline.Step) int { return a.Ended.Compare(b.Ended) })
	}
	return o
}

// nearest goes back from a step of the plan along what it comes after, up to what fits, and gives that to see.
func (o *order) nearest(step int, fits func(step int) bool, see func(step int)) {
	seen := map[int]bool{}
	for stack := slices.Clone(o.plan.Steps[step].After); len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		if fits(at) {
			see(at)
			continue
		}
		stack = append(stack, o.plan.Steps[at].After...)
	}
}

// before gives the step that a step comes after by the plan and that ended last before it began.
func (o *order) before(s *timeline.Step) *timeline.Step {
	at, known := o.find(s)
	if !known {
		return nil
	}
	var last *timeline.Step
	o.nearest(at, func(b int) bool { return len(o.made[b]) > 0 }, func(b int) {
		for _, one := range o.made[b] {
			if !one.Ended.After(s.Started) && (last == nil || one.Ended.After(last.Ended)) {
				last = one
			}
		}
	})
	return last
}

// place gives the step of the same type that ended right before a step began.
func (o *order) place(s *timeline.Step, typ string) *timeline.Step {
	all := o.kinds[kindOfStep{typ, s.Verb}]
	next, _ := slices.BinarySearchFunc(all, s.Started, func(b *timeline.Step, at time.Time) int {
		if b.Ended.After(at) {
			return 1
		}
		return -1
	})
	for _, b := range slices.Backward(all[:next]) {
		if s.Started.Sub(b.Ended) > soon {
			return nil
		}
		if b != s && b.Started.Before(s.Started) {
			return b
		}
	}
	return nil
}

// waitToBegin tells what a step waited for that began long after what let it: its stage, or the turn. By the plan it comes
// after a step, or it took over the place of one under a limit.
func (f *fold) waitToBegin(s *timeline.Step, o *order) {
	e := f.eventBefore(s.Started, f.records)
	if s.Attempts == 0 || s.Started.Sub(e.at) < notable {
		return
	}
	verb := s.Verb
	say := func(by WaitBy, what string) { f.waited(s.Node, &verb, e.at, s.Started, by, what) }
	if o == nil {
		say(WaitUnsaid, unsaid)
		return
	}
	before := o.before(s)
	if before != nil && before.Ended.Before(e.at) {
		before = nil
	}
	if before == nil || s.Started.Sub(before.Ended) > soon {
		if n := f.Find(s.Node); n != nil {
			if place := o.place(s, n.Type); place != nil && !place.Ended.Before(e.at) {
				say(WaitPlace, doing(place.Verb, place.Node)+", whose slot under a limit it took over")
				return
			}
		}
	}
	switch {
	case before == nil:
		say(WaitUnsaid, unsaid)
	case s.Started.Sub(before.Ended) >= notable:
		say(WaitUnsaid, fmt.Sprintf("%s until %s, which comes before it in the plan; what it waited for then was %s",
			doing(before.Verb, before.Node), f.clock(before.Ended), unsaid))
	default:
		say(WaitPlan, doing(before.Verb, before.Node)+", which comes before it in the plan")
	}
}

// unsaid is told where no record says what was waited for.
const unsaid = "not recorded"

// neverBegun tells what kept steps from being made that an outage which is over ends without: what was on and did not come
// back, and what was to go down and comes by the plan after what was given up.
func (f *fold) neverBegun(down, up *order) {
	if f.Open {
		return
	}
	for _, node := range f.NotRestored {
		began := slices.ContainsFunc(f.story.Steps, func(s timeline.Step) bool { return s.Node == node && goalOf(s.Verb) == plan.Up })
		if began {
			continue
		}
		if what, _ := f.keptBy(node, plan.Start, up); what != "" {
			f.never(node, plan.Start, f.turnedUp(), WaitPlan, what)
			continue
		}
		f.never(node, plan.Start, f.turnedUp(), WaitUnsaid, unsaid)
	}
	begun := map[string]bool{}
	for i := range f.story.Steps {
		if s := &f.story.Steps[i]; s.Verb == plan.Stop || s.Verb == plan.Cut {
			begun[s.Node] = true
		}
	}
	for _, node := range f.inSnapshot() {
		for _, verb := range []plan.Verb{plan.Stop, plan.Cut} {
			if what, since := f.keptBy(node, verb, down); what != "" && !begun[node] {
				f.never(node, verb, since, WaitPlan, what)
			}
		}
	}
}

func (f *fold) never(node string, verb plan.Verb, from time.Time, by WaitBy, what string) {
	f.waited(node, &verb, from, time.Time{}, by, what)
}

// keptBy names a step that was given up, after which a step that was never begun comes by the plan, and when that was; "" if
// there is none.
func (f *fold) keptBy(node string, verb plan.Verb, o *order) (what string, since time.Time) {
	if o == nil {
		return "", since
	}
	at, known := o.find(&timeline.Step{Node: node, Verb: verb})
	if !known {
		return "", since
	}
	o.nearest(at, func(b int) bool { return o.given[b] }, func(b int) {
		for i := range f.story.Steps {
			s := &f.story.Steps[i]
			if step, known := o.find(s); !known || step != b || s.State != timeline.Failed || what != "" {
				continue
			}
			what, since = doing(s.Verb, s.Node)+", which comes before it in the plan and was not proven", s.Ended
			if reason := strings.TrimPrefix(s.Reason, effect.Observing); reason != "" {
				what += ": " + reason
			}
		}
	})
	return what, since
}

// turnedUp is when things first began to come back; the last record, if they never did.
func (f *fold) turnedUp() time.Time {
	for i := range f.records {
		if r := &f.records[i]; r.Kind == ledger.Turned && r.Goal == plan.Up {
			return r.At
		}
	}
	return f.Until
}
