package estate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/runbook"
)

// Stray is a VM that is on and that no node covers: nothing takes it down, and it keeps its host on.
type Stray struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Host       string `json:"host,omitempty"`
	Connection string `json:"connection"`
	Write      string `json:"write"` // the node that would cover it, as a runbook has it
}

// askForStrays asks every connection that can list what runs on its system, also one that is there only for when another one
// fails: nobody should learn on that night that its password is wrong.
func (s *surveyor) askForStrays(ctx context.Context) {
	known := !slices.ContainsFunc(s.survey.Selectors, func(sel Selector) bool { return sel.Error != "" })
	first, others := s.listers()
	s.askHAWatchers(ctx, first)
	listed := s.list(ctx, append(first, others...))
	for _, found := range listed {
		s.refuse(found.Connection, found.Err)
	}
	if known {
		s.askForSpecial(ctx, listed)
	}
	for _, found := range s.uncovered(s.compiled, listed) {
		for _, vm := range found.VMs {
			if !known {
				break
			}
			s.survey.Uncovered = append(s.survey.Uncovered,
				Stray{
					Name: vm.Name, ID: vm.ID, Host: vm.Host, Connection: found.Connection,
					Write: s.Runbook.Covering(found.Connection, &vm),
				})
		}
	}
}

// mostStrays is how many VMs of a connection that no node covers are named one by one.
const mostStrays = 20

// remarkStrays says of each connection what runs uncovered where it leads to, and what to write.
func (s *surveyor) remarkStrays() {
	by := map[string][]Stray{}
	for _, vm := range s.survey.Uncovered {
		by[vm.Connection] = append(by[vm.Connection], vm)
	}
	for connection, strays := range by {
		if len(strays) == 1 {
			name := fmt.Sprintf("%q", strays[0].Name)
			if strays[0].Host != "" {
				name += " on " + strays[0].Host
			}
			s.remark(runbook.Warning, runbook.SectionConnections, connection,
				fmt.Sprintf("VM %s is running, and no node covers it: nothing shuts it down, and it keeps its host on", name),
				fmt.Sprintf("under nodes, write: %s; or let a selector cover it", strays[0].Write))
			continue
		}
		shown := strays[:min(len(strays), mostStrays)]
		lines := make([]string, len(shown))
		for i, vm := range shown {
			lines[i] = vm.Write
		}
		if n := len(strays) - len(shown); n > 0 {
			lines = append(lines, fmt.Sprintf("# and %d more: a selector (select: …) can cover many; --format json lists all of them", n))
		}
		s.remark(runbook.Warning, runbook.SectionConnections, connection,
			fmt.Sprintf("%d VMs are running that no node covers: nothing shuts them down, and they keep their hosts on", len(strays)),
			"let selectors cover them, or under nodes, write:\n    "+strings.Join(lines, "\n    "))
	}
}
