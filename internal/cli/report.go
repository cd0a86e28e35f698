package cli

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/ledger"
	"ebbtide/internal/report/chart"
	"ebbtide/internal/report/render"
	"ebbtide/internal/report/retrospect"
	"ebbtide/internal/timeline"
)

// reportForms are the forms in which a report is written.
var reportForms = append(slices.Clone(render.Formats), "json")

func (a *app) report() *cobra.Command {
	var o outageAt
	var out, as, paper string
	c := &cobra.Command{
		Use: "report [OUTAGE|last|FILE [OUTAGE]]", GroupID: "after",
		Short: "write the retrospective of an outage: what happened, why, how close it was, what to do now",
		Long: `Writes what people want to know after an outage or a drill: a summary in five sentences, what to do about it,
each decision with the numbers behind it, what the batteries delivered against what had been predicted, what was
forced and why, what waited and for what, each step's time against its expected time, what the next plan assumes,
why the outage took as long as it did, and the timeline. A simulated outage gives the same report and is marked
as simulated.
` + outageHelp,
		Example: `  ebbtide report --config /etc/ebbtide/ebbtide.yaml -o report.pdf
  ebbtide report 20260131T031415Z --journal journal.db --runbook runbook.yaml -o report.html
  ebbtide simulate runbook.yaml --format json > night.json && ebbtide report night.json --runbook runbook.yaml`,
		Args: between(0, 2, "an outage, or a file and at most one outage in it"),
		RunE: func(c *cobra.Command, args []string) error {
			form, err := a.reportForm(out, as)
			if err != nil {
				return err
			}
			sheet, err := render.PaperNamed(paper)
			if err != nil {
				return fail(exitUsage, "use --paper A4 or --paper Letter", "%w", err)
			}
			r, err := a.retrospect(c.Context(), &o, args)
			if err != nil {
				return err
			}
			return a.make(out, "the report", form != "pdf", func(w io.Writer) error {
				if form == "json" {
					return a.jsonTo(w, r)
				}
				doc := r.Document()
				if form == "pdf" {
					a.tellLacks(doc)
				}
				return render.Write(w, doc, form, sheet)
			})
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "-", "the file to write; - is standard output")
	c.Flags().StringVar(&as, "as", "", "pdf, html, md or json, if the file's extension does not say (default: md)")
	c.Flags().StringVar(&paper, "paper", "A4", "A4 or Letter, for a PDF")
	o.flags(c)
	return c
}

// reportForm is the form to write in: what was asked for, or what the file's ending says.
func (a *app) reportForm(out, as string) (string, error) {
	form := strings.ToLower(as)
	switch {
	case form == "" && out != "-":
		form = strings.TrimPrefix(strings.ToLower(filepath.Ext(out)), ".")
	case form == "" && a.format == "json":
		form = "json"
	case form == "":
		form = "md" // which people can read as it stands
	}
	if !slices.Contains(reportForms, form) {
		return "", fail(exitUsage, "use pdf, html, md or json, as the file's extension or with --as", "cannot write a report as %q", form)
	}
	return form, nil
}

// make makes a document and delivers it: a file is left as it was if that can't be done, and a terminal is shown none of
// the control characters that a text from outside may have.
func (a *app) make(out, what string, text bool, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("cannot make %s: %w", what, err)
	}
	if out == "-" && text {
		if _, err := b.WriteTo(a.Stdout); err != nil {
			return fmt.Errorf("cannot write to standard output: %w", err)
		}
		return nil
	}
	return a.deliver(out, b.Bytes())
}

// tells makes a command that tells of an outage on standard output.
func (a *app) tells(use, short, long, example string, tell func(r *retrospect.Retrospective) error) *cobra.Command {
	var o outageAt
	c := &cobra.Command{
		Use: use + " [OUTAGE|last|FILE [OUTAGE]]", GroupID: "after", Short: short, Long: long + "\n" + outageHelp, Example: example,
		Args: between(0, 2, "an outage, or a file and at most one outage in it"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.retrospect(c.Context(), &o, args)
			if err != nil {
				return err
			}
			return tell(r)
		},
	}
	o.flags(c)
	return c
}

// tellsText is a command that says one thing of an outage: data for machines, which come after whose they are, or a text.
func (a *app) tellsText(name, short, long, example string,
	data func(head, *retrospect.Retrospective) any, text func(*retrospect.Retrospective) string,
) *cobra.Command {
	return a.tells(name, short, long, example, func(r *retrospect.Retrospective) error {
		if a.format == "json" {
			return a.json(data(head{r.Outage, r.Mode, r.Open}, r))
		}
		_, err := io.WriteString(a.Stdout, text(r))
		return err
	})
}

// head says of which outage something is told.
type head struct {
	Outage string      `json:"outage"`
	Mode   ledger.Mode `json:"mode"`
	Open   bool        `json:"open"`
}

// blamed is who took how long, for machines. Durations are in seconds.
type blamed struct {
	head
	Steps []retrospect.StepTaken `json:"steps"`
}

func (a *app) blame() *cobra.Command {
	return a.tellsText("blame", "list the steps of an outage, slowest first",
		"Lists the steps that were commanded in an outage, slowest first, each with its expected time.",
		"  ebbtide blame --config /etc/ebbtide/ebbtide.yaml\n  ebbtide blame night.json --runbook runbook.yaml",
		func(of head, r *retrospect.Retrospective) any { return blamed{of, r.Steps} }, (*retrospect.Retrospective).Blame)
}

// chained is why it took so long, for machines.
type chained struct {
	head
	Chains []retrospect.CriticalChain `json:"critical_chains"`
}

func (a *app) criticalChain() *cobra.Command {
	return a.tellsText("critical-chain", "show why an outage took as long as it did: the last step, what it waited for, and so on",
		"For each direction, shows the step that ended last, below it the step it waited for, and so on down to a decision.\nThe runbook "+
			"says what waits for what. Without one, a step is assumed to have waited for whatever ended last before it.",
		"  ebbtide critical-chain --config /etc/ebbtide/ebbtide.yaml\n  ebbtide critical-chain night.json --runbook runbook.yaml",
		func(of head, r *retrospect.Retrospective) any { return chained{of, r.Chains} }, (*retrospect.Retrospective).Critical)
}

// plotted is what is drawn, for machines.
type plotted struct {
	Outage string                 `json:"outage"`
	Mode   ledger.Mode            `json:"mode"`
	Start  time.Time              `json:"start"`
	Until  time.Time              `json:"until"`
	Away   []retrospect.Absence   `json:"away"`
	Stages []timeline.Stage       `json:"stages"`
	Charge []retrospect.ChargedAt `json:"charge"` // where it is on record
	Steps  []retrospect.StepTaken `json:"steps"`
}

func (a *app) plot() *cobra.Command {
	out := "-"
	c := a.tells("plot", "plot an outage: batteries above, steps below, on one time axis",
		"Plots the recorded batteries, stages and steps as SVG or PNG. Without -o, the SVG goes to standard output.",
		"  ebbtide plot --config /etc/ebbtide/ebbtide.yaml -o outage.svg\n  ebbtide plot night.json -o night.png",
		func(r *retrospect.Retrospective) error {
			if a.format == "json" && out == "-" {
				return a.json(plotted{r.Outage, r.Mode, r.Start, r.Until, r.Away, r.Stages(), r.Charge(), r.Steps})
			}
			ending := ".svg"
			if out != "-" {
				ending = filepath.Ext(out)
			}
			if !slices.Contains(chart.Formats, ending) {
				return fail(exitUsage, "name a file that ends in "+strings.Join(chart.Formats, " or "),
					"cannot tell which format to plot %q in", out)
			}
			return a.make(out, "the plot", ending == ".svg", func(w io.Writer) error { return chart.Plot(w, r.Course(), ending) })
		})
	c.Flags().StringVarP(&out, "output", "o", out, "the file to write, .svg or .png; - is standard output")
	return c
}
