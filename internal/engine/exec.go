package engine

import (
	"fmt"
	"time"

	"ebbtide/internal/plan"
)

// begin takes up a step on a node: what already holds is settled without a command, what can't be undone is guarded.
func (e *Engine) begin(s *plan.Step) {
	i := s.Node
	n, decl := &e.nodes[i], e.estate.Node(i)
	x := &exec{goal: e.run.goal, verb: s.Verb, rung: s.Verb}
	n.exec = x
	age := lookAge
	if s.Verb == plan.Stop && decl.ByPower {
		age = proofAge // it may have come up since, with its power
	}
	if e.holds(i, s.Verb) && e.now.Sub(n.seenAt) <= age {
		e.prove(i, Already, "it was so already")
		return
	}
	if decl.Kind == plan.Person {
		n.touched = true
		x.phase, x.deadline = asking, e.now.Add(decl.Time(s.Verb).Within)
		e.record(Record{Kind: Asked, Node: s.Name, Verb: &x.verb})
		e.notify(true, fmt.Sprintf("please do by hand: %s %s (%s); confirm it with `ebbtide confirm %s`", s.Verb, s.Name, decl.Notes, s.Name))
		e.arm(i)
		return
	}
	e.guard(i)
}

// holds tells whether the last look at a node shows what a verb is to bring about.
func (e *Engine) holds(i int, verb plan.Verb) bool {
	n := &e.nodes[i]
	switch verb {
	case plan.Protect:
		return n.seen.Protected == plan.Yes
	case plan.Unprotect:
		return n.seen.Protected == plan.No && n.setAsBefore()
	case plan.Flush:
		return n.seen.Clean == plan.Yes && n.seen.Protected != plan.No
	case plan.Stop, plan.Force:
		return n.down
	case plan.Cut:
		return n.down
	case plan.Start:
		return n.up
	default:
		return false
	}
}

// setAsBefore tells whether what Protect may have changed is set as the snapshot says, as far as both are known: a thing that
// was given back by half is not protected any more, and not back.
func (n *node) setAsBefore() bool {
	return !n.touched || n.settings == "" || n.seen.Settings == "" || n.seen.Settings == n.settings
}

// command writes the intent down and gives the command of the present rung.
func (e *Engine) command(i int) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	x := n.exec
	if x.deadline.IsZero() {
		x.deadline = e.now.Add(max(decl.Time(x.rung).Within, firstLook))
	}
	if x.rung == plan.Start && !decl.Can.Has(plan.Start) { // comes up by itself with its power
		x.phase, x.accepted = proving, true
		e.look(i, firstLook)
		return
	}
	if e.unsettled(i) {
		x.phase, x.pause = backingOff, max(x.pause, firstRetry)
		x.next = e.now.Add(x.pause)
		e.probeNode(i)
		e.arm(i)
		return
	}
	if x.away {
		e.lineUp(i)
		return
	}
	x.attempt++
	if !x.given {
		x.since = e.now
	}
	x.given, x.heard = true, x.given
	x.phase = commanding
	x.op = e.newOp(i)
	if x.verb == plan.Stop || x.verb == plan.Cut {
		n.touched, n.up = true, false
		e.passNoReturn(i, x.rung)
	}
	if x.verb == plan.Protect {
		n.touched = true
	}
	if s := e.supplyAt(i); s != nil && x.rung == plan.Cut {
		e.spent(s)
		s.offSeen = false
	}
	verb := x.rung
	e.record(Record{Kind: Intent, Op: x.op, Node: decl.ID, Verb: &verb, Attempt: x.attempt, State: e.unanswered(i), Reason: x.reason, Cause: x.cause})
	do := Do{Op: x.op, Node: decl.ID, Verb: x.rung, Within: min(acceptWithin, max(x.deadline.Sub(e.now), time.Second))}
	if x.rung == plan.Unprotect {
		do.Settings = n.settings
	}
	e.out = append(e.out, do)
	x.next = time.Time{}
	e.arm(i)
}

// unsettled tells whether a node is still on its way the other way: nothing is started that stops, and nothing stopped
// that starts, until it has settled or its time to do so is over.
func (e *Engine) unsettled(i int) bool {
	n := &e.nodes[i]
	switch n.exec.rung {
	case plan.Start:
		return n.seen.State == plan.Stopping
	case plan.Stop, plan.Force:
		return n.seen.State == plan.Starting && e.now.Before(n.exec.deadline)
	case plan.Protect, plan.Flush, plan.Cut, plan.Unprotect:
		return false
	default:
		return false
	}
}

// finished takes the answer to a Do or a Probe.
func (e *Engine) finished(ev Finished) {
	i, ok := e.ops[ev.Op]
	if !ok {
		return
	}
	delete(e.ops, ev.Op)
	if e.commandedDischarge(ev) {
		return
	}
	n := &e.nodes[i]
	if n.probe == ev.Op {
		n.probe = 0
		e.answered(i, ev)
		return
	}
	if n.exec != nil && n.exec.op == ev.Op {
		n.exec.op = 0
		e.commanded(i, ev)
	}
}

// commanded takes the answer to a command. Accepted or unknown: a probe must show. Refused: the next rung. Not now:
// again, until the rung's time is over.
func (e *Engine) commanded(i int, ev Finished) {
	n := &e.nodes[i]
	x := n.exec
	if ev.Outcome != Done || x.verb == plan.Stop && e.estate.Node(i).OffAfter > 0 {
		verb := x.rung
		e.record(Record{Kind: Accepted, Op: ev.Op, Node: e.id(i), Verb: &verb, Attempt: x.attempt, Outcome: ev.Outcome, Reason: ev.Detail})
	}
	switch ev.Outcome {
	case Done:
		x.accepted = true
		n.accepted = x.verb == plan.Stop
		if e.holds(i, x.verb) { // a watch was faster than the answer
			e.prove(i, n.proof(), n.seen.Detail)
			return
		}
		x.phase = proving
		e.look(i, firstLook)
	case TimedOut:
		x.phase = proving
		e.look(i, 0)
	case NoSuchThing:
		e.see(i, plan.Observation{State: plan.Gone, Detail: ev.Detail})
	case Refused:
		e.escalate(i, Denied, "refused: "+ev.Detail)
	case Busy, Unreached:
		if ev.Outcome == Unreached {
			e.giveWay(i)
		}
		x.phase = backingOff
		x.pause = min(max(2*x.pause, firstRetry), slowestRetry)
		x.next = e.now.Add(x.pause)
		e.arm(i)
	}
}

// look asks after a node after a while.
func (e *Engine) look(i int, after time.Duration) {
	x := e.nodes[i].exec
	if after == 0 {
		x.next = time.Time{}
		e.probeNode(i)
		x.pause = max(x.pause, firstLook)
	} else {
		x.pause, x.next = after, e.now.Add(after)
	}
	e.arm(i)
}

// judge compares what was seen with what the step under way is to bring about.
func (e *Engine) judge(i int, seen plan.Observation) {
	n := &e.nodes[i]
	x := n.exec
	if x.phase == guarding {
		return // guards are looked at when all their answers are in
	}
	switch {
	case e.holds(i, x.verb) && x.phase != asking:
		e.prove(i, n.proof(), n.seen.Detail)
	case seen.State == plan.Gone: // which proves a stop, above, and nothing else
		e.giveUp(i, "", "it no longer exists")
	case x.phase == proving && x.lastLook && x.verb == plan.Stop && n.seenAt.Equal(e.now):
		e.overdue(i) // on what it is now, and not on what it was a while ago
	case x.phase == proving:
		if !x.accepted && seen.State != plan.Unknown && seen.State != plan.Unreachable && seen.State != plan.Stopping && seen.State != plan.Starting {
			e.guard(i) // nobody knew whether it was done: it was not
			return
		}
		e.look(i, min(x.pause*3/2, slowestLook))
	}
}

// tick serves a node's timer: a look, a try, or the end of the rung's time.
func (e *Engine) tick(i int) {
	n := &e.nodes[i]
	x := n.exec
	if !x.deadline.IsZero() && !e.now.Before(x.deadline) && x.op == 0 {
		e.overdue(i)
		return
	}
	if !x.next.IsZero() && !e.now.Before(x.next) {
		x.next = time.Time{}
		switch x.phase {
		case proving:
			e.probeNode(i)
		case backingOff:
			if x.rung != plan.Start && x.rung != plan.Cut {
				x.phase, x.accepted = proving, false // what it is like now decides whether it is told again
				e.look(i, 0)
				return
			}
			e.guard(i)
			return
		case guarding:
			if x.waits == 0 {
				e.askUsers(i) // some of them did not answer
			} else {
				e.pass(i)
			}
			return
		case commanding, inLine, asking:
		}
	}
	e.arm(i)
}

// arm sets the node's timer to what comes first.
func (e *Engine) arm(i int) {
	n := &e.nodes[i]
	n.gen++
	x := n.exec
	at := x.deadline
	if x.op != 0 {
		at = time.Time{} // the command's own end comes first
	}
	if !x.next.IsZero() && (at.IsZero() || x.next.Before(at)) {
		at = x.next
	}
	if !at.IsZero() {
		e.timers.Push(timer{at: at, node: i, gen: n.gen})
	}
}

// prove ends a step: a probe has shown it.
func (e *Engine) prove(i int, cause Cause, reason string) {
	n := &e.nodes[i]
	x := n.exec
	n.did(x.verb)
	verb, state := x.verb, n.seen.State
	e.record(Record{Kind: Proven, Node: e.id(i), Verb: &verb, Attempt: x.attempt, State: &state, Reason: reason, Cause: cause})
	e.end(i, proven)
}

// did takes down that a verb is done in the present direction.
func (n *node) did(v plan.Verb) {
	n.done |= plan.VerbSet(v)
	n.bad &^= plan.VerbSet(v)
	n.stopped = n.stopped || v == plan.Stop
}

// giveUp ends a step without proof. It is never shown as success.
func (e *Engine) giveUp(i int, cause Cause, reason string) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	x := n.exec
	n.bad |= plan.VerbSet(x.verb)
	n.nextLook = e.now.Add(failedLook)
	verb, state := x.verb, n.seen.State
	e.record(Record{Kind: Failed, Node: decl.ID, Verb: &verb, Attempt: x.attempt, State: &state, Reason: reason, Cause: cause})
	e.notify(true, fmt.Sprintf("could not prove %s %s: %s", verb, decl.ID, reason))
	e.end(i, verdictOf(decl, verb))
}

// end frees the node and lets the plan go on.
func (e *Engine) end(i int, v verdict) {
	n, pr := &e.nodes[i], &e.run.progress
	x := n.exec
	n.exec = nil
	n.gen++
	pr.active--
	if !x.away {
		pr.disp.Release(i)
	}
	if x.goal == plan.Down && n.down {
		v = proven // whatever was asked of it, it is off
	}
	if x.op != 0 {
		e.out = append(e.out, Cancel{Op: x.op})
	}
	if x.goal != e.run.goal {
		e.rebuild() // the direction has turned meanwhile
		return
	}
	if x.verb == plan.Cut {
		e.run.dark = e.findDark()
		if n.down { // what went dark with it needs no step any more, proven off or not
			e.rebuild()
			return
		}
	}
	if step, ok := pr.plan.Find(i, x.verb); ok {
		e.settleStep(step, v, true)
	}
}
