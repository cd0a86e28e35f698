package runbook

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// references resolves fed_by and depends_on and builds the graph from them.
func (c *checker) references() {
	for i := range c.rb.Nodes {
		n, v := &c.rb.Nodes[i], &c.vertices[i]
		v.fed = unreadable(n.at, "fed_by")
		v.open = unreadable(n.at, "depends_on")
		for k, at := range items(n.at, "fed_by") {
			c.feed(i, at, fmt.Sprintf("nodes.%s.fed_by[%d]", n.ID, k))
		}
		for k, at := range items(n.at, "depends_on") {
			c.depend(i, at, fmt.Sprintf("nodes.%s.depends_on[%d]", n.ID, k))
		}
	}
}

// unreadable reports whether a key that should be a list is there and is none: which is reported already.
func unreadable(decl pair, key string) bool {
	v := decl.val.get(key)
	return v != nil && v.kind != sequence
}

func (c *checker) feed(i int, at *value, path string) {
	if at.kind != scalar {
		return
	}
	c.vertices[i].fed = true
	if strings.Contains(at.text, "/") {
		c.outlet(i, at, path)
		return
	}
	if _, ok := c.supply[at.text]; ok {
		return
	}
	if _, isNode := c.node[at.text]; isNode {
		c.add(Error, at, path, fmt.Sprintf("%s is a node, not a supply", at.text), "put it under depends_on")
		return
	}
	c.add(Error, at, path, fmt.Sprintf("there is no supply %q", at.text), c.guess(at.text, c.supply, "supplies"))
}

func (c *checker) depend(i int, at *value, path string) {
	if at.kind != scalar {
		return
	}
	v := &c.vertices[i]
	to, ok := c.resolve(at, path)
	if !ok {
		v.open = true
		return
	}
	if slices.ContainsFunc(v.deps, func(e edge) bool { return e.to == to }) {
		c.add(Warning, at, path, fmt.Sprintf("%s is listed twice", at.text), "remove one")
		return
	}
	c.vertices[i].deps = append(c.vertices[i].deps, edge{to, at})
}

// resolve finds the vertex that an entry of a list of nodes names: a node, or a label selector.
func (c *checker) resolve(at *value, path string) (int, bool) {
	if i, ok := c.node[at.text]; ok {
		return i, true
	}
	if strings.Contains(at.text, "=") {
		return c.label(at, path)
	}
	if _, isSupply := c.supply[at.text]; isSupply {
		c.add(Error, at, path, fmt.Sprintf("%s is a supply, not a node", at.text),
			"put it under fed_by; a supply is cut last automatically")
		return 0, false
	}
	c.add(Error, at, path, fmt.Sprintf("there is no node %q", at.text), c.guess(at.text, c.node, "nodes"))
	return 0, false
}

func (c *checker) label(at *value, path string) (int, bool) {
	if i, known := c.selector[at.text]; known {
		return i, true
	}
	nodes, ok := c.labelled[at.text]
	if !ok {
		known := make(map[string]int, len(c.labelled))
		for l := range c.labelled {
			known[l] = 0
		}
		c.add(Error, at, path, fmt.Sprintf("no node has the label %q", at.text), c.guess(at.text, known, "labels"))
		return 0, false
	}
	v := vertex{name: at.text}
	for _, n := range nodes {
		v.deps = append(v.deps, edge{to: n})
	}
	c.vertices = append(c.vertices, v)
	c.selector[at.text] = len(c.vertices) - 1
	return len(c.vertices) - 1, true
}

// cycles reports rings in the graph, each by the entry that closes it, and orders the vertices if there are none.
func (c *checker) cycles() {
	const (
		unseen = iota
		onPath
		done
	)
	state := make([]uint8, len(c.vertices))
	next := make([]int, len(c.vertices)) // the edge to look at next
	inRing := make([]bool, len(c.vertices))
	order := make([]int, 0, len(c.vertices))
	ring := false
	for start := range c.vertices {
		if state[start] != unseen {
			continue
		}
		path := []int{start}
		state[start] = onPath
		for len(path) > 0 {
			at := path[len(path)-1]
			if next[at] == len(c.vertices[at].deps) {
				state[at] = done
				order = append(order, at)
				path = path[:len(path)-1]
				continue
			}
			e := c.vertices[at].deps[next[at]]
			next[at]++
			switch state[e.to] {
			case unseen:
				state[e.to] = onPath
				path = append(path, e.to)
			case onPath:
				ring = true
				c.ring(path[slices.Index(path, e.to):], inRing)
			}
		}
	}
	if !ring {
		c.order = order
	}
}

// ring reports the ring of vertices that each depend on the next, and the last on the first.
func (c *checker) ring(walk []int, inRing []bool) {
	if inRing[walk[0]] && inRing[walk[len(walk)-1]] {
		return // another way round what is reported already
	}
	// Begin with the node whose entry closes the ring: the last one that is no label selector.
	from := len(walk) - 1
	for from > 0 && walk[from] >= len(c.rb.Nodes) {
		from--
	}
	to := walk[(from+1)%len(walk)]
	var names []string
	for k := range walk {
		v := walk[(from+k)%len(walk)]
		inRing[v] = true
		names = append(names, c.vertices[v].name)
	}
	names = append(names, names[0])
	n := &c.rb.Nodes[walk[from]]
	for _, e := range c.vertices[walk[from]].deps {
		if e.to == to {
			c.add(Error, e.at, "nodes."+n.ID+".depends_on", "dependency cycle: "+strings.Join(names, " → "),
				"break the cycle: remove an entry from one depends_on")
			return
		}
	}
}

// onMachine reports whether a VM depends on the machine that it is reached through, as one of libvirt's through the SSH server
// of its host: there a host is a node like any other.
func (c *checker) onMachine(i int) bool {
	through := c.rb.through(i)
	return slices.ContainsFunc(c.vertices[i].deps, func(e edge) bool {
		return e.to < len(c.rb.Nodes) && c.traits[e.to].Kind == plan.Other && c.traits[e.to].Can.Has(plan.Stop) &&
			slices.Contains(through, c.rb.Nodes[e.to].Via)
	})
}

// carriers warns of what Ebbtide's own machine stands on: it can't be stopped before Ebbtide is, and nobody stops it after that.
func (c *checker) carriers() {
	self := slices.IndexFunc(c.rb.Nodes, func(n NodeDecl) bool { return n.Type == "self" })
	if c.order == nil || self < 0 {
		return
	}
	seen := map[int]bool{self: true}
	for queue := []int{self}; len(queue) > 0; queue = queue[1:] {
		for _, e := range c.vertices[queue[0]].deps {
			if seen[e.to] {
				continue
			}
			seen[e.to] = true
			if e.to >= len(c.rb.Nodes) || c.types[e.to] == nil || !c.traits[e.to].Can.Has(plan.Stop) || c.traits[e.to].Kind == plan.Outlet {
				queue = append(queue, e.to)
				continue
			}
			id := c.rb.Nodes[e.to].ID // what that stands on goes with it
			c.nodeWarning(self, []string{"depends_on"}, "run Ebbtide on a machine of its own, or on "+id+" itself, which is then the node of type self",
				"Ebbtide's own machine needs %[1]s, so %[1]s can't be shut down in order and loses power while running", id)
		}
	}
}

// fedByWhat warns of a machine of which it is only known which network it is in.
func (c *checker) fedByWhat(i int) {
	n, tr := &c.rb.Nodes[i], &c.traits[i]
	if c.vertices[i].open || len(n.FedBy) > 0 || !tr.Can.Has(plan.Stop) || tr.Kind != plan.Other && tr.Kind != plan.Host {
		return
	}
	var passive []string
	for _, e := range c.vertices[i].deps {
		if e.to >= len(c.rb.Nodes) || c.types[e.to] == nil || c.traits[e.to].Kind != plan.Passive {
			return
		}
		passive = append(passive, c.rb.Nodes[e.to].ID)
	}
	if len(passive) > 0 {
		c.nodeWarning(i, nil, "add fed_by: [SUPPLY]: what feeds the machine itself", "%s has no fed_by: it is taken to lose its power with %s", n.ID,
			english.Series(passive, len(passive)))
	}
}

// reach warns of nodes that no supply feeds and of VMs whose host nobody knows.
func (c *checker) reach() {
	if c.order == nil {
		return
	}
	fed, hosted := make([]bool, len(c.vertices)), make([]bool, len(c.vertices))
	hosts := false
	for _, v := range c.order { // what a vertex depends on comes before it
		at := &c.vertices[v]
		fed[v] = at.fed || at.open
		hosted[v] = at.open
		if v < len(c.rb.Nodes) {
			hosted[v] = hosted[v] || c.types[v] == nil || c.traits[v].Kind == plan.Host || c.onMachine(v)
			hosts = hosts || c.traits[v].Kind == plan.Host
		}
		for _, e := range at.deps {
			fed[v] = fed[v] || fed[e.to]
			hosted[v] = hosted[v] || hosted[e.to]
		}
	}
	for i := range c.rb.Nodes {
		n := &c.rb.Nodes[i]
		if !fed[i] {
			c.nodeWarning(i, nil, "add fed_by: [SUPPLY], or depends_on what is fed",
				"no supply feeds %s or what it depends on: it would never be shut down", n.ID)
		} else if c.types[i] != nil {
			c.fedByWhat(i)
		}
		if c.types[i] == nil || c.traits[i].Kind != plan.VM || hosted[i] {
			continue
		}
		if !c.types[i].Selects {
			c.nodeWarning(i, nil, "add the host that it runs on to depends_on",
				"%s depends on no host, so its host may be shut down before it", n.ID)
		} else if !hosts {
			c.nodeWarning(i, nil, "declare the hosts: the inventory tells which VM runs on which",
				"no host is declared, so the hosts of %s may be shut down before its VMs", n.ID)
		}
	}
}
