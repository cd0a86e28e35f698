package runbook

import (
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// defaultTimes hold where neither the runbook nor the node's type says.
var defaultTimes = map[plan.Verb]plan.Times{
	plan.Protect:   {Nominal: 5 * time.Second, Within: 30 * time.Second},
	plan.Flush:     {Nominal: 2 * time.Minute, Within: 10 * time.Minute},
	plan.Stop:      {Nominal: time.Minute, Within: 5 * time.Minute},
	plan.Force:     {Nominal: 5 * time.Second, Within: 30 * time.Second},
	plan.Start:     {Nominal: 2 * time.Minute, Within: 10 * time.Minute},
	plan.Unprotect: {Nominal: 5 * time.Second, Within: 30 * time.Second},
}

// outOfMaintenance is what a host that has just booted takes to leave maintenance mode: where it is part of a cluster, that configures it.
var outOfMaintenance = plan.Times{Nominal: 30 * time.Second, Within: 5 * time.Minute}

// defaultOffAfter is how long a host must be unreachable to count as off where its type does not say.
const defaultOffAfter = 30 * time.Second

// nodeOf makes the node that a declaration stands for, as far as its type and its own keys tell. A selector's is that
// of each of its members: where its own type leaves something open, theirs says it.
func nodeOf(s *schema.Types, t *schema.AnyNodeType, d *NodeDecl) plan.Node {
	n := plan.Node{
		ID: d.ID, Type: t.Name, Kind: t.Kind, Risk: t.Risk, Healthy: len(d.Healthy) > 0 || t.Healthy != nil && t.Healthy(d.Spec),
		Attempts: 1 + DefaultRetries, Watts: d.Watts, Rack: d.Rack, Notes: d.Notes, Labels: d.Labels,
	}
	types := []*schema.AnyNodeType{t}
	if member, ok := s.Node(t.Member); t.Selects && ok {
		n.Type, n.Kind = member.Name, member.Kind
		types = append(types, member)
	}
	n.Can = verbsOf(types, d)
	if d.Risk != nil {
		n.Risk = *d.Risk
	}
	n.Switches = t.Switches || t.MaySwitch && n.Risk != plan.Storage
	if d.Up.Retries != nil {
		n.Attempts = 1 + *d.Up.Retries
	}
	n.ByPower = waked(&n, s, d)
	if d.Down.Force.Never {
		n.Can &^= plan.VerbSet(plan.Force)
		n.Forces = 0
	}
	if t.OffAfter != nil {
		n.OffAfter = t.OffAfter(d.Spec)
	} else if n.Kind == plan.Host {
		n.OffAfter = defaultOffAfter
	}
	setTimes(&n, types, d)
	return n
}

// verbsOf gives what a node can be told, by its type or, of a selector that says nothing, by that of its members.
func verbsOf(types []*schema.AnyNodeType, d *NodeDecl) plan.Verbs {
	switch t := types[0]; {
	case t.Verbs != nil:
		return t.Verbs(d.Spec)
	case len(types) > 1 && types[1].Verbs != nil:
		return types[1].Verbs(types[1].Spec())
	}
	return 0
}

// waked gives a node the verbs that its wake has for it, and reports whether nothing but the return of its power starts it.
func waked(n *plan.Node, s *schema.Types, d *NodeDecl) (byPower bool) {
	starts := n.Can.Has(plan.Start)
	if d.Wake != nil && d.Wake.Starts() {
		n.Can |= plan.VerbSet(plan.Start)
		starts = true
	}
	if d.Wake != nil && d.Wake.Powers(s) && n.Can.Has(plan.Stop) {
		if n.Can.Has(plan.Force) {
			n.Forces = 2 // its own, and then its BMC's
		}
		n.Can |= plan.VerbSet(plan.Force)
	}
	switch n.Kind {
	case plan.Other, plan.Host, plan.Self, plan.Passive:
		return !starts
	case plan.VM, plan.Manual, plan.Supply, plan.Cluster, plan.Outlet:
	}
	return false
}

// setTimes gives a node its times: what the runbook says, its type, or what is usual.
func setTimes(n *plan.Node, types []*schema.AnyNodeType, d *NodeDecl) {
	for v, times := range defaultTimes {
		for _, t := range types {
			if given, ok := t.Times[v]; ok {
				times = given
				break
			}
		}
		n.Times[v] = times
	}
	if n.SuspendsItself() {
		n.Times[plan.Unprotect] = outOfMaintenance
	}
	override(&n.Times[plan.Stop], d.Down.Nominal, d.Down.Within)
	override(&n.Times[plan.Force], 0, d.Down.Force.Within)
	override(&n.Times[plan.Protect], 0, d.Down.ProtectWithin)
	override(&n.Times[plan.Unprotect], 0, d.Down.ProtectWithin)
	override(&n.Times[plan.Flush], d.Down.FlushNominal, d.Down.FlushWithin)
	override(&n.Times[plan.Start], d.Up.Nominal, d.Up.Within)
}

// override sets the times that the runbook gives; zero was not given. A shorter limit shortens what is expected.
func override(t *plan.Times, nominal, within time.Duration) {
	if within > 0 {
		t.Within = within
		t.Nominal = min(t.Nominal, within)
	}
	if nominal > 0 {
		t.Nominal = nominal
	}
}

// supplyNode makes the node of a supply's output.
func supplyNode(s *SupplyDecl) plan.Node {
	n := plan.Node{
		ID: s.ID, Type: SupplyType, Kind: plan.Supply, Risk: plan.ControlPlane, Stage: plan.ShutdownStage,
		Can: plan.VerbSet(plan.Start), Attempts: 1 + DefaultRetries, Rack: s.Rack, Notes: s.Notes,
	}
	if s.Cut != schema.CutNone {
		n.Can |= plan.VerbSet(plan.Cut)
	}
	n.Times[plan.Cut] = plan.Times{Nominal: 5 * time.Second, Within: 30 * time.Second}
	n.Times[plan.Start] = plan.Times{Nominal: time.Minute, Within: 30 * time.Minute}
	return n
}

// SupplyType is the node type of a supply's output: its class in policy.limits.
const SupplyType = "supply"
