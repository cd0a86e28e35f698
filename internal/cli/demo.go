package cli

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ebbtide/internal/demo"
)

func (a *app) demo() *cobra.Command {
	var fails []string
	var crashAfter uint64
	c := &cobra.Command{
		Use: "demo", GroupID: "try", Short: "watch one outage on an embedded estate; nothing is installed, nothing left behind",
		Long: `Plays one outage, down and back, on an estate inside this one process: a NUT server with a modelled
battery, a vSphere simulator with two hosts and a dozen VMs, and an SSH server that plays a NAS with a
dirty write-back cache, all on loopback. Ebbtide's side is the real thing. A referee watches the estate
and says whether the order and the other rules held; the exit code is 1 if one was broken.`,
		Example: "  ebbtide demo\n  ebbtide demo --fail db=hang --crash-after 12\n  ebbtide demo --format json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options := demo.Options{Families: families(true), CrashAfter: crashAfter}
			for _, text := range fails {
				f, err := demo.ParseFail(text)
				if err != nil {
					return fail(exitUsage, "use --fail NODE=hang, NODE=refuse or NODE=vanish", "%w", err)
				}
				options.Fails = append(options.Fails, f)
			}
			view := a.demoView()
			if view != nil {
				options.View = view
			}
			result, err := demo.Run(c.Context(), options)
			if view != nil {
				view.end()
			}
			if err != nil {
				return err
			}
			return a.showDemo(result)
		},
	}
	c.Flags().StringArrayVar(&fails, "fail", nil, "NODE=hang, NODE=refuse or NODE=vanish: what goes wrong (may be given again)")
	c.Flags().Uint64Var(&crashAfter, "crash-after", 0, "Ebbtide crashes after this record of its journal and is started again")
	return c
}

// demoView gives who watches: a live table on a terminal, lines elsewhere, nobody with JSON.
func (a *app) demoView() watcher {
	if a.format == "json" {
		return nil
	}
	if f, ok := a.Stdout.(*os.File); ok && isTerminal(f) {
		return newLiveView(f, os.Getenv("NO_COLOR") == "")
	}
	return newLineView(a.Stdout)
}

// isTerminal tells whether a file is a terminal that can be drawn on.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
}

// showDemo ends a demo: what held, and one line of JSON.
func (a *app) showDemo(r demo.Result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	if a.format == "text" {
		writeDemoResult(a.Stdout, r)
	}
	if _, err := fmt.Fprintln(a.Stdout, string(line)); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	if len(r.Violations) > 0 {
		return ended(exitFailed)
	}
	return nil
}
