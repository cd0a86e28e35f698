package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/evidence"
	"ebbtide/internal/forecast"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// durationsDoc is what is known, for machines. Times are in seconds.
type durationsDoc struct {
	Outages   int           `json:"outages"` // and drills, that it is from
	LeftOut   []string      `json:"left_out,omitempty"`
	Durations []durationRow `json:"durations"`
	Batteries []batteryRow  `json:"batteries"`

	now time.Time
}

// The sources of a duration.
const (
	fromRunbook = "runbook"
	fromType    = "type" // other nodes of its type
	fromRuns    = "runs" // its own
)

type durationRow struct {
	Node    string    `json:"node"`
	Type    string    `json:"type,omitempty"`
	Verb    plan.Verb `json:"verb"`
	Runs    int       `json:"runs"`    // of its own that are kept
	Hung    int       `json:"hung"`    // of those: did not end by themselves
	Samples float64   `json:"samples"` // how many runs the evidence counts for: its own or its type's, older ones less
	Newest  time.Time `json:"newest,omitzero"`
	Median  float64   `json:"median,omitempty"`
	P95     float64   `json:"p95,omitempty"`
	Hang    float64   `json:"hang"` // the chance that it does not end by itself
	From    string    `json:"from"`

	group string // the selector that it is a member of
	alike int    // members of a selector of which the same is known
}

type batteryRow struct {
	Supply     string    `json:"supply"`
	Proven     bool      `json:"proven"`
	Full       float64   `json:"full_load,omitempty"` // seconds
	FullLeast  float64   `json:"full_load_least,omitempty"`
	Half       float64   `json:"half_load,omitempty"`
	HalfLeast  float64   `json:"half_load_least,omitempty"`
	Discharges int       `json:"discharges"`
	Newest     time.Time `json:"newest,omitzero"`
}

// shownVerbs are in the order in which they come in an outage.
var shownVerbs = []plan.Verb{plan.Protect, plan.Flush, plan.Stop, plan.Force, plan.Cut, plan.Start, plan.Unprotect}

func durationsDocument(estate *plan.Estate, supplies []power.Supply, seen recalled, bare bool) durationsDoc {
	now := time.Now()
	doc := durationsDoc{Outages: seen.Outages, Durations: []durationRow{}, Batteries: []batteryRow{}, now: now}
	if seen.leftOut != nil {
		doc.LeftOut = strings.Split(seen.leftOut.Error(), "\n")
	}
	knowledge := forecast.Learn(seen.Samples(evidence.Finder(estate)), now)
	for i := range estate.Len() {
		n := estate.Node(i)
		for _, v := range shownVerbs {
			runs, hung := seen.Runs(n.ID, v)
			if runs == 0 && (bare || !commanded(n, v)) {
				continue
			}
			d := knowledge.Of(n, v)
			row := durationRow{
				Node: n.ID, Type: n.Type, Verb: v, Runs: runs, Hung: hung, Samples: math.Round(d.Samples*100) / 100, Newest: d.Newest,
				Median: d.Median.Seconds(), Hang: d.Hang, From: fromRunbook, group: n.Group, alike: 1,
			}
			if p95 := d.Quantile(0.95); !bare || p95 < d.Within {
				row.P95 = p95.Seconds()
			}
			switch {
			case runs > 0:
				row.From = fromRuns
			case d.Pooled:
				row.From = fromType
			}
			if bare {
				row.Type = ""
			}
			doc.Durations = append(doc.Durations, row)
		}
	}
	for _, s := range supplies {
		doc.Batteries = append(doc.Batteries, battery(s, seen.Capacity(s.ID, now)))
	}
	return doc
}

// commanded reports whether a plan has a step of a verb for a node whose time matters beforehand.
func commanded(n *plan.Node, v plan.Verb) bool {
	switch {
	case n.Kind == plan.Manual || n.Kind == plan.Self || v == plan.Force:
		return false
	case v == plan.Start: // what is to be waited for comes up by itself, if it can't be started
		return n.Can.Has(plan.Start) || n.Can.Has(plan.Stop)
	}
	return n.Can.Has(v)
}

func battery(s power.Supply, c power.Capacity) batteryRow {
	row := batteryRow{Supply: s.ID, Discharges: c.Discharges, Newest: c.At}
	if c.Burn <= 0 {
		return row
	}
	row.Proven = true
	for load, to := range map[float64][2]*float64{1: {&row.Full, &row.FullLeast}, 0.5: {&row.Half, &row.HalfLeast}} {
		likely, least := c.Lasts(s.Curve, load)
		*to[0], *to[1] = likely.Seconds(), least.Seconds()
	}
	return row
}

// write writes it for people. What is the same of many members of a selector is one line.
func (d *durationsDoc) write(w io.Writer) error {
	fmt.Fprintf(w, "From %s on record, drills included.\n", english.Count(d.Outages, "closed outage"))
	for _, one := range d.LeftOut {
		fmt.Fprintf(w, "Left out: %s\n", one)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nNODE\tVERB\tRUNS\tWEIGHT\tNEWEST\tMEDIAN\tP95\tHANGS\tFROM")
	for _, r := range folded(d.Durations) {
		name := r.Node
		if r.alike > 1 {
			name = fmt.Sprintf("%s ×%d", r.group, r.alike)
		}
		runs := orDash(float64(r.Runs), "%.0f")
		if r.Hung > 0 {
			runs += fmt.Sprintf(", %d hung", r.Hung)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, r.Verb, runs, orDash(r.Samples, "%.1f"),
			ago(d.now, r.Newest), inBrief(r.Median), inBrief(r.P95), orDash(100*r.Hang, "%.0f%%"), r.From)
	}
	fmt.Fprintln(t, "\nBATTERY\tFULL LOAD\tAT LEAST\tHALF LOAD\tAT LEAST\tDISCHARGES\tNEWEST")
	for _, b := range d.Batteries {
		if !b.Proven {
			fmt.Fprintf(t, "%s\tunproven\t-\t-\t-\t-\t-\n", b.Supply)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", b.Supply, inBrief(b.Full), inBrief(b.FullLeast), inBrief(b.Half),
			inBrief(b.HalfLeast), b.Discharges, ago(d.now, b.Newest))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot write the answer: %w", err)
	}
	return nil
}

// folded makes one row of those of a selector's members that nothing of their own is known of.
func folded(rows []durationRow) []durationRow {
	type like struct {
		group string
		verb  plan.Verb
	}
	var out []durationRow
	first := map[like]int{}
	for _, r := range rows {
		k := like{r.group, r.Verb}
		if at, known := first[k]; known && r.Runs == 0 {
			out[at].alike++
			continue
		}
		if r.group != "" && r.Runs == 0 {
			first[k] = len(out)
		}
		out = append(out, r)
	}
	return out
}

func inBrief(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return brief(time.Duration(seconds * float64(time.Second)))
}

func orDash(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// ago says how old something is.
func ago(now, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	switch d := now.Sub(at); {
	case d < 48*time.Hour:
		return brief(max(0, d.Round(time.Minute))) + " ago"
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}
