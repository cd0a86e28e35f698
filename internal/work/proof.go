package work

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
)

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
	if !w.isJudged() {
		return
	}
	holds := e.Holds(i, w.verb, e.Last(i).Op)
	switch {
	case b.Seen.State == plan.Gone && w.verb != plan.Stop && w.phase == proving:
		e.gone(i)
	case w.verb == plan.Cut && w.resumed && b.Seen.State == plan.On:
		e.judgeCutBefore(i)
	case (w.verb == plan.Protect || w.verb == plan.Flush) && e.StaysOff(i):
		e.HoldBack(i, "it is off")
	case holds && e.settles(i):
		e.Prove(i, e.ProofOf(i), b.Seen.Detail)
	case w.phase != proving:
	case holds: // it may show otherwise yet
		e.lookOn(i)
	default:
		e.judgeProving(i)
	}
}

// isJudged reports whether there is a step, and it is at a point at which what is seen of its node may end it.
func (w *work) isJudged() bool {
	return w != nil && (w.phase == proving || w.phase == backingOff || w.phase == waitingForSlot)
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
		return stays || w.answer == ledger.WasUnreached
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
	e.Record(ledger.Record{
		Kind: ledger.Proven, Step: ledger.Step{Node: e.ID(i), Verb: &verb, Attempt: e.attempt(i), State: &state},
		Reason: reason, Cause: cause,
	})
	e.end(i)
}

// attempt is how often the present rung was commanded. What was refused, and held back since, was tried all the same.
func (e *Works) attempt(i int) int {
	if last := e.Last(i); last.Verb == e.nodes[i].work.verb && (last.Open || e.Declined(i)) {
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
	failed := ledger.Record{
		Kind: ledger.Failed, Step: ledger.Step{Node: e.ID(i), Verb: &verb, Attempt: e.attempt(i), State: &state},
		Reason: reason, Cause: cause,
	}
	if n.work.answer == ledger.WasAccepted {
		failed.Outcome = ledger.Done
	}
	e.Record(failed)
	e.Notify(true, fmt.Sprintf("%s: %s %s: %s", e.ID(i), verb, e.Would("not proven", "would not have been proven"), reason))
	e.end(i)
}

// HoldBack ends a step for now: it waits anew for what comes before it. One that was commanded goes on record, since it may
// be on its way.
func (e *Works) HoldBack(i int, why string) {
	n := &e.nodes[i]
	w := n.work
	if w.force.cause == ledger.Hung && !e.usersSettle(i) { // it was to be powered off only to be started again, and that can't be
		e.GiveUp(i, ledger.Hung, why)
		return
	}
	if last := e.Last(i); last.Open && last.Verb == w.verb || e.Ledger.Outage.Drill.On() && e.Pause[i].IsZero() {
		verb, state := w.verb, e.Beliefs[i].Seen.State
		e.Record(ledger.Record{
			Kind: ledger.HeldBack, Step: ledger.Step{Node: e.ID(i), Verb: &verb, Attempt: e.attempt(i), State: &state},
			Reason: why,
		})
	}
	e.end(i)
	e.pauseFor(i, belief.FirstRetry)
}

// usersSettle reports whether anything that uses a node, and is not off, will show by itself whether it is: as guests do once their host is
// up.
func (e *Works) usersSettle(i int) bool {
	comes := func(host int) bool {
		start := e.Course.Find(host, plan.Start, plan.Up)
		return start >= 0 && e.Course.Stands[start] == want.Pending && !e.IsOn(host)
	}
	isToShow := func(u int) bool {
		host := e.HostOf(u)
		return !e.IsOff(u) && (host >= 0 && comes(host) || e.SettlesSoon(u) || e.FeedIsUnheard(u))
	}
	return slices.ContainsFunc(e.UsersOf(i), isToShow)
}

// pauseFor keeps a node from its next step for a while.
func (e *Works) pauseFor(i int, d time.Duration) {
	e.Pause[i] = e.Now.Add(d)
	e.armIdle(i)
}

// armIdle sets the timers of a node on which no step is under way: the end of its pause, and of the times in which it may be going, or
// undone.
func (e *Works) armIdle(i int) {
	n := &e.nodes[i]
	n.timer++
	for _, at := range []time.Time{e.Pause[i], e.Beliefs[i].Falling, e.Beliefs[i].Obeying, e.Beliefs[i].Undoing} {
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
	e.cancel(i)
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

// cancel waits no more for the answer to a node's command, if one is under way: whether it was taken nobody will know.
func (e *Works) cancel(i int) {
	w := e.nodes[i].work
	if w.op == 0 {
		return
	}
	e.Out = append(e.Out, effect.Cancel{Op: w.op})
	delete(e.ops, w.op)
	w.op = 0
	if (w.rung == plan.Stop || w.rung == plan.Force) && !e.IsOff(i) {
		e.mayGo(i)
	}
}

// count keeps which VMs are being stopped without force: nothing of higher risk is forced meanwhile. What else is stopped is not powered
// off for want of time, so that to wait for it would win none, but for a host, which holds no data of its own.
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
	if w.verb == plan.Stop && decl.OffAfter > 0 && !b.Silent.IsZero() && !w.deadline.IsZero() && b.Silent.Before(w.deadline) &&
		e.AcceptedStop(i) {
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
