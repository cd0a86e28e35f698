package runbook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ebbtide/internal/plan"
)

// Outlet is a switched outlet, or group of outlets, of a supply. It is there because something hangs on it.
type Outlet struct {
	ID     string // "ups-a/2", "ups-a/group.1": its node
	Name   string // as NUT has it, between "outlet." and ".load.off": "2", "group.1"
	Supply *SupplyDecl
}

// OutletType is the node type of an outlet.
const OutletType = "outlet"

var outletName = regexp.MustCompile(`^(group\.)?[1-9][0-9]*$`)

// outletOf takes the outlet out of what fed_by says. A supply's name holds no slash.
func outletOf(fedBy []string) (supplies []string, outlet string) {
	for _, feed := range fedBy {
		supply, name, isOutlet := strings.Cut(feed, "/")
		if isOutlet && name != "" {
			outlet = feed
		}
		supplies = append(supplies, supply)
	}
	return supplies, outlet
}

// Outlets lists the outlets that anything hangs on, in the order of their first users.
func (rb *Runbook) Outlets() []Outlet {
	var all []Outlet
	for i := range rb.Nodes {
		id := rb.Nodes[i].Outlet
		if id == "" || slices.ContainsFunc(all, func(o Outlet) bool { return o.ID == id }) {
			continue
		}
		supply, name, _ := strings.Cut(id, "/")
		if at := slices.IndexFunc(rb.Supplies, func(s SupplyDecl) bool { return s.ID == supply }); at >= 0 {
			all = append(all, Outlet{ID: id, Name: name, Supply: &rb.Supplies[at]})
		}
	}
	return all
}

// outletNode makes the node of an outlet, to be switched off in the stage that takes the last of its users.
func (c *compiler) outletNode(o Outlet) plan.Node {
	n := plan.Node{
		ID: o.ID, Type: OutletType, Kind: plan.Outlet, FedBy: []string{o.Supply.ID}, Risk: plan.ControlPlane, Stage: plan.ShutdownStage,
		Can: plan.VerbSet(plan.Stop, plan.Start), Attempts: 1 + DefaultRetries, Rack: o.Supply.Rack,
	}
	n.Times[plan.Stop] = defaultTimes[plan.Force]
	n.Times[plan.Start] = defaultTimes[plan.Force]
	last := -1
	for i := range c.rb.Nodes {
		if at := c.stageIndex(i); c.rb.Nodes[i].Outlet == o.ID && at > last {
			last, n.Stage = at, c.nodes[i].Stage
		}
	}
	return n
}

// outlet holds an entry of fed_by that names an outlet against what an outlet can be.
func (c *checker) outlet(i int, at *value, path string) {
	n := &c.rb.Nodes[i]
	supply, name, _ := strings.Cut(at.text, "/")
	s, ok := c.supply[supply]
	fail := func(hint, format string, args ...any) { c.add(Error, at, path, fmt.Sprintf(format, args...), hint) }
	switch {
	case !ok:
		fail(c.guess(supply, c.supply, "supplies"), "there is no supply %q", supply)
	case !outletName.MatchString(name):
		fail(fmt.Sprintf("write %s/2 for outlet.2, %s/group.1 for outlet.group.1; upsc %s shows what there is", supply, supply,
			c.rb.Supplies[s].NUT()), "%q is not an outlet", name)
	case len(n.FedBy) > 1:
		fail("write "+supply, "%s has another feed too: an outlet may only feed nodes without another feed", n.ID)
	case c.rb.Supplies[s].Username == "":
		c.add(Warning, at, path, fmt.Sprintf("outlet %s of %s can't be switched: upsd accepts commands only from its users", name, supply),
			fmt.Sprintf("add username and password of an upsd user with instcmds = outlet.%s.load.off and outlet.%s.load.on", name, name))
	case n.Wake != nil && n.Wake.Power && c.traits[i].Can.Has(plan.Stop):
		c.add(Warning, at, path, fmt.Sprintf("once %s is stopped, the whole output of %s is cut: switching its outlet alone "+
			"may not start what starts only when its power returns", n.ID, supply),
			"give it another way to wake (mac, redfish or ipmi), and only its outlet goes off and on")
	}
}
