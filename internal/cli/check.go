package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/daemon"
	"ebbtide/internal/english"
	"ebbtide/internal/families"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

func (a *app) check() *cobra.Command {
	var file, credentials string
	var live bool
	c := &cobra.Command{
		Use: "check RUNBOOK…", GroupID: "runbook", Short: "find every mistake in a runbook: where it is and what to write instead",
		Long: `Finds every mistake in a runbook and warns of likely ones. Given a daemon's journal, it also warns of batteries
that have never been tested and of nodes that have not been seen to stop and come back in the last 120 days, or ever.

--live also queries the estate itself, with the runbook's secrets. It sends no commands. It shows what each UPS
reports, whether it supports what the runbook needs and whether it accepts the user; what each selector covers
and where; which running VMs no node covers; and each node's state and what would start it. Anything that does not
answer, denies access or can't do what is needed counts as a problem with the estate: exit code 5. It takes 2 minutes at most.`,
		Example: `  ebbtide check runbooks/home-lab.yaml
  ebbtide check runbook.yaml --journal /var/lib/ebbtide/journal.db
  ebbtide check /etc/ebbtide/runbook.yaml --live --credentials /run/credentials/ebbtide.service`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return fail(exitUsage, "use `ebbtide check RUNBOOK…`", "check takes at least one runbook")
		},
		RunE: func(c *cobra.Command, args []string) error {
			if credentials != "" && !live {
				return fail(exitUsage, "see `ebbtide check --help`", "--credentials needs --live: nothing else reads secrets")
			}
			all := runbook.Problems{}
			var surveys []survey
			for _, book := range args {
				rb, problems, err := readRunbook(book)
				if err != nil {
					return err
				}
				all = append(all, problems...)
				if problems.HasErrors() {
					continue
				}
				if file != "" {
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
				if live {
					asked, err := a.ask(c.Context(), book, rb, credentials)
					if err != nil {
						return err
					}
					all, surveys = append(all, asked.Problems...), append(surveys, asked)
				}
			}
			if live {
				all.WorstFirst()
			}
			if err := a.showProblems(all, english.Count(len(args), "runbook"), surveys...); err != nil {
				return err
			}
			switch {
			case all.HasErrors():
				return ended(exitMistakes)
			case all.Count(runbook.Trouble) > 0:
				return ended(exitUnreachable)
			}
			return nil
		},
	}
	c.Flags().StringVar(&file, "journal", "", "a daemon's journal, to find what has never been proven")
	c.Flags().BoolVar(&live, "live", false, "also query the estate itself; sends no commands")
	c.Flags().StringVar(&credentials, "credentials", "",
		"with --live: the directory that holds each {credential: NAME} (default: $CREDENTIALS_DIRECTORY)")
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
		if n.Can.Has(plan.Stop) && n.Kind != plan.Self && n.Kind != plan.Manual {
			id, at := cmp.Or(n.Group, n.ID), seen.Returned(n.ID)
			if was, known := newest[id]; !known || at.After(was) {
				newest[id] = at
			}
		}
	}
	var remarks []runbook.Remark
	remark := func(section, id string, at time.Time, never, drill string) {
		message := never
		if age := now.Sub(at); !at.IsZero() {
			if age <= daemon.ProofGood {
				return
			}
			message = fmt.Sprintf("%s was last proven %d days ago", id, int(age.Hours()/24))
		}
		remarks = append(remarks, runbook.Remark{
			Severity: runbook.Warning, Section: section, Name: id, Message: message,
			Hint: "run `" + drill + " " + id + "`",
		})
	}
	for i := range rb.Supplies {
		id := rb.Supplies[i].ID
		remark(runbook.SectionSupplies, id, seen.Capacity(id, now).At, "the battery of "+id+" has never been tested",
			"ebbtide drill --battery")
	}
	for i := range rb.Nodes {
		id := rb.Nodes[i].ID
		if at, stops := newest[id]; stops {
			remark(runbook.SectionNodes, id, at, id+" has never been seen to stop and come back", "ebbtide drill --only")
		}
	}
	return rb.Remarked(remarks), nil
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

// showProblems tells what is wrong in what was read ("2 runbooks"), and what their estates have said if they were asked.
func (a *app) showProblems(problems runbook.Problems, read string, surveys ...survey) error {
	mistakes, troubles, warnings := problems.Count(runbook.Error), problems.Count(runbook.Trouble), problems.Count(runbook.Warning)
	if a.format == "json" {
		return a.json(struct {
			Mistakes int              `json:"mistakes"`
			Troubles int              `json:"troubles,omitempty"`
			Warnings int              `json:"warnings"`
			Problems runbook.Problems `json:"problems"`
			Live     []survey         `json:"live,omitempty"`
		}{mistakes, troubles, warnings, problems, surveys})
	}
	fmt.Fprint(a.Stdout, problems.Text())
	for i := range surveys {
		surveys[i].write(a.Stdout)
	}
	summary := "no mistakes"
	if mistakes > 0 {
		summary = english.Count(mistakes, "mistake")
	}
	if troubles > 0 {
		summary += ", " + english.Count(troubles, "live problem")
	}
	if warnings > 0 {
		summary += ", " + english.Count(warnings, "warning")
	}
	_, err := fmt.Fprintf(a.Stdout, "%s in %s\n", summary, read)
	return err
}
