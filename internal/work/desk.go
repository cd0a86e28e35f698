package work

import (
	"fmt"
	"slices"

	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
)

// NewOp numbers an operation on a node.
func (e *Works) NewOp(i int) ledger.Op {
	e.NextOp++
	e.ops[e.NextOp] = i
	return e.NextOp
}

// Record appends to the journal of the open outage, and changes the ledger by the same record. It reports whether the record
// stands: one that speaks of what the estate does not have is refused.
func (e *Works) Record(r ledger.Record) bool {
	if e.Ledger.Outage == nil && r.Kind != ledger.Opened {
		return false
	}
	if e.Ledger.Outage != nil && r.Kind != ledger.Opened {
		r.Seq, r.Outage = e.Ledger.Outage.Seq+1, e.Ledger.Outage.ID
	}
	r.At = e.Now
	if r.Kind == ledger.Turned { // also in an outage of format 0
		r.Format = ledger.FormatNow
	}
	if err := e.Ledger.Apply(&r); err != nil {
		e.refuse(&r, err)
		return false
	}
	switch r.Kind {
	case ledger.Intent, ledger.Proven, ledger.Failed, ledger.HeldBack:
		e.MovedAt = e.Now
	case ledger.Ordered: // what was held goes on
		if r.Reason == "" {
			e.MovedAt = e.Now
		}
	case ledger.Mains, ledger.NoReturn, ledger.Opened, ledger.Closed:
		e.Shifted = true
	default:
	}
	e.touchWhat(&r)
	e.Out = append(e.Out, effect.Append{Record: r})
	return true
}

// refuse follows a record of our own that can't be applied, which is a fault of ours: nothing changes by it, a person is told,
// and its node waits for a while.
func (e *Works) refuse(r *ledger.Record, err error) {
	if i, known := e.Graph.Index(r.Node); known {
		e.pauseFor(i, slowestRetry)
	}
	why := fmt.Sprintf("a record of kind %q was refused: %v", r.Kind, err)
	if why == e.refused {
		return
	}
	e.refused = why
	e.Record(ledger.Record{Kind: ledger.Forbidden, Reason: why})
	e.Notify(true, why+"; this is a bug in Ebbtide")
}

// touchWhat has judged anew what a record may have changed.
func (e *Works) touchWhat(r *ledger.Record) {
	if r.Kind == ledger.Intent || r.Kind == ledger.Reopened || r.Kind == ledger.Proven { // what comes up may write
		for _, c := range e.Ledger.Caches {
			e.Touch(c)
		}
	}
	i, known := e.Graph.Index(r.Node)
	switch r.Kind {
	case ledger.Gap, ledger.Still, ledger.Spent, ledger.Forbidden:
		if known {
			e.Touch(i)
		}
	case ledger.Seen:
		e.touchSeen(r)
	default:
		if !known || e.Ledger.SupplyOf[i] >= 0 || r.Kind == ledger.NoReturn {
			e.TouchAll()
			return
		}
		if e.Touch(i); r.Kind == ledger.Reopened || r.Kind == ledger.Intent && *r.Verb == plan.Start {
			e.touchLoad(i)
		}
	}
}

// touchSeen has judged anew what was seen to have come again.
func (e *Works) touchSeen(r *ledger.Record) {
	if r.Cause != ledger.CameAgain && r.Cause != ledger.Disproved {
		return
	}
	for k := range r.Nodes {
		if i, known := e.Graph.Index(r.Nodes[k].Node); known {
			e.Touch(i)
			e.touchLoad(i)
		}
	}
}

// touchLoad has what hangs on an outlet judged anew, where that comes on.
func (e *Works) touchLoad(outlet int) {
	if e.Graph.Node(outlet).Kind != plan.Outlet {
		return
	}
	for _, u := range e.Graph.Dependents(outlet) {
		e.Touch(u)
	}
}

// Notify tells people. Where nothing is commanded, nothing may read as if it had been.
func (e *Works) Notify(urgent bool, text string) {
	if e.Observes {
		text = effect.Observing + text
	}
	e.Out = append(e.Out, effect.Notify{Urgent: urgent, Text: text})
}

// Would gives what is done, or, where nothing is commanded, what would be.
func (e *Works) Would(is, would string) string {
	if e.Observes {
		return would
	}
	return is
}

// Dispatch begins the most urgent step that the limits allow, and reports whether there was one.
func (e *Works) Dispatch() bool {
	c := &e.Course
	id := c.Slots.Next()
	if id < 0 {
		return false
	}
	c.Queued[id] = false
	i := c.Steps[id].Node
	if w := e.nodes[i].work; w != nil && w.step == id && w.phase == waitingForSlot {
		w.placed = true
		e.verify(i)
		return true
	}
	if e.WaitsFor(id).Code != want.NothingElse {
		c.Slots.Release(i)
		return true
	}
	e.begin(id)
	return true
}

// IsAtWork reports whether a step that has come further than to ask whether it may begin is under way on a node.
func (e *Works) IsAtWork(i int) bool {
	w := e.nodes[i].work
	return w != nil && w.phase != verifying
}

// WorksUnder reports whether such a step, or one whose time runs, is under way on a supply that is to be cut, on one that it is cut
// together with, or on anything that they feed. A cut that only waits for others is none: they may wait for each other.
func (e *Works) WorksUnder(supply int) bool {
	works := func(i int) bool {
		w := e.nodes[i].work
		return w != nil && (e.IsAtWork(i) || !w.deadline.IsZero()) && e.PutOff(i).Code != want.CutTogether
	}
	return slices.ContainsFunc(e.CutAtOnce(supply), func(f int) bool {
		return works(f) || slices.ContainsFunc(e.Graph.Dependents(f), works)
	})
}

// Ends reports whether something will end the phase of the step under way on a node.
func (e *Works) Ends(i int) bool {
	n, w := &e.nodes[i], e.nodes[i].work
	return !w.deadline.IsZero() || !w.next.IsZero() || w.phase == waitingForSlot || w.op != 0 || w.guard.waits > 0 || n.question.op != 0
}

// askByHand tells people of a person's step. Of one that is only observed nobody may think that it is to be done.
func (e *Works) askByHand(s *want.Step, notes string) {
	if e.Observes {
		e.Notify(false, fmt.Sprintf("would ask for this to be %s by hand: %s (%s); nothing needs to be done", handed(s.Verb, "done", "undone"), s.Name, notes))
		return
	}
	e.Notify(true, fmt.Sprintf("please %s by hand: %s (%s); then run `ebbtide confirm %s`", handed(s.Verb, "do", "undo"), s.Name, notes, s.Name))
}

// handed words what a person does: what was done by hand on the way down is undone on the way up.
func handed(verb plan.Verb, does, undoes string) string {
	if verb == plan.Start {
		return undoes
	}
	return does
}

// tellForced tells people of what is powered off, stopped or cut without what is asked for otherwise.
func (e *Works) tellForced(i int) {
	w := e.nodes[i].work
	says, would := "powering off", "would power off"
	switch w.rung {
	case plan.Stop:
		says, would = "shutting down", "would shut down"
	case plan.Cut:
		says, would = "cutting the output of", "would cut the output of"
	default:
	}
	e.Notify(true, fmt.Sprintf("%s %s: %s", e.Would(says, would), e.ID(i), w.force.reason))
}
