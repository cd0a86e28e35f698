package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/daemon"
	"ebbtide/internal/families"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

func (a *app) check() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "check RUNBOOK…", GroupID: "runbook", Short: "find every mistake in a runbook, with where and what to write instead",
		Long: `Finds every mistake, and warns of what is likely one. With the journal of a daemon it also warns of batteries
that were never tried, and of what was never seen to stop and to come back, or not for 120 days.`,
		Example: "  ebbtide check runbooks/home-lab.yaml\n  ebbtide check runbook.yaml --journal /var/lib/ebbtide/journal.db",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return fail(exitUsage, "use `ebbtide check RUNBOOK…`", "check takes at least one runbook")
		},
		RunE: func(c *cobra.Command, args []string) error {
			all := runbook.Problems{}
			for _, book := range args {
				rb, problems, err := readRunbook(book)
				if err != nil {
					return err
				}
				all = append(all, problems...)
				if file == "" || problems.HasErrors() {
					continue
				}
				seen, err := a.recall(c.Context(), &reach{}, file)
				if err != nil {
					return err
				}
				stale, err := unproven(rb, seen, time.Now())
				if err != nil {
					return err
				}
				all = append(all, stale...)
			}
			if err := a.showProblems(all, count(len(args), "runbook")); err != nil {
				return err
			}
			if all.HasErrors() {
				return ended(exitMistakes)
			}
			return nil
		},
	}
	c.Flags().StringVar(&file, "journal", "", "a daemon's journal, for what was never proven")
	return c
}

// unproven warns of what no outage and no drill on record has shown to work, or not for long.
func unproven(rb *runbook.Runbook, seen recalled, now time.Time) (runbook.Problems, error) {
	estate, _, err := known(rb, seen)
	if err != nil {
		return nil, err
	}
	newest := map[string]time.Time{} // by declaration: of a selector's members the newest
	for i := range estate.Len() {
		n := estate.Node(i)
		if n.Can.Has(plan.Stop) && n.Kind != plan.Self && n.Kind != plan.Person {
			id, at := cmp.Or(n.Group, n.ID), seen.Returned(n.ID)
			if was, known := newest[id]; !known || at.After(was) {
				newest[id] = at
			}
		}
	}
	return rb.Unproven(func(id string, supply bool) (message, hint string) {
		at, stops := newest[id]
		never, drill := id+" was never seen to stop and come back", "ebbtide drill --only "+id
		if supply {
			at, stops = seen.Capacity(id, now).At, true
			never, drill = "nobody has seen what the battery of "+id+" gives", "ebbtide drill --battery "+id
		}
		switch age := now.Sub(at); {
		case !stops:
			return "", ""
		case at.IsZero():
			return never, "run `" + drill + "`"
		case age > daemon.ProofGood:
			return fmt.Sprintf("%s was last proven %d days ago", id, int(age.Hours()/24)), "run `" + drill + "`"
		}
		return "", ""
	}), nil
}

// readRunbook loads a file. A nil runbook comes with problems that say why.
func readRunbook(file string) (*runbook.Runbook, runbook.Problems, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fail(exitFailed, "name a runbook file, such as runbooks/home-lab.yaml", "cannot read runbook: %w", err)
	}
	rb, problems := runbook.Load(filepath.Clean(file), src, families.Schema())
	return rb, problems, nil
}

// usable loads a runbook that must have no mistakes: its mistakes are shown otherwise.
func (a *app) usable(file string) (*runbook.Runbook, error) {
	rb, problems, err := readRunbook(file)
	if err != nil {
		return nil, err
	}
	if problems.HasErrors() {
		if err := a.showProblems(problems, "1 runbook"); err != nil {
			return nil, err
		}
		return nil, ended(exitMistakes)
	}
	return rb, nil
}

// showProblems tells what is wrong in what was read ("2 runbooks").
func (a *app) showProblems(problems runbook.Problems, read string) error {
	mistakes, warnings := problems.Count(runbook.Error), problems.Count(runbook.Warning)
	if a.format == "json" {
		return a.json(struct {
			Mistakes int              `json:"mistakes"`
			Warnings int              `json:"warnings"`
			Problems runbook.Problems `json:"problems"`
		}{mistakes, warnings, problems})
	}
	fmt.Fprint(a.Stdout, problems.Text())
	summary := "no mistakes"
	if mistakes > 0 {
		summary = count(mistakes, "mistake")
	}
	if warnings > 0 {
		summary += ", " + count(warnings, "warning")
	}
	_, err := fmt.Fprintf(a.Stdout, "%s in %s\n", summary, read)
	return err
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
