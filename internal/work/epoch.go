package work

import (
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// renew begins a new epoch of a node, whose power may have come back, and asks after it.
func (e *Works) renew(i int) {
	decl := e.Graph.Node(i)
	if decl.Kind == plan.Passive {
		e.Beliefs[i].Boots = e.Now.Add(belief.BootTime(decl))
	}
	if !belief.Probed(decl) || decl.Kind == plan.Supply {
		return
	}
	b := &e.Beliefs[i]
	rising := b.Rising
	b.Settled = plan.Unknown
	b.Renew(e.NextOp)
	if b.Rising = rising; decl.Kind != plan.VM { // a VM comes up with its host, if that does
		b.Rising = e.Now.Add(e.PowerUpTime(i))
		b.Boots = b.Rising
	}
	e.Probe(i)
	e.Touch(i)
}

// RenewLoad begins a new epoch of all that a supply feeds or carries: its power was lost, or may have been. Machines may be on
// their way up with it. What others carried meanwhile, with all that it needs, did not lose it.
func (e *Works) RenewLoad(k int) (renewed []int) {
	dark := e.Graph.Scope(func(f int) bool { other := e.Ledger.SupplyOf[f]; return other == k || !e.Carries(other) })
	for _, i := range e.Graph.Dependents(e.Supplies[k].Node) {
		if dark[i] {
			e.renew(i)
			e.voidStart(i)
			renewed = append(renewed, i)
		}
	}
	return renewed
}

// SettleIn follows a node that is proven on or off, and was not so before, or not off any more: what it carries comes up or goes with it.
func (e *Works) SettleIn(i int) {
	for _, h := range e.DisproveHosts(i) {
		if e.AcceptedStop(h) { // or its silence after a crash would prove it off
			e.Record(ledger.Record{Kind: ledger.Seen, Nodes: []ledger.NodeState{{Node: e.ID(h)}}, Cause: ledger.Disproved})
		}
		e.SettleIn(h)
		e.Touch(h)
	}
	for _, d := range e.BelieOutlets(i) {
		e.Touch(d)
		e.Probe(d)
	}
	was, isOutlet := e.Beliefs[i].Settled, e.Graph.Node(i).Kind == plan.Outlet
	says := func(state plan.State) bool { return isOutlet && e.Beliefs[i].Answer == state }
	switch {
	case e.IsOff(i), says(plan.Off): // it comes on by somebody's hand then, and not by itself
		e.Beliefs[i].Settled, e.Beliefs[i].Obeying = plan.Off, time.Time{}
	case e.IsOn(i), says(plan.On) && was == plan.Unknown:
		e.Beliefs[i].Settled = plan.On
	case says(plan.Stopping): // if it is on after that it may have been off
		e.Beliefs[i].Settled = plan.Unknown
		return
	case was == plan.Off, e.Rises(i): // it may be on its way up
		e.Beliefs[i].Settled = plan.Unknown
	}
	if was == e.Beliefs[i].Settled {
		return
	}
	told := e.Ledger.Outage != nil && e.Entry(i).Shown != ledger.AsFound
	switch e.Graph.Node(i).Kind {
	case plan.Host, plan.Other:
		e.RenewGuests(i, was == plan.Off)
	case plan.Outlet:
		e.noteOn(i, was)
		e.renewBehind(i, was != plan.Unknown || told)
	default:
	}
}

// noteOn puts on record that an outlet which was off, and which nobody told to, is on: what hangs on it has its power back. One that was
// shown off is called on again.
func (e *Works) noteOn(i int, was plan.State) {
	if was == plan.Off && e.IsOn(i) && e.Ledger.Outage != nil && !e.WasOff(i) {
		e.Record(ledger.Record{Kind: ledger.Seen, Nodes: []ledger.NodeState{{Node: e.ID(i), State: plan.On}}, Cause: ledger.CameAgain})
	}
}

// renewBehind begins a new epoch of what hangs on an outlet that went on or off. What is off does not come up by losing its power. Of an
// outlet that is on, and of which it is not known that it was not before, only what was off when it was asked last may have come up since.
func (e *Works) renewBehind(outlet int, switched bool) {
	b := &e.Beliefs[outlet]
	for _, u := range e.Graph.Dependents(outlet) {
		switch isOff := e.IsOff(u); {
		case b.Settled == plan.Off && isOff:
		case switched, b.Settled == plan.On && isOff && e.Beliefs[u].AskedAt.Before(b.AskedAt):
			e.renew(u)
		}
	}
}

// RenewGuests begins a new epoch of the VMs on a host that went off or came up, and of what else runs on it: they went with it, and may
// start with it, so that the silence of what was off proves nothing.
func (e *Works) RenewGuests(host int, wasOff bool) {
	for _, u := range e.Graph.Users(host) {
		if e.HostOf(u) != host || e.IsOff(host) && e.IsOff(u) {
			continue
		}
		if until := e.Now.Add(belief.BootTime(e.Graph.Node(u))); e.IsOn(host) {
			e.Beliefs[u].HostIsUp(until)
			if wasOff || e.WasOff(host) || e.WasOff(u) {
				e.Beliefs[u].Hosted = until
			}
		}
		e.Beliefs[u].Epoch = e.NextOp
		e.Beliefs[u].Looks, e.Beliefs[u].Proof, e.Beliefs[u].Asked, e.Beliefs[u].Since = 0, belief.NoProof, false, e.Now
		e.Probe(u)
		e.Touch(u)
	}
}
