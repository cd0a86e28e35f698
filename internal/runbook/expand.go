package runbook

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// index finds declared nodes by their names in their systems.
func (c *compiler) index() {
	c.byName, c.serves = map[string][]int{}, map[string][]int{}
	c.out.hosts = &hostNames{byName: map[string]string{}, byVia: map[string][]string{}, listed: map[string][]string{}}
	for i := range c.rb.Nodes {
		if c.selects[i] {
			continue
		}
		d := &c.rb.Nodes[i]
		name := nameIn(d)
		c.byName[name] = append(c.byName[name], i)
		if c.nodes[i].Kind == plan.Other {
			for _, known := range c.storageNames(d, name) {
				c.serves[known] = append(c.serves[known], i)
			}
		}
		if c.nodes[i].Kind != plan.Host {
			continue
		}
		for _, known := range []string{strings.ToLower(name), strings.ToLower(d.ID)} {
			if _, taken := c.out.hosts.byName[known]; !taken {
				c.out.hosts.byName[known] = d.ID
			}
		}
		c.out.hosts.byVia[d.Via] = append(c.out.hosts.byVia[d.Via], d.ID)
	}
	for i := range c.rb.Nodes {
		for _, m := range c.inventory[c.rb.Nodes[i].ID] {
			c.out.hosts.lists(c.rb.Nodes[i].Via, m.Host)
		}
	}
	c.known = &sightings{hosts: c.out.hosts, of: map[string][]sighting{}}
	for i := range c.rb.Nodes {
		d := &c.rb.Nodes[i]
		if id := lasting(c.schema, d); id != "" && !c.selects[i] {
			host := ""
			for _, m := range c.inventory[d.ID] {
				host = m.Host
			}
			c.known.add(d.ID, d.Via, id, host)
		}
	}
}

// storageNames are what an inventory may call a node that holds disks: its name, what it says itself, and the address that
// it is reached at if it has a connection of its own.
func (c *compiler) storageNames(d *NodeDecl, name string) []string {
	names := append([]string{name}, d.Serves...)
	if address := schema.HostOf(c.rb.EndpointOf(c.schema, d.Via).Address); address != "" {
		names = append(names, address)
	}
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nameIn is a node's name in its system: what the key of its spec says that is called like the last part of its type
// ("vm" of "vsphere.vm"), without folders, or its id.
func nameIn(d *NodeDecl) string {
	name := specText(d.Spec, d.Type[strings.LastIndexByte(d.Type, '.')+1:])
	return cmp.Or(name[strings.LastIndexByte(name, '/')+1:], d.ID)
}

// specText gives the text of a spec's key, or its number; "" if it has none.
func specText(spec any, key string) string {
	switch field, ok := specField(spec, key); {
	case !ok:
	case field.Kind() == reflect.String:
		return field.String()
	case field.CanInt() && field.Int() != 0:
		return strconv.FormatInt(field.Int(), 10)
	}
	return ""
}

// specField finds the field of a spec that a key is read into.
func specField(spec any, key string) (reflect.Value, bool) {
	v := reflect.Indirect(reflect.ValueOf(spec))
	if v.Kind() != reflect.Struct {
		return v, false
	}
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); name == key {
			return v.Field(i), true
		}
	}
	return v, false
}

// expand gives each declaration its nodes.
func (c *compiler) expand() {
	c.claimed, c.seenOn = &sightings{hosts: c.out.hosts, of: map[string][]sighting{}}, map[string]string{}
	c.live, c.shared, c.undeclared = map[string][]string{}, map[string][]string{}, map[string][]string{}
	for i := range c.rb.Nodes {
		if c.selects[i] {
			c.members(i)
			continue
		}
		id := c.rb.Nodes[i].ID
		c.expanded[i].ids = []string{id}
		for _, m := range c.inventory[id] {
			c.runsOn(i, id, &m)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(c.undeclared)) {
		on := c.undeclared[host]
		slices.Sort(on)
		c.warn(c.ownerOf(on[0]), "", fmt.Sprintf("host %q is not declared, so nothing keeps it on until what runs there is off: %s", host,
			english.List(on, 4)))
	}
}

// members expands a selector.
func (c *compiler) members(i int) {
	d, x := &c.rb.Nodes[i], &c.expanded[i]
	live, known := c.inventory[d.ID]
	if !known {
		for k := range max(1, min(d.Expect, maxExpect)) {
			id := fmt.Sprintf("%s/%d", d.ID, k+1)
			x.ids = append(x.ids, id)
			c.out.Members[id] = Member{Selector: d.ID}
		}
		return
	}
	if d.Expect > 0 && farFrom(len(live), d.Expect) {
		c.warn(i, "expect", fmt.Sprintf("%s has %s now, far from what is expected", d.ID, english.Count(len(live), "member")))
	}
	live = slices.Clone(live)
	slices.SortFunc(live, func(a, b plan.Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	live = slices.CompactFunc(live, func(a, b plan.Member) bool { return a.ID == b.ID && a.Name == b.Name })
	c.warnOfOneID(i, live)
	for k := range live {
		m := &live[k]
		twin := k > 0 && live[k-1].Name == m.Name || k+1 < len(live) && live[k+1].Name == m.Name
		if owner := c.belongsTo(i, m, twin); owner != "" {
			x.others = append(x.others, owner)
			c.shared[d.ID] = append(c.shared[d.ID], owner)
			continue
		}
		id := d.ID + "/" + m.Name
		if twin { // by what lasts, so that a record of one is never taken for the other
			id += "~" + m.ID
		}
		c.claimed.add(id, d.Via, m.ID, m.Host)
		x.ids = append(x.ids, id)
		c.out.Members[id] = Member{Selector: d.ID, MemberID: m.ID}
		c.runsOn(i, id, m)
	}
}

// warnOfOneID warns of members that one system gives the same ID: it is by that that each is told anything, and none of them can be.
func (c *compiler) warnOfOneID(i int, live []plan.Member) {
	names := map[string]string{}
	for _, m := range live {
		if other, taken := names[strings.ToLower(m.ID)]; taken {
			c.warn(i, "", fmt.Sprintf("%s and %s have the same ID, %s, so that neither can be told to stop: give one of them a new one", other,
				m.Name, m.ID))
		}
		names[strings.ToLower(m.ID)] = m.Name
	}
}

// farFrom reports whether a live count is so far from what is expected that people should know.
func farFrom(live, expect int) bool {
	return live > expect+expect/2+1 || live < expect/2
}

// belongsTo finds the node that a member of selector i is already: a declared one, or a member of an earlier selector.
// A declared node is the same VM by its ID (uuid, vmid) if it gives one, and by its name otherwise, unless members are twins by
// name: a VM that is asked to stop twice is better than one that is never asked.
func (c *compiler) belongsTo(i int, m *plan.Member, twin bool) string {
	via := c.rb.Nodes[i].Via
	if id := c.known.node(via, m.ID, m.Host); id != "" && c.nodes[c.byID[id]].Type == c.nodes[i].Type {
		c.runsOn(c.byID[id], id, m)
		return id
	}
	for _, decl := range c.byName[m.Name] {
		d := &c.rb.Nodes[decl]
		if c.nodes[decl].Type != c.nodes[i].Type || lasting(c.schema, d) != "" {
			continue
		}
		if twin {
			c.warn(decl, "", fmt.Sprintf("several VMs of %s are named %s: give the %s of the one that %s stands for", c.rb.Nodes[i].ID,
				m.Name, c.schema.IDKey(d.Type), d.ID))
			continue
		}
		if d.Via != via {
			c.warn(decl, "", fmt.Sprintf("%s of %s is assumed to be the node %s because of its name: give its %s to be sure", m.Name,
				c.rb.Nodes[i].ID, d.ID, c.schema.IDKey(d.Type)))
		}
		c.runsOn(decl, d.ID, m)
		return d.ID
	}
	return c.claimed.node(via, m.ID, m.Host)
}

// runsOn notes what the inventory knows of a VM: its host, and the declared storage that holds its disks.
func (c *compiler) runsOn(decl int, id string, m *plan.Member) {
	if c.nodes[decl].Kind != plan.VM {
		return
	}
	if m.Host != "" {
		host, declared := c.out.hosts.byName[strings.ToLower(m.Host)]
		c.out.runsOn[id] = m.Host
		c.seenOn[id] = host
		if declared {
			c.addLive(id, host)
		} else {
			c.undeclared[m.Host] = append(c.undeclared[m.Host], id)
		}
	}
	for _, storage := range m.Storage {
		for _, s := range c.serves[strings.ToLower(storage)] {
			c.addLive(id, c.rb.Nodes[s].ID)
		}
	}
}

func (c *compiler) addLive(id, to string) {
	if id != to && !slices.Contains(c.live[id], to) {
		c.live[id] = append(c.live[id], to)
	}
}

// house finds out whether a node is a guest that only its host answers for, or one although its type says nothing of
// that: it has no feeds of its own, and needs a host, or the machine that it is commanded through. Such a guest goes
// with its host, and is a VM to the rules of safety where nothing depends on it: what others stand on, and what is said
// to be storage, is never stopped under what uses it.
func (c *compiler) house(n *plan.Node, i int) {
	d := &c.rb.Nodes[i]
	guest := c.anything[i] && len(d.FedBy) == 0 && d.Outlet == "" && n.Can.Has(plan.Stop)
	if n.Kind != plan.VM && !guest {
		return
	}
	host := c.hostsOf(d)[0]
	if machine := c.machineOf(i); machine != "" && (guest || host == "") {
		host, n.Bound = machine, true
	}
	n.Switches = n.Switches && host == ""
	if n.Host = host; guest && host != "" && n.Risk != plan.Storage && !c.needed(i) {
		n.Kind = plan.VM
	}
}

// needed reports whether anything depends on a declaration.
func (c *compiler) needed(i int) bool {
	return slices.ContainsFunc(c.rb.Nodes, func(d NodeDecl) bool {
		return slices.ContainsFunc(d.DependsOn, func(ref string) bool { return slices.Contains(c.named(ref), i) })
	})
}

// machineOf gives the machine that a declaration needs and is commanded through, "" if there is none.
func (c *compiler) machineOf(i int) string {
	through := c.rb.through(i)
	fed := func(d *NodeDecl) bool { return len(d.FedBy) > 0 || d.Outlet != "" }
	for _, ref := range c.rb.Nodes[i].DependsOn {
		for _, at := range c.named(ref) {
			machine := c.nodes[at].Kind == plan.Host || c.nodes[at].Kind == plan.Other && c.nodes[at].Can.Has(plan.Stop) &&
				fed(&c.rb.Nodes[at])
			if machine && c.rb.Nodes[at].Via != "" && slices.Contains(through, c.rb.Nodes[at].Via) {
				return c.rb.Nodes[at].ID
			}
		}
	}
	return ""
}

// hostsOf gives the hosts that a declaration depends on, in order; one "" if there is none.
func (c *compiler) hostsOf(d *NodeDecl) (hosts []string) {
	for _, ref := range d.DependsOn {
		for _, i := range c.named(ref) {
			if c.nodes[i].Kind == plan.Host {
				hosts = append(hosts, c.rb.Nodes[i].ID)
			}
		}
	}
	if len(hosts) == 0 {
		return []string{""}
	}
	return hosts
}
