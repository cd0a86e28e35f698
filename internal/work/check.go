package work

import (
	"fmt"
	"slices"

	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
)

// Check holds how the steps stand against a judgement from scratch, and that whatever is not where it should be has work under way or says
// what it waits for. It needs an outage.
func (e *Works) Check() error {
	if err := e.checkStands(); err != nil {
		return err
	}
	if err := e.checkProofs(); err != nil {
		return err
	}
	return e.checkLiveness()
}

// checkStands judges every step from scratch.
func (e *Works) checkStands() error {
	for i := range e.Beliefs {
		if e.Forks(i) {
			return fmt.Errorf("%s has step %d under way, by what is wanted", e.ID(i), e.Under[i])
		}
	}
	c := &e.Course
	kept, at := slices.Clone(c.Stands), slices.Clone(c.WaitsAt)
	defer func() { c.Stands, c.WaitsAt = kept, at }()
	fresh := slices.Clone(kept)
	c.Stands = fresh
	clear(c.WaitsAt)
	for id := range c.Steps { // what a step waits for comes before it
		if fresh[id] = e.JudgeStep(id); fresh[id] != kept[id] {
			return fmt.Errorf("step %s %s stands as %d, and judged anew as %d", c.Steps[id].Verb, c.Steps[id].Name, kept[id], fresh[id])
		}
		s := &c.Steps[id]
		if !s.Milestone && e.WaitsFor(id).Code == want.NothingElse && !c.Queued[id] {
			return fmt.Errorf("the turn of %s %s has come, and it is not queued", s.Verb, s.Name)
		}
	}
	return nil
}

// checkProofs holds what this event has put on record as proven against how it stands: the two must not ask different questions,
// or the step is made again at once, for ever.
func (e *Works) checkProofs() error {
	for at, out := range e.Out {
		done, is := out.(effect.Append)
		if !is || done.Record.Kind != ledger.Proven {
			continue
		}
		if err := e.checkProof(&done.Record, e.Out[at+1:]); err != nil {
			return err
		}
	}
	return nil
}

// checkProof holds one of them against what followed it in the same event.
func (e *Works) checkProof(r *ledger.Record, after []effect.Effect) error {
	i, _ := e.Graph.Index(r.Node)
	goal := plan.Down
	if r.Verb.BringsUp() {
		goal = plan.Up
	}
	id := e.Course.Find(i, *r.Verb, goal)
	later := slices.ContainsFunc(after, func(f effect.Effect) bool {
		then, is := f.(effect.Append)
		return is && (then.Record.Node == r.Node || then.Record.Kind == ledger.Mains)
	})
	if id < 0 || later || e.Course.Stands[id] == want.Proven || *r.Verb == plan.Flush && e.IsDone(id) {
		return nil
	}
	if goal == plan.Up && (e.GoesDown(i) || e.GoesWithItsHost(i) || e.IsBack(id)) {
		return nil
	}
	return fmt.Errorf("%s %s is on record as proven, and stands as %d", r.Verb, r.Node, e.Course.Stands[id])
}

// checkLiveness follows what each node waits for: to work under way, a supply, a person or a time, and never in a circle.
func (e *Works) checkLiveness() error {
	for id := range e.Course.Steps {
		s := &e.Course.Steps[id]
		if s.Milestone || e.Course.Stands[id] == want.Proven {
			continue
		}
		seen := map[int]bool{}
		for at := id; ; {
			why := e.WaitsFor(at)
			if why.Code != want.OthersFirst {
				if why.Code == want.UnderWay && !e.Ends(s.Node) {
					return fmt.Errorf("%s %s is %s, and nothing will end that", s.Verb, s.Name, e.Phase(s.Node))
				}
				break
			}
			if seen[at] = true; why.Node < 0 {
				return fmt.Errorf("%s %s waits for nothing", s.Verb, s.Name)
			}
			next := e.pendingStep(why.Node, s.Goal)
			if next < 0 || seen[next] {
				return fmt.Errorf("%s %s waits for %s, which does not know of it", s.Verb, s.Name, e.ID(why.Node))
			}
			at, s = next, &e.Course.Steps[next]
		}
	}
	return nil
}

// pendingStep gives the first step of a node on a way that has not ended, -1 if there is none.
func (e *Works) pendingStep(i int, goal plan.Goal) int {
	for _, id := range e.Course.Of[i] {
		if s := &e.Course.Steps[id]; s.Goal == goal && !s.Milestone && e.Course.Stands[id] == want.Pending {
			return id
		}
	}
	return -1
}
