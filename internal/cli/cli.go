// Package cli is the command line: what people type and read. Every command has a text view and a JSON twin; progress
// and errors go to stderr, and each way to end has an exit code of its own.
package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// World is what a command line meets outside: its arguments and streams, and the signals that main turned into
// channels.
type World struct {
	Args           []string
	Stdin          io.Reader // nil: nobody types
	Stdout, Stderr io.Writer
	Version        string
	Reload         <-chan os.Signal // SIGHUP, for the daemon
}

// app is the state that the commands share.
type app struct {
	World             // its streams are safe
	screen  io.Writer // standard output as it is, for who draws on it
	console io.Writer // standard error as it is, for who draws on it
	format  string    // "text" or "json"
}

const rootHelp = `Ebbtide watches a datacenter's UPSes through NUT. When mains power fails, it shuts the
estate down in order and in time, proves that each node is off, and afterwards brings
everything that was on back up in reverse order.

It sends no commands unless its settings say armed: true.`

const exitHelp = `
Exit codes:
  0 done   1 failed   2 usage   3 the runbook has mistakes   4 a rule was broken, or an assertion failed
  5 the daemon, a supply or a system can't be reached or denies access
  6 refused for safety   130 interrupted
`

// Main runs one command line and gives its exit code.
func Main(ctx context.Context, w World) int {
	a := &app{World: w, screen: w.Stdout, console: w.Stderr, format: "text"}
	a.Stdout, a.Stderr = safe{w.Stdout}, safe{w.Stderr}
	if asksForJSON(w.Args) { // so that even an argument that can't be read is told as it was asked for
		a.format = "json"
	}
	root := a.root()
	root.SetArgs(w.Args)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	code, hint, said := explain(err)
	if !said {
		a.complain(err, hint)
	}
	return code
}

func asksForJSON(args []string) bool {
	for i, arg := range args {
		if arg == "--format=json" || arg == "--format" && i+1 < len(args) && args[i+1] == "json" {
			return true
		}
	}
	return false
}

// fault is an error as machines get it.
type fault struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// complain tells an error: on stderr for people, on stdout as a document for machines.
func (a *app) complain(err error, hint string) {
	if a.format == "json" {
		_ = a.json(fault{err.Error(), hint})
		return
	}
	fmt.Fprintf(a.Stderr, "ebbtide: error: %v\n", err)
	if hint != "" {
		fmt.Fprintf(a.Stderr, "ebbtide: hint: %s\n", hint)
	}
}

// json prints one document.
func (a *app) json(v any) error { return a.jsonTo(a.Stdout, v) }

func (a *app) jsonTo(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("cannot write the answer: %w", err)
	}
	return nil
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "ebbtide", Short: "shuts an estate down in order when mains power fails, and brings it back",
		Long: rootHelp, SilenceErrors: true, SilenceUsage: true, Version: a.Version,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.format != "text" && a.format != "json" {
				wrong := a.format
				a.format = "text"
				return fail(exitUsage, "use --format text or --format json", "unknown format %q", wrong)
			}
			return nil
		},
	}
	root.PersistentFlags().StringVar(&a.format, "format", a.format, "text or json")
	mustChoose(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fail(exitUsage, "see `"+c.CommandPath()+" --help`", "%w", err)
	})
	usage := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error { // a template instead would keep the linker from leaving out what nothing calls
		err := usage(c)
		if !c.HasParent() {
			fmt.Fprint(c.OutOrStderr(), exitHelp)
		}
		return err
	})
	for _, g := range []cobra.Group{
		{ID: "try", Title: "Try it:"},
		{ID: "runbook", Title: "Runbooks:"},
		{ID: "daemon", Title: "The daemon:"},
		{ID: "after", Title: "After an outage:"},
	} {
		root.AddGroup(&g)
	}
	root.AddCommand(
		a.demo(), a.check(), a.plan(), a.print(), a.simulate(), a.daemon(), a.status(),
		a.order("hold", "start nothing new; steps under way continue"),
		a.order("resume", "end a hold"),
		a.order("abort", "stop shutting down, and bring back what went down once the recharge gate is open"),
		a.order("go", "start the shutdown of this outage now, whatever the triggers say"),
		a.nodeOrder("confirm", "confirm that a step you were asked to do by hand is done, or that a silent UPS is on line according to "+
			"its own display"),
		a.nodeOrder("skip", "skip a step that you were asked to do by hand"),
		a.drill(),
		a.report(), a.blame(), a.criticalChain(), a.plot(), a.journal(), a.durations(), a.showVersion(),
	)
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	return root
}

// mustChoose makes a command that only groups others show its help, and say what is wrong with a name that it does not
// know.
func mustChoose(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs
	c.SuggestionsMinimumDistance = 2
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		hint := "see `" + c.CommandPath() + " --help`"
		orders := []string{"go", "abort", "skip", "confirm"} // who mistypes something else is not led to those
		near := slices.DeleteFunc(c.SuggestionsFor(args[0]), func(name string) bool { return slices.Contains(orders, name) })
		if len(near) > 0 {
			hint = "did you mean `" + c.CommandPath() + " " + strings.Join(near, "` or `"+c.CommandPath()+" ") + "`?"
		}
		return fail(exitUsage, hint, "unknown command %q", args[0])
	}
}

func (a *app) showVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if a.format == "json" {
				return a.json(struct {
					Version string `json:"version"`
				}{a.Version})
			}
			_, err := fmt.Fprintf(a.Stdout, "ebbtide %s\n", a.Version)
			return err
		},
	}
}

// exactly checks the number of arguments.
func exactly(n int, what string) cobra.PositionalArgs { return between(n, n, what) }

// between checks the number of arguments, as a usage error with a hint.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return fail(exitUsage, "use `"+c.UseLine()+"`", "%s takes %s", c.Name(), what)
	}
}
