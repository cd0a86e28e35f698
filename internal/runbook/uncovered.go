package runbook

import (
	"slices"
	"strings"

	"ebbtide/internal/plan"
)

// Uncovered names what runs on a system, as its connection lists it, and belongs to no node: nothing would take it down.
func (c *Compiled) Uncovered(rb *Runbook, running []plan.Member) []string {
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
	var names []string
	for _, m := range running {
		if !known[strings.ToLower(m.ID)] && !known["name/"+m.Name] {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}
