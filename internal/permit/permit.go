// Package permit is the seat belt. Every command to the estate leaves through it, and it asks again, at the moment in which the command
// leaves, over the records and the beliefs alone, what the product promises of commands (the numbers are those of docs/ARCHITECTURE.md,
// "What must always hold"). It knows nothing of what is wanted, nor of why a command is given: if it refuses, that is a fault of what came
// before it.
package permit

import (
	"fmt"
	"slices"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Command is a command that is about to leave.
type Command struct {
	Node     int
	Rung     plan.Verb     // what its node is told
	Cause    ledger.Cause  // why it is powered off without being asked, or its output is cut with something on, as it stands on record
	Reason   string        // the same in words
	Proof    belief.Rounds // the questions that were asked for it
	Graceful []int         // the nodes that are being stopped without force now
	Again    bool          // one of the same step has left before it
	Placed   bool          // it has a place under the limits
	Unsafe   bool          // its intent can't be made durable: the journal's disk is lost
}

// rules are what is asked of a command to a node.
var rules = [...]struct {
	number int
	allows func(e *belief.Estate, c *Command) string // why not; "": it does
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

// Refuses says why a command must not leave; "" if it may.
func Refuses(e *belief.Estate, c *Command) string {
	for _, r := range rules {
		if why := r.allows(e, c); why != "" {
			return fmt.Sprintf("rule %d: %s", r.number, why)
		}
	}
	return ""
}

// RisksData says why a command must not leave because of what is not on its storage yet; "" if it may as far as that goes. It is asked
// before the command's turn too: what does not answer yet may still show that it is clean.
func RisksData(e *belief.Estate, c *Command) string { return dataIsSafe(e, c) }

// usersAreOff: storage is never commanded off while anything that uses it is not proven off, or was given up and only the reserve is left,
// on record.
func usersAreOff(e *belief.Estate, c *Command) string {
	decl := e.Graph.Node(c.Node)
	if !c.Rung.TakesDown() || decl.Kind == plan.VM || decl.Kind == plan.Host || decl.Kind == plan.Self || decl.Kind == plan.Manual {
		return ""
	}
	return notProvenOff(e, c, slices.DeleteFunc(slices.Clone(e.UsersOf(c.Node)), func(u int) bool { return c.passesOver(e, u) }), "uses it")
}

// guestsAreOff: a host is never commanded off while a VM on it is on or stopping, unless that VM is forced by the same
// recorded decision, or anything else that uses it, which may have been given up when only the reserve is left.
func guestsAreOff(e *belief.Estate, c *Command) string {
	if !c.Rung.TakesDown() || e.Graph.Node(c.Node).Kind != plan.Host {
		return ""
	}
	taken := c.Rung == plan.Force && c.Reason != ""
	return notProvenOff(e, c, slices.DeleteFunc(slices.Clone(e.UsersOf(c.Node)), func(u int) bool {
		return taken && e.Graph.Node(u).Kind == plan.VM && e.Entry(u).GivenUp.Has(plan.Stop) || c.passesOver(e, u)
	}), "runs on it")
}

// isOfLastCall reports whether a command is given for want of time (docs/adr/0025). Storage is asked to stop then, and never powered off.
func (c *Command) isOfLastCall(e *belief.Estate) bool {
	if kind := e.Graph.Node(c.Node).Kind; c.Rung != plan.Stop && kind != plan.VM && kind != plan.Host {
		return false
	}
	return c.Cause.IsHaste() && c.Reason != ""
}

// passesOver reports whether a command is given although the stop of what uses its node was given up.
func (c *Command) passesOver(e *belief.Estate, user int) bool {
	return c.isOfLastCall(e) && e.IsPassable(user)
}

// leavesDirty reports whether a command is given although the flush of a cache was given up: it loses its power with what it holds
// otherwise, and what it holds that on with it.
func (c *Command) leavesDirty(e *belief.Estate, cache int) bool {
	return c.isOfLastCall(e) && e.Entry(cache).GivenUp.Has(plan.Flush)
}

// loadIsOff: a supply's output is never cut before everything that only it feeds is proven off, or its battery is about to
// give out, on record.
func loadIsOff(e *belief.Estate, c *Command) string {
	if c.Rung != plan.Cut || c.Cause == ledger.Pressed {
		return ""
	}
	return notProvenOff(e, c, e.UsersOf(c.Node), "is fed by it")
}

func notProvenOff(e *belief.Estate, c *Command, users []int, how string) string {
	for _, u := range users {
		if !e.ProvenOffTo(u, c.Proof) && !e.HasNoPower(u) {
			return fmt.Sprintf("%s %s and is not proven off", e.ID(u), how)
		}
	}
	return ""
}

// wasOn: nothing is started that was not on in the snapshot.
func wasOn(e *belief.Estate, c *Command) string {
	decl := e.Graph.Node(c.Node)
	if c.Rung != plan.Start || decl.Kind == plan.Passive || decl.Kind == plan.Manual || e.Entry(c.Node).Snap.On() {
		return ""
	}
	return "it was not on before"
}

// gateIsOpen: no power-up on battery, or before the recharge gate.
func gateIsOpen(e *belief.Estate, c *Command) string {
	if !c.Rung.BringsUp() {
		return ""
	}
	return gateOf(e, c.Node)
}

func gateOf(e *belief.Estate, i int) string {
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
			if why := gateOf(e, d); why != "" {
				return e.ID(d) + ": " + why
			}
		}
	}
	return ""
}

// hasSettled: no start is sent to a stopping node and no stop to a starting one before it has settled, but for the power-off of a host
// or a VM in the reserve.
func hasSettled(e *belief.Estate, c *Command) string {
	switch {
	case c.Rung.TakesDown() && e.Rises(c.Node) && belief.Probed(e.Graph.Node(c.Node)) && !c.CutsShort(e):
		return "it may be starting up"
	case (c.Rung.TakesDown() || c.Rung == plan.Start) && !e.Looked(c.Node):
		return "it has not been probed since its power came back, or since what it runs on came up"
	case c.Rung == plan.Start && e.IsStopping(c.Node):
		return "it is shutting down"
	}
	return ""
}

// CutsShort reports whether a command is the power-off of a host or a VM for want of time. On its way up a host has no data of its own to
// lose, and a VM no more than it loses with its power minutes later; and what it stands on can't be stopped before it is off
// (docs/adr/0020).
func (c *Command) CutsShort(e *belief.Estate) bool {
	kind := e.Graph.Node(c.Node).Kind
	return c.Rung == plan.Force && c.Cause.IsHaste() && (kind == plan.Host || kind == plan.VM)
}

// isWritable: intent durable before the command; nothing is brought up without a journal.
func isWritable(_ *belief.Estate, c *Command) string {
	if c.Rung.BringsUp() && c.Unsafe {
		return "the journal can't be written"
	}
	return ""
}

// hasPlace: concurrency limits hold, counting what was in flight before a crash.
func hasPlace(_ *belief.Estate, c *Command) string {
	if !c.Placed {
		return "it has no slot under the limits"
	}
	return ""
}

// orderHolds: order holds for every executed pair.
func orderHolds(e *belief.Estate, c *Command) string {
	o := e.Ledger.Outage
	switch {
	case c.Rung.TakesDown() && e.Graph.Node(c.Node).Kind == plan.VM:
		for _, u := range e.UsersOf(c.Node) {
			if !e.IsOff(u) && !o.Nodes[u].GivenUp.Has(plan.Stop) && !e.HasNoPower(u) {
				return e.ID(u) + " needs it and is not off"
			}
		}
	case c.Rung == plan.Start:
		for _, d := range e.BroughtUp(c.Node) {
			if !e.IsOn(d) {
				return "it needs " + e.ID(d) + ", which is not on"
			}
		}
	}
	return ""
}

// dataIsSafe: write-back caches go to write-through before the first VM is stopped, and are proven clean before their storage goes down, or
// their flush was given up and only the time for its stop is left, on record; a cluster is suspended before what stands on it, or carries
// it, is stopped.
func dataIsSafe(e *belief.Estate, c *Command) string {
	if !c.Rung.TakesDown() {
		return ""
	}
	if e.Graph.Node(c.Node).Can.Has(plan.Flush) && !e.IsClean(c.Node) && !c.leavesDirty(e, c.Node) {
		return "it is not proven clean"
	}
	keepsIt := func(cache int) bool { return e.KeepsDirty(cache, c.Node) && !c.leavesDirty(e, cache) }
	if at := slices.IndexFunc(e.Protectors, keepsIt); at >= 0 {
		return e.ID(e.Protectors[at]) + " on it is not proven clean"
	}
	if c.Rung != plan.Stop || c.Again && e.Last(c.Node).Reach() > ledger.InVain { // one that would not go has not been stopped
		return ""
	}
	if at := slices.IndexFunc(e.Protectors, func(p int) bool { return e.IsBare(p) && e.ComesBefore(p, c.Node) }); at >= 0 {
		if e.Beliefs[e.Protectors[at]].Seen.Protected == plan.No {
			return e.ID(e.Protectors[at]) + " is not protected"
		}
		return e.ID(e.Protectors[at]) + " has not been seen to be protected yet"
	}
	return ""
}

// onlyOursIsPutBack: what was not changed for this outage is left as it is.
func onlyOursIsPutBack(e *belief.Estate, c *Command) string {
	if c.Rung == plan.Unprotect && !e.Entry(c.Node).IsChanged() {
		return "it was not changed for this outage"
	}
	return ""
}

// losesAllFeeds: with A and B feeds a node counts as powered while any of its feeds is.
func losesAllFeeds(e *belief.Estate, c *Command) string {
	if !c.Rung.TakesDown() || e.InDrill(c.Node) || isHung(e, c) {
		return ""
	}
	for _, f := range e.Graph.Feeds(c.Node) {
		if k := e.Ledger.SupplyOf[f]; k >= 0 && e.Supplies[k].Condition.Carries() && !e.NeedsLost(c.Node) {
			return e.ID(f) + " still feeds it"
		}
	}
	return ""
}

// forceIsReasoned: every forced power-off has its reason on record, and no node of lower data risk is still waited for.
func forceIsReasoned(e *belief.Estate, c *Command) string {
	switch {
	case c.Rung != plan.Force:
	case c.Reason == "":
		return "no reason is on record"
	case (!c.Again || e.Last(c.Node).Rung != plan.Force) && e.LowerRiskWaits(c.Node, c.Graceful):
		return "something of lower data risk is still being waited for"
	}
	return ""
}

// losesPower: a node that keeps a live feed and needs nothing that goes dark is left alone.
func losesPower(e *belief.Estate, c *Command) string {
	if !c.Rung.TakesDown() && c.Rung != plan.Cut || e.GoesDown(c.Node) || isHung(e, c) {
		return ""
	}
	return "it keeps its power"
}

// isHung reports whether a node is powered off only to be started again.
func isHung(e *belief.Estate, c *Command) bool {
	return c.Rung == plan.Force && c.Cause == ledger.Hung && e.Entry(c.Node).Shown == ledger.WasTold
}
