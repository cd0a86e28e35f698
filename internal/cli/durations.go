package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
	"ebbtide/internal/evidence"
	"ebbtide/internal/families"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
)

func (a *app) durations() *cobra.Command {
	var r reach
	var file string
	c := &cobra.Command{
		Use: "durations [RUNBOOK]", GroupID: "after",
		Short: "show what outages and drills have taught: how long steps take, how long batteries last",
		Long: `Shows what is known about how long each step takes: from how many runs, how old the newest is, and how
often the step hangs. Also shows how long each battery lasts. With a runbook, it lists every step in it; where
nothing has been learned yet, the runbook's own time applies.

It reads the journal given by --journal or by the settings file of --config, or asks the daemon that has it open.`,
		Example: "  ebbtide durations --config /etc/ebbtide/ebbtide.yaml\n  ebbtide durations --journal journal.db runbooks/home-lab.yaml",
		Args:    between(0, 1, "at most one runbook"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.showDurations(c.Context(), &r, file, append(args, "")[0])
		},
	}
	c.Flags().StringVar(&file, "journal", "", "the journal file")
	r.flags(c)
	return c
}

func (a *app) showDurations(ctx context.Context, r *reach, file, book string) error {
	if file == "" && r.config != "" {
		settings, err := config.Load(r.config, nil)
		if err != nil {
			return fail(exitUsage, "see `ebbtide daemon --help`", "%w", err)
		}
		file = settings.Journal
		if book == "" {
			book = settings.Runbook
		}
	}
	seen, err := a.recall(ctx, r, file)
	if err != nil {
		return err
	}
	var rb *runbook.Runbook
	if book != "" {
		if rb, err = a.usable(book); err != nil {
			return err
		}
	}
	estate, supplies, err := known(rb, seen)
	if err != nil {
		return err
	}
	doc := durationsDocument(estate, supplies, seen, rb == nil)
	if a.format == "json" {
		return a.json(doc)
	}
	return doc.write(a.Stdout)
}

// recalled is what outages have shown, and what is left out of it.
type recalled struct {
	*evidence.Evidence
	leftOut error
}

// recall reads what outages have shown from a journal or, if there is none to read, from the daemon.
func (a *app) recall(ctx context.Context, r *reach, file string) (recalled, error) {
	from, done, err := a.source(ctx, r, file)
	if err != nil {
		return recalled{}, err
	}
	defer done()
	seen, err := evidence.Read(ctx, from)
	return recalled{seen, err}, ctx.Err()
}

// answers are a daemon's to the questions for its outages.
type answers struct {
	list []journal.Outage
	ask  func(id string) (*daemon.Records, error)
}

func (a answers) Outages() ([]journal.Outage, error) { return a.list, nil }

func (a answers) Records(id string) ([]ledger.Record, error) {
	r, err := a.ask(id)
	if err != nil {
		return nil, err
	}
	return r.Records, nil
}

// known makes the estate that is shown: a runbook's, with the members that its selectors had last, or all that is on
// record.
func known(rb *runbook.Runbook, seen recalled) (*plan.Estate, []power.Supply, error) {
	if rb != nil {
		compiled, err := runbook.Compile(rb, families.Schema(), seen.Members)
		if err != nil {
			return nil, nil, fail(exitMistakes, "run `ebbtide check`", "cannot show runbook %q: %w", rb.Name, err)
		}
		return compiled.Estate, compiled.Supplies, nil
	}
	var supplies []power.Supply
	for _, id := range seen.Supplies() {
		supplies = append(supplies, power.Supply{ID: id})
	}
	estate, err := plan.NewEstate(seen.Nodes(), nil)
	if err != nil {
		return nil, nil, fail(exitFailed, "", "cannot show what has been recorded: %w", err)
	}
	return estate, supplies, nil
}
