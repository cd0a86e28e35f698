package work

import (
	"fmt"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// wanted reports whether the step under way on a node is still one that its goal asks for.
func (e *Works) wanted(i int) bool {
	w := e.nodes[i].work
	s := &e.Course.Steps[w.step]
	switch {
	case s.Goal == plan.Up:
		return !e.GoesDown(i)
	case w.force.cause == ledger.Hung && e.ComesUp(i):
		b := &e.Beliefs[i]
		return b.Seen.State != plan.On || b.Looks < belief.ProofLooks // what came back does not hang any more
	}
	return e.GoesDown(i) && !e.isCalledOff() && e.IsDue(s) && (w.verb != plan.Cut || !e.comesTooLate(i))
}

// isCalledOff reports whether a drill goes no further down: an operator has said so, or it can't.
func (e *Works) isCalledOff() bool {
	o := e.Ledger.Outage
	return o.Orders.Abort || o.Drill.Phase == ledger.DrillDown && e.DrillEnds != ""
}

// steer follows a change of what a node is to come to while a step is under way on it. What takes it down settles first, if it has reached
// it. All else is given up at once: on its way up a node may be for as long as it boots, whatever is waited for, and what is up by then is
// told to stop.
func (e *Works) steer(i int) {
	w := e.nodes[i].work
	if e.wanted(i) || w.phase == commanding || e.Given(i) && e.Course.Steps[w.step].Goal == plan.Down {
		return
	}
	e.unwanted(i)
}

// unwanted ends, for now, a step that its node's goal does not ask for any more.
func (e *Works) unwanted(i int) {
	if e.Course.Steps[e.nodes[i].work.step].Goal == plan.Up {
		e.startLapses(i)
		e.HoldBack(i, "it is losing its power")
		return
	}
	if e.Given(i) {
		e.HoldBack(i, "its power is back")
		return
	}
	e.HoldBack(i, "its power came back before it accepted the command")
}

// startLapses takes that nobody waits for a start any more. Who runs a VM shows soon whether it was started; a machine shows nothing before
// it has booted.
func (e *Works) startLapses(i int) {
	b, soon := &e.Beliefs[i], e.Now.Add(shownWithin)
	if e.Given(i) && e.Graph.Node(i).Kind == plan.VM && b.Answer != plan.Starting && soon.Before(b.Rising) {
		b.Rising = soon
	}
}

// overdue serves a rung whose time is over.
func (e *Works) overdue(i int) {
	w := e.nodes[i].work
	switch {
	case w.phase == asking:
		e.GiveUp(i, "", "not confirmed within "+e.within(i)+": skipped")
	case !e.wanted(i):
		if !e.finalLook(i) {
			e.overdueUnwanted(i)
		}
	case w.rung.TakesDown() && e.isStillToBeTold(i), w.verb == plan.Start && e.isStillToCome(i):
	case w.verb == plan.Protect && e.Rises(i) && e.ShowsUp(i) && e.Press[i] == want.NoPressure: // it can be told when it is up
		e.wait(i)
	case w.verb == plan.Unprotect && e.Given(i) && e.Holds(i, w.verb, e.Last(i).Op): // it was so all the while
		if !e.finalLook(i) {
			e.Prove(i, "", e.Beliefs[i].Seen.Detail)
		}
	default:
		e.goOn(i)
	}
}

// within is how long the present rung may take, in words.
func (e *Works) within(i int) string {
	return english.Span(e.Graph.Node(i).Time(e.nodes[i].work.rung).Within)
}

// goOn goes on with a step that is wanted and whose rung's time is over: once more, or to the next rung.
func (e *Works) goOn(i int) {
	switch w := e.nodes[i].work; {
	case w.verb == plan.Start && e.finalLook(i): // before it is told again: the answer may have been lost
	case w.verb == plan.Stop && e.Press[i] == want.NoPressure && e.AwaitsWord(i): // nothing that is sent to it would reach it
		e.HoldBack(i, "it accepted its stop; whether it is off will show as soon as the UPS that feeds its network path answers again")
	case e.Ledger.Outage.Orders.Hold: // whatever comes next is new, and what has settled meanwhile shows
		e.wait(i)
	case e.mayTryAgain(i):
		e.again(i)
	case w.verb == plan.Cut && (!e.isToldForLong(i) || e.Supplies[e.Ledger.SupplyOf[i]].State.Mains != power.MainsOnline):
		if still := e.Would("is still", "would still be"); !e.isToldForLong(i) {
			e.Notify(true, fmt.Sprintf("the output of %s %s not off after %s: trying again", e.ID(i), still, e.within(i)))
		}
		e.again(i)
	case e.finalLook(i):
	default:
		e.escalate(i, ledger.Overtime, "not proven within "+e.within(i))
	}
}

// isToldForLong reports whether a cut has been told for many times as long as it may take. With the mains there it is given up then: what
// waits for it would wait for ever.
func (e *Works) isToldForLong(supply int) bool {
	return e.Now.Sub(e.nodes[supply].work.since) >= cutFor*e.Graph.Node(supply).Time(plan.Cut).Within
}

// isStillToBeTold goes on with a stop whose time is over and that its node could not be told, if it can be, and reports whether it does.
func (e *Works) isStillToBeTold(i int) bool {
	switch {
	case !e.wasSent(i) && e.SettlesSoon(i): // it can be then
		e.wait(i)
	case e.tries(i) == 0 && e.ShowsUp(i) && !e.unsettled(i): // it can be now
		e.again(i)
	case e.isBackUntold(i) && !e.unsettled(i):
		e.askFirst(i)
		e.again(i)
	default:
		return false
	}
	return true
}

// isBackUntold reports whether what is to be powered off is asked to go instead: there is time, and it was never told.
func (e *Works) isBackUntold(i int) bool {
	w := e.nodes[i].work
	mayAsk := (w.rung == plan.Stop || w.force.cause == ledger.Overtime) && w.asked < 2 // what takes none, though it answers, is powered off
	return mayAsk && e.Press[i] < want.ReserveReached && e.IsBackUntold(i)
}

// askFirst goes back to the stop of what was to be powered off.
func (e *Works) askFirst(i int) {
	e.nodes[i].work.beStop()
	e.nodes[i].work.asked++
}

// isStillToCome goes on with a start whose time is over, where its node is on its way, and reports whether it does.
func (e *Works) isStillToCome(i int) bool {
	switch {
	case e.IsStopping(i):
		e.overdueStopping(i)
	case e.Rises(i) && e.ShowsUp(i): // what time it lost before it took its command it gets
		e.wait(i)
	default:
		return false
	}
	return true
}

// mayTryAgain reports whether the present rung has a try left.
func (e *Works) mayTryAgain(i int) bool {
	w, decl, tries := e.nodes[i].work, e.Graph.Node(i), e.tries(i)
	switch {
	case w.verb == plan.Start:
		return tries < decl.Attempts && decl.Can.Has(plan.Start)
	case w.verb == plan.Unprotect:
		return tries < decl.Attempts && e.Beliefs[i].Seen.Protected != plan.NotKnown
	case w.rung == plan.Stop && !decl.Can.Has(plan.Force) &&
		decl.Kind != plan.Outlet: // nothing else is left; an outlet drops with its supply
		return tries == 1 && !w.untold && e.Beliefs[i].Answer == plan.On && e.Press[i] == want.NoPressure
	default:
		return w.rung == plan.Force && tries < decl.Forces && !w.untold // in all the time of a try
	}
}

// finalLook looks at a node once more whose time is over, and reports whether it does: it may have settled, or be on its way up.
func (e *Works) finalLook(i int) bool {
	w := e.nodes[i].work
	if w.finalAsk || !e.IsOld(i, belief.ProofAge) || !belief.Probed(e.Graph.Node(i)) {
		return false
	}
	w.finalAsk, w.deadline = true, e.Now.Add(belief.FirstRetry)
	e.enter(w, proving)
	e.look(i, 0)
	return true
}

// again tries a rung once more, with a time of its own.
func (e *Works) again(i int) {
	w := e.nodes[i].work
	w.deadline, w.finalAsk, w.untold = time.Time{}, false, true
	e.MovedAt = e.Now
	if w.phase == waitingForSlot {
		e.Course.Queued[w.step] = false
	}
	e.verify(i)
}

// overdueUnwanted ends a step that its node's goal does not ask for any more, and that has not settled in its time. A node
// that hangs on its way down is powered off: it can't be started before it is off.
func (e *Works) overdueUnwanted(i int) {
	w, decl := e.nodes[i].work, e.Graph.Node(i)
	if e.Hangs(i) && w.rung == plan.Stop && decl.Can.Has(plan.Force) {
		goesStill := e.Now.Before(w.sent.Add(decl.Time(plan.Stop).Within)) // one that refused it may do it all the same, and take its time
		if e.Ledger.Outage.Orders.Hold || e.LowerRiskWaits(i, e.graceful) || goesStill {
			e.wait(i)
			return
		}
		e.power(i, ledger.Hung, "it hangs while shutting down, its power is back, and it can't be started until it is off")
		return
	}
	e.unwanted(i)
}

// overdueStopping serves a start whose node is still on its way down: it is powered off if that is our doing.
func (e *Works) overdueStopping(i int) {
	decl := e.Graph.Node(i)
	if !e.Hangs(i) || !decl.Can.Has(plan.Force) || e.Given(i) {
		why := "it is still shutting down after " + english.Span(decl.Time(plan.Start).Within)
		if seen := e.Beliefs[i].Seen.Detail; seen != "" { // as where its BMC reports it on, and nothing else answers
			why += ": " + seen
		}
		e.GiveUp(i, "", why)
		return
	}
	w := e.nodes[i].work
	if e.Ledger.Outage.Orders.Hold || e.LowerRiskWaits(i, e.graceful) {
		e.wait(i)
		return
	}
	stop := e.Course.Find(i, plan.Stop, plan.Down)
	e.dropGuard(i)
	*w = work{step: stop, verb: plan.Stop, rung: plan.Stop, phase: verifying, placed: w.placed}
	e.Under[i] = stop
	e.power(i, ledger.Hung, "it hangs while shutting down, its power is back, and it can't be started until it is off")
}

// escalate goes to the next rung of the ladder, or gives the step up where there is none.
func (e *Works) escalate(i int, cause ledger.Cause, why string) {
	decl := e.Graph.Node(i)
	w := e.nodes[i].work
	switch {
	case !e.wanted(i):
		e.overdueUnwanted(i)
	case w.verb != plan.Stop || w.rung == plan.Force || !decl.Can.Has(plan.Force):
		e.GiveUp(i, cause, why)
	case e.Ledger.Outage.Orders.Hold, e.LowerRiskWaits(i, e.graceful):
		// Nothing of lower risk may still be waited for when this is forced: it gets their time.
		e.wait(i)
	default:
		e.power(i, cause, why)
	}
}

// wait gives a rung whose time is over a little more of it, and asks after its node: it may have settled.
func (e *Works) wait(i int) {
	w := e.nodes[i].work
	e.Probe(i)
	w.finalAsk, w.next = false, time.Time{}
	w.deadline = e.Now.Add(SlowestLook)
	e.enter(w, backingOff)
	e.arm(i)
}

// power goes to the forced rung, with the reason on record.
func (e *Works) power(i int, cause ledger.Cause, why string) {
	w := e.nodes[i].work
	e.cancel(i)
	if w.phase == waitingForSlot {
		e.Course.Queued[w.step] = false
	}
	e.enter(w, verifying)
	e.dropGuard(i)
	*w = work{
		step: w.step, verb: w.verb, rung: plan.Force, phase: verifying, answer: w.answer, placed: w.placed, resumed: w.resumed,
		pace: pace{since: w.since}, force: force{cause, why}, asked: w.asked,
	}
	w.deadline = e.Now.Add(max(e.Graph.Node(i).Time(plan.Force).Within, FirstLook))
	e.ask(i) // what uses it may have come up since it was told to stop
}
