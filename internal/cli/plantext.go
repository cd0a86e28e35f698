package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/book"
	"ebbtide/internal/runbook"
)

// planText writes a plan as a person reads it.
func planText(rb *runbook.Runbook, c *runbook.Compiled, p *plan.Plan) string {
	var b strings.Builder
	sc := p.Schedule()
	goal := "power down"
	if p.Goal == plan.Up {
		goal = "power up"
	}
	fmt.Fprintf(&b, "%s: %s in about %s if all goes well (plan %s)\n", rb.Name, goal, brief(sc.Total), p.Digest())
	if least := p.LowerBound(); least > 0 {
		b.WriteString(boundText(least, sc.Total))
	}
	rows := book.PlanRows(p, &sc, &c.Policy, func(n *plan.Node) string { return n.Group })
	number := make([]int, len(p.Steps)) // of the row that shows a step, 0: none
	for i, r := range rows {
		for _, s := range r.Steps {
			number[s] = i + 1
		}
	}
	stage := plan.Stage("")
	var t *tabwriter.Writer
	for i, r := range rows {
		s := &p.Steps[r.Steps[0]]
		if t == nil || s.Stage != stage {
			if t != nil {
				_ = t.Flush() // to memory or to where the rest goes
			}
			stage = s.Stage
			fmt.Fprintf(&b, "\n%s\n", wrap(stageTitle(p.Goal, stage, &c.Policy), 100))
			t = table(&b)
			fmt.Fprintln(t, "   #\tat\tstep\t\tafter\ttakes\tat most\tif not proven")
		}
		n := p.Estate().Node(s.Node)
		fmt.Fprintf(t, "%4d\t%s\t%s %s\t%s\t%s\t%s\t%s\t%s\n", i+1, brief(r.Start), book.Action(n, s), r.What,
			strings.TrimSpace(n.Type+" "+n.Rack), afterRows(p, number, r), brief(s.Times.Nominal), brief(s.Times.Within), ifNot(n, s))
	}
	if t != nil {
		_ = t.Flush() // to memory or to where the rest goes
	}
	b.WriteString("\nTimes count from the start, as if every stage started at the same time.\n")
	b.WriteString(limitsText(p.Estate().Limits()))
	b.WriteString(chainText(p, &sc, number))
	return b.String()
}

// boundText says how near a plan is to what no order of its steps could beat.
func boundText(least, takes time.Duration) string {
	switch more := 100 * (takes.Seconds()/least.Seconds() - 1); {
	case takes <= least:
		return "No order of these steps is faster.\n"
	case more < 1:
		return fmt.Sprintf("No order can take less than %s; this one takes less than 1%% longer.\n", brief(least))
	default:
		return fmt.Sprintf("No order can take less than %s; this one takes %.0f%% longer.\n", brief(least), more)
	}
}

// table aligns columns that are separated by tabs.
func table(b *strings.Builder) *tabwriter.Writer { return tabwriter.NewWriter(b, 0, 0, 2, ' ', 0) }

// stageTitle says when a stage starts.
func stageTitle(goal plan.Goal, stage plan.Stage, policy *power.Policy) string {
	if goal == plan.Up {
		return "Power-up, when " + policy.Restore.String() + ":"
	}
	switch stage {
	case plan.ProtectStage:
		return "Protect, when " + policy.Protect.String() + ":"
	case plan.ShutdownStage:
		return "Shutdown, when " + policy.Shutdown.String() + ":"
	}
	for _, s := range policy.Shed {
		if plan.Stage(s.Name) == stage {
			return "Shed " + s.Name + ", when " + s.When.String() + ":"
		}
	}
	return string(stage) + ":"
}

// afterRows lists the lines that a line waits for, looking through milestones.
func afterRows(p *plan.Plan, number []int, r book.PlanRow) string {
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
	for _, s := range r.Steps {
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
		switch j {
		case i:
			parts = append(parts, fmt.Sprint(n[i]))
		case i + 1:
			parts = append(parts, fmt.Sprint(n[i]), fmt.Sprint(n[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// wrap breaks a text at blanks so that no line has more than width characters, as far as its words allow.
func wrap(text string, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n  ")
			used = 2
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

func limitsText(limits []plan.Limit) string {
	if len(limits) == 0 {
		return ""
	}
	var parts []string
	for _, l := range limits {
		var bounds []string
		if l.Total > 0 {
			bounds = append(bounds, fmt.Sprintf("%d at a time", l.Total))
		}
		if l.PerHost > 0 {
			bounds = append(bounds, fmt.Sprintf("%d per host", l.PerHost))
		}
		parts = append(parts, l.Class+" "+strings.Join(bounds, ", "))
	}
	return "Limits: " + strings.Join(parts, "; ") + "\n"
}

// chainText tells the critical chain: what to make faster to make the whole faster.
func chainText(p *plan.Plan, sc *plan.Schedule, number []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nCritical chain, %s: each step waits for the one before it, or for a slot under a limit.\n", brief(sc.Total))
	t := table(&b)
	for _, i := range sc.Chain {
		s := &p.Steps[i]
		if s.Milestone {
			continue
		}
		fmt.Fprintf(t, "%4d\t%s\t%s %s\t+%s\n", number[i], brief(sc.Start[i]), book.Action(p.Estate().Node(s.Node), s), s.Name,
			brief(s.Times.Nominal))
	}
	_ = t.Flush() // to memory or to where the rest goes
	return b.String()
}
