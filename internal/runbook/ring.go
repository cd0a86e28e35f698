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
		var ring *plan.CycleError
		if !errors.As(err, &ring) {
			return estate, err
		}
		if !c.open(nodes, ring.Path) {
			return nil, err
		}
	}
	c.warnings.add(Warning, c.rb.top, "nodes", "the inventory contradicts the runbook in too many places: the runbook alone is followed", "")
	for i := range nodes {
		nodes[i].DependsOn = without(nodes[i].DependsOn, c.live[nodes[i].ID])
	}
	return plan.NewEstate(nodes, c.rb.Policy.Limits)
}

// open takes one edge out of a ring, whose elements each need the next and whose last is the first.
func (c *compiler) open(nodes []plan.Node, ring []string) bool {
	ring = ring[:len(ring)-1]
	at := func(k int) string { return ring[(k+len(ring))%len(ring)] }
	for k, id := range ring {
		if next := at(k + 1); c.isJunction(id) && slices.Contains(c.live[id], next) { // a member that belongs elsewhere
			n := find(nodes, id)
			n.DependsOn = without(n.DependsOn, []string{next})
			c.warn(c.byID[id], "", fmt.Sprintf("%s is one of %s too, but needs what needs %s: it goes by its own place in the order", next, id, id))
			return true
		}
	}
	for k, vm := range ring {
		under := at(k + 1) // what the VM runs on or has its disks on
		if !slices.Contains(c.live[vm], under) {
			continue
		}
		back := 1
		for back < len(ring) && c.isJunction(at(k-back)) {
			back++
		}
		user, need := find(nodes, at(k-back)), at(k-back+1)
		kept := without(c.behind(nodes, need), []string{vm})
		kept = slices.DeleteFunc(kept, func(id string) bool { return slices.Contains(c.live[id], under) })
		user.DependsOn = unique(slices.Concat(without(user.DependsOn, []string{need}), kept))
		c.warn(c.ownerOf(user.ID), "", fmt.Sprintf("%s needs %s by the runbook, but by the inventory %s is on %s: it goes down before them", user.ID, vm, vm, under))
		return true
	}
	return false
}

// isJunction tells whether a node stands for others.
func (c *compiler) isJunction(id string) bool {
	i, declared := c.byID[id]
	_, member := c.out.Members[id]
	return !member && (!declared && len(c.labelled[id]) > 0 || declared && c.selects[i])
}

// behind lists the nodes that a node stands for: itself, or what is behind a junction.
func (c *compiler) behind(nodes []plan.Node, id string) []string {
	if !c.isJunction(id) {
		return []string{id}
	}
	var ids []string
	for _, to := range find(nodes, id).DependsOn {
		ids = append(ids, c.behind(nodes, to)...)
	}
	return ids
}

func find(nodes []plan.Node, id string) *plan.Node {
	return &nodes[slices.IndexFunc(nodes, func(n plan.Node) bool { return n.ID == id })]
}

// without gives a copy of ids that lacks some.
func without(ids, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(drop, id) })
}
