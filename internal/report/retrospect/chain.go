package retrospect

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
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

// chains finds the critical chain of each stretch in one direction, in their order. What was only observed has none.
func (f *fold) chains() {
	if f.observed() {
		return
	}
	pass, goal := 0, plan.Down
	add := func() {
		of := func(s *timeline.Step) bool { return s.Pass == pass && goalOf(s.Verb) == goal }
		if last := f.lastStep(of); last != nil {
			f.Chains = append(f.Chains, f.chain(goal, last))
		}
	}
	for i := range f.records {
		if r := &f.records[i]; r.Kind == ledger.Turned && r.Goal != goal {
			add()
			pass, goal = pass+1, r.Goal
		}
	}
	add()
}

// goalOf tells which direction a verb belongs to.
func goalOf(v plan.Verb) plan.Goal {
	if v == plan.Start || v == plan.Unprotect {
		return plan.Up
	}
	return plan.Down
}

// lastStep is the one that ended last of the commanded steps that are meant.
func (f *fold) lastStep(meant func(*timeline.Step) bool) *timeline.Step {
	var last *timeline.Step
	for i := range f.story.Steps {
		s := &f.story.Steps[i]
		if meant(s) && s.Attempts > 0 && !s.Ended.IsZero() && (last == nil || s.Ended.After(last.Ended)) {
			last = s
		}
	}
	return last
}

// chain goes back from a step to the decision that all before it waited for. Where nobody was there for a while, that is a
// part of the chain, and what came before it is looked for beyond it.
func (f *fold) chain(goal plan.Goal, last *timeline.Step) CriticalChain {
	c := CriticalChain{Goal: goal, Links: []Link{f.link(last)}}
	edges := f.edges(goal)
	if last.Verb == plan.EndDischarge {
		edges = nil // no plan speaks of a battery's test
	}
	s, at, records := last, last.Started, f.records
	for {
		e := f.eventBefore(at, records)
		before, by := f.waitedFor(s, at, goal, edges)
		if before != nil && before.Ended.Before(e.at) && (edges == nil || e.at.Sub(before.Ended) > soon) {
			before = nil
		}
		if before == nil && edges != nil {
			before, by = f.placeBefore(s, at, e.at), ByPlace
		}
		end := &c.Links[len(c.Links)-1]
		if before != nil {
			end.Idle, end.By = max(0, at.Sub(before.Ended)).Seconds(), by
			c.Links = append(c.Links, f.link(before))
			s, at = before, before.Started
			continue
		}
		end.Idle, end.By = max(0, at.Sub(e.at)).Seconds(), ByEvent
		c.Links = append(c.Links, Link{What: e.what, At: e.at.Sub(f.Start).Seconds()})
		at, records = e.at, e.earlier
		if !e.gap {
			c.Took = last.Ended.Sub(at).Seconds()
			return c
		}
	}
}

// link makes a step a part of a chain.
func (f *fold) link(s *timeline.Step) Link {
	verb := s.Verb
	return Link{
		Node: s.Node, Verb: &verb, State: s.State, What: doing(s.Verb, s.Node),
		At: s.Started.Sub(f.Start).Seconds(), Took: s.Took().Seconds(),
	}
}

// waitedFor finds the step whose end let another start, or let it be taken up before a gap: of those that it waits for, the
// one that ended last until then.
func (f *fold) waitedFor(s *timeline.Step, at time.Time, goal plan.Goal, edges *edges) (*timeline.Step, LinkedBy) {
	by, waits := ByTime, func(*timeline.Step) bool { return true }
	if edges != nil {
		earlier := edges.before(s)
		by, waits = ByPlan, func(b *timeline.Step) bool {
			step, known := edges.find(b)
			return known && earlier[step]
		}
	}
	var last *timeline.Step
	for i := range f.story.Steps {
		b := &f.story.Steps[i]
		if b == s || b.Attempts == 0 || b.Ended.IsZero() || b.Ended.After(at) || !b.Started.Before(s.Started) ||
			goalOf(b.Verb) != goal || !waits(b) {
			continue
		}
		if last == nil || b.Ended.After(last.Ended) {
			last = b
		}
	}
	return last, by
}

// placeBefore finds the step of the same type that ended just before another started, or was taken up before a gap, since an
// event: under a limit the one takes over the other's place.
func (f *fold) placeBefore(s *timeline.Step, at, since time.Time) *timeline.Step {
	n := f.Find(s.Node)
	if n == nil || at.Sub(since) <= soon {
		return nil
	}
	var last *timeline.Step
	for i := range f.story.Steps {
		b := &f.story.Steps[i]
		m := f.Find(b.Node)
		if b == s || m == nil || m.Type != n.Type || b.Verb != s.Verb || b.Attempts == 0 || b.Ended.IsZero() || b.Ended.After(at) ||
			at.Sub(b.Ended) > soon {
			continue
		}
		if b.Started.Before(s.Started) && (last == nil || b.Ended.After(last.Ended)) {
			last = b
		}
	}
	return last
}

// event is a decision, or what else steps may wait for.
type event struct {
	what    string
	at      time.Time
	gap     bool            // nobody was there to see
	earlier []ledger.Record // what is on record before it
}

// eventBefore is the newest event of some records that is not after a time.
func (f *fold) eventBefore(at time.Time, records []ledger.Record) event {
	e := event{what: "the " + f.Noun() + " begins", at: f.Start}
	for i := range records {
		r := &records[i]
		if r.At.After(at) {
			break
		}
		switch r.Kind {
		case ledger.Triggered:
			e = event{what: "stage " + string(r.Stage), at: r.At}
		case ledger.Turned:
			e = event{what: "power-" + string(r.Goal) + ": " + r.Reason, at: r.At}
		case ledger.Gap:
			e = event{what: r.Reason, at: r.At, gap: true, earlier: records[:i]}
		case ledger.Ordered:
			if r.Reason == "" && (r.Order == ledger.Resume || r.Order == ledger.Go) {
				e = event{what: string(r.Order) + " by " + r.By, at: r.At}
			}
		default:
		}
	}
	return e
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
