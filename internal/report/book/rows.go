package book

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// PlanRow is one line of a plan as people read it: a step, or all equal steps of nodes that count as one.
type PlanRow struct {
	Steps []int
	Start time.Duration // of the first of them
	End   time.Duration // of the last
	What  string        // the node, or what they are folded under and how many there are
}

// PlanRows makes the lines of a plan, stage by stage, in the order in which they start. Milestones are left out. Steps
// that do the same to nodes for which fold gives the same name are one line; "" folds nothing.
func PlanRows(p *plan.Plan, sc *plan.Schedule, policy *power.Policy, fold func(*plan.Node) string) []PlanRow {
	var rows []PlanRow
	at := map[string]int{}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Milestone {
			continue
		}
		n := p.Estate().Node(s.Node)
		row := PlanRow{Steps: []int{i}, Start: sc.Start[i], End: sc.End[i], What: n.ID}
		name := fold(n)
		if name == "" {
			rows = append(rows, row)
			continue
		}
		key := s.Verb.String() + " " + name
		if k, known := at[key]; known {
			r := &rows[k]
			r.Steps, r.Start, r.End = append(r.Steps, i), min(r.Start, sc.Start[i]), max(r.End, sc.End[i])
			r.What = fmt.Sprintf("%s ×%d", name, len(r.Steps))
			continue
		}
		at[key] = len(rows)
		rows = append(rows, row)
	}
	place := func(r PlanRow) int {
		switch stage := p.Steps[r.Steps[0]].Stage; stage {
		case plan.ProtectStage:
			return -1
		case plan.ShutdownStage:
			return len(policy.Shed)
		default:
			return slices.IndexFunc(policy.Shed, func(s power.Stage) bool { return plan.Stage(s.Name) == stage })
		}
	}
	slices.SortStableFunc(rows, func(a, b PlanRow) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Steps[0], b.Steps[0]))
	})
	return rows
}

// Action says what a step does to what follows.
func Action(n *plan.Node, s *plan.Step) string {
	switch s.Verb {
	case plan.Protect:
		if n.Kind == plan.Cluster {
			return "suspend for the shutdown:"
		}
		return "switch to write-through:"
	case plan.Flush:
		return "flush"
	case plan.Stop:
		if n.Kind == plan.Manual {
			return "ask a person to stop"
		}
		return "shut down"
	case plan.Force:
		return "power off"
	case plan.Cut:
		return "cut the output of"
	case plan.Start:
		switch {
		case n.Kind == plan.Manual:
			return "ask a person to start"
		case n.Kind == plan.Supply:
			return "wait for the return of"
		case n.ByPower:
			return "wait for boot of"
		}
		return "start"
	case plan.Unprotect:
		switch n.Kind {
		case plan.Cluster:
			return "restore the settings of"
		case plan.Host:
			return "take out of maintenance mode:"
		case plan.Other, plan.VM, plan.Supply, plan.Self, plan.Manual, plan.Passive, plan.Outlet:
		}
		return "switch to write-back:"
	default:
		return s.Verb.String()
	}
}

// Brief writes a duration to the second, without empty parts.
func Brief(d time.Duration) string {
	if d = d.Round(time.Second); d == 0 {
		return "0s"
	}
	return english.Span(d)
}
