package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limit bounds how many nodes of a class may be worked on at once. Zero means no bound.
type Limit struct {
	Class   string `json:"class"`
	Total   int    `json:"total,omitempty"`
	PerHost int    `json:"per_host,omitempty"`
}

// Member is one thing that a selector covers in the live inventory.
type Member struct {
	ID      string   `json:"id"`                // unique and lasting in its system: a vSphere instance UUID
	Name    string   `json:"name"`              // as people know it
	Host    string   `json:"host,omitempty"`    // the name of the host that it runs on now
	On      bool     `json:"on,omitempty"`      // as the inventory says
	Storage []string `json:"storage,omitempty"` // names of what holds its disks, for edges that the inventory knows
}

// Estate is the immutable graph of everything that a runbook names. A node's supplies are edges like any other.
type Estate struct {
	nodes    []Node         // in topological order: what a node needs comes before it; ties by the order given
	index    map[string]int // by id
	needs    [][]int        // per node, ascending: what it depends on and what feeds it
	users    [][]int        // the reverse
	feeds    [][]int        // per node: the supplies that feed it
	deps     [][]int        // per node: what it depends on
	below    [][]int        // per supply and cluster: its dependents, which are asked for often
	carriers []int          // per node: see Carrier
	limits   []Limit        // by class name
	class    []int          // per node: its place in limits, -1: none applies
	lane     []int          // per node: the lane of its host within the class
	lanes    []int          // per class: how many
	down     *Plan          // of the whole estate; nil: Plan makes it each time
	up       *Plan          // back up; nil: Plan makes it each time
}

// CycleError says that nodes depend on each other in a ring.
type CycleError struct {
	Path []string // each depends on the next; the last is the first again
}

func (e *CycleError) Error() string {
	return "dependency cycle: " + strings.Join(e.Path, " → ")
}

// NewEstate orders nodes and checks the graph. An edge to an unknown node is an error; a ring is a *CycleError.
func NewEstate(nodes []Node, limits []Limit) (*Estate, error) {
	given := make(map[string]int, len(nodes))
	for i := range nodes {
		if _, dup := given[nodes[i].ID]; dup {
			return nil, fmt.Errorf("node %q is declared twice", nodes[i].ID)
		}
		given[nodes[i].ID] = i
	}
	needs := make([][]int, len(nodes))
	for i := range nodes {
		for _, ids := range [][]string{nodes[i].DependsOn, nodes[i].FedBy} {
			for _, id := range ids {
				j, ok := given[id]
				if !ok {
					return nil, fmt.Errorf("node %q needs %q, which is not declared", nodes[i].ID, id)
				}
				needs[i] = append(needs[i], j)
			}
		}
		slices.Sort(needs[i])
		needs[i] = slices.Compact(needs[i])
	}
	order, ring := topological(needs)
	if ring != nil {
		path := make([]string, len(ring))
		for i, n := range ring {
			path[i] = nodes[n].ID
		}
		return nil, &CycleError{Path: path}
	}
	e := &Estate{
		nodes:  make([]Node, len(nodes)),
		index:  make(map[string]int, len(nodes)),
		needs:  make([][]int, len(nodes)),
		users:  make([][]int, len(nodes)),
		limits: slices.SortedFunc(slices.Values(limits), func(a, b Limit) int { return cmp.Compare(a.Class, b.Class) }),
	}
	place := make([]int, len(nodes)) // from given to topological position
	for pos, i := range order {
		place[i] = pos
		e.nodes[pos] = nodes[i]
		e.index[nodes[i].ID] = pos
	}
	for pos, i := range order {
		for _, j := range needs[i] {
			e.needs[pos] = append(e.needs[pos], place[j])
		}
		slices.Sort(e.needs[pos])
		for _, j := range e.needs[pos] {
			e.users[j] = append(e.users[j], pos) // ascending, since pos ascends
		}
	}
	e.feeds, e.deps = make([][]int, len(nodes)), make([][]int, len(nodes))
	for i := range e.nodes {
		for _, id := range e.nodes[i].FedBy {
			e.feeds[i] = append(e.feeds[i], e.index[id])
		}
		for _, id := range e.nodes[i].DependsOn {
			e.deps[i] = append(e.deps[i], e.index[id])
		}
	}
	e.findCarriers()
	e.assignLanes()
	e.below = make([][]int, len(nodes))
	for i := range e.nodes {
		if kind := e.nodes[i].Kind; kind == Supply || kind == Cluster || e.nodes[i].Can.Has(Protect) {
			e.below[i] = e.findDependents(i)
		}
	}
	return e, nil
}

// assignLanes maps each node to the limit of its type and the lane of its host.
func (e *Estate) assignLanes() {
	type lane struct {
		class int
		host  string
	}
	known := map[lane]int{}
	e.class, e.lane, e.lanes = make([]int, len(e.nodes)), make([]int, len(e.nodes)), make([]int, len(e.limits))
	for i := range e.nodes {
		c, found := slices.BinarySearchFunc(e.limits, e.nodes[i].Type, func(l Limit, t string) int { return cmp.Compare(l.Class, t) })
		if !found {
			e.class[i] = -1
			continue
		}
		key := lane{c, e.nodes[i].Host}
		if _, seen := known[key]; !seen {
			known[key] = e.lanes[c]
			e.lanes[c]++
		}
		e.class[i], e.lane[i] = c, known[key]
	}
}

// Feeds lists the supplies that feed a node, as positions. The slice is not to be changed.
func (e *Estate) Feeds(i int) []int { return e.feeds[i] }

// Scope tells for each node whether it goes dark when the given supplies do: all its feeds go dark, or something that
// it depends on does. With A and B feeds a node stays powered while any of its feeds is.
func (e *Estate) Scope(dark func(supply int) bool) []bool {
	scope := make([]bool, len(e.nodes))
	for i := range e.nodes {
		if e.nodes[i].Kind == Supply {
			scope[i] = dark(i)
			continue
		}
		isDark := func(j int) bool { return scope[j] }
		unfed := len(e.feeds[i]) > 0 && !slices.ContainsFunc(e.feeds[i], func(j int) bool { return !scope[j] })
		scope[i] = unfed || slices.ContainsFunc(e.deps[i], isDark)
	}
	return scope
}

// Len gives the number of nodes.
func (e *Estate) Len() int { return len(e.nodes) }

// Node gives the node at a position of the topological order.
func (e *Estate) Node(i int) *Node { return &e.nodes[i] }

// Index gives the position of a node by id.
func (e *Estate) Index(id string) (int, bool) { i, ok := e.index[id]; return i, ok }

// Needs lists what a node depends on or is fed by, as positions. The slice is not to be changed.
func (e *Estate) Needs(i int) []int { return e.needs[i] }

// HostOf gives the host that a node runs on, -1 if it runs on none: that of a VM, or one that something without feeds of its own needs.
func (e *Estate) HostOf(i int) int {
	if host, known := e.index[e.nodes[i].Host]; known {
		return host
	}
	if len(e.Feeds(i)) > 0 {
		return -1
	}
	for _, d := range e.needs[i] {
		if e.nodes[d].Kind == Host {
			return d
		}
	}
	return -1
}

// Users lists the nodes that need node i, as positions. The slice is not to be changed.
func (e *Estate) Users(i int) []int { return e.users[i] }

// Dependents lists all nodes that need node i, directly or through others, in ascending order. The slice is not to be changed.
func (e *Estate) Dependents(i int) []int {
	if e.below[i] != nil {
		return e.below[i]
	}
	return e.findDependents(i)
}

func (e *Estate) findDependents(i int) []int {
	if len(e.users[i]) == 0 {
		return []int{}
	}
	all, seen := slices.Clone(e.users[i]), make([]bool, len(e.nodes))
	for _, u := range all {
		seen[u] = true
	}
	for next := 0; next < len(all); next++ {
		for _, u := range e.users[all[next]] {
			if !seen[u] {
				seen[u] = true
				all = append(all, u)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Limits lists the limits by class.
func (e *Estate) Limits() []Limit { return e.limits }

// Lane gives the limit that applies to a node, as its place in Limits, and the lane of its host under it; -1 and 0 where
// none applies.
func (e *Estate) Lane(i int) (limit, lane int) { return e.class[i], e.lane[i] }

// topological orders 0..n-1 so that needs come first, lowest index first among the free ones; or returns a ring whose
// elements each need the next, the first repeated at the end.
func topological(needs [][]int) (order, ring []int) {
	n := len(needs)
	users := make([][]int, n)
	left := make([]int, n)
	for i, ns := range needs {
		left[i] = len(ns)
		for _, j := range ns {
			users[j] = append(users[j], i)
		}
	}
	free := NewQueue(lessInt)
	for i := range n {
		if left[i] == 0 {
			free.Push(i)
		}
	}
	for free.Len() > 0 {
		i := free.Pop()
		order = append(order, i)
		for _, u := range users[i] {
			if left[u]--; left[u] == 0 {
				free.Push(u)
			}
		}
	}
	if len(order) == n {
		return order, nil
	}
	// Every node that is left needs another that is left: walking along needs must come round.
	at := slices.IndexFunc(left, func(l int) bool { return l > 0 })
	seen := make([]int, n)
	for i := range seen {
		seen[i] = -1
	}
	var walk []int
	for seen[at] < 0 {
		seen[at] = len(walk)
		walk = append(walk, at)
		for _, j := range needs[at] {
			if left[j] > 0 {
				at = j
				break
			}
		}
	}
	return nil, append(walk[seen[at]:], at)
}
