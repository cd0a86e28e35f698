package runbook

import (
	"errors"
	"fmt"
	"slices"

	"ebbtide/internal/plan"
)

// maxRings bounds how many rings are opened one by one.
const maxRings = 100

// estate makes the graph. What is declared has no ring, but what the inventory adds may close one.
func (c *compiler) estate(nodes []plan.Node) (*plan.Estate, error) {
	for range maxRings {
		estate, err := plan.NewEstate(nodes, c.rb.Policy.Limits)
		ring, ok := errors.AsType[*plan.CycleError](err)
		if !ok {
			return estate, err
		}
		if !c.open(nodes, ring.Path) {
			return nil, err
		}
	}
	c.warnings.add(Warning, c.rb.top, "nodes", "the inventory contradicts the runbook in too many places: the runbook alone is followed",
		"")
	for i := range nodes {
		n := &nodes[i]
		n.DependsOn = without(without(n.DependsOn, c.live[n.ID]), c.shared[n.ID])
	}
	return plan.NewEstate(nodes, c.rb.Policy.Limits)
}

// open takes one edge out of a ring, whose elements each need the next and whose last is the first. Membership of a
// second selector gives way first, then a declared need; where a VM is does not.
func (c *compiler) open(nodes []plan.Node, ring []string) bool {
	ring = ring[:len(ring)-1]
	at := func(k int) string { return ring[(k+len(ring))%len(ring)] }
	for k, id := range ring {
		if next := at(k + 1); slices.Contains(c.shared[id], next) {
			n := find(nodes, id)
			n.DependsOn = without(n.DependsOn, []string{next})
			c.warn(c.ownerOf(id), "", fmt.Sprintf("%s needs %s, which also depends on it through a second selector: that dependency is ignored", next, id))
			return true
		}
	}
	for k, vm := range ring {
		if under := at(k + 1); slices.Contains(c.live[vm], under) {
			back := 1 // to who needs the VM, past junctions
			for back < len(ring) && c.isJunction(at(k-back)) {
				back++
			}
			c.release(find(nodes, at(k-back)), at(k-back+1), vm, under, nodes)
			return true
		}
	}
	return false
}

// release lets user no longer need the VM that is on what needs user, nor others that are there. need is how it does:
// the VM itself or a junction, whose other nodes it goes on to need.
func (c *compiler) release(user *plan.Node, need, vm, under string, nodes []plan.Node) {
	ids, shared := c.behind(nodes, need)
	gone := func(id string) bool { return id == vm || id == user.ID || slices.Contains(c.live[id], under) }
	ids = unique(slices.DeleteFunc(ids, gone))
	user.DependsOn = unique(slices.Concat(without(user.DependsOn, []string{need}), ids))
	for _, id := range shared {
		if slices.Contains(ids, id) {
			c.shared[user.ID] = append(c.shared[user.ID], id)
		}
	}
	c.warn(c.ownerOf(user.ID), "", fmt.Sprintf("%s needs %s according to the runbook, but according to the inventory %s runs on %s: that VM "+
		"is shut down before both", user.ID, vm, vm, under))
}

// isJunction reports whether a node stands for others.
func (c *compiler) isJunction(id string) bool {
	i, declared := c.byID[id]
	_, member := c.out.Members[id]
	return !member && (!declared && len(c.labelled[id]) > 0 || declared && c.selects[i])
}

// behind lists the nodes that a node stands for: itself, or what is behind a junction. Those of them that are there only
// by a second selector are in shared too.
func (c *compiler) behind(nodes []plan.Node, id string) (ids, shared []string) {
	if !c.isJunction(id) {
		return []string{id}, nil
	}
	shared = slices.Clone(c.shared[id])
	for _, to := range find(nodes, id).DependsOn {
		i, s := c.behind(nodes, to)
		ids, shared = append(ids, i...), append(shared, s...)
	}
	return ids, shared
}

func find(nodes []plan.Node, id string) *plan.Node {
	return &nodes[slices.IndexFunc(nodes, func(n plan.Node) bool { return n.ID == id })]
}

// without gives a copy of ids that lacks some.
func without(ids, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(drop, id) })
}
