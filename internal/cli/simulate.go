package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/families"
	"ebbtide/internal/ledger"
	"ebbtide/internal/report/chart"
	"ebbtide/internal/runbook"
	"ebbtide/internal/sim"
)

// simulation is what a simulate command asks for.
type simulation struct {
	runbook  string // its file; "": the scenario has its own
	scenario string // its file; "": one outage
	outage   time.Duration
	given    bool // the outage was asked for
	trials   int
	seed     uint64
	drawn    bool // durations, batteries and what else is not given
	sweep    bool
	asserts  []assertion
	plot     string // the file to draw to
}

// usualTrials are played where a comparison does not say how many: enough for shares of a few percent.
const usualTrials = 1000

const simulateHelp = `Plays an outage in virtual time. The engine is the daemon's own; the estate, its batteries and what goes
wrong are modelled. No real system is queried or commanded. A referee watches the model, not the journal,
and the exit code is 4 if a rule was broken (docs/ARCHITECTURE.md lists the rules).

Without a scenario, mains power fails at every supply for 45 minutes, the batteries are full and nothing else
goes wrong: each step takes the time that the runbook says.

With --trials, outages are drawn at random: how long each step takes and whether it hangs, how much each battery
really holds and what its UPS reports of that, and, unless --outage or --scenario says so, how long and how
often mains power is out. The same seed draws the same outage: --seed 17 replays trial 17 alone.
--policy-sweep compares the runbook's shutdown trigger with other rules, on the same outages.
docs/SIMULATE.md describes the odds, the figures and the JSON.

--assert checks a figure against a limit; the exit code is 4 if the check fails. The shares are crash,
forced, unnecessary, stranded and violations; the durations are slack (5th percentile, when the shutdown
starts), down and back (95th percentile). In a single run, a share is 0% or 100%.`

func (a *app) simulate() *cobra.Command {
	s := simulation{outage: 45 * time.Minute, seed: 1}
	var asserts []string
	c := &cobra.Command{
		Use: "simulate [RUNBOOK]", GroupID: "runbook",
		Short: "play an outage in virtual time on a model of the estate, and check it against every rule",
		Long:  simulateHelp,
		Example: `  ebbtide simulate runbooks/home-lab.yaml
  ebbtide simulate runbooks/home-lab.yaml --outage 3h --plot outage.svg
  ebbtide simulate runbooks/home-lab.yaml --scenario runbooks/scenarios/home-lab-bad-night.yaml
  ebbtide simulate runbooks/home-lab.yaml --trials 1000            the odds, over random outages
  ebbtide simulate runbooks/home-lab.yaml --seed 17 --plot 17.png  what happened in trial 17
  ebbtide simulate runbooks/home-lab.yaml --policy-sweep           against a timer, a percentage, …
  ebbtide simulate runbooks/home-lab.yaml --trials 500 --outage 2h --assert 'crash<=2%' --assert 'slack>=30s'`,
		Args: between(0, 1, "one runbook at most"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				s.runbook = args[0]
			}
			s.given = c.Flags().Changed("outage")
			s.drawn = c.Flags().Changed("seed") || c.Flags().Changed("trials") || s.sweep
			if s.sweep && !c.Flags().Changed("trials") {
				s.trials = usualTrials
			}
			if err := s.check(c.Flags().Changed("trials"), asserts); err != nil {
				return err
			}
			sc, err := a.scenarioOf(s)
			switch {
			case err != nil:
				return err
			case s.trials > 0:
				return a.playTrials(c.Context(), &s, sc)
			default:
				return a.playOnce(c.Context(), &s, sc)
			}
		},
	}
	f := c.Flags()
	f.StringVar(&s.scenario, "scenario", "", "a file that describes what happens")
	f.DurationVar(&s.outage, "outage", s.outage, "without a scenario: how long mains power is out")
	f.IntVar(&s.trials, "trials", 0, "play this many random outages and show the odds")
	f.Uint64Var(&s.seed, "seed", s.seed, "draw the outage of this seed; with --trials: the first seed")
	f.BoolVar(&s.sweep, "policy-sweep", false, "compare the policy with the shutdown triggers of other tools, on the same outages")
	f.StringArrayVar(&asserts, "assert", nil, "check a figure against a limit, such as 'crash<=1%' or 'slack>=2m'; repeatable")
	f.StringVar(&s.plot, "plot", "", "plot batteries, load and steps of one run to file.svg or file.png")
	return c
}

// check finds what can't be asked for, and reads the assertions.
func (s *simulation) check(trialsGiven bool, asserts []string) error {
	switch {
	case s.runbook == "" && s.scenario == "":
		return fail(exitUsage, "name a runbook, or a scenario that contains one: see `ebbtide simulate --help`",
			"simulate needs a runbook or a scenario")
	case s.scenario != "" && s.given:
		return fail(exitUsage, "leave one of the two out", "--outage and --scenario can't be combined")
	case s.outage <= 0:
		return fail(exitUsage, "write --outage 45m", "an outage can't last %s", brief(s.outage))
	case trialsGiven && s.trials <= 0:
		return fail(exitUsage, "write --trials 1000", "cannot play %d trials", s.trials)
	case s.plot != "" && s.trials > 0:
		return fail(exitUsage, "leave out --trials and --policy-sweep; --seed N plays trial N", "--plot works for a single run")
	case s.plot != "" && !slices.Contains(chart.Formats, filepath.Ext(s.plot)):
		return fail(exitUsage, "name a file that ends in "+strings.Join(chart.Formats, " or "),
			"cannot tell which format to plot %q in", s.plot)
	}
	for _, text := range asserts {
		parsed, err := parseAssertion(text)
		if err != nil {
			return err
		}
		s.asserts = append(s.asserts, parsed)
	}
	return nil
}

// odds are what is drawn from: an outage that was asked for stays.
func (s *simulation) odds() sim.Odds { return sim.Odds{Outage: s.scenario == "" && !s.given} }

// name is what a run is of, for people.
func (s *simulation) name() string { return cmp.Or(s.runbook, s.scenario) }

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
		return sim.Scenario{}, fail(exitFailed, "name a scenario file, such as runbooks/scenarios/home-lab-bad-night.yaml",
			"cannot read scenario: %w", err)
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

// playOnce plays one run, as the runbook and the scenario have it or drawn.
func (a *app) playOnce(ctx context.Context, s *simulation, sc sim.Scenario) error {
	if s.drawn {
		sc = sim.Draw(sc, s.seed, s.odds())
	}
	var seen readings
	if s.plot != "" {
		sc.Witness = seen.witness
	}
	r := sim.Run(sc)
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.plot != "" {
		if err := drawRun(s, &sc, r, &seen); err != nil {
			return err
		}
	}
	verdicts := []verdictOn{}
	if len(s.asserts) > 0 {
		sc.Witness = nil
		verdicts = judgeAll(s.asserts, sim.Summarise(sc.Settings.Policy, []sim.Outcome{sim.Judge(sc, r)}, s.seed))
	}
	if err := a.showSimulation(s, &sc, r, verdicts); err != nil {
		return err
	}
	if len(r.Violations) > 0 || anyFailed(verdicts) {
		return ended(exitAssertion)
	}
	return nil
}

// simulated is a run for machines.
type simulated struct {
	Seed         *uint64         `json:"seed,omitempty"` // absent: nothing was drawn
	Records      []ledger.Record `json:"records"`
	EndedSeconds float64         `json:"ended_seconds"` // when the last outage was over; 0: none was
	On           []string        `json:"on"`
	Off          []string        `json:"off"`
	Crashed      []string        `json:"crashed"`    // lost their power while on
	Violations   []string        `json:"violations"` // each with the number of its rule
	Events       int             `json:"events"`
	Asserts      []verdictOn     `json:"asserts"`
}

func (a *app) showSimulation(s *simulation, sc *sim.Scenario, r *sim.Result, verdicts []verdictOn) error {
	if a.format == "json" {
		doc := simulated{
			Records: append([]ledger.Record{}, r.Records...), EndedSeconds: overAt(r).Seconds(), Events: r.Events,
			On: append([]string{}, r.On...), Off: append([]string{}, r.Off...),
			Crashed: append([]string{}, r.Crashed...), Violations: append([]string{}, r.Violations...), Asserts: verdicts,
		}
		if s.drawn {
			doc.Seed = &s.seed
		}
		return a.json(doc)
	}
	var b strings.Builder
	if s.drawn {
		fmt.Fprintf(&b, "Drawn from seed %d: %s.\n\n", s.seed, drawnText(sc))
	}
	b.WriteString(simulationText(sc, r))
	if len(verdicts) > 0 {
		b.WriteString("\n")
		writeVerdicts(&b, s.asserts, verdicts)
	}
	if _, err := io.WriteString(a.Stdout, b.String()); err != nil {
		return fmt.Errorf("cannot write the story: %w", err)
	}
	return nil
}
