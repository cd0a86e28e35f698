package work

import (
	"fmt"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/permit"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
)

// begin takes up a step whose turn has come. What can't be undone is verified first.
func (e *Works) begin(id int) {
	s, w := &e.Course.Steps[id], e.take(id)
	i := s.Node
	decl := e.Graph.Node(i)
	if decl.Kind == plan.Manual {
		w.phase, w.deadline = asking, e.Now.Add(decl.Time(s.Verb).Within)
		e.Record(ledger.Record{Kind: ledger.Asked, Step: ledger.Step{Node: s.Name, Verb: &w.verb}})
		e.askByHand(s, decl.Notes)
		e.arm(i)
		return
	}
	e.verify(i)
}

// take makes a step the one that is under way on its node.
func (e *Works) take(id int) *work {
	s := &e.Course.Steps[id]
	w := &work{step: id, verb: s.Verb, rung: s.Verb, placed: true}
	e.nodes[s.Node].work, e.Under[s.Node] = w, id
	e.Working++
	return w
}

// Given reports whether a command of the step under way has reached its node, or may have.
func (e *Works) Given(i int) bool {
	w, last := e.nodes[i].work, e.Last(i)
	return last.Open && last.Verb == w.verb && last.Reach() != ledger.NotReached
}

// wasSent reports whether a command of the step under way has left for its node. Whether one without an answer has, of before a
// crash, nobody knows: what speaks against it is asked anew.
func (e *Works) wasSent(i int) bool {
	return e.Given(i) && (!e.nodes[i].work.resumed || e.Last(i).Answer != ledger.NoAnswer)
}

// isForced reports whether a node has been told to power off already.
func (e *Works) isForced(i int) bool { return e.wasSent(i) && e.Last(i).Rung == plan.Force }

// command writes the intent down and gives the command of the present rung, if the permit allows it.
func (e *Works) command(i int) {
	n, decl := &e.nodes[i], e.Graph.Node(i)
	w := n.work
	if w.deadline.IsZero() {
		w.deadline = e.Now.Add(max(decl.Time(w.rung).Within, FirstLook))
	}
	switch {
	case w.rung == plan.Start && !decl.Can.Has(plan.Start): // comes up by itself with its power
		e.enter(w, proving)
		e.look(i, FirstLook)
		return
	case e.isUntimely(i) != "":
		e.HoldBack(i, e.isUntimely(i))
		return
	case e.unsettled(i):
		e.backOff(i, SlowestLook)
		e.Probe(i)
		return
	case w.rung == plan.Force && !e.isForced(i) && (e.Ledger.Outage.Orders.Hold || e.LowerRiskWaits(i, e.graceful)): // it gets their time
		w.deadline = time.Time{}
		e.backOff(i, slowestRetry)
		return
	case !w.placed:
		e.enter(w, waitingForSlot)
		w.next = time.Time{}
		e.Course.Queued[w.step] = true
		e.Enqueue(w.step)
		e.arm(i)
		return
	}
	if e.hasWaited(i) {
		e.verify(i)
		return
	}
	if why := e.refusal(i); why != "" {
		e.forbid(i, why)
		return
	}
	e.send(i)
}

// isUntimely says why a command is not given now, for its node's power or an operator's word; "": it is.
func (e *Works) isUntimely(i int) string {
	w := e.nodes[i].work
	switch {
	case w.rung.BringsUp() && (!e.Fed[i] || e.JournalLost):
		return e.WhyDown(i)
	case w.rung.TakesDown() && !e.wasSent(i) && w.force.cause != ledger.Hung && (!e.IsDark(i) || e.IsBackUnheard(i)):
		return "its power may be back"
	case w.rung != plan.Force && (!e.wasSent(i) || e.Last(i).Reach() <= ledger.InVain) && e.Ledger.Outage.Orders.Hold:
		return "the outage is on hold"
	}
	return ""
}

// send gives the command of the present rung, its intent first.
func (e *Works) send(i int) {
	w, decl := e.nodes[i].work, e.Graph.Node(i)
	e.prepare(i)
	var along []ledger.NodeState
	if k := e.Ledger.SupplyOf[i]; k >= 0 && w.rung == plan.Cut {
		s := &e.Supplies[k]
		along = e.unproven(i)
		if !e.Observes {
			e.Spent(s)
		}
		s.Output.OffSeen, s.CutDue = false, time.Time{}
	}
	attempt := 1
	if e.Last(i).Rung == w.rung {
		attempt = e.tries(i) + 1
	}
	if attempt == 1 { // before that it could not be told, or may not have been
		w.deadline = e.Now.Add(max(decl.Time(w.rung).Within, FirstLook))
	}
	if w.since.IsZero() {
		w.since = e.Now
	}
	w.op, w.answer, w.resumed, w.sent, w.untold = e.NewOp(i), ledger.NoAnswer, false, e.Now, false
	verb := w.rung
	if !e.Record(ledger.Record{Kind: ledger.Intent, Step: ledger.Step{
		Op: w.op, Node: decl.ID, Verb: &verb, Attempt: attempt,
		State: e.Unanswered(i),
	}, Nodes: along, Reason: w.force.reason, Cause: w.force.cause}) {
		delete(e.ops, w.op)
		w.op = 0
		e.end(i)
		return
	}
	if attempt == 1 && (verb == plan.Force || w.force.reason != "") {
		e.tellForced(i)
	}
	e.count(i, w.rung == plan.Stop)
	e.Beliefs[i].Commanded(decl, verb, w.op, e.Now)
	e.Touch(i)
	if verb == plan.Start {
		e.rises(i)
	}
	do := effect.Do{Op: w.op, Node: decl.ID, Verb: verb, Within: min(AcceptWithin, max(w.deadline.Sub(e.Now), time.Second))}
	if verb == plan.Unprotect {
		do.Settings = e.Entry(i).Snap.Set
	}
	e.Out = append(e.Out, do)
	e.enter(w, commanding)
	w.next = time.Time{}
	e.arm(i)
}

// prepare takes down, before a command leaves, what it puts an end to, or begins.
func (e *Works) prepare(i int) {
	w := e.nodes[i].work
	switch w.verb {
	case plan.Stop, plan.Cut:
		e.commit(i, w.rung)
	case plan.Protect:
		e.foundUnprotected(i)
	case plan.Unprotect:
		e.Beliefs[i].Undoing = e.Now.Add(e.Graph.Node(i).Time(plan.Unprotect).Within)
		if e.Holds(i, plan.Unprotect, 0) { // it may do it still, for as long as it may take
			w.from = e.Beliefs[i].Undoing
		}
	default:
	}
}

// rises follows a start that leaves: its node is on its way up from now on, as far as is known, and so may be what hangs on an outlet.
func (e *Works) rises(i int) {
	decl := e.Graph.Node(i)
	e.Beliefs[i].Rising = e.Now.Add(belief.BootTime(decl))
	e.SettleIn(i)
	if decl.Kind == plan.Outlet { // before anybody sees that it is on
		for _, u := range e.Graph.Dependents(i) {
			e.renew(u)
		}
	}
}

// unsettled reports whether a node is still on its way the other way: nothing is started that stops, and nothing stopped
// that starts, until it has settled or its time to do so is over.
func (e *Works) unsettled(i int) bool {
	w := e.nodes[i].work
	switch w.rung {
	case plan.Start:
		return e.IsStopping(i) || e.IsLeaving(i) || !e.Looked(i) || e.Beliefs[i].Doubt != plan.Unknown
	case plan.Stop, plan.Force:
		if w.force.cause == ledger.Hung && !e.wasSent(i) && e.ShowsUp(i) { // it hangs no more, if the next look says so, too
			return true
		}
		return e.UnheardFor(i) >= 0 || e.AwaitsReturn(i) || e.AwaitsHost(i) || belief.Probed(e.Graph.Node(i)) && e.mayNotBeOn(i)
	default:
		return false
	}
}

// AwaitsReturn reports whether a node is not stopped since the return of its power may be what has started it, and there is the time to
// find out.
func (e *Works) AwaitsReturn(i int) bool { return e.Press[i] < want.ReserveReached && e.MayBeBack(i) }

// mayNotBeOn reports whether what is sent to a node to take it down may not reach it as it is. What says now this and now that may be on
// when it says off.
func (e *Works) mayNotBeOn(i int) bool {
	rises := e.MayHaveRisen(i) && !e.isLastResort(i)
	if e.Rises(i) {
		rises = !e.leaving(i).CutsShort(&e.Estate)
	}
	wasAsked := e.mayCycleUnheard(i) && e.nodes[i].work.phase == verifying   // in each round of the guard that has just passed
	old := e.MayHaveCycled(i) && !wasAsked && e.IsOld(i, belief.ProofStands) // its answer may be of before that
	return rises || old || !e.Looked(i) || e.IsUnfed(i) || e.Beliefs[i].Answer == plan.Off && !e.Beliefs[i].Wavers
}

// isLastResort reports whether a VM is to be powered off with only the reserve left: what may be on its way up with its host, and does not
// answer, is told all the same. If it is not there, or comes up later, its host is powered off right after it.
func (e *Works) isLastResort(i int) bool {
	w := e.nodes[i].work
	return e.Graph.Node(i).Kind == plan.VM && w.rung == plan.Force && w.force.cause.IsHaste() && e.Press[i] >= want.ReserveReached
}

// refusal says why the command of the step under way must not leave; "" if it may.
func (e *Works) refusal(i int) string {
	if stray := e.nodes[i].work.stray; stray != "" {
		return stray
	}
	return permit.Refuses(&e.Estate, e.leaving(i))
}

// leaving is the command of the step under way, for the permit.
func (e *Works) leaving(i int) *permit.Command {
	w := e.nodes[i].work
	return &permit.Command{
		Node: i, Rung: w.rung, Cause: w.force.cause, Reason: w.force.reason, Proof: w.guard.proof, Graceful: e.graceful,
		Again: e.wasSent(i), Placed: w.placed, Unsafe: e.JournalLost,
	}
}

// forbid holds back a command that the permit refused: that is a fault of ours, and a person is told.
func (e *Works) forbid(i int, why string) {
	w := e.nodes[i].work
	verb := w.rung
	e.Record(ledger.Record{Kind: ledger.Forbidden, Step: ledger.Step{Node: e.ID(i), Verb: &verb}, Reason: why})
	e.Notify(true, fmt.Sprintf("%s: %s was held back: %s", e.ID(i), verb, why))
	e.HoldBack(i, why)
	e.pauseFor(i, slowestRetry)
}

// Commanded takes the answer to the command under way on a node, with why, for people; false: it is to another. Accepted or unknown: a look
// must show. Refused: the next rung. Not now: again, until the rung's time is over.
func (e *Works) Commanded(i int, op ledger.Op, outcome ledger.Outcome, detail string) bool {
	w := e.nodes[i].work
	if w == nil || w.op != op {
		return false
	}
	w.op = 0
	e.commanded(i, op, outcome, detail)
	return true
}

// countAnew counts the time of a command from when it was taken, and not from when it left; nor from when one left before it that came to
// nobody.
func (e *Works) countAnew(i int, outcome ledger.Outcome) {
	w, last := e.nodes[i].work, e.Last(i)
	w.sent = e.Now
	if w.rung == plan.Stop && outcome == ledger.Done && last.Attempt > 1 && last.Earlier == ledger.NotReached {
		w.deadline = e.Now.Add(max(e.Graph.Node(i).Time(plan.Stop).Within, FirstLook))
	}
}

func (e *Works) commanded(i int, op ledger.Op, outcome ledger.Outcome, detail string) {
	w := e.nodes[i].work
	// which its silence rests on
	if outcome != ledger.Done || e.Graph.Node(i).OffAfter > 0 && (w.verb == plan.Stop || w.verb == plan.Start) {
		verb := w.rung
		e.Record(ledger.Record{Kind: ledger.Accepted, Step: ledger.Step{
			Op: op, Node: e.ID(i), Verb: &verb, Attempt: e.Last(i).Attempt,
			Outcome: outcome,
		}, Reason: detail})
	}
	w.answer = map[ledger.Outcome]ledger.Answer{
		ledger.Done: ledger.WasAccepted, ledger.TimedOut: ledger.NobodyKnows,
		ledger.Unreached: ledger.WasUnreached,
	}[outcome]
	e.countAnew(i, outcome)
	e.setInMotion(i, outcome)
	switch outcome {
	case ledger.Done:
		if e.Holds(i, w.verb, e.Last(i).Op) { // a watch was faster than the answer
			e.Prove(i, e.ProofOf(i), e.Beliefs[i].Seen.Detail)
			return
		}
		e.enter(w, proving)
		e.look(i, FirstLook)
	case ledger.TimedOut:
		e.enter(w, proving)
		e.look(i, 0)
	case ledger.NoSuchThing:
		e.enter(w, proving)
		e.look(i, FirstLook)
	case ledger.Refused:
		e.takeRefusal(i, detail)
	case ledger.Busy, ledger.Unreached:
		if outcome == ledger.Unreached {
			e.releaseSlot(i, ledger.NotReached)
		}
		e.backOff(i, slowestRetry)
	}
}

// takeRefusal follows a command that was refused: it is at it already, or is asked once more, or the next rung is.
func (e *Works) takeRefusal(i int, detail string) {
	w, last := e.nodes[i].work, e.Last(i)
	if w.verb == plan.Start { // it may have nothing to start on any more
		for _, d := range e.BroughtUp(i) {
			e.Probe(d)
		}
	}
	switch {
	case w.rung == plan.Stop && (last.Taken || last.Earlier == ledger.MayHaveReached): // it is at the first
		w.answer = ledger.WasAccepted
		e.enter(w, proving)
		e.look(i, FirstLook)
	case e.mayMeanItNot(i):
		if w.verb == plan.Start { // others need not wait for what may refuse for good
			e.releaseSlot(i, ledger.InVain)
		}
		e.backOff(i, slowestRetry)
	default:
		e.escalate(i, ledger.Denied, "refused: "+detail)
	}
}

// mayMeanItNot reports whether a command that was refused is given once more, before anything worse is done: many refuse while they are at
// something else, or are not up yet. There must be time for that. What nothing else is left for is told until its time is over.
func (e *Works) mayMeanItNot(i int) bool {
	w, decl := e.nodes[i].work, e.Graph.Node(i)
	switch {
	case !e.wanted(i):
		return false
	case w.rung.BringsUp():
		return true
	case e.Press[i] != want.NoPressure:
		return false
	case w.rung == plan.Stop && !decl.Can.Has(plan.Force) && decl.Kind != plan.Outlet:
		return true
	}
	return (w.rung == plan.Stop || w.rung == plan.Cut) && e.tries(i) < 2
}

// releaseSlot gives the place of a step back whose command did not reach its node, or was refused, unless an earlier one went further than
// that: then the node may be at work. Where no limit applies nobody waits for it.
func (e *Works) releaseSlot(i int, earlier ledger.Reach) {
	w := e.nodes[i].work
	if limit, _ := e.Graph.Lane(i); limit < 0 || e.Last(i).Earlier > earlier || !w.placed {
		return
	}
	w.placed = false
	e.count(i, false)
	e.Course.Slots.Release(i)
}

// backOff waits for a while, each time longer, up to so long.
func (e *Works) backOff(i int, slowest time.Duration) {
	w := e.nodes[i].work
	e.enter(w, backingOff)
	w.pause = min(max(2*w.pause, belief.FirstRetry), slowest)
	w.next = e.Now.Add(w.pause)
	e.arm(i)
}
