//go:build !nodemo

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ebbtide/internal/demo"
	"ebbtide/internal/english"
	"ebbtide/internal/families"
)

func (a *app) demo() *cobra.Command {
	var fails []string
	var crashAfter uint64
	c := &cobra.Command{
		Use: "demo", GroupID: "try", Short: "watch a complete outage: nothing to install, nothing left behind",
		Long: `Plays one outage in less than a minute, inside this process and on loopback only: a NUT server with a modelled
battery, a vSphere simulator with two hosts and a dozen VMs, and a NAS whose write-back cache holds
dirty blocks. Ebbtide itself is the real program. A referee watches the simulated estate and judges the outcome:
the exit code is 1 if a rule was broken. The last line is the result as JSON.`,
		Example: `  ebbtide demo
  ebbtide demo --fail sql01=hang --fail lab02=vanish
  ebbtide demo --fail esx01=refuse       a host that can't be shut down: the battery decides
  ebbtide demo --crash-after 30          Ebbtide crashes and resumes from its journal`,
		Args: exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			o := demo.Options{Families: families.All(true), CrashAfter: crashAfter}
			for _, text := range fails {
				f, err := demo.ParseFail(text)
				if err != nil {
					return fail(exitUsage, "--fail NODE=hang, NODE=refuse or NODE=vanish", "%w", err)
				}
				o.Fails = append(o.Fails, f)
			}
			if a.format == "text" {
				o.View = a.demoView()
			}
			outcome, err := demo.Run(c.Context(), o)
			if err != nil {
				return err
			}
			return a.showDemo(outcome)
		},
	}
	c.Flags().StringArrayVar(&fails, "fail", nil, "make a node fail: NODE=hang, NODE=refuse or NODE=vanish; repeatable")
	c.Flags().Uint64Var(&crashAfter, "crash-after", 0, "crash Ebbtide after this journal record, and resume")
	return c
}

// demoView draws on a terminal and writes lines elsewhere.
func (a *app) demoView() demo.View {
	if isTerminal(a.screen) {
		return demo.NewTree(a.screen, os.Getenv("NO_COLOR") == "")
	}
	return demo.NewLines(a.Stdout)
}

// showDemo writes the table and the verdict for people, and the result as one line of JSON.
func (a *app) showDemo(o demo.Outcome) error {
	r := &o.Result
	if a.format == "text" {
		if err := demo.WriteTable(a.Stdout, o.Records); err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "\n%s\n", verdict(r))
	}
	if err := json.NewEncoder(a.Stdout).Encode(r); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	if len(r.Violations) > 0 {
		return ended(exitFailed)
	}
	return nil
}

// verdict says a result in words.
func verdict(r *demo.Result) string {
	lines := []string{fmt.Sprintf("%s before the outage: %d off before the output was cut, %d back on now.",
		english.Count(r.WasOn, "node was on", "nodes were on"), r.ProvenOff, r.Restored)}
	if len(r.NotRestored) > 0 {
		lines = append(lines, "Not back on, and reported: "+strings.Join(r.NotRestored, ", ")+".")
	}
	if r.Forced > 0 {
		lines = append(lines, english.Count(r.Forced, "command was forced", "commands were forced")+"; the journal has the reasons.")
	}
	if len(r.Violations) == 0 {
		return strings.Join(append(lines, "Referee, judging by the true state of the estate: no rules broken."), "\n")
	}
	lines = append(lines, "Referee, judging by the true state of the estate: "+english.Count(len(r.Violations), "rule")+" broken:")
	for _, v := range r.Violations {
		lines = append(lines, "  "+v)
	}
	return strings.Join(lines, "\n")
}
