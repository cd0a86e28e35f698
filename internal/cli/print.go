package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/english"
	"ebbtide/internal/evidence"
	"ebbtide/internal/families"
	"ebbtide/internal/forecast"
	"ebbtide/internal/nut"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/book"
	"ebbtide/internal/report/doc"
	"ebbtide/internal/report/render"
)

// printing is what a print command was asked for.
type printing struct {
	file, out, as, paper, date, changes, journal string
}

func (a *app) print() *cobra.Command {
	var p printing
	c := &cobra.Command{
		Use: "print RUNBOOK -o FILE", GroupID: "runbook", Short: "print the run book that people follow when every system is down",
		Long: `Prints a runbook on paper: who to call, the estate at a glance, which UPS feeds what, the
steps down and up with how to do and verify each one by hand, the last safe time for each,
what to do when something goes wrong, and pages for notes. The extension of FILE sets the
format: .pdf, .html (one self-contained file) or .md.

It is made from the same plan as the daemon's and shows that plan's digest. The same runbook
gives the same bytes; a date is printed only if you give one. It contains no secrets, as long
as the runbook's own notes and commands contain none. No system is queried: a node that
stands for many VMs counts as its expect: N. Given a daemon's journal, step times and battery
capacities are the learned ones, weighted as of --date or else of the newest outage, and
nodes that stand for many VMs list the ones that the newest outage had.`,
		Example: "  ebbtide print runbooks/smb-datacenter.yaml -o runbook.pdf\n  ebbtide print runbook.yaml -o runbook.pdf --paper " +
			"Letter --date 2026-03-01 --changes old.yaml\n  ebbtide print runbook.yaml -o - --as md",
		Args: exactly(1, "one runbook"),
		RunE: func(c *cobra.Command, args []string) error {
			p.file = args[0]
			return a.printBook(c.Context(), &p)
		},
	}
	f := c.Flags()
	f.StringVarP(&p.out, "output", "o", "", "the file to write; - is standard output")
	f.StringVar(&p.as, "as", "", "pdf, html or md, if the file's extension does not say")
	f.StringVar(&p.paper, "paper", "A4", "A4 or Letter, for a PDF")
	f.StringVar(&p.date, "date", "", "the date to print, such as 2026-03-01; by default none")
	f.StringVar(&p.journal, "journal", "", "a daemon's journal: use the step times, battery capacities and VM names that the daemon "+
		"plans with")
	f.StringVar(&p.changes, "changes", "", "an older version of the runbook: changes since then are marked in the margin")
	return c
}

// form is the form to write in: what was asked for, or what the file's ending says.
func (p *printing) form() (string, error) {
	form := strings.ToLower(p.as)
	if form == "" && p.out != "-" {
		form = strings.TrimPrefix(strings.ToLower(filepath.Ext(p.out)), ".")
	}
	if !slices.Contains(render.Formats, form) {
		if form == "" {
			return "", fail(exitUsage, "add --as pdf, --as html or --as md", "cannot tell which format to print")
		}
		return "", fail(exitUsage, "use pdf, html or md, as the file's extension or with --as", "cannot print as %q", form)
	}
	return form, nil
}

func (a *app) printBook(ctx context.Context, p *printing) error {
	if p.out == "" {
		return fail(exitUsage, "add -o runbook.pdf, or -o - --as md", "there is no output file")
	}
	form, err := p.form()
	if err != nil {
		return err
	}
	paper, err := render.PaperNamed(p.paper)
	if err != nil {
		return fail(exitUsage, "use --paper A4 or --paper Letter", "%w", err)
	}
	var date time.Time
	if p.date != "" {
		if date, err = time.Parse(time.DateOnly, p.date); err != nil {
			return fail(exitUsage, "write it like 2026-03-01", "cannot read the date %q", p.date)
		}
	}
	learned, err := a.learned(ctx, p.journal, date)
	if err != nil {
		return err
	}
	doc, err := a.book(p.file, date, learned)
	if err != nil {
		return err
	}
	if p.changes != "" {
		old, err := a.book(p.changes, date, learned)
		if err != nil {
			return err
		}
		doc.MarkChanges(old, filepath.Base(p.changes))
	}
	var printed bytes.Buffer
	if err := render.Write(&printed, doc, form, paper); err != nil {
		return fmt.Errorf("cannot print %q: %w", p.file, err)
	}
	if form == "pdf" {
		a.tellLacks(doc)
	}
	return a.deliver(p.out, printed.Bytes())
}

// mostLacks is how many places with letters that a PDF lacks are named.
const mostLacks = 5

// tellLacks warns of letters that a PDF has not.
func (a *app) tellLacks(doc *doc.Document) {
	lacks := render.Lacks(doc)
	if len(lacks) == 0 {
		return
	}
	for _, l := range lacks[:min(len(lacks), mostLacks)] {
		fmt.Fprintf(a.Stderr, "ebbtide: warning: the PDF fonts lack the characters %s in %q: their code points are printed instead\n",
			l.Letters, l.Where)
	}
	if more := len(lacks) - mostLacks; more > 0 {
		fmt.Fprintf(a.Stderr, "ebbtide: warning: the same applies to %s more\n", english.Count(more, "place"))
	}
	fmt.Fprintln(a.Stderr, "ebbtide: hint: print it as HTML instead, which shows them")
}

// book makes the run book of a file.
func (a *app) book(file string, date time.Time, learned book.Learned) (*doc.Document, error) {
	rb, err := a.usable(file)
	if err != nil {
		return nil, err
	}
	doc, err := book.New(book.Source{
		Runbook: rb, Schema: families.Schema(), Outputs: nut.ByHand, Outlets: nut.OutletByHand,
		Date: date, Learned: learned,
	})
	if err != nil {
		return nil, fail(exitMistakes, "run `ebbtide check "+file+"`", "cannot print %q: %w", file, err)
	}
	return doc, nil
}

// learned reads what a journal teaches, weighed as of a date, or of the newest of what it holds: never of today, so that
// the same journal gives the same book.
func (a *app) learned(ctx context.Context, file string, date time.Time) (book.Learned, error) {
	if file == "" {
		return book.Learned{}, nil
	}
	seen, err := a.recall(ctx, &reach{}, file)
	if err != nil {
		return book.Learned{}, err
	}
	if date.IsZero() {
		date = seen.Newest()
	}
	return book.Learned{
		Outages: seen.Outages, At: date, Members: seen.Members,
		Durations: func(e *plan.Estate) *forecast.Knowledge {
			return forecast.Learn(seen.Samples(evidence.Finder(e)), date)
		},
		Capacity: func(supply string) power.Capacity { return seen.Capacity(supply, date) },
	}, nil
}

// deliver writes a document to where it was asked for, with nothing changed in it.
func (a *app) deliver(out string, document []byte) error {
	if out == "-" {
		if _, err := a.screen.Write(document); err != nil {
			return fmt.Errorf("cannot write to standard output: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(out, document, 0o644); err != nil { //nolint:gosec // a document for everybody on duty
		return fail(exitFailed, "name a file in a folder that can be written to", "cannot write the document: %w", err)
	}
	if a.format == "json" {
		return a.json(struct {
			File  string `json:"file"`
			Bytes int    `json:"bytes"`
		}{out, len(document)})
	}
	fmt.Fprintf(a.Stderr, "ebbtide: wrote %s, %d kB\n", out, (len(document)+1023)/1024)
	return nil
}
