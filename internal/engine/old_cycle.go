package engine

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

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

// cycledBack follows a supply whose output was cut and is on again: what its cycle had to start is started, so that
// nothing is committed to it any more, and neither its cut nor the stop of what came up with it holds: all that is
// looked at.
func (e *Engine) cycledBack(i int) {
	s, n := e.supplyAt(i), &e.nodes[i]
	if s == nil || !n.done.Has(plan.Cut) {
		return
	}
	if n.seen.Uncut && !s.offSeen && e.cutAgain(i) {
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

// cutAgain follows a supply that took its cut and did not make it: nothing has been cycled, so that it is cut once more,
// as often as anything is tried. After that it is reported, and what waits for its cycle is left to a person.
func (e *Engine) cutAgain(i int) bool {
	n, verb, state := &e.nodes[i], plan.Cut, plan.On
	const why = "it took its cut and did not make it"
	n.done &^= plan.VerbSet(plan.Cut)
	if n.falls++; n.falls >= max(e.estate.Node(i).Attempts, 2) {
		e.record(Record{Kind: Failed, Node: e.id(i), Verb: &verb, State: &state, Reason: why})
		e.notify(true, "could not cut the output of "+e.id(i)+": "+why+"; what starts by its power alone needs a person")
		return false
	}
	e.record(Record{Kind: Reopened, Node: e.id(i), State: &state, Reason: why})
	e.notify(true, "the output of "+e.id(i)+" is on: "+why+", and is cut once more")
	e.redark()
	if e.run.goal == plan.Down && e.run.surveys == 0 {
		e.rebuild()
	}
	return true
}

// uncommit ends the point of no return: a new direction has its own.
func (e *Engine) uncommit() {
	for i := range e.supplies {
		e.supplies[i].cycled = false
	}
}

// settleCuts finds cuts that were commanded right before a crash, made while nobody looked, and are over: the mains are
// there, the output is on, and something that only its return starts, and that was off, is on.
func (e *Engine) settleCuts() {
	for k := range e.supplies {
		s := &e.supplies[k]
		n := &e.nodes[s.node]
		if n.open == nil || n.open.verb != plan.Cut || n.seen.State != plan.On || s.heard && s.state.Mains != power.MainsOnline {
			continue
		}
		if !slices.ContainsFunc(e.cycles(s.node), func(u int) bool {
			return e.nodes[u].seen.State == plan.On || e.nodes[u].seen.State == plan.Starting
		}) {
			continue
		}
		verb, state := plan.Cut, plan.On
		n.open, s.cycled = nil, false
		e.record(Record{Kind: Proven, Node: e.id(s.node), Verb: &verb, State: &state, Reason: "what only the return of its power starts is on again: it was cut and has come back"})
	}
}

// cycles lists what a supply feeds, was proven off, and is started by nothing but the return of its power.
func (e *Engine) cycles(supply int) []int {
	var list []int
	for _, u := range e.estate.Users(supply) {
		if e.estate.Node(u).ByPower && e.nodes[u].done.Has(plan.Stop) && slices.Contains(e.estate.Feeds(u), supply) {
			list = append(list, u)
		}
	}
	return list
}

// maybeCut tells of a cut from before a crash that it may have been made while nobody looked: the mains and the output
// are there, and what the return of its power starts may still be on its way up. It is given twice the time that this is
// expected to take, since a second cut would hit it.
func (e *Engine) maybeCut(i int) bool {
	s := e.supplyAt(i)
	if !e.nodes[i].exec.resumed || e.run.pressure >= cutNow || s.state.Mains != power.MainsOnline {
		return false
	}
	for _, u := range e.cycles(i) {
		if e.now.Before(e.resumedAt.Add(2 * e.estate.Node(u).Time(plan.Start).Nominal)) {
			e.probeNode(u)
			return true
		}
	}
	return false
}

// mayBeDeaf tells of the supply that our own machine hangs on that another cut still counts down while its mains are there.
// Some UPSes take such a cut and do not make it, which nobody would see and mend once our own machine is off.
func (e *Engine) mayBeDeaf(own int) bool {
	self, needed := e.lifeline()
	if self < 0 || !needed[own] || e.run.pressure >= cutNow {
		return false
	}
	for k := range e.supplies {
		s := &e.supplies[k]
		n := &e.nodes[s.node]
		if !needed[s.node] && n.down && n.seen.State == plan.Stopping && s.state.Mains == power.MainsOnline && s.state.SilentFor == 0 {
			e.probeNode(s.node)
			return true
		}
	}
	return false
}

// returns tells whether our own machine would come back after it is powered off: something else starts it, or it loses
// its power and gets it back. As long as one of its supplies stays, it would stay off; and so it would if one that is
// off came back while it goes down.
func (e *Engine) returns(self int) bool {
	stays := func(f int) bool {
		s, n := e.supplyAt(f), &e.nodes[f]
		armed := n.down && n.seen.State == plan.Stopping
		dark := s != nil && s.state.Mains == power.MainsOnBattery && s.state.SilentFor == 0
		empties := !e.estate.Node(f).Can.Has(plan.Cut) // on until its battery is empty
		goes := dark && (n.down || empties)
		return !armed && !goes
	}
	return !e.estate.Node(self).ByPower || !slices.ContainsFunc(e.estate.Feeds(self), stays)
}

// darkens tells whether anything is dark with a supply: one whose whole load has another feed is not cut, since nothing
// has to come back with it.
func (e *Engine) darkens(supply int) bool {
	return slices.ContainsFunc(e.estate.Users(supply), func(u int) bool { return e.run.dark[u] })
}
