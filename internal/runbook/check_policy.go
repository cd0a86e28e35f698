package runbook

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// stages holds the shed stages against the order of dependencies: what a node serves goes with it or before it.
func (c *checker) stages() {
	shed := c.rb.Policy.Shed
	stage := make([]int, len(c.vertices)) // index into shed; len(shed): the shutdown
	for i := range stage {
		stage[i] = len(shed)
	}
	named := map[int]*value{} // nodes by the entry that sheds them
	names := map[string]bool{}
	before := len(c.vertices)
	for s := range shed {
		c.stageName(&shed[s], s, names)
		for k, at := range items(pair{val: shed[s].at}, "nodes") {
			if at.kind != scalar {
				continue
			}
			path := fmt.Sprintf("policy.shed[%d].nodes[%d]", s, k)
			v, ok := c.resolve(at, path)
			if !ok {
				continue
			}
			nodes := []int{v}
			if v >= len(c.rb.Nodes) {
				nodes = nodes[:0]
				for _, e := range c.vertices[v].deps {
					nodes = append(nodes, e.to)
				}
			}
			for _, n := range nodes {
				if named[n] == nil {
					named[n], stage[n] = at, s
				} else if v == n {
					c.add(Warning, at, path, fmt.Sprintf("%s is already shed in stage %q", at.text, shed[stage[n]].Name), "remove it here")
				}
			}
		}
	}
	if c.order != nil {
		c.keepsOrder(stage[:before], named)
	}
}

func (c *checker) stageName(s *Shed, index int, names map[string]bool) {
	at := s.at.get("name")
	if at == nil || at.kind != scalar {
		return
	}
	path := fmt.Sprintf("policy.shed[%d].name", index)
	switch {
	case plan.Stage(s.Name) == plan.ProtectStage || plan.Stage(s.Name) == plan.ShutdownStage:
		c.add(Error, at, path, fmt.Sprintf("every plan already has a stage %s", s.Name), "give the stage another name")
	case names[s.Name]:
		c.add(Error, at, path, fmt.Sprintf("two stages are named %q", s.Name), "rename one of them, or merge them")
	}
	names[s.Name] = true
}

// keepsOrder reports nodes that would be shed before something that depends on them.
func (c *checker) keepsOrder(stage []int, named map[int]*value) {
	// A label selector goes as late as the latest of its users, and stands for them before its nodes.
	late := slices.Clone(stage)
	user := make([]int, len(stage)) // of a label selector: that latest user
	for v := range late[len(c.rb.Nodes):] {
		late[len(c.rb.Nodes)+v] = -1
	}
	for i := range c.rb.Nodes {
		for _, e := range c.vertices[i].deps {
			if e.to >= len(c.rb.Nodes) && stage[i] > late[e.to] {
				late[e.to], user[e.to] = stage[i], i
			}
		}
	}
	broken := map[int][]int{}
	for u := range stage {
		for _, e := range c.vertices[u].deps {
			if e.to >= len(c.rb.Nodes) || late[u] <= stage[e.to] {
				continue
			}
			who := u
			if u >= len(c.rb.Nodes) {
				who = user[u]
			}
			broken[e.to] = append(broken[e.to], who)
		}
	}
	for n := range c.rb.Nodes {
		users := broken[n]
		if len(users) == 0 {
			continue
		}
		slices.Sort(users)
		users = slices.Compact(users)
		var who []string
		for _, u := range users[:min(len(users), 3)] {
			who = append(who, fmt.Sprintf("%s (stage %s)", c.rb.Nodes[u].ID, c.stageOf(stage[u])))
		}
		if len(users) > 3 {
			who = append(who, fmt.Sprintf("and %d more", len(users)-3))
		}
		id := c.rb.Nodes[n].ID
		c.add(Error, named[n], "policy.shed", fmt.Sprintf("%s can't be shed in stage %s: what depends on it goes down later: %s", id,
			c.stageOf(stage[n]), strings.Join(who, ", ")),
			fmt.Sprintf("shed %s in the same stage or before, or leave %s out", c.rb.Nodes[users[0]].ID, id))
	}
}

func (c *checker) stageOf(s int) string {
	if s < len(c.rb.Policy.Shed) {
		return c.rb.Policy.Shed[s].Name
	}
	return string(plan.ShutdownStage)
}

// triggers holds the conditions of the stages against their purpose and each other.
func (c *checker) triggers() {
	p := &c.rb.Policy
	section := p.at.val
	if section == nil {
		section = &value{}
	}
	when := func(key string) *value {
		if v := section.get(key); v != nil {
			return v.get("when")
		}
		return nil
	}
	if p.Shutdown.IsZero() && p.shutdown == nil {
		at := p.at.key
		if at == nil {
			at = c.rb.top
		}
		c.add(Error, at, "policy.shutdown", "the policy has no shutdown: nothing would ever be shut down",
			"add shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}")
	}
	c.purpose(p.Protect, when("protect"), "policy.protect.when", false)
	c.purpose(p.Shutdown, when("shutdown"), "policy.shutdown.when", false)
	c.purpose(p.Restore, when("restore"), "policy.restore.when", true)
	for i := range p.Shed {
		c.purpose(p.Shed[i].When, p.Shed[i].at.get("when"), fmt.Sprintf("policy.shed[%d].when", i), false)
	}
	c.looksAtBattery(p.Shutdown, when("shutdown"))
	c.onMains(p.Shutdown, when("shutdown"))
	c.gate(p, when("restore"))
}

// purpose reports conditions that belong to the other direction.
func (c *checker) purpose(cond power.Condition, v *value, path string, up bool) {
	for _, kind := range cond.Needs() {
		if kind.IsForReturn() == up {
			continue
		}
		message, hint := "%s is a condition for coming back up: it can't trigger a shutdown",
			"use on_battery, slack_below, charge_below or low_battery"
		if up {
			message, hint = "%s is a condition for shutting down: it can't trigger a restore", "use online, charge_above or recharged_for"
		}
		if at, path := conditionAt(v, kind, path); at != nil {
			c.add(Error, at.key, path, fmt.Sprintf(message, kind), hint)
		}
	}
}

// looksAtBattery warns of a shutdown that waits for a time whatever the battery says, or for the end of the battery whatever the time.
func (c *checker) looksAtBattery(cond power.Condition, v *value) {
	for _, alone := range []struct {
		kind       power.Kind
		says, hint string
	}{
		{
			power.OnBattery, "the shutdown depends on time alone: an old battery may be empty before then",
			"write {any: [{on_battery: …}, {low_battery: true}, {slack_below: 2m}]}",
		},
		{
			power.LowBattery, "the shutdown begins at low battery only: there is seldom time left for the plan then",
			"write {any: [{slack_below: 2m}, {low_battery: true}]}",
		},
	} {
		if !slices.Equal(cond.Needs(), []power.Kind{alone.kind}) {
			continue
		}
		if at, path := conditionAt(v, alone.kind, "policy.shutdown.when"); at != nil {
			c.add(Warning, at.key, path, alone.says, alone.hint)
		}
	}
}

// onMains warns of a shutdown that may come while the mains are on, when no output is cut, if it stops what only the return
// of its power starts.
func (c *checker) onMains(cond power.Condition, v *value) {
	kind := cond.OnMains()
	if kind == "" || v == nil {
		return
	}
	var stuck []string
	for n := range c.rb.Nodes {
		if tr, wake := &c.traits[n], c.rb.Nodes[n].Wake; tr.Can.Has(plan.Stop) && tr.Kind != plan.Self && tr.ByPower && wake != nil &&
			wake.Power && !wake.Starts() {
			stuck = append(stuck, c.rb.Nodes[n].ID)
		}
	}
	hint := "add up: {wake: …} to each, with mac, redfish, ipmi or pdu"
	if kind == power.TemperatureAbove {
		hint += ", or write {all: [{on_battery: 1m}, {temperature_above: …}]}"
	}
	if len(stuck) > 0 {
		c.add(Warning, v, "policy.shutdown.when", fmt.Sprintf("%s may shut nodes down while mains power is on, when no output is cut: "+
			"then only a person can start %s again", kind, english.List(stuck, 4)),
			hint)
	}
}

// gate warns of a restore that is allowed at a charge at which the shutdown starts.
func (c *checker) gate(p *Policy, restore *value) {
	below := -1.0
	leaves(p.Shutdown, func(leaf power.Condition) {
		if leaf.Kind == power.ChargeBelow {
			below = max(below, leaf.Than)
		}
	})
	leaves(p.Restore, func(leaf power.Condition) {
		if leaf.Kind != power.ChargeAbove || leaf.Than > below {
			return
		}
		if at, path := conditionAt(restore, power.ChargeAbove, "policy.restore.when"); at != nil {
			c.add(Warning, at.val, path, fmt.Sprintf("restore may start at a charge of %s, where the shutdown already starts "+
				"(charge_below: %s)", percentText(leaf.Than), percentText(below)),
				"raise charge_above well above charge_below")
		}
	})
}

func (c *checker) limits() {
	known := map[string]int{SupplyType: 0}
	for i := range c.rb.schema.Nodes {
		if !c.rb.schema.Nodes[i].Selects {
			known[c.rb.schema.Nodes[i].Name] = 0
		}
	}
	for _, l := range c.rb.Policy.Limits {
		if _, ok := known[l.Class]; ok {
			continue
		}
		at := c.rb.Policy.at.val.get("limits").find(l.Class)
		if t, ok := c.rb.schema.Node(l.Class); ok {
			c.add(Error, at.key, "policy.limits."+l.Class,
				fmt.Sprintf("limits are for single nodes; %s stands for many", l.Class), "write "+t.Member)
			continue
		}
		c.add(Error, at.key, "policy.limits."+l.Class, fmt.Sprintf("there is no node type %q", l.Class),
			c.guess(l.Class, known, "node types"))
	}
}
