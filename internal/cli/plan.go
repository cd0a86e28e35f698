package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/english"
	"ebbtide/internal/families"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/book"
	"ebbtide/internal/runbook"
)

func (a *app) plan() *cobra.Command {
	goal := string(plan.Down)
	c := &cobra.Command{
		Use: "plan RUNBOOK", GroupID: "runbook", Short: "show the steps in order: what each waits for, how long it takes, and what " +
			"happens if it is not proven",
		Long: `Shows the plan that a runbook produces if everything in it is on and every supply fails.
Without a live inventory, a node that stands for many VMs counts as its expect: N.`,
		Example: "  ebbtide plan runbooks/smb-datacenter.yaml\n  ebbtide plan runbooks/home-lab.yaml --goal up\n  ebbtide plan " +
			"runbooks/home-lab.yaml --format dot | dot -Tsvg > plan.svg",
		Args: exactly(1, "one runbook"),
		// dot and mermaid are formats of this command alone.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, args []string) error {
			if goal != string(plan.Down) && goal != string(plan.Up) {
				return fail(exitUsage, "use --goal down or --goal up", "unknown goal %q", goal)
			}
			return a.showPlan(args[0], plan.Goal(goal))
		},
	}
	c.Flags().StringVar(&goal, "goal", goal, "down or up")
	c.Flags().StringVar(&a.format, "format", a.format, "text, json, dot or mermaid")
	return c
}

func (a *app) showPlan(file string, goal plan.Goal) error {
	rb, err := a.usable(file)
	if err != nil {
		return err
	}
	compiled, err := runbook.Compile(rb, families.Schema(), nil)
	if err != nil {
		return fail(exitMistakes, "run `ebbtide check "+file+"`", "cannot plan %q: %w", file, err)
	}
	p := compiled.Estate.Plan(goal, nil)
	switch a.format {
	case "text":
		_, err = fmt.Fprint(a.Stdout, planText(rb, compiled, p))
	case "json":
		err = a.json(planDocument(rb, compiled, p))
	case "dot":
		_, err = fmt.Fprint(a.Stdout, p.DOT())
	case "mermaid":
		_, err = fmt.Fprint(a.Stdout, p.Mermaid())
	default:
		wrong := a.format
		a.format = "text"
		return fail(exitUsage, "use --format text, json, dot or mermaid", "unknown format %q", wrong)
	}
	return err
}

// planDoc is a plan for machines. Times are in seconds.
type planDoc struct {
	Runbook string       `json:"runbook"`
	Goal    plan.Goal    `json:"goal"`
	Digest  string       `json:"digest"`
	Seconds float64      `json:"seconds"`     // under the limits, nothing failing
	Bound   float64      `json:"lower_bound"` // no order of the steps takes fewer seconds
	Stages  []planStage  `json:"stages"`
	Limits  []plan.Limit `json:"limits"`
	Steps   []planStep   `json:"steps"`
	Chain   []int        `json:"critical_chain"` // numbers of steps
}

// planStage is when a part of the plan starts.
type planStage struct {
	Name plan.Stage `json:"name"`
	When string     `json:"when"`
}

type planStep struct {
	Number    int        `json:"number"`
	Verb      string     `json:"verb"`
	Node      string     `json:"node"`
	Milestone bool       `json:"milestone,omitempty"` // nothing is done: it marks that all that it comes after is over
	Type      string     `json:"type,omitempty"`
	Group     string     `json:"group,omitempty"` // the selector that the node is a member of
	Rack      string     `json:"rack,omitempty"`
	Stage     plan.Stage `json:"stage,omitempty"`
	After     []int      `json:"after"` // numbers of steps
	Feeds     []int      `json:"feeds,omitempty"`
	Start     float64    `json:"start"`
	Nominal   float64    `json:"nominal"`
	Within    float64    `json:"within"`
	IfNot     string     `json:"if_not,omitempty"`
}

func planDocument(rb *runbook.Runbook, c *runbook.Compiled, p *plan.Plan) planDoc {
	sc := p.Schedule()
	doc := planDoc{
		Runbook: rb.Name, Goal: p.Goal, Digest: p.Digest(), Seconds: sc.Total.Seconds(), Bound: p.LowerBound().Seconds(),
		Stages: stages(p.Goal, &c.Policy),
		Limits: append([]plan.Limit{}, p.Estate().Limits()...), Steps: []planStep{}, Chain: numbers(sc.Chain),
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		step := planStep{
			Number: i + 1, Verb: s.Verb.String(), Node: s.Name, Milestone: s.Milestone, Stage: s.Stage,
			After: numbers(s.After), Feeds: numbers(s.Feeds), Start: sc.Start[i].Seconds(),
		}
		if !s.Milestone {
			n := p.Estate().Node(s.Node)
			step.Type, step.Group, step.Rack, step.IfNot = n.Type, n.Group, n.Rack, ifNot(n, s)
			step.Nominal, step.Within = s.Times.Nominal.Seconds(), s.Times.Within.Seconds()
		}
		doc.Steps = append(doc.Steps, step)
	}
	return doc
}

func stages(goal plan.Goal, policy *power.Policy) []planStage {
	if goal == plan.Up {
		return []planStage{{"restore", policy.Restore.String()}}
	}
	all := []planStage{{plan.ProtectStage, policy.Protect.String()}}
	for _, s := range policy.Shed {
		all = append(all, planStage{plan.Stage(s.Name), s.When.String()})
	}
	return append(all, planStage{plan.ShutdownStage, policy.Shutdown.String()})
}

// numbers turns positions into the numbers that people count by.
func numbers(steps []int) []int {
	out := make([]int, 0, len(steps))
	for _, s := range steps {
		out = append(out, s+1)
	}
	return out
}

// ifNot says what happens when a step is not proven in its longest time.
func ifNot(n *plan.Node, s *plan.Step) string {
	switch s.Verb {
	case plan.Stop:
		switch {
		case n.Kind == plan.Manual:
			return "skipped"
		case n.Can.Has(plan.Force):
			return "powered off"
		case n.Kind == plan.VM:
			return "powered off with its host"
		default:
			return "the plan waits until only the reserve is left"
		}
	case plan.Protect:
		return "the plan continues"
	case plan.Flush:
		return "the plan waits"
	case plan.Cut:
		return "retried"
	case plan.Start:
		switch {
		case n.Kind == plan.Manual:
			return "skipped"
		case n.Kind == plan.Supply, !n.Can.Has(plan.Start):
			return "reported"
		default:
			return "up to " + english.Count(max(1, n.Attempts), "try", "tries")
		}
	case plan.Unprotect, plan.Force:
		return "reported"
	default:
		return ""
	}
}

// brief writes a duration without empty parts.
func brief(d time.Duration) string { return book.Brief(d) }
