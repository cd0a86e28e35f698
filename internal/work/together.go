package work

import (
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// What hangs on two outputs, and starts by nothing but the return of its power, has to lose both at once. Each output has a cycle of its
// own, which the mains, a battery or a dead link may bring forward, put off or void. On good mains a cut waits for one that is to come;
// what has kept its power all the same is found once it is proven off.

// owesCycle reports whether a node owes a cycle to what feeds it, a supply among that.
func (e *Works) owesCycle(i, supply int) bool {
	return e.OwesCycle(i) && slices.Contains(e.Graph.Sources(i), supply)
}

// earlyFor gives something that has to go before a cut, on good mains, since it hangs on another supply which is cut together with this
// one: what is to lose its power by the two would keep it. -1: there is nothing. On battery an output stays off until the mains are back.
// One that is silent, or whose load was given up, is not waited for. One from before a crash waits for what is on its way only: what is not
// told may wait to see whether that cut was made.
func (e *Works) earlyFor(supply int) int {
	s := &e.Supplies[e.Ledger.SupplyOf[supply]]
	if s.State.Mains != power.MainsOnline || e.Press[supply] >= want.CutNow {
		return -1
	}
	w := e.nodes[supply].work
	goes := func(u int) bool {
		return !e.IsOff(u) && !e.HasNoPower(u) && !e.Entry(u).GivenUp.Has(plan.Stop) && (!w.resumed || e.Goes(u))
	}
	for _, f := range e.CutAtOnce(supply)[1:] {
		if at := slices.IndexFunc(e.UsersOf(f), goes); at >= 0 {
			return e.UsersOf(f)[at]
		}
	}
	return -1
}

// CutAtOnce gives a supply, and those to be cut and heard that its cut is made together with: those which feed something that it is for,
// and, where they wait likewise, those that theirs is made together with.
func (e *Works) CutAtOnce(supply int) []int {
	all := []int{supply}
	for n := 0; n < len(all); n++ {
		if n > 0 && (e.Supplies[e.Ledger.SupplyOf[all[n]]].State.Mains != power.MainsOnline || e.Press[all[n]] >= want.CutNow) {
			continue // it waits for nobody
		}
		for _, u := range e.Graph.Dependents(all[n]) {
			if !e.owesCycle(u, all[n]) {
				continue
			}
			for _, f := range e.Graph.Sources(u) {
				if k := e.Ledger.SupplyOf[f]; !slices.Contains(all, f) && e.Standing(k).Cycle == ledger.Committed && !e.Supplies[k].Mute {
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// Those on whose being off a cut after all waits are asked every few seconds, until nothing has moved, or could be on its way up, for a
// while.
const (
	asksEvery = 5 * time.Second
	asksFor   = 2 * time.Minute
)

// CommitTogether puts on record that supplies which are back are to be cut after all: something is to be on and is proven off that only the
// return of its power starts, which it has not lost. Each is cut once for that until it fails again, and none while anything is on that it
// feeds and that can be stopped. What it has committed so it follows: a cut that would come too late is called off.
func (e *Works) CommitTogether() {
	for k := range e.Supplies {
		switch f := e.Supplies[k].Node; {
		case e.comesTooLate(f):
			e.callOff(f, "the node that needed the power cycle has had it, or keeps its power through another output")
		case e.isAfterAll(k): // its stages are on record, unless a crash came between
			e.TriggerEvery(k, "its output is to be cut after all")
		case e.isIdle(k):
			e.commitWith(k)
		}
	}
}

// commitWith does so for what one of them feeds.
func (e *Works) commitWith(k int) {
	for _, u := range e.Graph.Dependents(e.Supplies[k].Node) {
		if !e.owesCycle(u, e.Supplies[k].Node) || !e.IsOff(u) {
			continue
		}
		if ids := e.toJoin(u, e.isSurelyOff); len(ids) > 0 {
			why := "it is off and has not lost power since"
			e.noReturn(u, plan.Stop, ids, ledger.AfterAll, why)
			what := "the output of " + english.Series(ids, len(ids)) + " after all, although mains power is back: whatever no other UPS feeds " +
				e.Would("loses", "would lose") + " power for a moment. "
			e.Notify(true, e.Would("cutting ", "would cut ")+what+e.ID(u)+" starts only when its power returns, and "+why)
			return
		}
		if len(e.toJoin(u, func(l int) bool { return !e.ShowsUp(l) })) > 0 {
			e.askLoads(u)
		}
	}
}

// askLoads asks after all that is fed by what feeds a node, itself among it, as long as that may tell.
func (e *Works) askLoads(i int) {
	if !e.mayTellYet(i) {
		return
	}
	for _, f := range e.Graph.Sources(i) {
		for _, u := range e.Graph.Dependents(f) {
			if belief.Probed(e.Graph.Node(u)) && e.IsOld(u, asksEvery) && !e.ShowsUp(u) {
				e.Probe(u)
			}
		}
	}
}

// mayTellYet reports whether anything that is fed by what feeds a node has moved, or could be on its way up, not long ago.
func (e *Works) mayTellYet(i int) bool {
	until := e.MovedAt
	for _, f := range e.Graph.Sources(i) {
		for _, u := range e.Graph.Dependents(f) {
			if up := e.Beliefs[u].UpUntil(); up.After(until) {
				until = up
			}
		}
	}
	return e.Now.Before(until.Add(asksFor))
}

// MayMeet reports whether a supply that is back may yet be cut after all, together with another that feeds something which is off and that
// only the return of its power starts. Nothing is started on it meanwhile.
func (e *Works) MayMeet(k int) bool {
	if e.Ledger.Outage == nil || !e.isIdle(k) {
		return false
	}
	supply := e.Supplies[k].Node
	isUp := func(u int) bool { return e.ShowsUp(u) && isLoad(e.Graph.Node(u)) }
	meets := func(u int) bool {
		feeds := e.Graph.Sources(u)
		return e.MayOweCycle(u) && len(feeds) > 1 && slices.Contains(feeds, supply) && e.maySoonMeet(u)
	}
	return !slices.ContainsFunc(e.Graph.Dependents(supply), isUp) && slices.ContainsFunc(e.Graph.Dependents(supply), meets)
}

// maySoonMeet reports whether all that feeds a node may be cut at once: as soon as one that was cut is back, or those that they feed are
// proven off.
func (e *Works) maySoonMeet(u int) bool {
	feeds := e.Graph.Sources(u)
	if slices.ContainsFunc(feeds, e.comesOn) {
		return !slices.ContainsFunc(feeds, func(f int) bool { return !e.comesOn(f) && !e.mayBeCut(f) })
	}
	return (e.IsLeavingStill(u) || e.mayTellYet(u)) && len(e.toJoin(u, func(l int) bool { return !e.ShowsUp(l) })) > 0
}

// comesOn reports whether an output that was cut may be on again in the time that this takes, or is on, and its mains are about to count as
// back.
func (e *Works) comesOn(f int) bool {
	s := &e.Supplies[e.Ledger.SupplyOf[f]]
	st := e.Standing(e.Ledger.SupplyOf[f])
	isBack := st.IsOut() && s.State.Mains == power.MainsOnline && s.State.OnlineFor < belief.DeafAfter && !s.Unfit // and not sure yet
	return isBack || st.Cycle >= ledger.CutSent && !s.StaysOff && !s.CutDue.IsZero() &&
		e.Now.Before(s.CutDue.Add(s.OnDelay+belief.DeafAfter))
}

// isSurelyOff reports whether a node is off, as far as it was asked after a moment ago, and has not said otherwise since, or has no power.
func (e *Works) isSurelyOff(i int) bool {
	isShown := e.IsOff(i) && !e.IsOld(i, belief.ProofStands) && e.Beliefs[i].Doubt == plan.Unknown
	return !e.IsAtWork(i) && (isShown || e.HasNoPower(i))
}

// isAfterAll reports whether a supply is to be cut although its mains are there.
func (e *Works) isAfterAll(k int) bool {
	st := e.Standing(k)
	return st.Cycle == ledger.Committed && st.Twice && e.Supplies[k].State.Mains == power.MainsOnline
}

// toJoin names the supplies that are back and are to be cut, so that something which owes a cycle loses its power: none unless every other
// one that feeds it is cut too, at once, and all that they feed is down, as the caller asks. Where Ebbtide's own machine hangs on one of
// them it is not risked: one may take its cut and not make it.
func (e *Works) toJoin(u int, isDown func(load int) bool) (ids []string) {
	if !e.ComesUp(u) || e.Beliefs[u].Seen.State == plan.Gone { // it would be stopped again, or is not there
		return nil
	}
	_, ours := e.Lifeline()
	for _, f := range e.Graph.Sources(u) {
		switch k := e.Ledger.SupplyOf[f]; {
		case e.IsOffUntilMains(k):
		case ours[f], !e.mayBeCutNow(f, isDown):
			return nil
		case e.Standing(k).Cycle != ledger.Committed:
			ids = append(ids, e.ID(f))
		}
	}
	if !e.Meet(e.Graph.Sources(u)) {
		return nil
	}
	return ids
}

// mayBeCutNow reports whether a supply may be cut, and all that it feeds is down, as the caller asks.
func (e *Works) mayBeCutNow(supply int, isDown func(load int) bool) bool {
	return e.mayBeCut(supply) && e.isClear(supply, isDown)
}

// mayBeCut reports whether a supply is to be cut, if need be once more, or is back, can be, comes on again by itself, and has missed no
// cut. One on bypass has somebody at work on it, and one that is overloaded or asks for a new battery may not come back.
func (e *Works) mayBeCut(supply int) bool {
	k := e.Ledger.SupplyOf[supply]
	s := &e.Supplies[k]
	can := e.Graph.Node(supply).Can.Has(plan.Cut) && !s.StaysOff && !s.Mute
	can = can && !s.State.Bypass && !s.State.Overload && !s.State.ReplaceBattery
	return can && (e.Standing(k).Cycle == ledger.Committed || e.isIdle(k) && e.Standing(k).Missed == 0)
}

// comesTooLate reports whether a cut that was to come after all is in vain by now: each thing for which it was would keep its power by
// another output, which is on, or is on again before this one is off.
func (e *Works) comesTooLate(supply int) bool {
	return e.isAfterAll(e.Ledger.SupplyOf[supply]) && e.IsKept(supply)
}

// IsKept reports whether the cut of a supply would start nothing: each thing that it may be for keeps its power by another output.
func (e *Works) IsKept(supply int) bool {
	return !slices.ContainsFunc(e.Graph.Dependents(supply), func(u int) bool {
		isFor := e.Graph.Node(u).ByPower && slices.Contains(e.Graph.Sources(u), supply) && e.MayStayOff(u)
		return isFor && !e.keepsPower(u, supply)
	})
}

// keepsPower reports whether a node would keep its power when a supply is cut now, by another output that is on, or is on again before this
// one is off.
func (e *Works) keepsPower(u, supply int) bool {
	off := e.Now.Add(e.Supplies[e.Ledger.SupplyOf[supply]].OffDelay)
	return slices.ContainsFunc(e.Graph.Sources(u), func(f int) bool {
		at := e.Ledger.SupplyOf[f]
		other, cycle := &e.Supplies[at], e.Standing(at).Cycle
		isToBe := !other.Mute && (cycle == ledger.Committed || cycle == ledger.CutSent)
		meets := !other.CutDue.IsZero() && off.Before(other.CutDue.Add(other.OnDelay))
		return f != supply && !isToBe && !meets && !e.IsOffUntilMains(at)
	})
}

// meetsLater reports whether a cut on good mains, made now, would leave something its power that owes a cycle, by another output, and can
// be made together with a cut of that one, after all, when it is back.
func (e *Works) meetsLater(supply int) bool {
	if e.Supplies[e.Ledger.SupplyOf[supply]].State.Mains != power.MainsOnline || e.Press[supply] >= want.CutNow {
		return false
	}
	return slices.ContainsFunc(e.Graph.Dependents(supply), func(u int) bool {
		return e.owesCycle(u, supply) && e.keepsPower(u, supply) && e.maySoonMeet(u)
	})
}

// callOff gives up a cut that was to come after all.
func (e *Works) callOff(supply int, why string) {
	k := e.Ledger.SupplyOf[supply]
	if e.Under[supply] >= 0 {
		e.HoldBack(supply, why)
	}
	e.Record(ledger.Record{
		Kind: ledger.Mains, Cause: ledger.Released, Power: ledger.Power{Supplies: []string{e.ID(supply)}},
		Reason: "it is not cut after all: " + why,
	})
	e.Notify(true, e.ID(supply)+e.Would(" is not cut", " would not be cut")+" after all: "+why+"; "+e.ByHand(k))
}

// ByHand says what is left to a person where a supply is not cut.
func (e *Works) ByHand(k int) string {
	var ids []string
	for _, u := range e.Graph.Dependents(e.Supplies[k].Node) {
		if e.owesCycle(u, e.Supplies[k].Node) {
			ids = append(ids, e.ID(u))
		}
	}
	if len(ids) == 0 {
		return "nodes that start only when their power returns must be started by hand"
	}
	return english.Series(ids, len(ids)) + " must be switched on by hand"
}

// isIdle reports whether a supply has failed, has its mains again, is not to be cut, and starts nothing yet.
func (e *Works) isIdle(k int) bool {
	st := e.Standing(k)
	return st.Cycle == ledger.Uncut && st.Fails == ledger.HasReturned && st.Passed == ledger.NotPassed && !st.Twice && e.Live(k) &&
		!e.Supplies[k].Gate && !e.Ledger.Outage.Orders.Hold && !e.Ledger.Outage.Drill.On()
}

// isClear reports whether all that a supply feeds is down, as the caller asks: what a person switches, if he said so and was not told to
// bring it back.
func (e *Works) isClear(supply int, isDown func(load int) bool) bool {
	return !slices.ContainsFunc(e.Graph.Dependents(supply), func(u int) bool {
		n, decl := e.Entry(u), e.Graph.Node(u)
		if decl.Kind == plan.Manual {
			return n.Last.Verb == plan.Start || n.Shown != ledger.ShownOff
		}
		return isLoad(decl) && !isDown(u)
	})
}

// isLoad reports whether a node has to be down before what feeds it is cut after all: an outlet drops with its supply, whatever it says.
func isLoad(n *plan.Node) bool {
	return n.Can.Has(plan.Stop) && n.Kind != plan.Self && n.Kind != plan.Outlet && n.Kind != plan.Manual
}
