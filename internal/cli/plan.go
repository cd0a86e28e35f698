package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

func (a *app) plan() *cobra.Command {
	goal := string(plan.Down)
	c := &cobra.Command{
		Use: "plan RUNBOOK", GroupID: "runbook", Short: "show the steps in order: what, after what, how long, and what if it does not answer",
		Long: `Shows the plan that a runbook makes, as if everything in it were on and every supply failed.
Without a live inventory a node that stands for many VMs counts as its expect: N.`,
		Example: "  ebbtide plan runbooks/smb-datacenter.yaml\n  ebbtide plan runbooks/home-lab.yaml --goal up\n  ebbtide plan runbooks/home-lab.yaml --format dot | dot -Tsvg > plan.svg",
		Args:    exactly(1, "one runbook"),
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
	c.Flags().StringVar(&a.format, "format", "text", "text, json, dot or mermaid")
	return c
}

func (a *app) showPlan(file string, goal plan.Goal) error {
	rb, err := a.usable(file)
	if err != nil {
		return err
	}
	compiled, err := runbook.Compile(rb, schema(), nil)
	if err != nil {
		return fail(exitMistakes, "run `ebbtide check "+file+"`", "cannot plan %q: %w", file, err)
	}
	p := compiled.Estate.Plan(goal, nil)
	switch a.format {
	case "text":
		_, err = fmt.Fprint(a.Stdout, planText(rb, compiled, p))
	case "json":
		err = a.json(planDocument(rb, p))
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
	Runbook string     `json:"runbook"`
	Goal    plan.Goal  `json:"goal"`
	Digest  string     `json:"digest"`
	Seconds float64    `json:"seconds"` // under the limits, nothing failing
	Steps   []planStep `json:"steps"`
	Chain   []int      `json:"critical_chain"` // numbers of steps
}

type planStep struct {
	Number  int     `json:"number"`
	Verb    string  `json:"verb"`
	Node    string  `json:"node"`
	Type    string  `json:"type"`
	Stage   string  `json:"stage,omitempty"`
	After   []int   `json:"after"` // numbers of steps
	Feeds   []int   `json:"feeds,omitempty"`
	Start   float64 `json:"start"`
	Nominal float64 `json:"nominal"`
	Within  float64 `json:"within"`
	IfNot   string  `json:"if_not"`
}

func planDocument(rb *runbook.Runbook, p *plan.Plan) planDoc {
	sc := p.Schedule()
	doc := planDoc{Runbook: rb.Name, Goal: p.Goal, Digest: p.Digest(), Seconds: sc.Total.Seconds(), Steps: []planStep{}, Chain: []int{}}
	for i := range p.Steps {
		s := &p.Steps[i]
		step := planStep{Number: i + 1, Verb: verbWords(s), Node: s.Name, Stage: s.Stage, After: numbers(s.After), Feeds: numbers(s.Feeds), Start: sc.Start[i].Seconds()}
		if !s.Milestone {
			n := p.Estate().Node(s.Node)
			step.Type, step.Nominal, step.Within, step.IfNot = n.Type, s.Times.Nominal.Seconds(), s.Times.Within.Seconds(), ifNot(n, s)
		}
		doc.Steps = append(doc.Steps, step)
	}
	for _, i := range sc.Chain {
		doc.Chain = append(doc.Chain, i+1)
	}
	return doc
}

// numbers turns positions into the numbers that people count by.
func numbers(steps []int) []int {
	out := make([]int, 0, len(steps))
	for _, s := range steps {
		out = append(out, s+1)
	}
	return out
}

// verbWords says what a step does.
func verbWords(s *plan.Step) string {
	if s.Milestone {
		return "passed"
	}
	switch s.Verb {
	case plan.Protect:
		return "write-through"
	case plan.Flush:
		return "flush"
	case plan.Stop:
		return "shut down"
	case plan.Force:
		return "power off"
	case plan.Cut:
		return "cut output"
	case plan.Start:
		return "start"
	case plan.Unprotect:
		return "write-back"
	default:
		return s.Verb.String()
	}
}

// ifNot says what happens when a step is not proven in time.
func ifNot(n *plan.Node, s *plan.Step) string {
	within := brief(s.Times.Within)
	switch s.Verb {
	case plan.Stop:
		switch {
		case n.Kind == plan.Person:
			return "passed over after " + within
		case n.Can.Has(plan.Force):
			return "powered off after " + within
		case n.Kind == plan.VM:
			return "reported after " + within + ", the plan goes on"
		default:
			return "reported after " + within + ", what it needs stays on"
		}
	case plan.Protect:
		return "reported after " + within + ", the plan goes on"
	case plan.Flush:
		return "reported after " + within + ", its storage stays on"
	case plan.Cut:
		return "tried again each " + within
	case plan.Start:
		if n.Kind == plan.Supply {
			return "what it feeds stays off"
		}
		return fmt.Sprintf("tried %d times, %s each, then reported", max(1, n.Attempts), within)
	case plan.Unprotect:
		return "reported after " + within
	case plan.Force:
		return "reported after " + within
	default:
		return ""
	}
}

// brief writes a duration without empty parts.
func brief(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d == 0:
		return "0s"
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%ds", d/time.Second)
	}
}
