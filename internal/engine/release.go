package engine

import (
	"slices"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// release gives up the cycle of a supply whose mains are back: at once where nothing needs it, and with the gate open but for that where it
// waits for what can't be proven. It is no reason to keep the rest down.
func (e *Engine) release(k int) {
	if !e.mayRelease(k) {
		return
	}
	s := &e.Supplies[k]
	needed := e.NeedsCycle(k)
	if needed {
		e.askWhoRefused(s.Node)
		if e.moves(s.Node) || !e.Policy.Restore.Holds(e.Facts(s)) {
			return
		}
	} else if e.IsAtWork(s.Node) {
		return
	}
	why := "it can't be cut: what the cut waits for is not proven off; " + e.ByHand(k)
	switch {
	case !needed:
		why = "its mains are back, and nothing that it feeds needs the power cycle"
	case !e.Graph.Node(s.Node).Can.Has(plan.Cut):
		why = "it is never cut; " + e.ByHand(k)
	case !e.CarriesLost(s.Node):
		why = useless + e.ByHand(k)
	}
	with := e.CutAtOnce(s.Node)
	e.giveUpCut(s.Node, why, needed)
	for _, f := range with {
		if at := e.Ledger.SupplyOf[f]; e.mayRelease(at) && e.IsKept(f) {
			e.giveUpCut(f, useless+e.ByHand(at), true)
		}
	}
}

// mayRelease reports whether a supply is to be cut although its mains are back, and the cut has not left.
func (e *Engine) mayRelease(k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	return st.Cycle == ledger.Committed && !st.IsOut() && s.State.Mains == power.MainsOnline && s.State.SilentFor == 0 &&
		!e.Ledger.Outage.Orders.Hold
}

const useless = "its cut would start nothing, since another output that feeds the same nodes is on; "

// giveUpCut takes down that a supply is not to be cut any more.
func (e *Engine) giveUpCut(supply int, why string, urgent bool) {
	if e.Under[supply] >= 0 {
		e.HoldBack(supply, why)
	}
	id := e.ID(supply)
	e.Record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Released, Power: ledger.Power{Supplies: []string{id}}, Reason: why})
	e.Notify(urgent, id+e.Would(" will not be cut: ", " would not be cut: ")+why)
}

// moves reports whether anything that the cut of a supply waits for may be proven off yet: of its load, or of that of those which it is cut
// together with.
func (e *Engine) moves(supply int) bool {
	mayTell := func(f int) bool { return slices.ContainsFunc(e.Graph.Dependents(f), e.SilenceMayTell) }
	return e.Now.Sub(e.MovedAt) < stalledFor || e.WorksUnder(supply) || slices.ContainsFunc(e.CutAtOnce(supply), mayTell)
}

// askWhoRefused asks after what would not take its stop: if it is on, it needs no cycle.
func (e *Engine) askWhoRefused(supply int) {
	for _, u := range e.Graph.Dependents(supply) {
		if e.Graph.Node(u).ByPower && e.Declined(u) && e.IsOld(u, belief.ProofAge) {
			e.Probe(u)
		}
	}
}
