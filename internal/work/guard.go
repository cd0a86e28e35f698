package work

import (
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
)

// A guard collects evidence before a command that can't be undone, and decides nothing that the permit does not decide again
// when the command leaves: whether what uses the node is proven off, whether what it needs is on, whether what protects
// others still does.

// verify asks what has to be known before the command of a step.
func (e *Works) verify(i int) {
	n := &e.nodes[i]
	w := n.work
	if w.phase != verifying {
		e.enter(w, verifying)
	}
	e.dropGuard(i)
	w.next = time.Time{}
	e.forgetHaste(i)
	switch {
	case !e.wanted(i):
		e.unwanted(i)
		return
	case w.verb == plan.Cut && e.Supplies[e.Ledger.SupplyOf[i]].State.SilentFor > 0:
		e.HoldBack(i, "it is silent and accepts no commands")
		return
	case w.verb == plan.Cut && e.Press[i] >= want.CutNow:
		e.cutWithWhatIsOn(i)
		return
	case w.verb == plan.Cut && e.putsOff(i):
		return
	case w.verb == plan.Cut && e.outletsFirst(i):
		e.HoldBack(i, "its outlets go off first")
		return
	case e.Graph.Node(i).Kind == plan.Self && !e.wouldReturn(i):
		e.HoldBack(i, "nothing would start it again")
		return
	}
	e.ask(i)
}

// forgetHaste takes that the haste of a step is of now, and not of its last try.
func (e *Works) forgetHaste(i int) {
	switch w := e.nodes[i].work; {
	case w.verb == plan.Cut:
		w.force = force{}
	case w.force.cause.IsHaste() && e.Press[i] == want.NoPressure && !e.wasSent(i):
		w.beStop()
	}
}

// ask asks those whose word is missing, or too old, and goes on when none is.
func (e *Works) ask(i int) {
	w := e.nodes[i].work
	w.guard.rounds++
	switch w.guard.rounds {
	case 1:
		w.guard.proof.Begun = e.Now
	case lastRound:
		w.guard.proof.Anew = e.Now
	}
	if e.isInDoubt(i) {
		e.await(i, i)
	}
	switch w.verb {
	case plan.Start:
		e.awaitGround(i)
	case plan.Stop, plan.Cut:
		e.awaitOutlets(i, i)
		if w.guard.rounds == 1 {
			e.awaitLate(i)
		}
		e.awaitUsers(i)
	default:
	}
	e.passWhenAnswered(i)
}

// isInDoubt reports whether a node itself is to be asked once more before its command: what it said is too old, and it may be on its way
// the other way.
func (e *Works) isInDoubt(i int) bool {
	w, b, decl := e.nodes[i].work, &e.Beliefs[i], e.Graph.Node(i)
	isFirst, age := w.guard.rounds == 1, belief.ProofAge
	switch w.verb {
	case plan.Start:
		if !e.Given(i) { // else it may be up by that
			age = belief.LookAge
		}
		return isFirst && (e.IsOld(i, age) || b.Proof == belief.OneLook)
	case plan.Unprotect:
		return e.IsOld(i, age)
	case plan.Stop, plan.Cut:
		mayCycle := e.mayCycleUnheard(i)
		if decl.Kind == plan.VM && !mayCycle {
			age = belief.LookAge
		}
		return (isFirst || mayCycle) && belief.Probed(decl) && (!b.Asked || e.IsOld(i, age))
	default:
		return false
	}
}

// awaitGround waits for what a node stands on, where its word is too old for a start.
func (e *Works) awaitGround(i int) {
	for _, d := range e.BroughtUp(i) {
		if e.IsOld(d, e.groundStands(d)) {
			e.await(i, d)
		}
	}
}

// groundStands is how old a look may be at what a start stands on.
func (e *Works) groundStands(d int) time.Duration {
	isOff := func(g int) bool { return !e.IsOn(g) }
	if e.Entry(d).Shown == ledger.WasTold || slices.ContainsFunc(e.BroughtUp(d), isOff) { // it may go yet
		return belief.ProofAge
	}
	return belief.LookAge
}

// awaitUsers waits for those that use a node and whose word is missing, or too old.
func (e *Works) awaitUsers(i int) {
	w := e.nodes[i].work
	for _, u := range e.UsersOf(i) {
		if e.HasNoPower(u) && !e.IsOld(u, belief.ProofStands) {
			continue
		}
		e.awaitOutlets(i, u)
		if w.guard.rounds <= guardRounds && e.InDoubt(u) || w.guard.rounds > 1 && e.asksOn(i, u, w.guard.rounds) {
			e.await(i, u)
		}
	}
}

// awaitOutlets waits for the outlets of what does not answer: somebody may have switched it on, where nothing else tells that.
func (e *Works) awaitOutlets(i, mute int) {
	if e.nodes[i].work.guard.rounds > guardRounds || !e.IsMute(mute) {
		return
	}
	for _, outlet := range e.OldOutlets(mute) {
		e.await(i, outlet)
	}
}

// asksOn reports whether a user is asked once more, in this round, before a node is commanded: it did not answer, or, in the last round, it
// did, and its answer has grown old while others were slow (docs/adr/0015). After that only those are whom the slowest of that round has
// kept waiting: they are the quick ones. What stands on what is off itself mostly can't.
func (e *Works) asksOn(i, user, round int) bool {
	switch {
	case e.Graph.Node(i).Kind == plan.VM && !e.MayHaveCome(user), e.Press[i] >= want.CutNow, !belief.Probed(e.Graph.Node(user)):
		return false
	case e.AnswersOff(user):
		return !e.CannotAnswer(user) && (round == lastRound || round > lastRound && e.IsOld(user, roundStands))
	}
	return round <= guardRounds && !e.Stranded(user)
}

// awaitLate waits for a look, in this guard, at each protection, which a late Unprotect may have taken off: of this outage, or of one
// before it; and so may a person, who may also have switched on what was off. One that goes down since the guard began is looked at too,
// and one whose look has grown old while others were slow. Where the output is about to be cut there is no time for that, but before a stop
// where it may be undone late.
func (e *Works) awaitLate(i int) {
	rung := e.nodes[i].work.rung
	for _, c := range e.Protectors {
		noTime := e.Press[i] >= want.CutNow && (rung != plan.Stop || !e.Entry(c).Late)
		concerned := rung == plan.Stop && e.ComesBefore(c, i) || slices.Contains(e.Graph.Needs(c), i)
		if c != i && concerned && !noTime && e.restsOnOldLook(i, c) {
			e.await(i, c)
		}
	}
}

// restsOnOldLook reports whether that a protection holds, of which a step is to make sure, rests on a look that is too old.
func (e *Works) restsOnOldLook(i, c int) bool {
	b, age := &e.Beliefs[c], belief.ProofAge
	if e.Press[i] >= want.ReserveReached && !e.Entry(c).Late { // there is no time for more than that
		age = belief.ProofStands
	}
	holds := b.Seen.Protected == plan.Yes || e.StaysProtected(c) || e.IsOff(c)
	unasked := b.AskedAt.Before(e.nodes[i].work.guard.proof.Begun) || e.IsOld(c, belief.ProofStands)
	return e.GoesDown(c) && holds && e.IsOld(c, age) && unasked
}

// await lets a node's guard wait for an answer of another.
func (e *Works) await(i, other int) {
	q := &e.nodes[other].question
	w := e.nodes[i].work
	if !slices.Contains(q.guards, i) {
		q.guards = append(q.guards, i)
		w.guard.asked = append(w.guard.asked, other)
		w.guard.waits++
	}
	if q.op != 0 && w.guard.rounds > guardRounds { // it was asked before this round: what it says is asked for once more
		q.told = e.Now
	}
	e.Probe(other)
}

// dropGuard has the step of a node wait for no answer any more.
func (e *Works) dropGuard(i int) {
	w := e.nodes[i].work
	for _, other := range w.guard.asked {
		q := &e.nodes[other].question
		q.guards = slices.DeleteFunc(q.guards, func(g int) bool { return g == i })
	}
	w.guard = guard{}
}

// passWhenAnswered goes on when the guard waits for nothing.
func (e *Works) passWhenAnswered(i int) {
	w := e.nodes[i].work
	if w.guard.waits == 0 {
		e.pass(i)
		return
	}
	w.next = e.Now.Add(probeWithin + FirstLook)
	if w.guard.rounds > guardRounds {
		w.next = w.next.Add(probeWithin) // what was under way before is asked for once more
	}
	e.arm(i)
}

// guardAnswered takes down that one of those that a guard asked has answered, or failed to.
func (e *Works) guardAnswered(i int) {
	w := e.nodes[i].work
	if w == nil || w.phase != verifying || w.guard.waits == 0 {
		return
	}
	if w.guard.waits--; w.guard.waits == 0 {
		e.pass(i)
	}
}

// guardTimedOut goes on with what has answered.
func (e *Works) guardTimedOut(i int) {
	w := e.nodes[i].work
	if w.guard.waits == 0 {
		e.ask(i)
		return
	}
	was := w.guard
	e.dropGuard(i) // whose answer is still to come may be waited for once more
	was.waits, was.asked = 0, nil
	w.guard = was
	e.pass(i)
}

// hasWaited reports whether the stop of a machine has waited for its place, or for others, since that was last looked at and showed as on,
// while nobody hears what feeds it: its power may have gone and come back, and it may start. It is asked again, as it was in each round of
// a guard that has just passed.
func (e *Works) hasWaited(i int) bool {
	w := e.nodes[i].work
	return w.phase != verifying && w.rung == plan.Stop && e.mayCycleUnheard(i) && e.IsOld(i, belief.ProofStands)
}

// mayCycleUnheard reports whether what is to go showed as on, and nobody hears what feeds it, or its host.
func (e *Works) mayCycleUnheard(i int) bool {
	decl, isUnheard := e.Graph.Node(i), e.FeedIsUnheard(i)
	if decl.Kind == plan.VM {
		isUnheard = e.MayHaveCycled(i)
	}
	return belief.Probed(decl) && e.nodes[i].work.rung.TakesDown() && e.Beliefs[i].Answer == plan.On && isUnheard
}
