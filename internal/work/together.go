package work

import (
	"slices"
	"strings"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// What hangs on two outputs, and starts by nothing but the return of its power, has to lose both at once. Each output has a cycle of its own, which the
// mains, a battery or a dead link may bring forward, put off or void. So one waits for the other, and one that is back too early is cut after all.

// owesCycle reports whether a node was told to stop, and has gone or may go yet, that nothing but the return of its power starts, which it has not had
// since; a supply is one of those that feed it.
func (e *Works) owesCycle(i, supply int) bool {
	n := e.Entry(i)
	told := n.Shown != ledger.AsFound && n.Last.Verb == plan.Stop && n.Lit == ledger.Unlit
	return told && e.Graph.Node(i).ByPower && slices.Contains(e.Graph.Sources(i), supply) && e.MayHaveGone(i)
}

// isEarly reports whether a cut, on good mains, would be over before that of another supply can be made which feeds the same: what is to lose its power
// by the two would keep it. On battery an output stays off until the mains are back. One that is silent, or whose load was given up, is not waited for,
// and one that is not to be cut yet until that is off, and for a while after.
func (e *Works) isEarly(supply int) bool {
	s := &e.Supplies[e.Ledger.SupplyOf[supply]]
	if s.State.Mains != power.MainsOnline || e.Press[supply] >= want.CutNow {
		return false
	}
	goes := func(u int) bool { return !e.IsOff(u) && !e.HasNoPower(u) && !e.Entry(u).GivenUp.Has(plan.Stop) }
	waits := func(f int) bool {
		k := e.Ledger.SupplyOf[f]
		return f != supply && e.Standing(k).Cycle == ledger.Committed && !e.Supplies[k].Mute && slices.ContainsFunc(e.UsersOf(f), goes)
	}
	joins := func(u int) bool {
		return (!e.IsOff(u) || e.Now.Sub(e.MovedAt) < joinsWithin) && len(e.toJoin(u, soon)) > 0
	}
	return slices.ContainsFunc(e.Graph.Dependents(supply), func(u int) bool {
		return e.owesCycle(u, supply) && (slices.ContainsFunc(e.Graph.Sources(u), waits) || joins(u))
	})
}

// joinsWithin is for how long a cut waits for what else hangs on another that is not to be made yet, while nothing moves.
const joinsWithin = 100 * time.Second

// CommitTogether puts on record that a supply which is back is to be cut after all, and with it each other that feeds the same: something is to be on and
// is proven off that only the return of its power starts, which it has not lost. Each is cut once for that, and none while anything is on.
func (e *Works) CommitTogether() {
	for k := range e.Supplies {
		if e.isBack(k) {
			e.commitWith(k)
		}
	}
}

// commitWith does so for what one of them feeds. Whose word is too old is asked first.
func (e *Works) commitWith(k int) {
	for _, u := range e.Graph.Dependents(e.Supplies[k].Node) {
		if !e.owesCycle(u, e.Supplies[k].Node) || len(e.toJoin(u, perhaps)) == 0 {
			continue
		}
		if ids := e.toJoin(u, now); len(ids) > 0 && e.IsOff(u) {
			why := "it is off, and has not lost its power since"
			e.noReturn(u, plan.Stop, ids, why)
			e.Notify(true, e.Would("cutting ", "would cut ")+strings.Join(ids, ", ")+" after all: only the return of its power starts "+e.ID(u)+", and "+why)
			return
		}
		for _, f := range e.Graph.Sources(u) {
			e.askLoads(f)
		}
	}
}

// askLoads asks after what a supply feeds and whose word is too old.
func (e *Works) askLoads(supply int) {
	for _, u := range e.Graph.Dependents(supply) {
		if belief.Probed(e.Graph.Node(u)) && e.IsOld(u, belief.ProofStands) && !e.ShowsUp(u) {
			e.Probe(u)
		}
	}
}

// moment is when outputs could be cut together.
type moment uint8

// The moments.
const (
	now     moment = iota
	soon           // as what still goes is off, and what has its mains again counts as back
	perhaps        // if what does not say that it is on is off
)

// toJoin names the supplies that are back and are to be cut, so that something which owes a cycle loses its power: none unless every other one that
// feeds it is cut too, at once, and all that they feed is down.
func (e *Works) toJoin(u int, at moment) (ids []string) {
	if !e.ComesUp(u) || e.Beliefs[u].Seen.State == plan.Gone { // it would be stopped again, or is not there
		return nil
	}
	for _, f := range e.Graph.Sources(u) {
		switch k := e.Ledger.SupplyOf[f]; {
		case e.staysOff(k):
		case !e.mayBeCutFor(u, f, at):
			return nil
		case e.Standing(k).Cycle != ledger.Committed:
			ids = append(ids, e.ID(f))
		}
	}
	if !e.meet(e.Graph.Sources(u)) || e.carriesUs(ids) {
		return nil
	}
	return ids
}

// staysOff reports whether an output is off, or about to be, until its mains are back.
func (e *Works) staysOff(k int) bool {
	return e.IsBeingCut(k) && e.Supplies[k].State.Mains != power.MainsOnline && !e.Supplies[k].Mute
}

// mayBeCutFor reports whether a supply that is to be cut, or is back, can be cut for something that it feeds: it was not tried since that was told to stop.
func (e *Works) mayBeCutFor(u, supply int, at moment) bool {
	k, n := e.Ledger.SupplyOf[supply], e.Entry(supply)
	tried := n.GivenUp.Has(plan.Cut) || n.Last.Verb == plan.Cut && n.Last.Op > e.Entry(u).Last.Op
	if tried || !e.Graph.Node(supply).Can.Has(plan.Cut) || e.Supplies[k].Mute || !e.isClear(supply, at) {
		return false
	}
	return e.Standing(k).Cycle == ledger.Committed || e.isBack(k) || at != now && e.comesBack(k)
}

// carriesUs reports whether Ebbtide's own machine hangs on one of some supplies and on another: if one of the two took its cut and did not make it, it
// would be off for good, and nobody would be there to tell.
func (e *Works) carriesUs(ids []string) bool {
	self, _ := e.Lifeline()
	isOne := func(f int) bool { return slices.Contains(ids, e.ID(f)) }
	return self >= 0 && len(e.Graph.Sources(self)) > 1 && slices.ContainsFunc(e.Graph.Sources(self), isOne)
}

// meet reports whether outputs that are cut in the same moment are all off for a while, where their mains are there.
func (e *Works) meet(feeds []int) bool {
	for _, f := range feeds {
		for _, other := range feeds {
			one, two := &e.Supplies[e.Ledger.SupplyOf[f]], &e.Supplies[e.Ledger.SupplyOf[other]]
			if one.OffDelay+one.OnDelay <= two.OffDelay {
				return false
			}
		}
	}
	return true
}

// isBack reports whether a supply has failed, has its mains again, is not to be cut, and starts nothing yet.
func (e *Works) isBack(k int) bool {
	st := e.Standing(k)
	return st.Cycle == ledger.Uncut && st.Fails == ledger.HasReturned && st.Passed == ledger.NotPassed && !st.Twice && e.Live(k) && !e.Supplies[k].Gate && !e.Ledger.Outage.Orders.Hold && !e.Ledger.Outage.Drill.On()
}

// comesBack reports whether a supply that fails and is not to be cut has its mains again, though not for long enough to count.
func (e *Works) comesBack(k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	return st.Cycle == ledger.Uncut && st.Fails == ledger.IsFailing && s.State.Mains == power.MainsOnline && !s.State.OutputOff && !s.Mute
}

// isClear reports whether all that a supply feeds is down, and nobody is asked for it, nor was told to bring any of it back.
func (e *Works) isClear(supply int, at moment) bool {
	return !slices.ContainsFunc(e.Graph.Dependents(supply), func(u int) bool {
		n := e.Entry(u)
		switch decl := e.Graph.Node(u); decl.Kind {
		case plan.Self, plan.Outlet, plan.Passive:
			return false
		case plan.Person:
			return n.Last.Verb == plan.Start || n.Shown != ledger.ShownOff && !n.GivenUp.Has(plan.Stop)
		default:
			return decl.Can.Has(plan.Stop) && !e.isDownBy(u, at)
		}
	})
}

// isDownBy reports whether a node is off, as far as it was asked after a moment ago, or may be then.
func (e *Works) isDownBy(u int, at moment) bool {
	switch at {
	case now:
		return e.IsOff(u) && !e.IsOld(u, belief.LookAge) && !e.IsAtWork(u)
	case soon:
		return e.IsOff(u) || e.Goes(u) || e.SilenceMayTell(u)
	default:
		return !e.ShowsUp(u) || e.Goes(u)
	}
}
