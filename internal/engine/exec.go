package engine

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// begin takes up a step on a node: what already holds is settled without a command, what can't be undone is guarded.
func (e *Engine) begin(s *plan.Step) {
	i := s.Node
	n, decl := &e.nodes[i], e.estate.Node(i)
	x := &exec{goal: e.run.goal, verb: s.Verb, rung: s.Verb}
	n.exec = x
	if e.holds(i, s.Verb) && e.now.Sub(n.seenAt) <= lookAge {
		e.prove(i, "it was so already")
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
		return n.seen.Protected == plan.No
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
	x.attempt++
	x.given = true
	x.phase = commanding
	x.op = e.newOp(i)
	if x.verb == plan.Stop || x.verb == plan.Cut {
		n.touched, n.up = true, false
		e.passNoReturn(i, x.rung)
	}
	if x.verb == plan.Protect {
		n.touched = true
	}
	verb := x.rung
	e.record(Record{Kind: Intent, Op: x.op, Node: decl.ID, Verb: &verb, Attempt: x.attempt, Reason: x.reason})
	e.out = append(e.out, Do{Op: x.op, Node: decl.ID, Verb: x.rung, Within: min(acceptWithin, max(x.deadline.Sub(e.now), time.Second))})
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

// passNoReturn notes a command that only a power cycle takes back: from here on, what goes dark with the supplies that
// have to be cycled is finished before it is reversed.
func (e *Engine) passNoReturn(i int, verb plan.Verb) {
	decl := e.estate.Node(i)
	if verb != plan.Cut && decl.Kind != plan.Self && !decl.ByPower {
		return
	}
	committed := e.commit(i)
	if committed == nil {
		return
	}
	first := !e.run.noReturn
	e.run.noReturn = true
	e.record(Record{Kind: NoReturn, Supplies: committed, Node: decl.ID, Verb: &verb})
	e.redark()
	if first {
		e.notify(true, "point of no return: from here the plan is finished before anything comes back")
	}
}

// commit marks the failing supplies whose power cycle starts a node again, and lists them if any is new. What was cut
// before has to be cut again. One that is on line is not cut for a node that keeps its power from it.
func (e *Engine) commit(i int) []string {
	fresh := false
	var ids []string
	feeds := e.estate.Feeds(i)
	for k := range e.supplies {
		s := &e.supplies[k]
		if !s.out || s.node != i && !slices.Contains(feeds, s.node) && (len(feeds) > 0 || e.estate.Node(i).Kind == plan.Supply) {
			continue
		}
		fresh = fresh || !s.cycled
		ids = append(ids, e.id(s.node))
		e.cycle(s)
	}
	if !fresh {
		return nil
	}
	return ids
}

// cycle commits a supply to be cut, and to come back.
func (e *Engine) cycle(s *supply) {
	s.cycled = true
	e.nodes[s.node].done &^= plan.VerbSet(plan.Cut)
}

// finished takes the answer to a Do or a Probe.
func (e *Engine) finished(ev Finished) {
	i, ok := e.ops[ev.Op]
	if !ok {
		return
	}
	delete(e.ops, ev.Op)
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

// answered takes the answer of a probe.
func (e *Engine) answered(i int, ev Finished) {
	seen := ev.Seen
	switch ev.Outcome {
	case Done:
	case NoSuchThing:
		seen = plan.Observation{State: plan.Gone, Detail: ev.Detail}
	case Refused, Busy, TimedOut, Unreached: // no answer was had, which proves nothing
		seen = plan.Observation{State: plan.Unknown, Detail: ev.Detail}
	}
	if e.askAgain(i, seen.State) {
		return
	}
	e.see(i, seen)
	e.surveyedNode(i)
	waiting := e.nodes[i].guards
	e.nodes[i].guards = nil
	for _, g := range waiting {
		if x := e.nodes[g].exec; x != nil && x.phase == guarding {
			if x.waits--; x.waits == 0 {
				e.pass(g)
			}
		}
	}
}

// askAgain asks once more where an answer may be older than what a watch has told since the question, or says of a
// settled node that it is settled the other way, although nobody told it to: a system may answer wrongly once, so that
// such an answer is believed when the next one says the same.
func (e *Engine) askAgain(i int, state plan.State) bool {
	n := &e.nodes[i]
	older := n.told.After(n.asked)
	odd := (state == plan.On || state == plan.Off) && state != n.settled && n.exec == nil && state != n.doubt
	if n.doubt = plan.Unknown; odd {
		n.doubt = state
	}
	if older || odd {
		e.probeNode(i)
	}
	return older || odd
}

// see takes what a probe or a watch saw of a node: the only thing that proves anything.
func (e *Engine) see(i int, seen plan.Observation) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	if s := e.supplyAt(i); s != nil && n.down && n.exec == nil && seen.State == plan.On && s.state.OutputOff && s.state.SilentFor == 0 {
		return // its own readings still say that the output is off: it is asked again
	}
	answered := seen.State != plan.Unknown && seen.State != plan.Unreachable || decl.Kind == plan.Passive
	if answered {
		n.seen, n.seenAt = seen, e.now
	} else {
		n.seen.State, n.seen.Detail = seen.State, seen.Detail
		if n.down { // what was proven off and is not seen otherwise is still off
			n.seen.State = plan.Off
		}
	}
	wasDown := n.down
	n.note(seen.State)
	if e.run != nil && !e.run.scope[i] && (seen.State == plan.On || seen.State == plan.Off && !e.lostOutput(i)) {
		n.wasUp = seen.State == plan.On
	}
	if seen.State != plan.Unreachable {
		n.silent = time.Time{}
	}
	healthy := !decl.Healthy || seen.Healthy == plan.Yes
	switch seen.State {
	case plan.Off, plan.Gone:
		n.down, n.up = true, false
	case plan.On:
		n.down = false
		n.up = healthy
		e.cycledBack(i)
	case plan.Starting:
		n.down, n.up = false, false
	case plan.Stopping:
		n.up = false
		n.down = decl.Kind == plan.Supply // a cut that is armed is out of our hands
	case plan.Unknown, plan.Unreachable:
		if decl.Kind == plan.Passive && decl.Healthy {
			n.up = seen.Healthy == plan.Yes
		}
		e.hearSilence(i, seen.State)
	}
	if n.exec != nil {
		e.judge(i, seen)
		return
	}
	e.judgeIdle(i, wasDown)
}

// note keeps what a node was last seen to be.
func (n *node) note(state plan.State) {
	switch state {
	case plan.Off, plan.Gone:
		n.settled = plan.Off
		n.offs++
	case plan.On:
		n.settled, n.offs = plan.On, 0
	case plan.Starting, plan.Stopping:
		n.settled, n.offs = plan.Unknown, 0
	case plan.Unknown, plan.Unreachable:
	}
}

// cycledBack follows a supply whose output was cut and is on again: what its cycle had to start is started, so that
// nothing is committed to it any more, and neither its cut nor the stop of what came up with it holds: all that is
// looked at.
func (e *Engine) cycledBack(i int) {
	s, n := e.supplyAt(i), &e.nodes[i]
	if s == nil || !n.done.Has(plan.Cut) {
		return
	}
	s.cycled = false
	n.done &^= plan.VerbSet(plan.Cut) // should it have to go down once more, it is cut once more
	for _, u := range e.estate.Users(i) {
		if un := &e.nodes[u]; e.estate.Node(u).ByPower && (un.down || un.done.Has(plan.Stop)) && un.exec == nil && probed(e.estate.Node(u)) {
			un.down, un.settled, un.offs, un.seenAt = false, plan.Unknown, 0, time.Time{}
			un.seen.State = plan.Unknown
			un.done &^= plan.VerbSet(plan.Stop)
			e.probeNode(u)
		}
	}
	e.redark()
	if e.run.goal == plan.Down && e.run.surveys == 0 {
		e.rebuild()
	}
}

// hearSilence counts how long a node that took a stop has not answered: after its OffAfter that proves it off, where the
// runbook says so. A node that never took a stop proves nothing by its silence.
func (e *Engine) hearSilence(i int, state plan.State) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	if state != plan.Unreachable || n.down || !n.accepted || decl.OffAfter == 0 {
		return
	}
	if n.silent.IsZero() {
		n.silent = e.now
	}
	if e.now.Sub(n.silent) >= decl.OffAfter {
		n.down, n.up, n.seenAt, n.offs = true, false, e.now, proofLooks
		n.seen = plan.Observation{State: plan.Off, Detail: fmt.Sprintf("has not answered for %s since it took its stop", decl.OffAfter)}
	}
}

// judgeIdle follows a node on which nothing is under way: one that was given up and has settled after all, or one that
// was proven off and is on again.
func (e *Engine) judgeIdle(i int, wasDown bool) {
	n, r := &e.nodes[i], e.run
	if r == nil || !r.scope[i] || !r.snapped || r.surveys > 0 { // the end of a survey looks at all of them
		return
	}
	seenUp := n.seen.State == plan.On || n.seen.State == plan.Starting
	switch {
	case r.goal == plan.Down && n.bad.Has(plan.Stop) && n.down, r.goal == plan.Down && n.bad.Has(plan.Flush) && e.holds(i, plan.Flush),
		r.goal == plan.Up && n.bad.Has(plan.Start) && n.up:
		verb := plan.Stop
		if r.goal == plan.Up {
			verb = plan.Start
		} else if !n.bad.Has(plan.Stop) {
			verb = plan.Flush
		}
		n.bad &^= plan.VerbSet(verb)
		n.done |= plan.VerbSet(verb)
		state := n.seen.State
		e.record(Record{Kind: Proven, Node: e.id(i), Verb: &verb, State: &state, Reason: "settled after it had been given up"})
		e.rebuild()
	case r.goal == plan.Up && n.done.Has(plan.Start) && n.down:
		e.fellAgain(i)
		if r.surveys == 0 { // the end of a survey rebuilds by itself
			e.rebuild()
		}
	case r.goal == plan.Down && (wasDown && !n.down || seenUp && n.done.Has(plan.Stop)) && e.estate.Node(i).Kind != plan.Supply && !e.cutScope()[i]:
		e.reopen(i)
		e.rebuild()
	}
}

// reopen takes up again the stop of a node that was proven off and is not off any more.
func (e *Engine) reopen(i int) {
	n := &e.nodes[i]
	n.done &^= plan.VerbSet(plan.Stop)
	state := n.seen.State
	e.record(Record{Kind: Reopened, Node: e.id(i), State: &state, Reason: "was proven off and is not off any more"})
	e.notify(true, e.id(i)+" was off and is "+state.String()+" again: it is stopped once more")
}

// fellAgain follows a node that was brought up and is off again: it is brought up once more, as often as a start may be
// tried, and then reported.
func (e *Engine) fellAgain(i int) {
	n, verb, state := &e.nodes[i], plan.Start, e.nodes[i].seen.State
	n.done &^= plan.VerbSet(plan.Start)
	n.up = false
	if n.falls++; n.falls < max(e.estate.Node(i).Attempts, 2) && state != plan.Gone {
		e.record(Record{Kind: Reopened, Node: e.id(i), State: &state, Reason: "was brought up and is not up any more"})
		e.notify(true, e.id(i)+" was brought up and is "+state.String()+" again: it is started once more")
	} else {
		n.bad |= plan.VerbSet(plan.Start)
		n.nextLook = e.now.Add(failedLook)
		e.record(Record{Kind: Failed, Node: e.id(i), Verb: &verb, State: &state, Reason: "was brought up and is not up any more"})
		e.notify(true, "could not keep "+e.id(i)+" up: it is "+state.String()+" again")
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
			e.prove(i, n.seen.Detail)
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
		e.escalate(i, "refused: "+ev.Detail)
	case Busy, Unreached:
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
		e.prove(i, n.seen.Detail)
	case seen.State == plan.Gone: // which proves a stop, above, and nothing else
		e.giveUp(i, "it no longer exists")
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
			e.pass(i)
			return
		case commanding, asking:
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
func (e *Engine) prove(i int, reason string) {
	n := &e.nodes[i]
	x := n.exec
	n.done |= plan.VerbSet(x.verb)
	n.bad &^= plan.VerbSet(x.verb)
	verb, state := x.verb, n.seen.State
	e.record(Record{Kind: Proven, Node: e.id(i), Verb: &verb, Attempt: x.attempt, State: &state, Reason: reason})
	e.end(i, proven)
}

// giveUp ends a step without proof. It is never shown as success.
func (e *Engine) giveUp(i int, reason string) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	x := n.exec
	n.bad |= plan.VerbSet(x.verb)
	n.nextLook = e.now.Add(failedLook)
	verb, state := x.verb, n.seen.State
	e.record(Record{Kind: Failed, Node: decl.ID, Verb: &verb, Attempt: x.attempt, State: &state, Reason: reason})
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
	pr.disp.Release(i)
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
		e.run.dark = e.estate.Scope(e.darkNow)
		if n.down { // what went dark with it needs no step any more, proven off or not
			e.rebuild()
			return
		}
	}
	if step, ok := pr.plan.Find(i, x.verb); ok {
		e.settleStep(step, v, true)
	}
}
