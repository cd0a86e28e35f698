package work

import (
	"slices"
	"strings"

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
// by the two would keep it. On battery an output stays off until the mains are back. One that is silent, or whose load was given up, is not waited for.
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
	settles := func(u int) bool { return e.IsOff(u) || e.AcceptedStop(u) && !e.Entry(u).GivenUp.Has(plan.Stop) }
	return slices.ContainsFunc(e.Graph.Dependents(supply), func(u int) bool {
		return e.owesCycle(u, supply) && (slices.ContainsFunc(e.Graph.Sources(u), waits) || len(e.toJoin(u, settles)) > 0)
	})
}

// CommitTogether puts on record that a supply which is back is to be cut after all, and with it each other that feeds the same: something is to be on and
// is proven off that only the return of its power starts, which it has not lost. Each is cut once for that, and none while anything is on.
func (e *Works) CommitTogether(k int) {
	if !e.isBack(k) {
		return
	}
	for _, u := range e.Graph.Dependents(e.Supplies[k].Node) {
		if !e.owesCycle(u, e.Supplies[k].Node) || !e.IsOff(u) {
			continue
		}
		if ids := e.toJoin(u, e.IsOff); len(ids) > 0 {
			why := "it is off, and has not lost its power since"
			e.noReturn(u, plan.Stop, ids, why)
			e.Notify(true, e.Would("cutting ", "would cut ")+strings.Join(ids, ", ")+" after all: only the return of its power starts "+e.ID(u)+", and "+why)
			return
		}
	}
}

// toJoin names the supplies that are back and are to be cut, so that something which owes a cycle loses its power: none unless every other one that
// feeds it is cut too, and all that they feed is down, as the caller asks.
func (e *Works) toJoin(u int, isDown func(load int) bool) (ids []string) {
	if !e.ComesUp(u) || e.Beliefs[u].Seen.State == plan.Gone { // it would be stopped again, or is not there
		return nil
	}
	for _, f := range e.Graph.Sources(u) {
		k, cut := e.Ledger.SupplyOf[f], &e.Entry(f).Last
		tried := e.Entry(f).GivenUp.Has(plan.Cut) || cut.Verb == plan.Cut && cut.Op > e.Entry(u).Last.Op
		switch {
		case e.IsBeingCut(k):
			continue
		case tried, !e.Graph.Node(f).Can.Has(plan.Cut), e.Supplies[k].Mute, !e.isClear(f, isDown):
			return nil
		case e.isBack(k):
			ids = append(ids, e.ID(f))
		case e.Standing(k).Cycle != ledger.Committed:
			return nil
		}
	}
	return ids
}

// isBack reports whether a supply has failed, has its mains again, is not to be cut, and starts nothing yet.
func (e *Works) isBack(k int) bool {
	st := e.Standing(k)
	return st.Cycle == ledger.Uncut && st.Fails == ledger.HasReturned && !st.Waived && e.Live(k) && !e.Supplies[k].Gate && !e.Ledger.Outage.Orders.Hold && !e.Ledger.Outage.Drill.On()
}

// isClear reports whether all that a supply feeds is down, as the caller asks, and nobody was told to bring any of it back.
func (e *Works) isClear(supply int, isDown func(load int) bool) bool {
	return !slices.ContainsFunc(e.Graph.Dependents(supply), func(u int) bool {
		switch decl := e.Graph.Node(u); decl.Kind {
		case plan.Self, plan.Outlet, plan.Passive:
			return false
		case plan.Person:
			return e.Entry(u).Last.Verb == plan.Start
		default:
			return decl.Can.Has(plan.Stop) && !isDown(u)
		}
	})
}
