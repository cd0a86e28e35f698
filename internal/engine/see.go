package engine

import (
	"fmt"
	"time"

	"ebbtide/internal/plan"
)

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
	if e.run != nil && !e.run.scope[i] {
		n.wasUp = seen.State == plan.On || n.wasUp && (seen.State != plan.Off || e.lostOutput()[i])
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
	e.foundOn(i)
	if e.bare(i) {
		e.protectAgain(i)
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

// hearSilence counts how long a node that took a stop has not answered: after its OffAfter that proves it off, where the
// runbook says so, and goes on to prove it. A node that never took a stop proves nothing by its silence.
func (e *Engine) hearSilence(i int, state plan.State) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	if state != plan.Unreachable || !n.accepted || decl.OffAfter == 0 {
		return
	}
	if n.silent.IsZero() {
		n.silent = e.now
	}
	if e.now.Sub(n.silent) >= decl.OffAfter {
		n.down, n.up, n.seenAt, n.offs = true, false, e.now, proofLooks
		n.seen = plan.Observation{State: plan.Off, Detail: fmt.Sprintf("has not answered for %s since it took its stop", plan.Span(decl.OffAfter))}
	}
}

// proof tells what the last look at a node rests on.
func (n *node) proof() Cause {
	if n.down && !n.silent.IsZero() {
		return Silence
	}
	return ""
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
		n.did(verb)
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

// unanswered gives what the last look at a node made of it if it had no answer, nil otherwise.
func (e *Engine) unanswered(i int) *plan.State {
	state := e.nodes[i].seen.State
	if !probed(e.estate.Node(i)) || state != plan.Unknown && state != plan.Unreachable {
		return nil
	}
	return &state
}
