package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
)

func (a *app) check() *cobra.Command {
	return &cobra.Command{
		Use: "check RUNBOOK…", GroupID: "runbook", Short: "find every mistake in a runbook, with where and what to write instead",
		Example: "  ebbtide check runbooks/home-lab.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return fail(exitUsage, "use `ebbtide check RUNBOOK…`", "check takes at least one runbook")
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all := runbook.Problems{}
			for _, file := range args {
				_, problems, err := readRunbook(file)
				if err != nil {
					return err
				}
				all = append(all, problems...)
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
