package engine

import (
	"fmt"
	"slices"

	"ebbtide/internal/belief"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// The permit is the seat belt. Every command to the estate leaves through it, and it asks again, at the moment in which the
// command leaves, over the ledger and the beliefs alone, what the product promises of commands (the numbers are those of
// docs/ARCHITECTURE.md, "What must always hold"). If it refuses, that is a fault of what came before it.

// rules are what is asked of a command to a node.
var rules = [...]struct {
	number int
	allows func(e *Engine, i int, rung plan.Verb) string // why not; "": it does
}{
	{1, usersAreOff},
	{2, guestsAreOff},
	{3, loadIsOff},
	{4, wasOn},
	{5, gateIsOpen},
	{6, hasSettled},
	{7, isWritable},
	{9, hasPlace},
	{10, orderHolds},
	{12, dataIsSafe},
	{12, onlyOursIsPutBack},
	{17, losesAllFeeds},
	{18, forceIsReasoned},
	{21, losesPower},
}

// permit says why the command of the step under way must not leave; "" if it may.
func (e *Engine) permit(i int) string {
	rung := e.nodes[i].work.rung
	if why := e.nodes[i].work.stray; why != "" {
		return why
	}
	for _, r := range rules {
		if why := r.allows(e, i, rung); why != "" {
			return fmt.Sprintf("rule %d: %s", r.number, why)
		}
	}
	return ""
}

// usersAreOff: storage is never commanded off while anything that uses it is not proven off.
func usersAreOff(e *Engine, i int, rung plan.Verb) string {
	decl := e.Graph.Node(i)
	if !rung.TakesDown() || decl.Kind == plan.VM || decl.Kind == plan.Host || decl.Kind == plan.Self || decl.Kind == plan.Person {
		return ""
	}
	return e.notProvenOff(i, e.UsersOf(i), "uses it")
}

// guestsAreOff: a host is never commanded off while a VM on it is on or stopping, unless that VM is forced by the same
// recorded decision.
func guestsAreOff(e *Engine, i int, rung plan.Verb) string {
	if !rung.TakesDown() || e.Graph.Node(i).Kind != plan.Host {
		return ""
	}
	w := e.nodes[i].work
	taken := rung == plan.Force && w.force.reason != ""
	return e.notProvenOff(i, slices.DeleteFunc(slices.Clone(e.UsersOf(i)), func(u int) bool {
		return taken && e.Graph.Node(u).Kind == plan.VM && e.Entry(u).GivenUp.Has(plan.Stop)
	}), "runs on it")
}

// loadIsOff: a supply's output is never cut before everything that only it feeds is proven off, or its battery is about to
// give out, on record.
func loadIsOff(e *Engine, i int, rung plan.Verb) string {
	if rung != plan.Cut || e.nodes[i].work.force.cause == ledger.Pressed {
		return ""
	}
	return e.notProvenOff(i, e.UsersOf(i), "hangs on it")
}

func (e *Engine) notProvenOff(i int, users []int, how string) string {
	for _, u := range users {
		if !e.provenOffTo(i, u) && !e.HasNoPower(u) {
			return fmt.Sprintf("%s %s and is not proven off", e.ID(u), how)
		}
	}
	return ""
}

// wasOn: nothing is started that was not on in the snapshot.
func wasOn(e *Engine, i int, rung plan.Verb) string {
	decl := e.Graph.Node(i)
	if rung != plan.Start || decl.Kind == plan.Passive || decl.Kind == plan.Person || e.Entry(i).Snap.On() {
		return ""
	}
	return "it was not on before"
}

// gateIsOpen: no power-up on battery, or before the recharge gate.
func gateIsOpen(e *Engine, i int, rung plan.Verb) string {
	if !rung.BringsUp() {
		return ""
	}
	feeds := e.Graph.Feeds(i)
	fed := len(feeds) == 0
	for _, f := range feeds {
		if k := e.Ledger.SupplyOf[f]; k >= 0 && e.Live(k) && e.GateOf(k) != belief.GateShut {
			fed = true
		}
	}
	if !fed {
		return "none of its supplies is live and recharged"
	}
	for _, d := range e.Graph.Needs(i) {
		if e.Graph.Node(d).Kind != plan.Supply && len(feeds) == 0 {
			if why := gateIsOpen(e, d, rung); why != "" {
				return e.ID(d) + ": " + why
			}
		}
	}
	return ""
}

// hasSettled: no start is sent to a stopping node and no stop to a starting one before it has settled.
func hasSettled(e *Engine, i int, rung plan.Verb) string {
	switch {
	case rung.TakesDown() && e.Rises(i) && belief.Probed(e.Graph.Node(i)):
		return "it may be on its way up"
	case (rung.TakesDown() || rung == plan.Start) && !e.Looked(i):
		return "it has not been looked at since its power came back, or since what carries it came up"
	case rung == plan.Start && e.IsStopping(i):
		return "it is on its way down"
	}
	return ""
}

// isWritable: intent durable before the command; nothing is brought up without a journal.
func isWritable(e *Engine, _ int, rung plan.Verb) string {
	if rung.BringsUp() && e.journalLost {
		return "the journal can't be written"
	}
	return ""
}

// hasPlace: concurrency limits hold, counting what was in flight before a crash.
func hasPlace(e *Engine, i int, _ plan.Verb) string {
	if !e.nodes[i].work.placed {
		return "it has no place under the limits"
	}
	return ""
}

// orderHolds: order holds for every executed pair.
func orderHolds(e *Engine, i int, rung plan.Verb) string {
	o := e.Ledger.Outage
	switch {
	case rung.TakesDown() && e.Graph.Node(i).Kind == plan.VM:
		for _, u := range e.UsersOf(i) {
			if !e.IsOff(u) && !o.Nodes[u].GivenUp.Has(plan.Stop) && !e.HasNoPower(u) {
				return e.ID(u) + " needs it and is not off"
			}
		}
	case rung == plan.Start:
		for _, d := range e.BroughtUp(i) {
			if !e.IsOn(d) {
				return "it needs " + e.ID(d) + ", which is not on"
			}
		}
	}
	return ""
}

// dataIsSafe: write-back caches go to write-through before the first VM is stopped, and are proven clean before their storage
// goes down; a cluster is set aside before what stands on it, or carries it, is stopped.
func dataIsSafe(e *Engine, i int, rung plan.Verb) string {
	if !rung.TakesDown() {
		return ""
	}
	if e.Graph.Node(i).Can.Has(plan.Flush) && !e.IsClean(i) {
		return "it is not proven clean"
	}
	if c := slices.IndexFunc(e.Protectors, func(c int) bool { return e.KeepsDirty(c, i) }); c >= 0 {
		return e.ID(e.Protectors[c]) + " on it is not proven clean"
	}
	if rung != plan.Stop || e.wasSent(i) {
		return ""
	}
	if c := slices.IndexFunc(e.Protectors, func(c int) bool { return e.IsBare(c) && e.ComesBefore(c, i) }); c >= 0 {
		if e.Beliefs[e.Protectors[c]].Seen.Protected == plan.No {
			return e.ID(e.Protectors[c]) + " is not protected"
		}
		return e.ID(e.Protectors[c]) + " has not shown yet that it is protected"
	}
	return ""
}

// onlyOursIsPutBack: what was not changed for this outage is left as it is.
func onlyOursIsPutBack(e *Engine, i int, rung plan.Verb) string {
	if rung == plan.Unprotect && !e.Entry(i).IsChanged() {
		return "it was not changed for this outage"
	}
	return ""
}

// losesAllFeeds: with A and B feeds a node counts as powered while any of its feeds is.
func losesAllFeeds(e *Engine, i int, rung plan.Verb) string {
	if !rung.TakesDown() || e.InDrill(i) || e.isHung(i) {
		return ""
	}
	for _, f := range e.Graph.Feeds(i) {
		if k := e.Ledger.SupplyOf[f]; k >= 0 && e.Supplies[k].Condition.Carries() && !e.NeedsLost(i) {
			return e.ID(f) + " carries it"
		}
	}
	return ""
}

// forceIsReasoned: every forced power-off has its reason on record, and no node of lower data risk is still waited for.
func forceIsReasoned(e *Engine, i int, rung plan.Verb) string {
	switch {
	case rung != plan.Force:
	case e.nodes[i].work.force.reason == "":
		return "no reason is on record"
	case !e.isForced(i) && e.lowerRiskWaits(i):
		return "something of lower risk is waited for"
	}
	return ""
}

// losesPower: a node that keeps a live feed and needs nothing that goes dark is left alone.
func losesPower(e *Engine, i int, rung plan.Verb) string {
	if !rung.TakesDown() && rung != plan.Cut || e.GoesDown(i) || e.isHung(i) {
		return ""
	}
	return "it keeps its power"
}

// isHung reports whether a node is powered off only to be started again.
func (e *Engine) isHung(i int) bool {
	w := e.nodes[i].work
	return w.rung == plan.Force && w.force.cause == ledger.Hung && e.Entry(i).Shown == ledger.WasTold
}
