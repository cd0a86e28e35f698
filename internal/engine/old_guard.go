package engine

import (
	"slices"
	"strings"

	"ebbtide/internal/plan"
)

// guard asks, before what can't be undone, whether everything that uses the node is still proven off. A proof by one
// look is looked at again, and so is an old one; a journal entry is no proof, and silence renews none (docs/adr/0015).
// VMs are stopped in order but on old proofs too, and over users that were given up: nothing is lost with them that their
// own users' order does not keep.
func (e *Engine) guard(i int) {
	x := e.nodes[i].exec
	kind := e.estate.Node(i).Kind
	if x.goal != e.run.goal {
		e.giveUp(i, "", "the direction turned before it took the command")
		return
	}
	unpowered := x.goal == plan.Up && kind != plan.Person && (!e.fed(i) || !e.poweredDeps(i))
	if (x.verb == plan.Stop || x.goal == plan.Up) && e.unheard() || unpowered || x.verb == plan.Cut && (e.maybeCut(i) || e.mayBeDeaf(i)) {
		x.phase, x.next = backingOff, e.now.Add(firstRetry) // right after a crash: its power may be back, or gone
		if x.resumed && !x.deadline.IsZero() {
			x.deadline = x.deadline.Add(firstRetry) // the gate is waited for anew, which is not its own time
		}
		e.arm(i)
		return
	}
	if x.verb == plan.Stop && e.spared(i) {
		e.holdBack(i, "its power is back before it took the command")
		return
	}
	if x.verb == plan.Start {
		e.guardStart(i)
		return
	}
	if kind == plan.Self && !e.returns(i) {
		e.holdBack(i, "nothing would start it again")
		return
	}
	if x.verb == plan.Unprotect {
		e.guardPutBack(i)
		return
	}
	if x.verb != plan.Cut && x.verb != plan.Stop {
		e.command(i)
		return
	}
	x.phase, x.waits, x.rounds = guarding, 0, 0
	if n := &e.nodes[i]; kind != plan.VM && e.now.Sub(n.seenAt) > proofAge && probed(e.estate.Node(i)) { // itself too: it may be on its way up
		e.await(i, i)
	}
	e.awaitLoose(i)
	e.askUsers(i)
}

// askUsers asks every user whose being off is in doubt. What stands on something that is off is asked once and no more.
func (e *Engine) askUsers(i int) {
	x := e.nodes[i].exec
	x.rounds++
	for _, u := range e.usersOf(i) {
		if e.doubts(i, u) && (x.rounds == 1 || !e.stranded(u)) {
			e.await(i, u)
		}
	}
	e.passWhenAnswered(i)
}

// doubts tells whether a user has to be asked before a node is commanded: the proof that it is off is old or rests on one
// look, or it was not off when it was asked, some time ago.
func (e *Engine) doubts(i, user int) bool {
	n := &e.nodes[user]
	if !probed(e.estate.Node(user)) {
		return false
	}
	if !n.down {
		return e.now.Sub(n.asked) > proofAge
	}
	return n.offs < proofLooks || e.estate.Node(i).Kind != plan.VM && e.now.Sub(n.seenAt) > proofAge
}

// stranded tells whether something that a node needs in order to run is proven off.
func (e *Engine) stranded(i int) bool {
	return slices.ContainsFunc(e.estate.Needs(i), func(d int) bool {
		return e.estate.Node(d).Can.Has(plan.Stop) && e.nodes[d].down
	})
}

// asksOn goes on asking while the proof of a user is in doubt still: it did not answer, or others were so slow that its
// answer is old by now. After guardRounds rounds its last proof has to do: silence does not contradict it, and must not
// keep what it uses from going down in order. A VM's stop asks one round, and when the battery ends there is no time to ask on.
func (e *Engine) asksOn(i int) bool {
	x := e.nodes[i].exec
	if x.rounds >= guardRounds || e.estate.Node(i).Kind == plan.VM || e.run.pressure >= cutNow {
		return false
	}
	inDoubt, silent := false, false
	for _, u := range e.usersOf(i) {
		if e.doubts(i, u) && !e.stranded(u) {
			n := &e.nodes[u]
			inDoubt, silent = true, silent || n.seenAt.Before(n.asked)
		}
	}
	switch {
	case silent:
		x.waits, x.next = 0, e.now.Add(firstRetry)
		e.arm(i)
	case inDoubt:
		x.waits = 0
		e.askUsers(i)
	}
	return inDoubt
}

// await lets a node's guard wait for an answer of another.
func (e *Engine) await(i, other int) {
	n := &e.nodes[other]
	if !slices.Contains(n.guards, i) {
		n.guards = append(n.guards, i)
	}
	e.nodes[i].exec.waits++
	e.probeNode(other)
}

// passWhenAnswered goes on when the guard waits for nothing.
func (e *Engine) passWhenAnswered(i int) {
	x := e.nodes[i].exec
	if x.waits == 0 {
		e.pass(i)
		return
	}
	x.next = e.now.Add(probeWithin + firstLook)
	e.arm(i)
}

// guardStart asks whether what a node stands on is still up, where that was seen some time ago.
func (e *Engine) guardStart(i int) {
	x := e.nodes[i].exec
	x.phase, x.waits = guarding, 0
	for _, d := range e.broughtUp(i) {
		if e.now.Sub(e.nodes[d].seenAt) > lookAge {
			e.await(i, d)
		}
	}
	e.passWhenAnswered(i)
}

// guardPutBack looks at what is to be put back, where that was seen some time ago: what is as it was is left alone, since
// people may have set it otherwise by now.
func (e *Engine) guardPutBack(i int) {
	x := e.nodes[i].exec
	x.phase, x.waits = guarding, 0
	if e.now.Sub(e.nodes[i].seenAt) > lookAge {
		e.await(i, i)
	}
	e.passWhenAnswered(i)
}

// standsOnNothing tells whether something that a node depends on is not up, and takes its start up again.
func (e *Engine) standsOnNothing(i int) bool {
	fallen := false
	for _, d := range e.broughtUp(i) {
		n := &e.nodes[d]
		if n.up && n.seen.State == plan.On {
			continue
		}
		fallen = true
		if n.exec == nil && !n.bad.Has(plan.Start) {
			e.fellAgain(d)
		}
	}
	return fallen
}

// broughtUp lists what a node depends on that this outage's power-up has proven on.
func (e *Engine) broughtUp(i int) []int {
	var up []int
	for _, d := range e.estate.Needs(i) {
		if n := e.estate.Node(d); n.Can.Has(plan.Stop) && probed(n) && e.run.scope[d] && e.nodes[d].wasOn {
			up = append(up, d)
		}
	}
	return up
}

// pass gives the command if the guard holds, or puts the step back to wait.
func (e *Engine) pass(i int) {
	n, decl := &e.nodes[i], e.estate.Node(i)
	x := n.exec
	if x.verb == plan.Start {
		if e.standsOnNothing(i) {
			e.holdBack(i, "what it stands on is not up any more")
			return
		}
		e.command(i)
		return
	}
	if again := x.verb == plan.Stop && !x.given && e.now.Sub(n.seenAt) <= proofAge; (again || x.verb == plan.Unprotect) && e.holds(i, x.verb) {
		e.prove(i, Already, "it was so already")
		return
	}
	if x.verb == plan.Unprotect {
		e.command(i)
		return
	}
	var on []string
	taken := true // all that is on are VMs that were given up, which a host takes along
	for _, u := range e.usersOf(i) {
		un := &e.nodes[u]
		if un.down {
			continue
		}
		on = append(on, e.id(u))
		taken = taken && e.estate.Node(u).Kind == plan.VM && un.bad.Has(plan.Stop)
	}
	if len(on) == 0 && e.asksOn(i) {
		return
	}
	switch {
	case len(on) == 0:
	case decl.Kind == plan.VM && taken:
	case decl.Kind == plan.Host && taken:
		if x.reason != "" {
			x.reason += "; "
		} else {
			x.cause = TakenAlong
		}
		x.rung, x.reason = plan.Force, x.reason+"not proven off and taken along: "+strings.Join(on, ", ")
		e.notify(true, "powering off host "+decl.ID+": "+x.reason)
	default:
		e.holdBack(i, "not off, or on again: "+strings.Join(on, ", "))
		return
	}
	if x.rung == plan.Stop && e.pressed(i) {
		e.force(i, Pressed, e.run.pressure.String())
		return
	}
	e.command(i)
}

// holdBack puts a step back to wait anew for what comes before it. One that was commanded ends first: it may be on its
// way, and is no longer waited for.
func (e *Engine) holdBack(i int, why string) {
	n := &e.nodes[i]
	if x := n.exec; x.given || e.inDrill() && n.heldAt.IsZero() {
		verb, state := x.verb, n.seen.State
		e.record(Record{Kind: HeldBack, Node: e.id(i), Verb: &verb, Attempt: x.attempt, State: &state, Reason: why})
	}
	n.exec, n.heldAt = nil, e.now
	n.gen++
	e.rebuild()
}

// usersOf lists the nodes whose being off a step on node i rests on, looking through nodes that have no stop of their
// own. For a supply these are the nodes that only it still feeds.
func (e *Engine) usersOf(i int) []int {
	var users []int
	seen := make([]bool, len(e.nodes))
	queue := slices.Clone(e.estate.Users(i))
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if seen[u] {
			continue
		}
		seen[u] = true
		decl := e.estate.Node(u)
		switch {
		case decl.Kind == plan.Self, decl.Kind == plan.Person:
		case e.estate.Node(i).Kind == plan.Supply && e.otherFeed(u, i):
		case decl.Can.Has(plan.Stop) && decl.Kind != plan.Outlet: // an outlet drops with its supply, whatever it says
			users = append(users, u)
		default:
			queue = append(queue, e.estate.Users(u)...)
		}
	}
	return users
}

// otherFeed tells whether a node is fed by another supply than this one that is neither failing nor cut.
func (e *Engine) otherFeed(node, supply int) bool {
	return slices.ContainsFunc(e.estate.Feeds(node), func(f int) bool {
		s := e.supplyAt(f)
		return f != supply && s != nil && e.live(s)
	})
}

// listOn names what behind a node is not proven off.
func (e *Engine) listOn(i int) string {
	var on []string
	for _, u := range e.usersOf(i) {
		if !e.nodes[u].down {
			on = append(on, e.id(u))
		}
	}
	return strings.Join(on, ", ")
}
