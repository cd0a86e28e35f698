package work

import (
	"fmt"
	"slices"
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
	s := &e.Course.Steps[id]
	i := s.Node
	n, decl := &e.nodes[i], e.Graph.Node(i)
	w := &work{step: id, verb: s.Verb, rung: s.Verb, placed: true}
	n.work, e.Under[i] = w, id
	e.Working++
	if decl.Kind == plan.Person {
		w.phase, w.deadline = asking, e.Now.Add(decl.Time(s.Verb).Within)
		e.Record(ledger.Record{Kind: ledger.Asked, Step: ledger.Step{Node: s.Name, Verb: &w.verb}})
		e.askByHand(s, decl.Notes)
		e.arm(i)
		return
	}
	e.verify(i)
}

// askByHand tells people of a person's step. Of one that is only observed nobody may think that it is to be done.
func (e *Works) askByHand(s *want.Step, notes string) {
	if e.Observes {
		e.Notify(false, fmt.Sprintf("would ask for this by hand: %s %s (%s); nothing is to be done", s.Verb, s.Name, notes))
		return
	}
	e.Notify(true, fmt.Sprintf("please do by hand: %s %s (%s); confirm it with `ebbtide confirm %s`", s.Verb, s.Name, notes, s.Name))
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
	case w.rung == plan.Force && !e.isForced(i) && e.LowerRiskWaits(i, e.graceful): // it gets their time
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
	if why := e.refusal(i); why != "" {
		e.forbid(i, why)
		return
	}
	e.send(i)
}

// isUntimely says why a command is not given now, for its node's power; "": it is.
func (e *Works) isUntimely(i int) string {
	w := e.nodes[i].work
	switch {
	case w.rung.BringsUp() && (!e.Fed[i] || e.JournalLost):
		return e.WhyDown(i)
	case w.rung.TakesDown() && !e.wasSent(i) && w.force.cause != ledger.Hung && (!e.IsDark(i) || e.IsBackUnheard(i)):
		return "its power may be back"
	}
	return ""
}

// send gives the command of the present rung, its intent first.
func (e *Works) send(i int) {
	n, decl := &e.nodes[i], e.Graph.Node(i)
	w := n.work
	switch w.verb {
	case plan.Stop, plan.Cut:
		e.commit(i, w.rung)
	case plan.Protect:
		e.foundUnprotected(i)
	case plan.Unprotect:
		e.Beliefs[i].Undoing = e.Now.Add(decl.Time(plan.Unprotect).Within)
		if e.Holds(i, plan.Unprotect, 0) { // it may do it still, for as long as it may take
			w.from = e.Beliefs[i].Undoing
		}
	default:
	}
	var along []ledger.NodeState
	if k := e.Ledger.SupplyOf[i]; k >= 0 && w.rung == plan.Cut {
		s := &e.Supplies[k]
		along = e.unproven(i)
		e.Spent(s)
		s.Output.OffSeen, s.CutDue = false, time.Time{}
	}
	attempt := 1
	if last := e.Last(i); last.Open && last.Rung == w.rung {
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
	if !e.Record(ledger.Record{Kind: ledger.Intent, Step: ledger.Step{Op: w.op, Node: decl.ID, Verb: &verb, Attempt: attempt, State: e.Unanswered(i)}, Nodes: along, Reason: w.force.reason, Cause: w.force.cause}) {
		delete(e.ops, w.op)
		w.op = 0
		e.end(i)
		return
	}
	e.count(i, w.rung == plan.Stop)
	e.Beliefs[i].Commanded(verb, w.op, e.Now)
	e.Touch(i)
	if verb == plan.Start {
		e.Beliefs[i].Rising = e.Now.Add(belief.BootTime(decl))
		e.SettleIn(i)
		if decl.Kind == plan.Outlet { // what hangs on it may be on its way up before anybody sees that it is on
			for _, u := range e.Graph.Dependents(i) {
				e.renew(u)
			}
		}
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

// unsettled reports whether a node is still on its way the other way: nothing is started that stops, and nothing stopped
// that starts, until it has settled or its time to do so is over.
func (e *Works) unsettled(i int) bool {
	n := &e.nodes[i]
	switch n.work.rung {
	case plan.Start:
		return e.IsStopping(i) || e.IsLeaving(i) || !e.Looked(i) || e.Beliefs[i].Doubt != plan.Unknown
	case plan.Stop, plan.Force:
		return e.UnheardFor(i) >= 0 || e.MayBeBack(i) || belief.Probed(e.Graph.Node(i)) && (e.Rises(i) || !e.Looked(i) || e.MayHaveRisen(i) || e.IsUnfed(i) || e.Beliefs[i].Answer == plan.Off)
	default:
		return false
	}
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
	e.Notify(true, fmt.Sprintf("%s %s was held back: %s", verb, e.ID(i), why))
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

func (e *Works) commanded(i int, op ledger.Op, outcome ledger.Outcome, detail string) {
	w := e.nodes[i].work
	if outcome != ledger.Done || w.verb == plan.Stop && e.Graph.Node(i).OffAfter > 0 {
		verb := w.rung
		e.Record(ledger.Record{Kind: ledger.Accepted, Step: ledger.Step{Op: op, Node: e.ID(i), Verb: &verb, Attempt: e.Last(i).Attempt, Outcome: outcome}, Reason: detail})
	}
	w.answer = map[ledger.Outcome]ledger.Answer{ledger.Done: ledger.WasAccepted, ledger.TimedOut: ledger.NobodyKnows, ledger.Unreached: ledger.WasUnreached}[outcome]
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
		if w.verb == plan.Start { // it may have nothing to start on any more
			for _, d := range e.BroughtUp(i) {
				e.Probe(d)
			}
		}
		switch {
		case w.rung == plan.Stop && (e.Last(i).Taken || e.Last(i).Earlier == ledger.MayHaveReached): // it is at the first
			w.answer = ledger.WasAccepted
			e.enter(w, proving)
			e.look(i, FirstLook)
			return
		case e.mayMeanItNot(i):
			e.backOff(i, slowestRetry)
			return
		}
		e.escalate(i, ledger.Denied, "refused: "+detail)
	case ledger.Busy, ledger.Unreached:
		if outcome == ledger.Unreached {
			e.giveWay(i)
		}
		e.backOff(i, slowestRetry)
	}
}

// mayMeanItNot reports whether a stop or a cut that was refused is asked for once more, before anything worse is done: many refuse while they
// are at something else. There must be time for that.
func (e *Works) mayMeanItNot(i int) bool {
	w := e.nodes[i].work
	return (w.rung == plan.Stop || w.rung == plan.Cut) && e.tries(i) < 2 && e.Press[i] == want.NoPressure && e.wanted(i)
}

// setInMotion follows what the answer to a command means for the time in which its node may be on its way.
func (e *Works) setInMotion(i int, outcome ledger.Outcome) {
	b, rung := &e.Beliefs[i], e.nodes[i].work.rung
	if rung.TakesDown() && outcome == ledger.Done {
		b.Departure = belief.NotSeen
	}
	switch {
	case rung == plan.Start && outcome == ledger.Refused: // what refuses may do it all the same
		b.Rising, b.Boots = b.Boots, e.Now.Add(belief.BootTime(e.Graph.Node(i)))
	case rung == plan.Start && (outcome == ledger.Done || outcome == ledger.TimedOut): // from when it was taken
		b.Rising = e.Now.Add(belief.BootTime(e.Graph.Node(i)))
	case rung == plan.Start: // it was not told
		b.Rising = b.Boots
	case rung.TakesDown() && (outcome == ledger.Busy || outcome == ledger.Unreached):
		b.Falling = time.Time{}
	case rung.TakesDown() && outcome == ledger.TimedOut: // it may be on its way to it still
		b.Falling = e.Now.Add(2 * belief.ProofStands)
	case rung.TakesDown(): // from when it was taken; and one that refuses may do it all the same
		b.Falling = e.Now.Add(belief.ProofStands)
	}
}

// giveWay gives the place of a step back whose command did not reach its node, unless an earlier one may have: then the node
// may be at work. Where no limit applies nobody waits for it.
func (e *Works) giveWay(i int) {
	w := e.nodes[i].work
	if limit, _ := e.Graph.Lane(i); limit < 0 || e.Last(i).Earlier != ledger.NotReached || !w.placed {
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

// look asks after a node after a while, and not for ever.
func (e *Works) look(i int, after time.Duration) {
	w := e.nodes[i].work
	if w.deadline.IsZero() {
		w.deadline = e.Now.Add(max(e.Graph.Node(i).Time(w.rung).Within, FirstLook))
	}
	if after == 0 {
		w.next, w.pause = time.Time{}, max(w.pause, FirstLook)
		e.Probe(i)
	} else {
		w.pause, w.next = after, e.Now.Add(after)
	}
	e.arm(i)
}

// Judge compares what was seen with what the step under way is to bring about. While it verifies, it looks when all answers are in,
// and while its command is on its way the answer to that comes first.
func (e *Works) Judge(i int) {
	w, b := e.nodes[i].work, &e.Beliefs[i]
	switch {
	case w == nil, w.phase == verifying, w.phase == asking, w.phase == commanding && w.op != 0:
	case w.phase == commanding:
	case b.Seen.State == plan.Gone && w.verb != plan.Stop && w.phase == proving:
		e.gone(i)
	case w.verb == plan.Cut && w.resumed && b.Seen.State == plan.On:
		e.judgeCutBefore(i)
	case (w.verb == plan.Protect || w.verb == plan.Flush) && e.IsOff(i):
		e.HoldBack(i, "it is off")
	case e.Holds(i, w.verb, e.Last(i).Op) && e.settles(i):
		e.Prove(i, e.ProofOf(i), b.Seen.Detail)
	case w.phase == proving && e.Holds(i, w.verb, e.Last(i).Op): // it may show otherwise yet
		e.lookOn(i)
	case w.phase == proving:
		e.judgeProving(i)
	}
}

// judgeCutBefore follows a look that shows an output on whose cut is from before a crash.
func (e *Works) judgeCutBefore(i int) {
	n := &e.nodes[i]
	w := n.work
	if w.phase == waitingForSlot {
		return
	}
	if e.SettleCut(i); n.work == w && w.phase == proving {
		e.lookOn(i)
	}
}

// judgeProving follows a look that does not show the step done.
func (e *Works) judgeProving(i int) {
	w, b := e.nodes[i].work, &e.Beliefs[i]
	switch {
	case w.finalAsk && w.verb == plan.Stop && b.AskedAt.Equal(b.SeenAt):
		e.overdue(i) // on what it is now, and not on what it was a while ago
	case e.wasLost(i) && !w.resumed && e.Now.Sub(w.sent) < belief.FirstRetry: // its answer was lost at once
		e.backOff(i, slowestRetry)
	case e.wasLost(i):
		e.enter(w, verifying) // it is told now, within the same time
		e.verify(i)
	default:
		e.lookOn(i)
	}
}

// wasLost reports whether a look shows that a command of which nobody knew whether it was taken was not: a start from before a crash,
// of what is off still, a power-off of what goes on stopping, or anything else of what is on.
func (e *Works) wasLost(i int) bool {
	w, b := e.nodes[i].work, &e.Beliefs[i]
	stays := w.resumed && w.answer == ledger.NoAnswer && b.Looks >= belief.ProofLooks
	switch {
	case w.rung == plan.Start:
		return stays && b.Answer == plan.Off
	case w.rung == plan.Force && b.Answer == plan.Stopping:
		return stays
	}
	return b.Answer == plan.On && b.Look > e.Last(i).Op && e.Last(i).Open && w.answer != ledger.WasAccepted
}

// lookOn looks once more, each time after a little longer.
func (e *Works) lookOn(i int) {
	e.look(i, min(max(e.nodes[i].work.pause, FirstLook)*3/2, SlowestLook))
}

// settles reports whether a look that shows a step done ends it: where an Unprotect may come late, the protection must be our own, and
// what was so already when it was told so must have had time to show otherwise.
func (e *Works) settles(i int) bool {
	entry := e.Entry(i)
	w := e.nodes[i].work
	foreign := entry.Late && w.verb == plan.Protect && !entry.Last.Open
	return !foreign && !e.Beliefs[i].AskedAt.Before(w.from)
}

// gone follows a node that no longer exists, as it seems: that is nothing for anything but a stop. It may only not be to be seen for a
// moment, or by who asks.
func (e *Works) gone(i int) {
	if e.IsOff(i) {
		e.GiveUp(i, "", "it no longer exists, as far as can be seen")
		return
	}
	e.look(i, FirstLook)
}

// Prove ends a step: a look has shown it.
func (e *Works) Prove(i int, cause ledger.Cause, reason string) {
	n := &e.nodes[i]
	w := n.work
	verb, state := w.verb, e.Beliefs[i].Seen.State
	e.Record(ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: e.ID(i), Verb: &verb, Attempt: e.attempt(i), State: &state}, Reason: reason, Cause: cause})
	e.end(i)
}

// attempt is how often the present rung was commanded.
func (e *Works) attempt(i int) int {
	if last := e.Last(i); last.Open && last.Verb == e.nodes[i].work.verb {
		return last.Attempt
	}
	return 0
}

// tries is how many commands of the present rung count as tried: one of before a crash may have reached nobody.
func (e *Works) tries(i int) int {
	tries, w := e.attempt(i), e.nodes[i].work
	if w.resumed && w.answer == ledger.NoAnswer {
		tries--
	}
	return max(tries, 0)
}

// GiveUp ends a step without proof. It is never shown as success.
func (e *Works) GiveUp(i int, cause ledger.Cause, reason string) {
	n := &e.nodes[i]
	verb, state := n.work.verb, e.Beliefs[i].Seen.State
	if e.Beliefs[i].Answer != e.Beliefs[i].Seen.State {
		state = e.Beliefs[i].Answer
	}
	e.NextLook[i] = e.Now.Add(want.FailedLook)
	failed := ledger.Record{Kind: ledger.Failed, Step: ledger.Step{Node: e.ID(i), Verb: &verb, Attempt: e.attempt(i), State: &state}, Reason: reason, Cause: cause}
	if n.work.answer == ledger.WasAccepted {
		failed.Outcome = ledger.Done
	}
	e.Record(failed)
	e.Notify(true, fmt.Sprintf("could not prove %s %s: %s", verb, e.ID(i), reason))
	e.end(i)
}

// HoldBack ends a step for now: it waits anew for what comes before it. One that was commanded goes on record, since it may
// be on its way.
func (e *Works) HoldBack(i int, why string) {
	n := &e.nodes[i]
	w := n.work
	if w.force.cause == ledger.Hung { // it was to be powered off only to be started again, and that can't be
		e.GiveUp(i, ledger.Hung, why)
		return
	}
	if last := e.Last(i); last.Open && last.Verb == w.verb || e.Ledger.Outage.Drill.On() && e.Pause[i].IsZero() {
		verb, state := w.verb, e.Beliefs[i].Seen.State
		e.Record(ledger.Record{Kind: ledger.HeldBack, Step: ledger.Step{Node: e.ID(i), Verb: &verb, Attempt: e.attempt(i), State: &state}, Reason: why})
	}
	e.end(i)
	e.pauseFor(i, belief.FirstRetry)
}

// pauseFor keeps a node from its next step for a while.
func (e *Works) pauseFor(i int, d time.Duration) {
	e.Pause[i] = e.Now.Add(d)
	e.armIdle(i)
}

// armIdle sets the timers of a node on which no step is under way: the end of its pause, and of the times in which it may be going, or undone.
func (e *Works) armIdle(i int) {
	n := &e.nodes[i]
	n.timer++
	for _, at := range []time.Time{e.Pause[i], e.Beliefs[i].Falling, e.Beliefs[i].Undoing} {
		if at.After(e.Now) {
			e.timers.Push(timer{at: at, node: i, number: n.timer})
		}
	}
}

// end frees the node and lets the plan go on.
func (e *Works) end(i int) {
	n := &e.nodes[i]
	w := n.work
	e.enter(w, ended)
	if w.op != 0 {
		e.Out = append(e.Out, effect.Cancel{Op: w.op})
		delete(e.ops, w.op)
	}
	if w.placed {
		e.Course.Slots.Release(i)
	}
	e.count(i, false)
	e.dropGuard(i)
	n.work, e.Under[i] = nil, -1
	e.Working--
	e.armIdle(i)
	e.Touch(i)
}

// count keeps which VMs are being stopped without force: nothing of higher risk is forced meanwhile. What else is stopped is not powered off
// for want of time, so that to wait for it would win none, but for a host, which holds no data of its own.
func (e *Works) count(i int, graceful bool) {
	n, decl := &e.nodes[i], e.Graph.Node(i)
	if n.graceful == graceful {
		return
	}
	if graceful && (decl.Kind != plan.VM || !decl.Can.Has(plan.Force)) {
		return
	}
	n.graceful = graceful
	e.HurryDue = e.HurryDue || !graceful
	if graceful {
		e.graceful = append(e.graceful, i)
		return
	}
	at := slices.Index(e.graceful, i)
	e.graceful = slices.Delete(e.graceful, at, at+1)
}

// arm sets the node's timer to what comes first.
func (e *Works) arm(i int) {
	n := &e.nodes[i]
	n.timer++
	w := n.work
	at := e.deadline(i)
	if w.op != 0 {
		at = time.Time{} // the command's own end comes first
	}
	if !w.next.IsZero() && (at.IsZero() || w.next.Before(at)) {
		at = w.next
	}
	if !at.IsZero() {
		e.timers.Push(timer{at: at, node: i, number: n.timer})
	}
}

// deadline is when a rung's time is over: as it was set, or when a silence that began in time proves it, or a node's being gone.
func (e *Works) deadline(i int) time.Time {
	n, decl := &e.nodes[i], e.Graph.Node(i)
	w, b := n.work, &e.Beliefs[i]
	if w.verb == plan.Stop && decl.OffAfter > 0 && !b.Silent.IsZero() && !w.deadline.IsZero() && b.Silent.Before(w.deadline) && e.AcceptedStop(i) {
		if proves := b.Silent.Add(decl.OffAfter + SlowestLook); proves.After(w.deadline) {
			return proves
		}
	}
	if w.verb == plan.Stop && b.Seen.State == plan.Gone && !w.deadline.IsZero() && b.Since.Before(w.deadline) && !e.IsOff(i) {
		if proves := b.Since.Add(e.GoneStands(i) + SlowestLook); proves.After(w.deadline) {
			return proves
		}
	}
	return w.deadline
}

// tick serves a node's timer: a look, a try, or the end of the rung's time.
func (e *Works) tick(i int) {
	n := &e.nodes[i]
	w := n.work
	if at := e.deadline(i); !at.IsZero() && !e.Now.Before(at) && w.op == 0 {
		e.overdue(i)
		return
	}
	if w.next.IsZero() || e.Now.Before(w.next) {
		e.arm(i)
		return
	}
	w.next = time.Time{}
	switch w.phase {
	case proving:
		e.Probe(i)
		e.arm(i)
	case backingOff:
		if last := e.Last(i); w.rung != plan.Start && w.rung != plan.Cut && last.Open && last.Rung == w.rung {
			e.enter(w, proving) // what it is like now decides whether it is told again
			e.look(i, 0)
			return
		}
		e.enter(w, verifying)
		e.verify(i)
	case verifying:
		e.guardTimedOut(i)
	default:
		e.arm(i)
	}
}
