package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"ebbtide/internal/sim"
)

// tried is a policy and what came of it.
type tried struct {
	Policy   string       `json:"policy"`
	Shutdown string       `json:"shutdown"` // when it starts the shutdown, in words
	Summary  *sim.Summary `json:"summary"`
}

// trialsDocument is many runs for machines. The policies are the runbook's, and after it those that it is compared with.
type trialsDocument struct {
	Policies []tried     `json:"policies"`
	Asserts  []verdictOn `json:"asserts"` // of the runbook's policy
}

// playTrials plays what a command asks for many times over, under the runbook's policy or under several.
func (a *app) playTrials(ctx context.Context, s *simulation, sc sim.Scenario) error {
	odds := s.odds()
	alternatives := []sim.Alternative{{Name: sim.OwnPolicy, Scenario: sc}}
	if s.sweep {
		alternatives = sim.Alternatives(sc, odds)
	}
	bar := newProgress(a.console, s.trials*len(alternatives), "runs")
	doc := trialsDocument{}
	for i, alt := range alternatives {
		trials := sim.Trials{
			Scenario: alt.Scenario, Odds: odds, Runs: s.trials, Seed: s.seed, Workers: runtime.GOMAXPROCS(0),
			Progress: func(done int) { bar.done(i*s.trials + done) },
		}
		summary, err := trials.Play(ctx)
		if err != nil {
			bar.clear()
			return fmt.Errorf("cannot simulate: %w", err)
		}
		doc.Policies = append(doc.Policies, tried{alt.Name, alt.Scenario.Settings.Policy.Shutdown.String(), summary})
	}
	bar.clear()
	doc.Asserts = judgeAll(s.asserts, doc.Policies[0].Summary)
	if err := a.showTrials(s, &doc, odds.Outage); err != nil {
		return err
	}
	broken := false
	for _, p := range doc.Policies {
		broken = broken || p.Summary.Violations.Count > 0
	}
	if broken || anyFailed(doc.Asserts) {
		return ended(exitAssertion)
	}
	return nil
}

func (a *app) showTrials(s *simulation, doc *trialsDocument, drawnOutage bool) error {
	if a.format == "json" {
		return a.json(doc)
	}
	var b strings.Builder
	own := doc.Policies[0].Summary
	what := "runs of " + s.name()
	if drawnOutage {
		what = "outages of " + s.name()
	}
	fmt.Fprintf(&b, "%d %s, drawn with seeds %d to %d.\n", own.Trials, what, own.Seed, own.Seed+uint64(own.Trials)-1)
	fmt.Fprintf(&b, "In %s of them, the batteries would not have lasted without a shutdown.\n\n", shareText(own.Needed.Share))
	if len(doc.Policies) > 1 {
		writeSweep(&b, doc.Policies)
	} else {
		writeSummary(&b, own)
	}
	for _, p := range doc.Policies {
		for _, broken := range p.Summary.Broken {
			fmt.Fprintf(&b, "RULE BROKEN (%s, seed %d): %s\n", p.Policy, broken.Seed, broken.Rule)
		}
	}
	if len(doc.Asserts) > 0 {
		b.WriteString("\n")
		writeVerdicts(&b, s.asserts, doc.Asserts)
	}
	if _, err := io.WriteString(a.Stdout, b.String()); err != nil {
		return fmt.Errorf("cannot write the summary: %w", err)
	}
	return nil
}

// writeSummary writes one policy's figures whole.
func writeSummary(b *strings.Builder, s *sim.Summary) {
	t := table(b)
	fmt.Fprintln(t, "HOW OFTEN\tRUNS\tSHARE\t95% CI\tSEEDS")
	for _, row := range []struct {
		what string
		of   *sim.Chance
	}{
		{"shutdown started", &s.Shutdown},
		{"crash: lost power while running", &s.Crash},
		{"forced power-off", &s.Forced},
		{"unnecessary shutdown", &s.Unnecessary},
		{"something did not come back", &s.Stranded},
		{"rule broken", &s.Violations},
	} {
		seeds := strings.Trim(fmt.Sprint(row.of.Seeds), "[]")
		if row.of.Count > len(row.of.Seeds) {
			seeds += " …"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s to %s\t%s\n", row.what, row.of.Count, shareText(row.of.Share), shareText(row.of.Low),
			shareText(row.of.High), seeds)
	}
	fmt.Fprintln(t, "\t\t\t\t")
	_ = t.Flush() // a strings.Builder takes everything

	t = table(b)
	fmt.Fprintln(t, "HOW LONG\tRUNS\tMIN\tP5\tMEDIAN\tP95\tP99\tMAX")
	spread := func(what string, v *sim.Spread) {
		fmt.Fprintf(t, "%s\t%d", what, v.Count)
		for _, figure := range []float64{v.Min, v.P5, v.P50, v.P95, v.P99, v.Max} {
			text := "-"
			if v.Count > 0 {
				text = spanText(figure)
			}
			fmt.Fprintf(t, "\t%s", text)
		}
		fmt.Fprintln(t)
	}
	for i := range s.Slack {
		spread("slack when "+string(s.Slack[i].Stage)+" starts", &s.Slack[i].Seconds)
	}
	spread("time during which anything is down", &s.Down)
	spread("from mains return until everything is back", &s.Back)
	_ = t.Flush()

	if len(s.Critical) > 0 {
		b.WriteString("\nMost often on the critical chain, in runs that reached the cut:\n")
		for _, c := range s.Critical[:min(len(s.Critical), 5)] {
			fmt.Fprintf(b, "  %7s  %s %s\n", shareText(c.Share), c.Verb, c.Node)
		}
	}
}

// writeSweep puts policies beside each other.
func writeSweep(b *strings.Builder, policies []tried) {
	t := table(b)
	fmt.Fprintln(t, "SHUTDOWN TRIGGER\tCRASH\tFORCED\tUNNECESSARY\tNOT BACK\tDOWN (MEDIAN)\tDOWN (MEAN)\tSLACK (P5)\tRULES")
	for _, p := range policies {
		s := p.Summary
		slack, down := "-", "-"
		if v, measured := slackOf(s); measured {
			slack = spanText(v)
		}
		if s.Down.Count > 0 {
			down = spanText(s.Down.P50)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", p.Policy, shareText(s.Crash.Share), shareText(s.Forced.Share),
			shareText(s.Unnecessary.Share),
			shareText(s.Stranded.Share), down, spanText(s.DownMean), slack, s.Violations.Count)
	}
	_ = t.Flush()
	b.WriteString(`
Every row plays the same outages; only the trigger of the shutdown differs. In every row Ebbtide handles the earlier
stages, the order, the proofs and the last resort when a battery gives out, and the low-battery flag counts. The median
covers the runs in which anything went down, the mean covers all runs.
`)
}
