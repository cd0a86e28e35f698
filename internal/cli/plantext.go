package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
)

// row is one line of the plan: a step, or all equal steps of one selector's members.
type row struct {
	steps []int
	what  string
}

// planText writes a plan as a person reads it.
func planText(rb *runbook.Runbook, c *runbook.Compiled, p *plan.Plan) string {
	var b strings.Builder
	sc := p.Schedule()
	goal := "power down"
	if p.Goal == plan.Up {
		goal = "power up"
	}
	fmt.Fprintf(&b, "%s: %s in about %s (plan %s)\n", rb.Name, goal, brief(sc.Total), p.Digest())
	rows := foldRows(p)
	number := make([]int, len(p.Steps)) // of the row that shows a step, 0: none
	for i, r := range rows {
		for _, s := range r.steps {
			number[s] = i + 1
		}
	}
	stage := ""
	var t *tabwriter.Writer
	for i, r := range rows {
		s := &p.Steps[r.steps[0]]
		if t == nil || s.Stage != stage {
			if t != nil {
				t.Flush()
			}
			stage = s.Stage
			fmt.Fprintf(&b, "\n%s\n", stageTitle(p.Goal, stage, &c.Policy))
			t = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "   #\tat\tdo\twhat\tafter\ttakes\tif not")
		}
		n := p.Estate().Node(s.Node)
		start := sc.Start[r.steps[0]]
		for _, k := range r.steps {
			start = min(start, sc.Start[k])
		}
		fmt.Fprintf(t, "%4d\t%s\t%s\t%s\t%s\t%s\t%s\n", i+1, brief(start), verbWords(s), r.what, afterRows(p, number, r), brief(s.Times.Nominal), ifNot(n, s))
	}
	if t != nil {
		t.Flush()
	}
	b.WriteString(limitsText(p.Estate().Limits()))
	b.WriteString(chainText(p, &sc, number))
	return b.String()
}

// stageTitle says when a stage starts.
func stageTitle(goal plan.Goal, stage string, policy *power.Policy) string {
	if goal == plan.Up {
		return "Back up, when " + policy.Restore.String() + ":"
	}
	switch stage {
	case power.ProtectStage:
		return "Protect, when " + policy.Protect.String() + ":"
	case power.ShutdownStage:
		return "Shutdown, when " + policy.Shutdown.String() + ":"
	}
	for _, s := range policy.Shed {
		if s.Name == stage {
			return "Shed " + s.Name + ", when " + s.When.String() + ":"
		}
	}
	return stage + ":"
}

// foldRows makes the lines of the plan in the order in which they start, stage by stage. Milestones are not shown;
// members of one selector that do the same are one line.
func foldRows(p *plan.Plan) []row {
	var rows []row
	at := map[string]int{}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Milestone {
			continue
		}
		n := p.Estate().Node(s.Node)
		what := n.ID
		if n.Rack != "" {
			what += " (" + n.Rack + ")"
		}
		if n.Group == "" {
			rows = append(rows, row{steps: []int{i}, what: what})
			continue
		}
		key := s.Verb.String() + " " + n.Group
		if k, known := at[key]; known {
			rows[k].steps = append(rows[k].steps, i)
			rows[k].what = fmt.Sprintf("%s (%d VMs)", n.Group, len(rows[k].steps))
			continue
		}
		at[key] = len(rows)
		rows = append(rows, row{steps: []int{i}, what: what})
	}
	order := map[string]int{}
	for _, r := range rows {
		if st := p.Steps[r.steps[0]].Stage; order[st] == 0 {
			order[st] = len(order) + 1
			if st == power.ProtectStage {
				order[st] = -1
			}
			if st == power.ShutdownStage {
				order[st] = len(p.Steps) + 2
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return order[p.Steps[a.steps[0]].Stage] - order[p.Steps[b.steps[0]].Stage] })
	return rows
}

// afterRows lists the lines that a line waits for, looking through milestones.
func afterRows(p *plan.Plan, number []int, r row) string {
	var lines []int
	seen := make([]bool, len(p.Steps))
	var look func(step int)
	look = func(step int) {
		for _, waits := range [][]int{p.Steps[step].After, p.Steps[step].Feeds} {
			for _, j := range waits {
				if seen[j] {
					continue
				}
				seen[j] = true
				if number[j] > 0 {
					lines = append(lines, number[j])
				} else {
					look(j)
				}
			}
		}
	}
	for _, s := range r.steps {
		look(s)
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) == 0 {
		return "-"
	}
	return ranges(lines)
}

// ranges writes ascending numbers shortly: "1-3, 7".
func ranges(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		switch {
		case j == i:
			parts = append(parts, fmt.Sprint(n[i]))
		case j == i+1:
			parts = append(parts, fmt.Sprint(n[i]), fmt.Sprint(n[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

func limitsText(limits []plan.Limit) string {
	if len(limits) == 0 {
		return ""
	}
	var parts []string
	for _, l := range limits {
		text := ""
		if l.Total > 0 {
			text = fmt.Sprintf("%d of %s at once", l.Total, l.Class)
		}
		if l.PerHost > 0 {
			if text == "" {
				text = l.Class
			} else {
				text += ","
			}
			text += fmt.Sprintf(" %d on a host", l.PerHost)
		}
		parts = append(parts, text)
	}
	return "\nLimits: " + strings.Join(parts, "; ") + "\n"
}

func chainText(p *plan.Plan, sc *plan.Schedule, number []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nCritical chain, %s in all:\n", brief(sc.Total))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, i := range sc.Chain {
		s := &p.Steps[i]
		if s.Milestone {
			continue
		}
		fmt.Fprintf(t, "%4d\t%s\t%s %s\t%s\n", number[i], brief(sc.Start[i]), verbWords(s), s.Name, "+"+brief(s.Times.Nominal.Round(time.Second)))
	}
	t.Flush()
	return b.String()
}
