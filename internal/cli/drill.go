package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/daemon"
	"ebbtide/internal/ledger"
	"ebbtide/internal/timeline"
)

const defaultFloor = "40%"

// drillOptions are what a person gave.
type drillOptions struct {
	order    daemon.DrillOrder
	floor    string
	rehearse bool
	yes      string
}

func (a *app) drill() *cobra.Command {
	var r reach
	var o drillOptions
	c := &cobra.Command{
		Use: "drill (--only NODE|LABEL=VALUE … | --stage NAME | --battery SUPPLY)", GroupID: "daemon",
		Short: "shut down part of the estate for real, and bring it back",
		Long: `Shuts down part of the estate and brings it straight back, under the same rules as in an outage: the order,
the limits, the proofs, and a snapshot on disk before the first command. It shows what it will do, asks you
to type the scope back, reports each step as it happens and ends with a verdict for each node.

It refuses if anything is wrong with a supply, if something outside the scope depends on something in it, or
if something in it could not be started again. If mains power fails meanwhile, the drill becomes an outage.

--battery runs the UPS on battery under its real load, using the UPS's own test, down to a floor. Nothing but the
UPS is commanded. It ends early if the remaining charge is needed for a complete shutdown.

--rehearse probes everything for real and sends no commands; it needs no confirmation and also works with
armed: false.`,
		Example: `  ebbtide drill --only web01
  ebbtide drill --only esx02 --only tier=lab
  ebbtide drill --stage lab --rehearse
  ebbtide drill --battery ups-a --floor 50%`,
		Args: exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(c.Flags().Changed("floor")); err != nil {
				return err
			}
			client, err := r.client()
			if err != nil {
				return err
			}
			if o.rehearse && o.order.Battery == "" {
				return a.rehearseDrill(c.Context(), client, &o)
			}
			return a.runDrill(c.Context(), client, &o)
		},
	}
	c.Flags().StringArrayVar(&o.order.Nodes, "only", nil, "a node, a selector, or everything with a label (KEY=VALUE); repeatable")
	c.Flags().StringVar(&o.order.Stage, "stage", "", "the nodes of a shed stage")
	c.Flags().StringVar(&o.order.Battery, "battery", "", "the supply whose battery is to be discharged under load")
	c.Flags().StringVar(&o.floor, "floor", defaultFloor, "with --battery: discharge to this charge")
	c.Flags().BoolVar(&o.rehearse, "rehearse", false, "probe for real, send no commands")
	c.Flags().StringVar(&o.yes, "yes-really", "", "the scope, in place of typing it: for scripts")
	r.flags(c)
	return c
}

// check finds mistakes in what was given.
func (o *drillOptions) check(floorGiven bool) error {
	given := 0
	for _, is := range []bool{len(o.order.Nodes) > 0, o.order.Stage != "", o.order.Battery != ""} {
		if is {
			given++
		}
	}
	hint := "see `ebbtide drill --help`"
	switch {
	case given == 0:
		return fail(exitUsage, "say what to drill: --only NODE, --stage NAME or --battery SUPPLY", "there is nothing to drill")
	case given > 1:
		return fail(exitUsage, hint, "--only, --stage and --battery can't be combined")
	case o.order.Battery == "" && floorGiven:
		return fail(exitUsage, hint, "--floor needs --battery")
	case o.rehearse && o.yes != "":
		return fail(exitUsage, hint, "--rehearse needs no --yes-really: it sends no commands")
	}
	o.order.By = "someone"
	if u, err := user.Current(); err == nil {
		o.order.By = u.Username
	}
	if o.order.Battery == "" {
		return nil
	}
	number, ok := strings.CutSuffix(o.floor, "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v > 0 && v < 100) {
		hint := "write it as --floor 40%"
		if v > 0 && v < 100 {
			hint = "write it as --floor " + o.floor + "%"
		}
		return fail(exitUsage, hint, "--floor needs a charge in percent, not %q", o.floor)
	}
	o.order.Floor = v
	return nil
}

// runDrill shows what would be done, asks, does it and judges it.
func (a *app) runDrill(ctx context.Context, client *daemon.Client, o *drillOptions) error {
	p, err := client.PlanDrill(ctx, o.order)
	if err != nil {
		return asked(err)
	}
	if a.format == "text" {
		writeDrillPlan(a.Stdout, p)
	}
	switch {
	case p.Refused != "":
		return fail(exitRefused, p.Hint, "cannot drill: %s", p.Refused)
	case o.rehearse && a.format == "json":
		return a.json(p)
	case o.rehearse:
		fmt.Fprintln(a.Stderr, "rehearsed: no commands were sent")
		return nil
	}
	if err := a.confirmed(ctx, p.Scope, o.yes); err != nil {
		return err
	}
	begun, err := client.Drill(ctx, o.order)
	if err != nil {
		return asked(err)
	}
	records, err := a.followDrill(ctx, client, begun.Outage)
	if err != nil {
		return err
	}
	return a.showVerdict(judgeDrill(p, records))
}

// confirmed asks for the scope to be typed back.
func (a *app) confirmed(ctx context.Context, scope, given string) error {
	if given == "" {
		fmt.Fprintf(a.Stderr, "type %q to continue: ", scope)
		var err error
		if given, err = a.readLine(ctx); err != nil {
			return err
		}
	}
	if given != scope {
		return fail(exitRefused, "the scope is "+strconv.Quote(scope)+"; in scripts: --yes-really "+strconv.Quote(scope),
			"not confirmed: nothing was done")
	}
	return nil
}

// readLine reads a line that is typed; "" if there is none.
func (a *app) readLine(ctx context.Context) (string, error) {
	if a.Stdin == nil {
		return "", nil
	}
	typed := make(chan string, 1)
	go func() { // may outlive an interrupt by as long as the program does
		line, _ := bufio.NewReader(a.Stdin).ReadString('\n') // what comes before the end counts
		typed <- strings.TrimSpace(line)
	}()
	select {
	case line := <-typed:
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// errOver ends the watch of a drill that is over.
var errOver = errors.New("the drill is over")

// followDrill writes a line for each thing that happens until the drill is closed, and gives its records.
func (a *app) followDrill(ctx context.Context, client *daemon.Client, id string) (records []ledger.Record, err error) {
	out := a.Stdout
	if a.format == "json" {
		out = a.Stderr
	}
	fmt.Fprintf(out, "\ndrill %s; to end it now and bring back what it stopped: `ebbtide abort`\n", id)
	var told timeline.Timeline
	err = client.Watch(ctx, func(*daemon.Status) error {
		all, err := client.Outage(ctx, id)
		if err != nil {
			return err
		}
		for i := len(records); i < len(all.Records); i++ {
			rec := &all.Records[i]
			told.Add(*rec)
			if text := told.Phrase(rec); text != "" {
				fmt.Fprintf(out, "%s  %s\n", rec.At.Local().Format(time.TimeOnly), text)
			}
		}
		if records = all.Records; len(records) > 0 && records[len(records)-1].Kind == ledger.Closed {
			return errOver
		}
		return nil
	})
	switch {
	case errors.Is(err, errOver):
		return records, nil
	case ctx.Err() != nil:
		fmt.Fprintln(a.Stderr, "ebbtide: the drill continues without this command: see `ebbtide status`; `ebbtide abort` ends it now")
		return nil, err
	}
	return nil, asked(fmt.Errorf("%w; the drill continues without this command", err))
}

// rehearseDrill tells what a drill would do.
func (a *app) rehearseDrill(ctx context.Context, client *daemon.Client, o *drillOptions) error {
	over := false
	err := client.Rehearse(ctx, o.order, func(line *daemon.RehearsalLine) error {
		over = over || line.Record != nil && line.Record.Kind == ledger.Closed
		if a.format == "json" {
			return a.jsonLine(line)
		}
		if line.Text == "" {
			return nil
		}
		at := time.Now()
		if line.Record != nil {
			at = line.Record.At
		}
		_, err := fmt.Fprintf(a.Stdout, "%s  %s\n", at.Local().Format(time.TimeOnly), line.Text)
		return err
	})
	if err != nil {
		return asked(err)
	}
	if !over {
		return fail(exitFailed, "see `ebbtide status`", "the rehearsal was cut short")
	}
	if a.format == "text" {
		fmt.Fprintln(a.Stderr, "rehearsed: every probe was real, no commands were sent")
	}
	return nil
}
