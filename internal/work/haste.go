package work

import (
	"cmp"
	"slices"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
)

// powerInHaste powers a node off for want of time.
func (e *Works) powerInHaste(i int) {
	h := e.hasteOf(i)
	e.power(i, h.cause, h.reason)
}

// hasteOf says for what want of time a node is powered off, or its output cut with what is on.
func (e *Works) hasteOf(i int) force {
	why := e.Would(e.Press[i].String(), e.Press[i].WouldBe())
	if e.Press[i] == want.GoesDark {
		return force{ledger.Dropping, why}
	}
	return force{ledger.Pressed, why}
}

// mustHurry reports whether a node is powered off now instead of being asked: what begins when the battery is short already
// is not given the time that was taken from what was under way.
func (e *Works) mustHurry(i int) bool {
	decl := e.Graph.Node(i)
	short := decl.Kind == plan.VM && e.Press[i] >= want.ForceVMs || decl.Kind == plan.Host && e.Press[i] >= want.ReserveReached
	return short && decl.Can.Has(plan.Force) && e.GoesDown(i) && !e.LowerRiskWaits(i, e.graceful) && !e.isToBeAsked(i)
}

// isToBeAsked reports whether a node that holds what could not be flushed is told to stop, which may write that, while there is time for
// it.
func (e *Works) isToBeAsked(i int) bool { return len(e.leftDirty(i)) > 0 && !e.IsTooLate(i) }

// isInLastCall reports whether it is the last call for a node, or for anything that it stands on, whatever becomes of its own power.
func (e *Works) isInLastCall(i int) bool {
	return e.Press[i] == want.LastCall || slices.ContainsFunc(e.Graph.Needs(i), func(d int) bool {
		return e.Graph.Node(d).Kind != plan.Supply && e.isInLastCall(d)
	})
}

// isBeyondReach reports whether nothing that is sent to a node to stop it would reach it: it has not answered for a while, or is off by its
// BMC and may be on its way up, and is not going by a stop that it took. A guest that may be on its way up is told by its host when it is.
func (e *Works) isBeyondReach(i int) bool {
	if !e.isYetToStop(i) || !e.Looked(i) || e.IsLeavingStill(i) {
		return false
	}
	isMute, host := e.IsMuteForLong(i), e.HostOf(i)
	switch {
	case e.Graph.Node(i).Kind != plan.VM:
		return isMute || e.Beliefs[i].Answer == plan.Off && e.Rises(i)
	case host >= 0: // else its host may be told, or whoever manages that
		return isMute && (e.IsMute(host) || e.IsOff(host))
	}
	return isMute
}

// isPastHelp reports whether nothing is told to a node any more, as that would not reach it, or as it may be a plug and what stands on it
// was given up.
func (e *Works) isPastHelp(i int) bool {
	isOn := func(u int) bool { return e.Entry(u).GivenUp.Has(plan.Stop) && !e.IsOff(u) && !e.HasNoPower(u) }
	isPlug := e.Graph.Node(i).Switches && e.nodes[i].work == nil && e.isYetToStop(i)
	return e.isBeyondReach(i) || isPlug && slices.ContainsFunc(e.UsersOf(i), isOn)
}

// isInVain reports whether what is under way on a node is to be given up in the last call, as all that comes after it would be too late
// otherwise: a power-off that has had its time, and a flush when only the stops of what it keeps its data on can still be made.
func (e *Works) isInVain(i int) bool {
	w := e.nodes[i].work
	switch {
	case w == nil || w.phase == commanding:
		return false
	case w.verb == plan.Flush:
		keepsIt := func(d int) bool { return e.IsLastCall(d) && e.IsTooLate(d) }
		return keepsIt(i) || slices.ContainsFunc(e.Graph.Needs(i), keepsIt)
	}
	return e.isForced(i) && w.force.cause != ledger.Hung && !e.MayGoYet(i) && e.isInLastCall(i)
}

// isYetToStop reports whether the stop of a node that can be asked is due, and has come to no end.
func (e *Works) isYetToStop(i int) bool {
	decl := e.Graph.Node(i)
	stop := e.Course.Find(i, plan.Stop, plan.Down)
	if stop < 0 || decl.Kind == plan.Outlet || !belief.Probed(decl) || !e.GoesDown(i) || !e.IsDue(&e.Course.Steps[stop]) {
		return false
	}
	return !e.Entry(i).GivenUp.Has(plan.Stop) && !e.IsOff(i) && !e.HasNoPower(i)
}

// passBy gives up, in the last call, what can't be told anything more: since all that it needs would wait for it otherwise, until the
// battery is empty.
func (e *Works) passBy(i int) {
	n := &e.nodes[i]
	why := "it can't be reached, and the battery is nearly empty"
	switch w := n.work; {
	case w != nil && w.phase == commanding:
		return
	case w != nil && w.verb == plan.Flush && e.isInVain(i):
		why = "it is not clean yet, and the battery is nearly empty"
	case w != nil && w.verb != plan.Stop:
		e.HoldBack(i, why)
		return
	case w != nil && w.rung == plan.Force && e.isInVain(i):
		why = "it was powered off and does not show as off, and the battery is nearly empty"
	case w == nil && !e.isBeyondReach(i):
		why = "what depends on it was given up and is still on, and the battery is nearly empty"
		e.take(e.Course.Find(i, plan.Stop, plan.Down)).placed = false
	case w == nil:
		e.take(e.Course.Find(i, plan.Stop, plan.Down)).placed = false
	}
	e.GiveUp(i, ledger.Pressed, why)
}

// isAskedToStop reports whether a node is being stopped without force, beyond collecting evidence.
func (w *work) isAskedToStop() bool {
	return w.verb == plan.Stop && w.rung == plan.Stop && w.phase != verifying && w.phase != asking
}

// Hurry powers off what is being stopped and must not be waited for any longer, lowest data risk first.
func (e *Works) Hurry() {
	e.HurryDue = false
	if !e.Pressed {
		return
	}
	var late []int
	for i := range e.nodes {
		switch w := e.nodes[i].work; {
		case e.isInVain(i), e.isPastHelp(i) && e.isInLastCall(i):
			e.passBy(i)
		case w == nil || e.Press[i] == want.NoPressure:
		case w.phase == asking && e.Press[i] >= want.ReserveReached && e.wanted(i):
			e.GiveUp(i, ledger.Pressed, "not confirmed, and only the reserve is left: skipped")
		case w.isAskedToStop():
			late = append(late, i)
		}
	}
	slices.SortStableFunc(late, func(a, b int) int { return cmp.Compare(e.Graph.Node(a).Risk, e.Graph.Node(b).Risk) })
	for _, i := range late {
		if w := e.nodes[i].work; w != nil && e.wanted(i) && e.mustHurry(i) {
			e.powerInHaste(i)
		}
	}
}
