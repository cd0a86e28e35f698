package runbook

import (
	"cmp"
	"fmt"
	"slices"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/schema"
)

// Compiled is what the engine works by.
type Compiled struct {
	Estate   *plan.Estate
	Policy   power.Policy
	Supplies []power.Supply
	// Members tells, by node id, which member of which selector a node is.
	Members map[string]Member
	// Warnings tell what the live inventory says that the runbook does not expect.
	Warnings Problems

	runsOn map[string]string // the names of the hosts that the inventory saw VMs on, by node id
	hosts  *hostNames
}

// Member says where a node that was expanded from a selector comes from.
type Member struct {
	Selector string // node id of the selector
	MemberID string // the member's ID in the inventory; "" for a stand-in
}

// Compile turns a runbook without mistakes into the graph of its estate and the rules of its policy.
//
// inventory has the members of selectors as they are now, by the selector's node id. A selector without an entry is
// represented by as many stand-ins as its expect says, or one, spread over the hosts that it depends on. A declared
// node that is no selector may have an entry too: the one member that it is, for its host.
//
// Supplies become nodes, and so do outlets that anything hangs on. A selector becomes its members, "selector/name".
// What depends on a selector depends on all of its members, and these depend on all that the selector depends on. So
// that this takes n + m edges and not n × m, a passive node with the selector's own id, the junction, stands between:
// users depend on it and it depends on the members. A junction needs no action: going down it is passed once all users
// are down, coming up once all members are up. A selector with one member or no users has none. A label selector on
// which many nodes depend has one too, by the name of "key=value".
//
// A member that is a declared node or was found by an earlier selector already belongs there alone. What depends on
// the later selector depends on it all the same.
//
// The inventory adds edges from a VM to the declared host that it runs on and to declared storage that holds its
// disks. These are facts. Where they close a ring, as of a host that needs a DNS server which has moved onto it, the
// declared need that leads to the VM is left out, with a warning: the estate must go down all the same, and no host
// under a running VM.
func Compile(rb *Runbook, types schema.Types, inventory map[string][]plan.Member) (*Compiled, error) {
	if rb.parsed.HasErrors() {
		return nil, fmt.Errorf("cannot compile runbook %q: it has mistakes; run ebbtide check", rb.Name)
	}
	c := &compiler{
		rb: rb, schema: &types, inventory: inventory, byID: make(map[string]int, len(rb.Nodes)),
		expanded: make([]expansion, len(rb.Nodes)), nodes: make([]plan.Node, len(rb.Nodes)),
		out:      &Compiled{Members: map[string]Member{}, runsOn: map[string]string{}},
		warnings: &reporter{file: rb.reporter.file, lines: rb.reporter.lines, masks: rb.reporter.masks},
	}
	if err := c.templates(); err != nil {
		return nil, err
	}
	c.stages()
	c.index()
	c.expand()
	c.countUsers()
	nodes := c.assemble()
	estate, err := c.estate(nodes)
	if err != nil {
		return nil, fmt.Errorf("cannot compile runbook %q: %w", rb.Name, err)
	}
	c.out.Estate, c.out.Policy, c.out.Warnings = estate, rb.policy(), c.warnings.finish()
	for i := range rb.Supplies {
		s := &rb.Supplies[i]
		c.out.Supplies = append(c.out.Supplies, power.Supply{
			ID: s.ID, Curve: s.Curve, Watts: s.Watts, Recharge: s.Recharge,
			OffDelay: s.OffDelay, OnDelay: s.OnDelay, StaysOff: s.Cut == schema.CutStayOff,
		})
	}
	return c.out, nil
}

type compiler struct {
	rb        *Runbook
	schema    *schema.Types
	inventory map[string][]plan.Member
	out       *Compiled
	warnings  *reporter

	byID     map[string]int
	nodes    []plan.Node // per declaration: the node, or that of each member
	selects  []bool      // per declaration
	anything []bool      // per declaration: see schema.Traits.Anything
	expanded []expansion // per declaration
	labelled map[string][]int
	users    map[string]int // how many edges lead to a reference of depends_on

	byName     map[string][]int    // declarations that are no selectors, by their name in their system
	known      *sightings          // the same by what they say themselves that they are known by
	serves     map[string][]int    // nodes that hold disks, by what an inventory may call them
	claimed    *sightings          // nodes of members by what the member is known by
	live       map[string][]string // what the inventory says that a node runs on or has its disks on, by node id
	shared     map[string][]string // members of a selector that belong elsewhere, by the selector's id
	seenOn     map[string]string   // hosts that the inventory saw a node on, "" if not declared
	undeclared map[string][]string // nodes by the host that they run on and that is not declared
}

// expansion is what a declaration became.
type expansion struct {
	ids    []string // nodes: its own id, or those of the members that belong to it
	others []string // members of a selector that belong elsewhere
}

// templates makes the node of each declaration.
func (c *compiler) templates() error {
	types := map[string]*schema.AnyNodeType{}
	for i := range c.schema.Nodes {
		types[c.schema.Nodes[i].Name] = &c.schema.Nodes[i]
	}
	c.selects = make([]bool, len(c.rb.Nodes))
	c.labelled = map[string][]int{}
	for i := range c.rb.Nodes {
		d := &c.rb.Nodes[i]
		t, ok := types[d.Type]
		if !ok {
			return fmt.Errorf("cannot compile node %q: its type %q is not known; run ebbtide check", d.ID, d.Type)
		}
		c.nodes[i], c.selects[i], c.byID[d.ID] = nodeOf(c.schema, t, d), t.Selects, i
		c.anything = append(c.anything, t.Anything)
		for _, l := range d.Labels {
			key := l.Key + "=" + l.Value
			c.labelled[key] = append(c.labelled[key], i)
		}
	}
	return nil
}

// stages gives each node the first shed stage that names it, or the shutdown.
func (c *compiler) stages() {
	for i := range c.nodes {
		c.nodes[i].Stage = plan.ShutdownStage
	}
	for _, s := range slices.Backward(c.rb.Policy.Shed) {
		for _, ref := range s.Nodes {
			for _, i := range c.named(ref) {
				c.nodes[i].Stage = plan.Stage(s.Name)
			}
		}
	}
}

// named lists the declarations that an entry of a list of nodes names.
func (c *compiler) named(ref string) []int {
	if i, ok := c.byID[ref]; ok {
		return []int{i}
	}
	return c.labelled[ref]
}

// countUsers counts how many nodes will depend on each reference.
func (c *compiler) countUsers() {
	c.users = map[string]int{}
	for i := range c.rb.Nodes {
		n := 1
		if c.selects[i] {
			n = max(1, len(c.expanded[i].ids))
		}
		for _, ref := range c.rb.Nodes[i].DependsOn {
			c.users[ref] += n
		}
	}
	for label, nodes := range c.labelled {
		for _, i := range nodes {
			c.users[c.rb.Nodes[i].ID] += c.users[label]
		}
	}
}

// junctionFrom is how many edges a label selector must save to get a junction.
const junctionFrom = 100

// hasJunction reports whether a passive node stands for what ref names: a selector's id or a label selector.
func (c *compiler) hasJunction(ref string) bool {
	i, isNode := c.byID[ref]
	if !isNode {
		return c.users[ref] > 1 && len(c.labelled[ref])*c.users[ref] >= junctionFrom
	}
	return c.selects[i] && c.users[ref] > 0 && (len(c.expanded[i].ids) != 1 || len(c.expanded[i].others) > 0)
}

// targets gives the node ids that a reference of depends_on stands for.
func (c *compiler) targets(ref string) []string {
	if c.hasJunction(ref) {
		return []string{ref}
	}
	return c.standing(c.named(ref))
}

// standing gives the node ids that stand for declarations.
func (c *compiler) standing(decls []int) []string {
	var ids []string
	for _, i := range decls {
		if id := c.rb.Nodes[i].ID; c.hasJunction(id) {
			ids = append(ids, id)
		} else {
			ids = append(ids, c.expanded[i].ids...)
		}
	}
	return ids
}

// assemble makes all nodes: supplies, their outlets, then what is declared in its order, then junctions of labels.
func (c *compiler) assemble() []plan.Node {
	out := make([]plan.Node, 0, len(c.rb.Supplies)+len(c.nodes))
	for i := range c.rb.Supplies {
		out = append(out, supplyNode(&c.rb.Supplies[i]))
	}
	for _, o := range c.rb.Outlets() {
		out = append(out, c.outletNode(o))
	}
	var labels []string
	for i := range c.rb.Nodes {
		d, node := &c.rb.Nodes[i], c.nodes[i]
		for _, ref := range d.DependsOn {
			node.DependsOn = append(node.DependsOn, c.targets(ref)...)
			if _, isNode := c.byID[ref]; !isNode && c.hasJunction(ref) {
				labels = append(labels, ref)
			}
		}
		if d.Outlet != "" {
			node.DependsOn = append(node.DependsOn, d.Outlet)
		}
		node.DependsOn, node.FedBy = unique(node.DependsOn), unique(d.FedBy)
		c.house(&node, i)
		hosts := c.hostsOf(d)
		for k, id := range c.expanded[i].ids {
			n := node
			if n.ID = id; c.selects[i] {
				n.Group = d.ID
			}
			if n.Kind == plan.VM && !n.Bound {
				n.Host = hosts[0]
				if c.out.Members[id] == (Member{Selector: d.ID}) { // a stand-in
					n.Host = hosts[k%len(hosts)]
				}
				if seen, ok := c.seenOn[id]; ok {
					n.Host = seen
				}
			}
			out = append(out, c.withLive(n))
		}
		if c.selects[i] && c.hasJunction(d.ID) {
			junction := plan.Node{
				ID: d.ID, Type: d.Type, Kind: plan.Passive, Stage: node.Stage, DependsOn: c.expanded[i].ids,
				Attempts: 1, Labels: d.Labels,
			}
			if len(c.expanded[i].ids) == 0 { // it passes on what its members would need
				junction.DependsOn, junction.FedBy = node.DependsOn, node.FedBy
			}
			out = append(out, c.withLive(junction))
		}
	}
	slices.Sort(labels)
	for _, ref := range slices.Compact(labels) {
		nodes := c.labelled[ref]
		first := slices.MinFunc(nodes, func(a, b int) int { return cmp.Compare(c.stageIndex(a), c.stageIndex(b)) })
		out = append(out, plan.Node{
			ID: ref, Type: LabelType, Kind: plan.Passive, Stage: c.nodes[first].Stage,
			DependsOn: c.standing(nodes), Attempts: 1,
		})
	}
	return out
}

// LabelType is the node type of a label selector's junction.
const LabelType = "label"

// unique drops repeated ids, keeping the first of each.
func unique(ids []string) []string {
	if len(ids) < 2 {
		return ids
	}
	seen := make(map[string]bool, len(ids))
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// stageIndex orders stages by when they start in the runbook.
func (c *compiler) stageIndex(i int) int {
	at := slices.IndexFunc(c.rb.Policy.Shed, func(s Shed) bool { return plan.Stage(s.Name) == c.nodes[i].Stage })
	if at < 0 {
		return len(c.rb.Policy.Shed)
	}
	return at
}

// withLive adds the edges that the inventory knows and the runbook does not say.
func (c *compiler) withLive(n plan.Node) plan.Node {
	for _, edges := range []map[string][]string{c.live, c.shared} {
		if len(edges[n.ID]) > 0 {
			edges[n.ID] = without(edges[n.ID], n.DependsOn)
			n.DependsOn = slices.Concat(n.DependsOn, edges[n.ID])
		}
	}
	return n
}

// ownerOf gives the declaration that a node comes from.
func (c *compiler) ownerOf(id string) int {
	if m, ok := c.out.Members[id]; ok {
		id = m.Selector
	}
	return c.byID[id]
}

func (c *compiler) warn(decl int, key, message string) {
	d := &c.rb.Nodes[decl]
	at, path := d.at.key, "nodes."+d.ID
	if p := d.at.val.find(key); p != nil {
		at, path = p.val, path+"."+key
	}
	c.warnings.add(Warning, at, path, message, "")
}

// policy turns the policy section into the engine's rules, with what holds where it does not say.
func (rb *Runbook) policy() power.Policy {
	p := power.Policy{
		Protect: rb.Policy.Protect, Shutdown: rb.Policy.Shutdown, Restore: rb.Policy.Restore, Reserve: rb.Policy.Reserve,
		Odds: rb.Policy.Odds,
	}
	if p.Protect.IsZero() {
		p.Protect = power.Condition{Kind: power.OnBattery, For: defaultOnBattery}
	}
	if p.Restore.IsZero() {
		p.Restore = power.Condition{
			Kind: power.All,
			Of:   []power.Condition{{Kind: power.Online, For: defaultOnline}, {Kind: power.RechargedFor}},
		}
	}
	for _, s := range rb.Policy.Shed {
		p.Shed = append(p.Shed, power.Stage{Name: s.Name, When: s.When})
	}
	return p
}
