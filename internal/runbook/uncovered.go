package runbook

import (
	"cmp"
	"slices"
	"strings"

	"ebbtide/internal/plan"
)

// Uncovered lists what runs on a system, as its connection lists it, and belongs to no node, by name: nothing would take it
// down.
func (c *Compiled) Uncovered(rb *Runbook, running []plan.Member) []plan.Member {
	known := map[string]bool{}
	for _, m := range c.Members {
		known[strings.ToLower(m.MemberID)] = true
	}
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		if uuid := specText(d.Spec, "uuid"); uuid != "" {
			known[strings.ToLower(uuid)] = true
		} else {
			known["name/"+nameIn(d)] = true
		}
	}
	var strays []plan.Member
	for _, m := range running {
		if !known[strings.ToLower(m.ID)] && !known["name/"+m.Name] {
			strays = append(strays, m)
		}
	}
	slices.SortStableFunc(strays, func(a, b plan.Member) int { return cmp.Compare(a.Name, b.Name) })
	return strays
}
