package report

import (
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// CriticalChain is why a direction took as long as it did: the step that ended last, what let that one start, and so on
// up to a decision.
type CriticalChain struct {
	Goal  plan.Goal `json:"goal"`
	Took  float64   `json:"took"`  // seconds, from the decision at its end to the last step's end
	Links []Link    `json:"links"` // the last first
}

// Link is a part of a critical chain. Durations are in seconds.
type Link struct {
	Node  string         `json:"node,omitempty"` // empty: What is a decision or an event
	Verb  *plan.Verb     `json:"verb,omitempty"`
	State timeline.State `json:"state,omitempty"`
	What  string         `json:"what"`
	At    float64        `json:"at"`             // since the outage began
	Took  float64        `json:"took,omitempty"` //
	Idle  float64        `json:"idle,omitempty"` // between the end of what let it start and its start; 0 if the clock was set back
	By    LinkedBy       `json:"by,omitempty"`   // how the next one is known to have let it start
}

// LinkedBy is how one step is known to have let another start.
type LinkedBy string

// The ways in which it is known.
const (
	ByPlan  LinkedBy = "plan"  // the plan says that it waits for it
	ByPlace LinkedBy = "place" // it took over its place under a limit
	ByTime  LinkedBy = "time"  // it ended last before it: the plan is not known
	ByEvent LinkedBy = "event" // a decision or an event
)

// soon is within what a step starts that was waiting for just one thing.
const soon = 2 * time.Second

// chains finds the critical chain of each direction that was taken.
func (f *fold) chains() {
	for _, goal := range []plan.Goal{plan.Down, plan.Up} {
		if last := f.lastStep(goal); last != nil {
			f.Chains = append(f.Chains, f.chain(goal, last))
		}
	}
}

// goalOf tells which direction a verb belongs to.
func goalOf(v plan.Verb) plan.Goal {
	if v == plan.Start || v == plan.Unprotect {
		return plan.Up
	}
	return plan.Down
}

// lastStep is the commanded step of a direction that ended last.
func (f *fold) lastStep(goal plan.Goal) *timeline.Step {
	var last *timeline.Step
	for i := range f.story.Steps {
		s := &f.story.Steps[i]
		if goalOf(s.Verb) == goal && s.Attempts > 0 && !s.Ended.IsZero() && (last == nil || s.Ended.After(last.Ended)) {
			last = s
		}
	}
	return last
}

func (f *fold) chain(goal plan.Goal, last *timeline.Step) CriticalChain {
	c := CriticalChain{Goal: goal}
	edges := f.edges(goal)
	var p *plan.Plan
	if edges != nil {
		p = edges.plan
	}
	began := last.Started
	for s := last; s != nil; {
		verb := s.Verb
		l := Link{
			Node: s.Node, Verb: &verb, State: s.State, What: doing(s.Verb, s.Node),
			At: s.Started.Sub(f.Start).Seconds(), Took: s.Took().Seconds(),
		}
		event, at := f.eventBefore(s.Started)
		before, by := f.waitedFor(s, goal, edges)
		if before != nil && before.Ended.Before(at) && (p == nil || at.Sub(before.Ended) > soon) {
			before = nil
		}
		if before == nil && p != nil {
			before, by = f.placeBefore(s, at), ByPlace
		}
		if before != nil {
			l.Idle, l.By = max(0, s.Started.Sub(before.Ended)).Seconds(), by
			c.Links = append(c.Links, l)
			s, began = before, before.Started
			continue
		}
		l.Idle, l.By = max(0, s.Started.Sub(at)).Seconds(), ByEvent
		c.Links = append(c.Links, l, Link{What: event, At: at.Sub(f.Start).Seconds()})
		began = at
		break
	}
	c.Took = last.Ended.Sub(began).Seconds()
	return c
}

// waitedFor finds the step whose end let another start: of those that it waits for, the one that ended last.
func (f *fold) waitedFor(s *timeline.Step, goal plan.Goal, edges *edges) (*timeline.Step, LinkedBy) {
	by, waits := ByTime, func(*timeline.Step) bool { return true }
	if edges != nil {
		earlier := edges.before(s)
		by, waits = ByPlan, func(b *timeline.Step) bool {
			at, known := edges.find(b)
			return known && earlier[at]
		}
	}
	var last *timeline.Step
	for i := range f.story.Steps {
		b := &f.story.Steps[i]
		if b == s || b.Attempts == 0 || b.Ended.IsZero() || b.Ended.After(s.Started) || !b.Started.Before(s.Started) || goalOf(b.Verb) != goal || !waits(b) {
			continue
		}
		if last == nil || b.Ended.After(last.Ended) {
			last = b
		}
	}
	return last, by
}

// placeBefore finds the step of the same type that ended just before another started, since an event: under a limit the
// one takes over the other's place.
func (f *fold) placeBefore(s *timeline.Step, since time.Time) *timeline.Step {
	n := f.Find(s.Node)
	if n == nil || s.Started.Sub(since) <= soon {
		return nil
	}
	var last *timeline.Step
	for i := range f.story.Steps {
		b := &f.story.Steps[i]
		m := f.Find(b.Node)
		if b == s || m == nil || m.Type != n.Type || b.Verb != s.Verb || b.Attempts == 0 || b.Ended.IsZero() || b.Ended.After(s.Started) || s.Started.Sub(b.Ended) > soon {
			continue
		}
		if b.Started.Before(s.Started) && (last == nil || b.Ended.After(last.Ended)) {
			last = b
		}
	}
	return last
}

// eventBefore is the newest decision or event before a step that steps may wait for.
func (f *fold) eventBefore(at time.Time) (what string, when time.Time) {
	what, when = "the "+f.Noun()+" begins", f.Start
	for i := range f.records {
		r := &f.records[i]
		if r.At.After(at) {
			break
		}
		switch r.Kind {
		case engine.Triggered:
			what, when = "stage "+r.Stage, r.At
		case engine.Turned:
			what, when = "going "+string(r.Goal)+": "+r.Reason, r.At
		case engine.Gap:
			what, when = r.Reason, r.At
		case engine.Ordered:
			if r.Reason == "" && (r.Order == engine.Resume || r.Order == engine.Go) {
				what, when = string(r.Order)+" by "+r.By, r.At
			}
		default:
		}
	}
	return what, when
}

// edges tells what waits for what in a plan.
type edges struct{ plan *plan.Plan }

func (f *fold) edges(goal plan.Goal) *edges {
	if f.Estate == nil {
		return nil
	}
	return &edges{f.Estate.Plan(goal, nil)}
}

func (e *edges) find(s *timeline.Step) (int, bool) {
	node, known := e.plan.Estate().Index(s.Node)
	if !known {
		return 0, false
	}
	return e.plan.Find(node, s.Verb)
}

// before gives the steps that a step comes after, directly or not: what stands between may have been done before, or may
// not have been needed.
func (e *edges) before(s *timeline.Step) map[int]bool {
	earlier := map[int]bool{}
	at, known := e.find(s)
	if !known {
		return earlier
	}
	for stack := slices.Clone(e.plan.Steps[at].After); len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !earlier[i] {
			earlier[i] = true
			stack = append(stack, e.plan.Steps[i].After...)
		}
	}
	return earlier
}
