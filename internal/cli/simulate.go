package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/engine"
	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
	"ebbtide/internal/sim"
	"ebbtide/internal/timeline"
)

// simulation is what a simulate command asks for.
type simulation struct {
	runbook  string // its file; "": the scenario has its own
	scenario string // its file; "": one outage
	outage   time.Duration
}

func (a *app) simulate() *cobra.Command {
	s := simulation{outage: 45 * time.Minute}
	c := &cobra.Command{
		Use: "simulate [RUNBOOK]", GroupID: "runbook", Short: "play an outage in virtual time, on a model of the estate, and hold it against every rule",
		Long: `Plays an outage in virtual time: the engine is the daemon's own, the estate, its batteries and what goes
wrong are a model. Nothing is asked and nothing is commanded. A referee watches the model, not the
journal, and the exit status is 4 if a rule was broken (docs/ARCHITECTURE.md lists them).

Without a scenario the mains of every supply fail for 45 minutes, with full batteries, and nothing else
goes wrong.`,
		Example: `  ebbtide simulate runbooks/home-lab.yaml
  ebbtide simulate runbooks/home-lab.yaml --outage 3h
  ebbtide simulate runbooks/home-lab.yaml --scenario runbooks/scenarios/home-lab-bad-night.yaml`,
		Args: between(0, 1, "one runbook at most"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				s.runbook = args[0]
			}
			switch {
			case s.runbook == "" && s.scenario == "":
				return fail(exitUsage, "name a runbook, or a scenario that has one of its own: see `ebbtide simulate --help`", "simulate takes a runbook or a scenario")
			case s.scenario != "" && c.Flags().Changed("outage"):
				return fail(exitUsage, "leave one of the two out", "--outage is of a run without a scenario")
			case s.outage <= 0:
				return fail(exitUsage, "write --outage 45m", "an outage of %s never begins", s.outage)
			}
			sc, err := a.scenarioOf(s)
			if err != nil {
				return err
			}
			return a.showSimulation(&sc, sim.Run(sc))
		},
	}
	c.Flags().StringVar(&s.scenario, "scenario", "", "a file that says what happens")
	c.Flags().DurationVar(&s.outage, "outage", s.outage, "without a scenario: how long the mains are away")
	return c
}

// scenarioOf makes what a command asks for ready to run. Mistakes in its files have been shown.
func (a *app) scenarioOf(s simulation) (sim.Scenario, error) {
	var rb *runbook.Runbook
	var err error
	if s.runbook != "" {
		if rb, err = a.usable(s.runbook); err != nil {
			return sim.Scenario{}, err
		}
	}
	if s.scenario == "" {
		return oneOutage(s.runbook, rb, s.outage)
	}
	src, err := os.ReadFile(s.scenario)
	if err != nil {
		return sim.Scenario{}, fail(exitFailed, "name a scenario file, such as runbooks/scenarios/home-lab-bad-night.yaml", "cannot read scenario: %w", err)
	}
	sc, problems, err := sim.Load(filepath.Clean(s.scenario), src, rb, families.Schema())
	switch {
	case problems.HasErrors():
		if err := a.showProblems(problems, "1 scenario"); err != nil {
			return sim.Scenario{}, err
		}
		return sim.Scenario{}, ended(exitMistakes)
	case err != nil:
		return sim.Scenario{}, fail(exitMistakes, "", "%w", err)
	}
	return sc, nil
}

// oneOutage is the scenario that is played where none is given: all mains fail after a minute, for so long.
func oneOutage(file string, rb *runbook.Runbook, lasts time.Duration) (sim.Scenario, error) {
	compiled, err := runbook.Compile(rb, families.Schema(), nil)
	if err != nil {
		return sim.Scenario{}, fail(exitMistakes, "run `ebbtide check "+file+"`", "cannot simulate %q: %w", file, err)
	}
	doc := sim.Document{Version: sim.DocumentVersion, For: lasts + 24*time.Hour}
	for _, s := range compiled.Supplies {
		doc.Events = append(doc.Events,
			sim.EventDecl{At: time.Minute, Supply: s.ID, Mains: "off"},
			sim.EventDecl{At: time.Minute + lasts, Supply: s.ID, Mains: "on"})
	}
	sc, errs := doc.Build(compiled)
	if len(errs) > 0 {
		return sim.Scenario{}, fmt.Errorf("cannot simulate %q: %w", file, errs[0])
	}
	return sc, nil
}

// simulated is a run for machines.
type simulated struct {
	Records      []engine.Record `json:"records"`
	EndedSeconds float64         `json:"ended_seconds"` // when the last outage was over; 0: none was
	On           []string        `json:"on"`
	Off          []string        `json:"off"`
	Crashed      []string        `json:"crashed"`    // lost their power while on
	Violations   []string        `json:"violations"` // each with the number of its rule
	Events       int             `json:"events"`
}

func (a *app) showSimulation(sc *sim.Scenario, r *sim.Result) error {
	if a.format == "json" {
		doc := simulated{
			Records: append([]engine.Record{}, r.Records...), EndedSeconds: overAt(r).Seconds(), Events: r.Events,
			On: append([]string{}, r.On...), Off: append([]string{}, r.Off...),
			Crashed: append([]string{}, r.Crashed...), Violations: append([]string{}, r.Violations...),
		}
		if err := a.json(doc); err != nil {
			return err
		}
	} else if _, err := io.WriteString(a.Stdout, simulationText(sc, r)); err != nil {
		return fmt.Errorf("cannot write the story: %w", err)
	}
	if len(r.Violations) > 0 {
		return ended(exitAssertion)
	}
	return nil
}

// simulationText is the story, the end and the referee's verdict.
func simulationText(sc *sim.Scenario, r *sim.Result) string {
	var b strings.Builder
	for _, l := range story(sc, r) {
		fmt.Fprintf(&b, "%10s  %s\n", clock(l.at), l.text)
	}
	b.WriteString("\n")
	switch {
	case r.View.Outage == "" && overAt(r) > 0:
		fmt.Fprintf(&b, "All was over after %s.\n", brief(overAt(r)))
	case r.View.Outage == "":
		b.WriteString("There was no outage.\n")
	case r.View.Waiting != "":
		fmt.Fprintf(&b, "The outage was not over when the time was: %s.\n", r.View.Waiting)
	default:
		b.WriteString("The outage was not over when the time was.\n")
	}
	for _, list := range []struct {
		what  string
		nodes []string
	}{{"on", r.On}, {"off", r.Off}, {"lost its power while on", r.Crashed}} {
		if len(list.nodes) > 0 {
			fmt.Fprintf(&b, "%d %s: %s\n", len(list.nodes), list.what, strings.Join(list.nodes, ", "))
		}
	}
	if len(r.Violations) == 0 {
		b.WriteString("The referee, who watched the estate and not the journal: no rule was broken.\n")
		return b.String()
	}
	b.WriteString("The referee, who watched the estate and not the journal, saw rules broken:\n")
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  rule %s\n", v)
	}
	return b.String()
}

// overAt is when the last outage was over, whatever the wall's clock was set to; 0: none was.
func overAt(r *sim.Result) time.Duration {
	for _, l := range slices.Backward(r.Lines) {
		if a, ok := l.Effect.(engine.Append); ok && a.Record.Kind == engine.Closed {
			return l.At
		}
	}
	return 0
}

// clock writes a time since the beginning: 1:04:09.
func clock(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// told is a line of a story.
type told struct {
	at   time.Duration
	text string
}

// story tells what the engine recorded, in virtual time whatever the wall's clock was set to, with what happened from
// outside before it.
func story(sc *sim.Scenario, r *sim.Result) []told {
	crashes := map[[2]string]bool{}
	name := func(rec *engine.Record) [2]string { return [2]string{rec.Outage, fmt.Sprint(rec.Seq)} }
	for _, n := range sc.CrashAt {
		if n <= uint64(len(r.Records)) {
			crashes[name(&r.Records[n-1])] = true
		}
	}
	outside := outsideOf(sc)
	var lines []told
	var t timeline.Timeline
	for _, l := range r.Lines {
		for len(outside) > 0 && outside[0].at <= l.At {
			lines, outside = append(lines, outside[0]), outside[1:]
		}
		appended, ok := l.Effect.(engine.Append)
		if !ok {
			continue
		}
		rec := appended.Record
		t.Add(rec)
		if text := t.Phrase(&rec); text != "" {
			lines = append(lines, told{l.At, text})
		}
		if crashes[name(&rec)] {
			lines = append(lines, told{l.At, "* Ebbtide crashes, and is started again"})
		}
	}
	return lines
}
