package work

import (
	"slices"
	"strings"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/permit"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
)

// pass gives the command if the evidence is there, asks on, or puts the step back to wait.
func (e *Works) pass(i int) {
	w := e.nodes[i].work
	switch {
	case !e.wanted(i):
		e.unwanted(i)
	case w.verb.BringsUp() && (!e.Fed[i] || e.JournalLost):
		e.HoldBack(i, e.WhyDown(i))
	case w.verb == plan.Stop && !e.Given(i) && e.IsOff(i) && e.IsOld(i, belief.ProofAge) &&
		w.guard.rounds <= guardRounds: // others were slow
		w.guard.rounds = max(w.guard.rounds, guardRounds) + 1
		e.await(i, i)
		e.passWhenAnswered(i)
	case e.isSoAlready(i):
		e.proveSoAlready(i)
	case w.verb == plan.Start:
		e.passStart(i)
	case w.verb == plan.Stop || w.verb == plan.Cut:
		if e.awaitLate(i); w.guard.waits > 0 {
			e.passWhenAnswered(i)
			return
		}
		e.passStop(i)
	default:
		e.command(i)
	}
}

// proveSoAlready ends a step that had nothing to do, or nothing any more. A proof by silence is told for what it is.
func (e *Works) proveSoAlready(i int) {
	if w := e.nodes[i].work; e.Given(i) && w.verb != plan.Unprotect || w.verb == plan.Stop && e.ProofOf(i) == ledger.Silence {
		e.Prove(i, e.ProofOf(i), e.Beliefs[i].Seen.Detail)
		return
	}
	e.Prove(i, ledger.Already, "it was already so")
}

// isSoAlready reports whether nothing is to be commanded: a node is off, or as it was before it was protected, or a look that took its
// time shows what it was told to: the answer was lost, or the pause before the next try was shorter than the look.
func (e *Works) isSoAlready(i int) bool {
	verb := e.nodes[i].work.verb
	switch {
	case verb == plan.Unprotect:
		return e.Holds(i, verb, 0) && e.Entry(i).TookProtect()
	case e.Given(i):
		return e.Holds(i, verb, e.Last(i).Op) && e.settles(i)
	default:
		return verb == plan.Stop && e.Holds(i, verb, 0)
	}
}

// passStart goes on with a start if all that it stands on is still up. A word that is being asked for again, or that is from before this
// was asked, is waited for: of many some are always slow, so that what has grown old meanwhile is not asked for once more.
func (e *Works) passStart(i int) {
	w := e.nodes[i].work
	for _, d := range e.BroughtUp(i) {
		if b := &e.Beliefs[d]; b.Doubt != plan.Unknown || e.IsOld(d, e.groundStands(d)) && b.AskedAt.Before(w.guard.proof.Begun) {
			e.await(i, d)
		}
	}
	if w.guard.waits > 0 {
		e.passWhenAnswered(i)
		return
	}
	for _, d := range e.BroughtUp(i) {
		if !e.IsOn(d) || e.Beliefs[d].Answer != plan.On || e.fallsSoon(d) {
			e.Touch(d)
			e.HoldBack(i, "what it depends on is no longer up: "+e.ID(d))
			return
		}
	}
	e.command(i)
}

// fallsSoon reports whether the host that a node runs on was seen to go, and may still in the time of its stop, or was first seen to be
// off since the node was asked, as far as that look may have taken: the node goes with it. What has answered after that has not.
func (e *Works) fallsSoon(i int) bool {
	host := e.HostOf(i)
	if host < 0 {
		return false
	}
	b := &e.Beliefs[host]
	return e.GoesSoon(host) || belief.IsDown(b.Seen.State) && e.Beliefs[i].AskedAt.Before(b.Since.Add(probeWithin))
}

// passStop goes on with a stop or a cut if all that uses the node is proven off, or may be taken along.
func (e *Works) passStop(i int) {
	w := e.nodes[i].work
	w.guard.proof.Last = e.isLast(i)
	on, doubtful, guestsOnly := e.notOff(i)
	if e.isToBeAskedAfterAll(i, len(on) > 0 || doubtful) { // for which more has to be known than for a power-off
		e.askFirst(i)
		e.verify(i)
		return
	}
	switch {
	case w.force.cause.IsHaste() && w.verb == plan.Cut:
	case doubtful && w.guard.rounds < guardRounds, (guestsOnly || e.goesInLastCall(i)) && e.areOld(i, len(on) > 0):
		e.enter(w, verifying)
		w.next = e.Now.Add(FirstLook)
		e.arm(i)
		return
	case e.risksData(i) != "":
		e.HoldBack(i, e.risksData(i))
		return
	case doubtful:
		e.doubts(i)
		return
	case !e.passesOver(i, on, guestsOnly):
		e.HoldBack(i, "not off, or on again: "+strings.Join(on, ", "))
		return
	}
	if w.rung == plan.Stop && e.mustHurry(i) {
		e.powerInHaste(i)
		return
	}
	e.command(i)
}

// risksData says why a stop is not told because of what is not on its storage yet; "" if it is. When only the time for that stop is left,
// what was given up is no reason; and an earlier try had its own.
func (e *Works) risksData(i int) string {
	c := e.leaving(i)
	c.Cause, c.Reason = "", ""
	if e.IsLastCall(i) {
		h := e.hasteOf(i)
		c.Cause, c.Reason = h.cause, h.reason
	}
	return permit.RisksData(&e.Estate, c)
}

// leftDirty lists what holds data that is not on its storage yet, and was given up, where only the time for that storage's stop is left.
func (e *Works) leftDirty(i int) []string {
	if !e.IsLastCall(i) {
		return nil
	}
	var dirty []string
	for _, c := range e.Protectors {
		isOwn := c == i && e.Graph.Node(i).Can.Has(plan.Flush) && !e.IsClean(i)
		if (isOwn || e.KeepsDirty(c, i)) && e.Entry(c).GivenUp.Has(plan.Flush) {
			dirty = append(dirty, e.ID(c))
		}
	}
	return dirty
}

// passesOver reports whether a stop may go on over what is on of what uses its node, or holds its data, and takes down why: a VM over
// others that were given up, a host along with those, and anything when only the time for its own stop is left.
func (e *Works) passesOver(i int, on []string, guestsOnly bool) bool {
	w, kind := e.nodes[i].work, e.Graph.Node(i).Kind
	goes := e.goesInLastCall(i)
	if w.rung == plan.Stop {
		w.force = force{} // an earlier try had its own reason
	}
	dirty := e.leftDirty(i)
	switch {
	case len(dirty) == 0 && (len(on) == 0 || kind == plan.VM && guestsOnly):
	case len(dirty) == 0 && kind == plan.Host && guestsOnly:
		e.takeAlong(i, on)
	case goes:
		w.force = e.hasteOf(i)
		w.force.reason += named(ledger.PassedOver, on) + named(ledger.LeftDirty, dirty)
	default:
		return false
	}
	return true
}

// goesInLastCall reports whether only the time for a node's own stop is left, and what uses it and is not off was given up for good.
func (e *Works) goesInLastCall(i int) bool {
	asks := e.nodes[i].work.rung == plan.Stop || e.Graph.Node(i).Kind != plan.Other
	return e.IsLastCall(i) && asks && !slices.ContainsFunc(e.UsersOf(i), e.isWaitedFor)
}

// named gives names after a phrase that needs some.
func named(phrase string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return phrase + strings.Join(names, ", ")
}

// isWaitedFor reports whether what uses a node, or uses what does, is not off, and not given up for good either: what refused may be on its
// way all the same.
func (e *Works) isWaitedFor(u int) bool {
	if e.IsOff(u) || e.HasNoPower(u) {
		return false
	}
	return !e.IsPassable(u) || slices.ContainsFunc(e.UsersOf(u), e.isWaitedFor)
}

// doubts ends a try of a step for want of proof that all that uses its node is off. What was told, or a stop that was about to be, tries
// again in the time that it has, and ends with that: held back it would begin anew without end.
func (e *Works) doubts(i int) {
	if w := e.nodes[i].work; !w.deadline.IsZero() && (w.rung == plan.Stop || e.wasSent(i)) {
		e.backOff(i, slowestRetry)
		return
	}
	e.HoldBack(i, "what uses it is not proven off")
}

// isLast reports whether a step asks for the last time: a stop for which only the reserve is left.
func (e *Works) isLast(i int) bool {
	return e.nodes[i].work.rung == plan.Stop && e.Press[i] >= want.ReserveReached
}

// areOld reports whether the proof of any that uses a node has grown old while others were slow, and is to be asked for once more, in the
// round that it prepares. Where the others go along, none of them is waited for again.
func (e *Works) areOld(i int, takesAlong bool) bool {
	w := e.nodes[i].work
	if takesAlong {
		w.guard.rounds = max(w.guard.rounds, guardRounds)
	}
	off := slices.DeleteFunc(slices.Clone(e.UsersOf(i)), func(u int) bool { return !e.IsOff(u) })
	isSilent := func(u int) bool { return !e.AnswersOff(u) && e.asksOn(i, u, w.guard.rounds+1) }
	isOld := func(u int) bool {
		return e.IsOld(u, belief.ProofAge) && !e.IsAnew(u, e.nodes[i].work.guard.proof) && e.asksOn(i, u, lastRound)
	}
	hasWaited := func(u int) bool { return e.AnswersOff(u) && e.asksOn(i, u, lastRound+1) }
	switch isLast := w.guard.rounds > guardRounds; {
	case isLast && !takesAlong && e.isToBeRenewed(i, off):
		renewed := w.guard.renewed + 1
		e.dropGuard(i)
		w.guard.renewed = renewed // it is asked as often as any
	case slices.ContainsFunc(off, isSilent):
	case w.guard.rounds == lastRound && slices.ContainsFunc(off, hasWaited):
	case !isLast && slices.ContainsFunc(off, isOld):
		w.guard.rounds = guardRounds // the last round is next
	default:
		return false
	}
	return true
}

// isToBeRenewed reports whether the guard of a node's stop begins anew: some that are off fell silent in its last round, or a host began to
// answer in it. What flaps is not waited for without end.
func (e *Works) isToBeRenewed(i int, off []int) bool {
	const most = 3
	g := &e.nodes[i].work.guard
	isSilent := func(u int) bool { return e.fellSilent(i, u) }
	return g.renewed < most && e.SpokeSince(i, g.proof.Begun) || g.renewed == 0 && slices.ContainsFunc(off, isSilent)
}

// fellSilent reports whether a user did not answer in the last round of a node's guard, in which only those are asked that answered before.
func (e *Works) fellSilent(i, user int) bool {
	return !e.AnswersOff(user) && e.asksOn(i, user, 1) && !e.Beliefs[user].AskedAt.Before(e.nodes[i].work.guard.proof.Anew)
}

// notOff lists what uses a node and is on, and reports whether the proof of another is not good enough yet, and whether all
// that is on are VMs that were given up, which a host takes along.
func (e *Works) notOff(i int) (on []string, doubtful, guestsOnly bool) {
	guestsOnly = true
	asksOn := e.nodes[i].work.guard.rounds < guardRounds
	for _, u := range e.UsersOf(i) {
		switch {
		case e.HasNoPower(u):
		case !e.IsOff(u) && belief.IsDown(e.Beliefs[u].Answer) && asksOn: // once: it is asked again
			doubtful = true
		case !e.IsOff(u):
			on = append(on, e.ID(u))
			guestsOnly = guestsOnly && e.Graph.Node(u).Kind == plan.VM && e.Entry(u).GivenUp.Has(plan.Stop)
		case e.Beliefs[u].Doubt != plan.Unknown, e.Graph.Node(i).Kind != plan.VM && !e.ProvenOffTo(u, e.nodes[i].work.guard.proof):
			doubtful = true
		}
	}
	return on, doubtful, guestsOnly
}

// cutWithWhatIsOn cuts an output although not everything behind it is proven off, or switched off: the battery is about to do
// the same, without the return that a commanded cut gives.
func (e *Works) cutWithWhatIsOn(i int) {
	w := e.nodes[i].work
	var on []string
	for _, u := range e.unproven(i) {
		on = append(on, u.Node)
	}
	isOld := func(u int) bool { return !e.ProvenOffTo(u, w.guard.proof) && !e.HasNoPower(u) } // it is not asked again
	if len(on) > 0 || slices.ContainsFunc(e.UsersOf(i), isOld) || e.Worst(w.step) != want.Proven {
		w.force = e.hasteOf(i)
		w.force.reason += named(ledger.PassedOver, on)
	}
	e.command(i)
}

// unproven lists what is not proven off of what a supply feeds that is about to be cut. What was proven off counts, however long ago it was
// asked.
func (e *Works) unproven(supply int) []ledger.NodeState {
	var nodes []ledger.NodeState
	for _, u := range e.UsersOf(supply) {
		if !e.WasProvenOff(u) && !e.ProvenOffTo(u, e.nodes[supply].work.guard.proof) && !e.HasNoPower(u) {
			nodes = append(nodes, ledger.NodeState{Node: e.ID(u), State: e.Beliefs[u].Answer})
		}
	}
	return nodes
}

// isToBeAskedAfterAll reports whether what was to be powered off is told to go instead: it answers now, and was never told, or it is a host
// that was to take VMs along, which are proven off by now, and whose power-off did not leave.
func (e *Works) isToBeAskedAfterAll(i int, takesAlong bool) bool {
	w := e.nodes[i].work
	alone := !takesAlong && w.force.cause == ledger.TakenAlong && !e.wasSent(i)
	return w.rung == plan.Force && (alone || e.isBackUntold(i))
}

// beStop makes a power-off that did not leave a stop again.
func (w *work) beStop() { w.rung, w.force, w.deadline = plan.Stop, force{}, time.Time{} }

// takeAlong makes the stop of a host a power-off, since VMs on it were given up: that is on record.
func (e *Works) takeAlong(i int, on []string) {
	w := e.nodes[i].work
	const along = "powered off with VMs on it that were not proven off: "
	before, _, _ := strings.Cut(w.force.reason, along) // an earlier try had its own VMs
	text := along + strings.Join(on, ", ")
	if e.mustHurry(i) { // which is why, first of all
		h := e.hasteOf(i)
		before, w.force.cause = h.reason+"; ", h.cause
	}
	if before != "" {
		text = strings.TrimSuffix(before, "; ") + "; " + text
	} else {
		w.force.cause = ledger.TakenAlong
	}
	if w.rung != plan.Force {
		w.deadline = time.Time{}
	}
	w.rung, w.force.reason = plan.Force, text
}

// foundUnprotected takes a cache or a cluster into the snapshot as it is before it is told anything: what the snapshot shows as protected
// may have been on its way back from an earlier outage, and what could not be asked then answers now.
func (e *Works) foundUnprotected(i int) {
	n, b := e.Entry(i), &e.Beliefs[i]
	untold := n.Protection == ledger.AsSet || n.Protection == ledger.Announced
	if !untold || n.Late || n.Snap.CacheWas == plan.No || b.Answer != plan.On || b.Seen.Protected != plan.No {
		return
	}
	state := plan.On
	if n.Snap.Silent() { // it may have come up since
		state = plan.Unknown
	}
	e.Record(ledger.Record{Kind: ledger.Widened, Nodes: []ledger.NodeState{{
		Node: e.ID(i), State: state, Protected: plan.No,
		Settings: b.Seen.Settings,
	}}})
}
