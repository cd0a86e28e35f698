package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"ebbtide/internal/daemon"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/timeline"
)

// drillVerdict is what came of a drill.
type drillVerdict struct {
	Scope     string            `json:"scope"`
	Outage    string            `json:"outage"`
	Result    string            `json:"result"`
	Good      bool              `json:"good"`               // everything went as in the plan and is back
	Nothing   bool              `json:"nothing,omitempty"`  // nothing was commanded
	Supplies  []string          `json:"supplies,omitempty"` // that failed meanwhile: it became an outage
	Nodes     []drilledNode     `json:"nodes,omitempty"`
	Discharge *power.Discharge  `json:"discharge,omitempty"`
	Plan      *daemon.DrillPlan `json:"plan"`
}

// drilledNode is what came of one node. A time is 0 where there is none.
type drilledNode struct {
	Node    string        `json:"node"`
	Stopped time.Duration `json:"stopped,omitempty"`
	DownP95 time.Duration `json:"stopped_p95,omitempty"` // expected
	Started time.Duration `json:"started,omitempty"`
	UpP95   time.Duration `json:"started_p95,omitempty"`
	Verdict string        `json:"verdict"`
	Good    bool          `json:"good"`
}

// judgeDrill compares what happened with what was expected. What went wrong comes first.
func judgeDrill(p *daemon.DrillPlan, records []ledger.Record) *drillVerdict {
	told := timeline.Fold(records)
	v := &drillVerdict{Scope: p.Scope, Outage: told.Outage, Result: told.Result, Supplies: told.Supplies, Plan: p}
	for i := range records {
		if records[i].Kind == ledger.Spent && v.Discharge == nil {
			v.Discharge = records[i].Discharge
		}
	}
	v.Nothing = !slices.ContainsFunc(told.Steps, func(s timeline.Step) bool { return s.Attempts > 0 })
	v.Good = !v.Nothing && len(told.NotRestored) == 0
	if p.Battery != nil {
		v.Good = v.Good && v.Discharge != nil && len(v.Supplies) == 0
		return v
	}
	for _, id := range p.Nodes {
		n := judgeNode(id, p, &told)
		v.Good = v.Good && n.Good
		v.Nodes = append(v.Nodes, n)
	}
	slices.SortStableFunc(v.Nodes, func(a, b drilledNode) int {
		switch {
		case a.Good == b.Good:
			return 0
		case b.Good:
			return -1
		}
		return 1
	})
	return v
}

func judgeNode(id string, p *daemon.DrillPlan, told *timeline.Timeline) drilledNode {
	n := drilledNode{Node: id, DownP95: expected(p.Down, id, plan.Stop), UpP95: expected(p.Up, id, plan.Start)}
	down, up := first(told.Steps, id, plan.Stop), last(told.Steps, id, plan.Start)
	n.Stopped, n.Started = proven(down), proven(up)
	failed := slices.IndexFunc(told.Steps, func(s timeline.Step) bool { return s.Node == id && s.State == timeline.Failed })
	switch {
	case slices.Contains(told.NotRestored, id):
		n.Verdict = "did not come back"
		if up != nil && up.Reason != "" {
			n.Verdict += ": " + up.Reason
		}
		return n
	case failed >= 0:
		n.Verdict = told.Steps[failed].Verb.String() + " not proven: " + told.Steps[failed].Reason
		return n
	case down != nil && down.State != timeline.Proven && down.State != timeline.Stopped:
		n.Verdict = "held back: " + down.Reason
		return n
	case down == nil && n.DownP95 > 0:
		n.Verdict = "not reached"
		return n
	}
	n.Good = true
	switch {
	case down != nil && down.State == timeline.Stopped:
		n.Verdict = "came back, but had to be forced off: " + down.Reason
	case n.DownP95 > 0 && n.Stopped > n.DownP95, n.UpP95 > 0 && n.Started > n.UpP95:
		n.Verdict = "came back, slower than expected"
	default:
		n.Verdict = "as expected"
	}
	return n
}

// proven is how long a step took to its proof; 0 where there is none.
func proven(s *timeline.Step) time.Duration {
	if s == nil || s.State != timeline.Proven && s.State != timeline.Stopped {
		return 0
	}
	return s.Took()
}

func expected(steps []daemon.DrillStep, node string, verb plan.Verb) time.Duration {
	i := slices.IndexFunc(steps, func(s daemon.DrillStep) bool { return s.Node == node && s.Verb == verb })
	if i < 0 {
		return 0
	}
	return steps[i].P95
}

func first(steps []timeline.Step, node string, verb plan.Verb) *timeline.Step {
	for i := range steps {
		if steps[i].Node == node && steps[i].Verb == verb {
			return &steps[i]
		}
	}
	return nil
}

func last(steps []timeline.Step, node string, verb plan.Verb) *timeline.Step {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Node == node && steps[i].Verb == verb {
			return &steps[i]
		}
	}
	return nil
}

// showVerdict writes the table, or the document, and gives the exit code.
func (a *app) showVerdict(v *drillVerdict) error {
	if a.format == "json" {
		if err := a.json(v); err != nil {
			return err
		}
	} else {
		writeVerdict(a.Stdout, v)
	}
	switch {
	case v.Good:
		return nil
	case v.Nothing:
		return ended(exitRefused)
	}
	return ended(exitFailed)
}

func writeVerdict(w io.Writer, v *drillVerdict) {
	fmt.Fprintln(w)
	if len(v.Nodes) > 0 && !v.Nothing {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NODE\tSTOPPED IN\tP95\tSTARTED IN\tP95\tVERDICT")
		for i := range v.Nodes {
			n := &v.Nodes[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", n.Node, took(n.Stopped), took(n.DownP95), took(n.Started), took(n.UpP95), n.Verdict)
		}
		_ = t.Flush() // to where the rest goes
	}
	if len(v.Supplies) > 0 {
		fmt.Fprintf(w, "mains power failed at %s meanwhile: the drill became an outage\n", strings.Join(v.Supplies, ", "))
	}
	if d := v.Discharge; d != nil {
		fmt.Fprintf(w, "the battery delivered the equivalent of %.0fs at full load: from %.0f%% to %.0f%% in %s\n", d.Burn, d.From, d.To, brief(d.Took))
	}
	fmt.Fprintln(w, v.Result)
}

// took writes a duration to the tenth of a second; "-" for none.
func took(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return brief(d)
}

// writeDrillPlan shows what a drill would do.
func writeDrillPlan(w io.Writer, p *daemon.DrillPlan) {
	if b := p.Battery; b != nil {
		fmt.Fprintf(w, "%s would run on battery under its load", b.Supply)
		if b.Charge != nil {
			fmt.Fprintf(w, ", from %.0f%%", *b.Charge)
		}
		fmt.Fprintf(w, " down to %.0f%%", b.Floor)
		if b.Left != nil {
			fmt.Fprintf(w, " (about %s at the present load)", brief(time.Duration(*b.Left)*time.Second))
		}
		fmt.Fprintln(w)
		if b.Command != "" {
			fmt.Fprintf(w, "by the command %s; nothing else would be commanded\n", b.Command)
		}
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		title string
		steps []daemon.DrillStep
	}{{"DOWN", p.Down}, {"UP", p.Up}} {
		if len(part.steps) == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\tSTEP\tNODE\tTAKES\tP95\n", part.title)
		for _, s := range part.steps {
			note := ""
			if s.Forced > 0 {
				note = "\tforced off if still on after " + brief(s.Forced)
			}
			fmt.Fprintf(t, "+%s\t%s\t%s\t%s\t%s%s\n", brief(s.At), s.Verb, s.Node, took(s.Takes), took(s.P95), note)
		}
	}
	_ = t.Flush() // to where the rest goes
	if len(p.Off) > 0 {
		fmt.Fprintf(w, "left as they are (not on, or no step needed): %s\n", strings.Join(p.Off, ", "))
	}
	if p.AtMost > 0 {
		fmt.Fprintf(w, "down and back up in about %s, or %s if every step is slow (p95)\n", brief(p.Takes), brief(p.AtMost))
	}
}
