package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// overdue serves a rung whose time is over.
func (e *Engine) overdue(i int) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	x := n.exec
	within := decl.Time(x.rung).Within
	switch {
	case x.phase == asking:
		e.giveUp(i, "", "not confirmed within "+plan.Span(within)+": passed over")
	case x.verb == plan.Stop && n.accepted && !n.silent.IsZero() && e.now.Before(n.silent.Add(decl.OffAfter+slowestLook)):
		x.deadline = n.silent.Add(decl.OffAfter + slowestLook) // it is about to be proven by its silence
		e.look(i, firstLook)
	case x.goal != e.run.goal:
		e.giveUp(i, Overtime, "not settled within "+plan.Span(within)+" when the direction turned")
	case x.verb == plan.Start && e.unsettled(i):
		e.giveUp(i, "", "it is still on its way down after "+plan.Span(within))
	case x.verb == plan.Start && x.attempt < decl.Attempts && decl.Can.Has(plan.Start) && !e.run.hold && e.fed(i):
		x.deadline, x.accepted = time.Time{}, false
		e.guard(i)
	case x.verb == plan.Unprotect && x.attempt < decl.Attempts && n.seen.Protected == plan.No && !e.run.hold && e.fed(i):
		x.deadline, x.accepted = time.Time{}, false // it is back by half
		e.guard(i)
	case x.rung == plan.Force && x.attempt < decl.Forces && !e.run.hold:
		x.deadline, x.accepted = time.Time{}, false // by its BMC now
		e.guard(i)
	case x.verb == plan.Cut:
		x.deadline, x.accepted = time.Time{}, false // there is no other way out: again
		e.notify(true, fmt.Sprintf("the output of %s is not cut after %s: trying again", decl.ID, plan.Span(within)))
		if x.reason != "" { // by the battery's end, whatever is on
			e.command(i)
			return
		}
		e.guard(i)
	case e.now.Sub(n.seenAt) > proofAge && !x.lastLook: // a last look: it may have settled, or be on its way up
		x.lastLook, x.deadline = true, e.now.Add(firstRetry)
		e.look(i, 0)
	default:
		e.escalate(i, Overtime, "not proven within "+plan.Span(within))
	}
}

// escalate goes to the next rung of the ladder, or gives the step up where there is none.
func (e *Engine) escalate(i int, cause Cause, why string) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	x := n.exec
	if x.verb != plan.Stop || x.rung == plan.Force || !decl.Can.Has(plan.Force) || x.goal != e.run.goal {
		e.giveUp(i, cause, why)
		return
	}
	if e.spared(i) {
		e.holdBack(i, why+"; its power is back, so it is not forced")
		return
	}
	x.lastLook = false
	if e.run.hold {
		x.phase, x.next, x.deadline = backingOff, e.now.Add(slowestLook), e.now.Add(slowestLook)
		e.probeNode(i)
		e.arm(i)
		return
	}
	if e.run.pressure == noPressure && e.lowerRiskWaits(i) {
		// Nothing of lower risk may still be waited for when this is forced: it gets their time.
		x.deadline = e.now.Add(slowestLook)
		x.phase = proving
		e.look(i, slowestLook)
		return
	}
	e.force(i, cause, why)
}

// spared tells whether a node keeps its power after all, so that no further command of a down plan is given to it.
func (e *Engine) spared(i int) bool { return !e.run.dark[i] }

// lowerRiskWaits tells whether a node of lower data risk is still being stopped gracefully.
func (e *Engine) lowerRiskWaits(i int) bool {
	risk := e.estate.Node(i).Risk
	return slices.ContainsFunc(e.inFlight(plan.Stop), func(j int) bool { return e.estate.Node(j).Risk < risk })
}

// inFlight lists the nodes whose step is at a rung, lowest data risk first.
func (e *Engine) inFlight(rung plan.Verb) []int {
	var nodes []int
	for i := range e.nodes {
		if x := e.nodes[i].exec; x != nil && x.goal == e.run.goal && x.rung == rung && x.phase != asking {
			nodes = append(nodes, i)
		}
	}
	slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(e.estate.Node(a).Risk, e.estate.Node(b).Risk) })
	return nodes
}

// force goes to the forced rung, with the reason on record.
func (e *Engine) force(i int, cause Cause, why string) {
	x := e.nodes[i].exec
	if x.op != 0 {
		e.out = append(e.out, Cancel{Op: x.op})
		delete(e.ops, x.op)
	}
	*x = exec{goal: x.goal, verb: x.verb, rung: plan.Force, cause: cause, reason: why, given: x.given, heard: x.heard, away: x.away, since: e.now}
	e.notify(true, fmt.Sprintf("powering off %s: %s", e.id(i), why))
	if e.estate.Node(i).Kind == plan.VM {
		e.command(i)
		return
	}
	x.deadline = e.now.Add(max(e.estate.Node(i).Time(plan.Force).Within, firstLook))
	e.guard(i) // what uses it may have come up since it was told to stop
}

// press shortens waits as the pressure asks. It never reorders: what is forced was being stopped already, and steps
// after it still wait for its proof; only flushes, which harm nothing, come before their time.
func (e *Engine) press() {
	r := e.run
	why := r.pressure.String()
	for _, i := range e.inFlight(plan.Stop) {
		x := e.nodes[i].exec
		if x == nil {
			continue // ended by what was forced before it
		}
		if x.phase != guarding && e.pressed(i) {
			e.force(i, Pressed, why)
		}
	}
	if r.pressure >= reserveReached {
		for s := range r.progress.plan.Steps {
			step, st := &r.progress.plan.Steps[s], r.progress.status[s]
			if step.Verb == plan.Flush && !step.Milestone && (st == waiting || st == blocked) && r.due(step.Node, step.Stage) {
				r.progress.left[s], r.progress.worst[s] = 0, proven
				e.offer(s)
			}
		}
	}
	if r.pressure >= cutNow {
		e.cutWithWhatIsOn(why)
	}
	e.unpark()
}

// pressed tells whether a node is powered off now instead of being asked: what begins when the battery is short already is
// not given the time that was taken from what was under way.
func (e *Engine) pressed(i int) bool {
	decl := e.estate.Node(i)
	short := decl.Kind == plan.VM && e.run.pressure >= forceVMs || decl.Kind == plan.Host && e.run.pressure >= reserveReached
	return short && decl.Can.Has(plan.Force) && !e.spared(i)
}

// cutWithWhatIsOn cuts the outputs although not everything behind them is proven off: the battery is about to do the
// same, without the return that a commanded cut gives.
func (e *Engine) cutWithWhatIsOn(why string) {
	r := e.run
	for k := range e.supplies {
		s := &e.supplies[k]
		n := &e.nodes[s.node]
		step, ok := r.progress.plan.Find(s.node, plan.Cut)
		if !ok || !s.out || n.down || n.exec != nil || !e.darkens(s.node) || r.progress.plan.Steps[step].Milestone || !r.due(s.node, "shutdown") {
			continue
		}
		if st := r.progress.status[step]; st == settled || st == active {
			continue
		}
		r.progress.status[step] = active
		r.progress.active++
		r.progress.disp.Take(s.node)
		n.exec = &exec{goal: plan.Down, verb: plan.Cut, rung: plan.Cut, cause: Pressed, reason: why}
		if on := e.listOn(s.node); on != "" {
			n.exec.reason += "; not proven off: " + on
		}
		e.command(s.node)
	}
}
