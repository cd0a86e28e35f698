package retrospect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/report/doc"
	"ebbtide/internal/timeline"
)

// Document makes the retrospective that people read: what happened and what follows from it first, then all that this
// rests on.
func (r *Retrospective) Document() *doc.Document {
	d := &doc.Document{
		Title: r.Title(), Subtitle: r.day(r.Start), Head: r.would("", "observed ") + r.Noun() + " " + r.Outage,
		Date: r.in(r.Start),
	}
	if r.Digest != "" {
		d.Head += " · plan " + r.Digest
	}
	for _, n := range r.Notes {
		d.Add(doc.Note{Title: "Note", Text: doc.T("%s", n)})
	}
	section(d, "What happened", "what-happened")
	var sentences []doc.Text
	for _, s := range r.Sentences {
		sentences = append(sentences, doc.T("%s", s))
	}
	d.Add(doc.List{Items: sentences})
	r.documentAdvice(d)
	r.documentBatteries(d)
	r.documentForced(d)
	r.documentWaits(d)
	r.documentFigure(d)
	r.documentDecisions(d)
	r.documentSteps(d)
	r.documentSurprises(d)
	r.documentChains(d)
	r.documentTimeline(d)
	return d
}

func section(d *doc.Document, title, anchor string) {
	d.Add(doc.Heading{Level: 1, Text: title, Anchor: anchor})
}

// tableOr adds a table, or says that there is nothing to show.
func tableOr(d *doc.Document, columns []doc.Column, rows []doc.Row, none string) {
	if len(rows) == 0 {
		d.Add(doc.Paragraph{Text: doc.T("%s", none)})
		return
	}
	d.Add(doc.Table{Columns: columns, Rows: rows})
}

func rowOf(texts ...string) doc.Row {
	var row doc.Row
	for _, t := range texts {
		row.Cells = append(row.Cells, doc.T("%s", t))
	}
	return row
}

func (r *Retrospective) documentAdvice(d *doc.Document) {
	section(d, "What to do now", "what-to-do")
	var rows []doc.Row
	for _, s := range r.Suggestions {
		rows = append(rows, rowOf(s.What, s.Evidence))
	}
	tableOr(d, []doc.Column{{Title: "Suggestion", Weight: 1.1}, {Title: "Evidence"}}, rows, "Nothing: the records call for no action.")
}

func (r *Retrospective) documentFigure(d *doc.Document) {
	section(d, "How it went", "course")
	c := r.Course()
	f := c.Figure()
	f.Anchor = "figure"
	f.Caption = "Battery charge where recorded (nothing is recorded between the dots), and the steps" +
		r.would("", " as they would have been") + ". Shaded: without mains."
	for i := range r.story.Stages {
		s := &r.story.Stages[i]
		f.Listing = append(f.Listing, fmt.Sprintf("%s stage %s for %s%s", r.clock(s.At), s.Name, english.Series(s.Supplies, named),
			r.would("", " would have started")))
	}
	told := map[string][]string{}
	for _, x := range r.Charge() {
		told[x.Supply] = append(told[x.Supply], fmt.Sprintf("%.0f%% at %s", x.Charge, r.clock(x.At)))
	}
	for _, id := range slices.Sorted(maps.Keys(told)) {
		f.Listing = append(f.Listing, "charge of "+id+": "+strings.Join(slices.Compact(told[id]), ", "))
	}
	d.Add(f)
}

func (r *Retrospective) documentDecisions(d *doc.Document) {
	section(d, "Decisions, and the numbers behind them", "decisions")
	var rows []doc.Row
	for _, x := range r.foldedDecisions() {
		rows = append(rows, rowOf(r.clock(x.At), x.What, x.Text))
	}
	tableOr(d, []doc.Column{{Title: "Time", Weight: 0.45}, {Title: "Decision"}, {Title: "Why", Weight: 2.2}}, rows,
		r.would("None was taken.", "None would have been taken."))
}

// foldedDecisions makes one of the stages of a supply that started together.
func (r *Retrospective) foldedDecisions() []Decision {
	var out []Decision
	for _, x := range r.Decisions {
		if n := len(out); n > 0 && x.stages != nil && out[n-1].stages != nil && x.At.Equal(out[n-1].At) && x.of == out[n-1].of &&
			x.Text == out[n-1].Text {
			first := &out[n-1]
			first.stages = slices.Concat(first.stages, x.stages)
			first.What = fmt.Sprintf("stages %s for %s %s", english.Series(first.stages, named), first.of,
				r.would("start", "would have started"))
			continue
		}
		out = append(out, x)
	}
	return out
}

func (r *Retrospective) documentBatteries(d *doc.Document) {
	section(d, "Batteries: prediction and result", "batteries")
	var items []doc.Text
	for _, b := range r.Batteries {
		items = append(items, doc.T("%s: %s", r.clock(b.At), b.Text))
	}
	if len(items) == 0 {
		d.Add(doc.Paragraph{Text: doc.T("What the batteries delivered was not recorded.")})
		return
	}
	d.Add(doc.List{Items: items})
}

func (r *Retrospective) documentForced(d *doc.Document) {
	section(d, r.would("What was forced, and why", "What would have been forced, and why"), "forced")
	var rows []doc.Row
	for _, x := range r.foldedForced() {
		waited, what := "at once", doing(x.Verb, x.Node)
		if x.Waited > 0 {
			waited = english.Span(seconds(x.Waited))
		}
		if x.count > 1 {
			what = fmt.Sprintf("%s %s ×%d", x.Verb, x.group, x.count)
		}
		rows = append(rows, rowOf(r.clock(x.At), what, waited, x.Reason))
	}
	tableOr(d, []doc.Column{
		{Title: "Time", Weight: 0.5},
		{Title: "Command"},
		{Title: "After", Weight: 0.5, Right: true},
		{Title: "Why", Weight: 2.4},
	}, rows, "Nothing.")

	section(d, r.would("Never proven", "Would never have been proven"), "unproven")
	rows = nil
	for i := range r.Unproven {
		s := &r.Unproven[i]
		rows = append(rows, rowOf(r.clock(s.Started), doing(s.Verb, s.Node), ending(s), s.Reason))
	}
	tableOr(d, []doc.Column{
		{Title: "Began", Weight: 0.5},
		{Title: "Step"},
		{Title: r.endedAs(), Weight: 0.9},
		{Title: "Why", Weight: 2},
	}, rows,
		r.would("Everything that was commanded was proven.", "Everything that would have been commanded would have been proven."))
}

// foldedForced are the members of a selector that were forced for the same reason; the first stands for all.
type foldedForced struct {
	Forced
	group string
	count int
}

func (r *Retrospective) foldedForced() []foldedForced {
	groups := map[string]string{}
	for i := range r.Steps {
		groups[r.Steps[i].Node] = r.Steps[i].Group
	}
	type like struct{ group, reason string }
	counts, at := map[like]int{}, map[like]int{}
	key := func(x *Forced) like { return like{groups[x.Node], x.Reason} }
	for i := range r.Forced {
		counts[key(&r.Forced[i])]++
	}
	var out []foldedForced
	for i := range r.Forced {
		x := &r.Forced[i]
		k := key(x)
		if first, seen := at[k]; seen {
			out[first].count++
			continue
		}
		if k.group != "" && counts[k] >= alike {
			at[k] = len(out)
		}
		out = append(out, foldedForced{*x, k.group, 1})
	}
	return out
}

// endedAs is over how steps ended.
func (r *Retrospective) endedAs() string { return r.would("Outcome", "Would-be outcome") }

// ending says how a step ended.
func ending(s *StepTaken) string {
	switch {
	case s.State == timeline.Proven && s.Attempts == 0:
		return "already so"
	case s.State == timeline.Proven && s.Attempts > 1:
		return fmt.Sprintf("proven on attempt %d", s.Attempts)
	case s.State == timeline.Proven:
		return "proven"
	case s.State == timeline.Stopped:
		return "proven, by force"
	case s.State == timeline.Failed:
		return "not proven"
	case s.State == timeline.Running:
		return "still under way"
	case s.State == timeline.Pending:
		return "to be retried"
	default:
		return "nothing was left to observe it"
	}
}

func (r *Retrospective) documentSteps(d *doc.Document) {
	section(d, r.would("Steps, slowest first", "Steps, as they would have been"), "steps")
	var rows []doc.Row
	for _, f := range r.folded() {
		s := &f.StepTaken
		name, took := doing(s.Verb, s.Node), orNothing(s.Took)
		if f.count > 1 {
			name = fmt.Sprintf("%s %s ×%d", s.Verb, s.Group, f.count)
			if f.least != s.Took {
				took = orNothing(f.least) + " to " + took
			}
		}
		rows = append(rows, rowOf(name, took, orNothing(s.Expected), orNothing(s.Worst), orNothing(s.Limit), ending(s)))
	}
	tableOr(d, []doc.Column{
		{Title: "Step", Weight: 1.7},
		{Title: "Took", Right: true},
		{Title: "Expected", Right: true, Weight: 0.8},
		{Title: "95% within", Right: true, Weight: 0.9},
		{Title: "Limit", Right: true, Weight: 0.7},
		{Title: r.endedAs(), Weight: 1.3},
	}, rows, r.would("Nothing was commanded.", "Nothing would have been commanded."))
}

func orNothing(s float64) string {
	if s == 0 {
		return "–"
	}
	return english.Span(seconds(s))
}

// foldedSteps are steps of the members of a selector that ended alike.
type foldedSteps struct {
	StepTaken
	count int
	least float64
}

// folded makes one of the steps of a selector's members that ended alike and not worse than expected, so that what is
// out of the common is seen.
func (r *Retrospective) folded() []foldedSteps {
	type like struct {
		group, ending string
		verb          plan.Verb
	}
	odd := func(s *StepTaken) bool { return s.Worst > 0 && s.Took > s.Worst }
	key := func(s *StepTaken) like { return like{s.Group, ending(s), s.Verb} }
	counts := map[like]int{}
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Group != "" && !odd(s) {
			counts[key(s)]++
		}
	}
	at := map[like]int{}
	var out []foldedSteps
	for i := range r.Steps {
		s := &r.Steps[i]
		k := key(s)
		if s.Group == "" || odd(s) || counts[k] < alike {
			out = append(out, foldedSteps{*s, 1, s.Took})
			continue
		}
		if first, seen := at[k]; seen {
			out[first].count++
			out[first].least = s.Took
			continue
		}
		at[k] = len(out)
		out = append(out, foldedSteps{*s, 1, s.Took})
	}
	return out
}

func (r *Retrospective) documentSurprises(d *doc.Document) {
	section(d, "What took longer or shorter than expected", "surprises")
	if r.observed() {
		d.Add(doc.Paragraph{Text: doc.T("It was only observed: nothing is learned from steps that were not taken.")})
		return
	}
	var rows []doc.Row
	for _, s := range r.Surprises {
		took := english.Span(seconds(s.Took))
		if s.Hung {
			took = "hung"
		}
		next := fmt.Sprintf("%s, 95%% within %s", english.Span(seconds(s.Next)), english.Span(seconds(s.Worst)))
		if s.Next == 0 {
			next = "–"
		}
		if s.Hang > 0 {
			next += fmt.Sprintf(", hangs in %.0f%% of runs", 100*s.Hang)
		}
		rows = append(rows, rowOf(doing(s.Verb, s.Node), took, english.Span(seconds(s.Low))+" to "+english.Span(seconds(s.High)), next))
	}
	tableOr(d, []doc.Column{
		{Title: "Step", Weight: 1.3},
		{Title: "Took", Right: true, Weight: 0.6},
		{Title: "Expected in 9 of 10 runs"},
		{Title: "The next plan assumes", Weight: 1.8},
	}, rows,
		"Every step took about as long as expected, as far as the expected times are known.")
}

// notTold is told in the place of critical chains where nothing was commanded.
const notTold = "It was only observed: how long it would have taken, and why, can't be learned from it."

func (r *Retrospective) documentChains(d *doc.Document) {
	section(d, r.would("Why it took as long as it did", "How long it would have taken"), "critical-chain")
	if r.observed() {
		d.Add(doc.Paragraph{Text: doc.T("%s", notTold)})
		return
	}
	for i, c := range r.Chains {
		began := r.Start.Add(seconds(c.Links[len(c.Links)-1].At))
		d.Add(doc.Heading{
			Level: 2, Text: fmt.Sprintf("Power-%s from %s: %s", c.Goal, r.clock(began), english.Span(seconds(c.Took))),
			Anchor: fmt.Sprintf("chain-%d", i+1),
		})
		var rows []doc.Row
		for _, l := range slices.Backward(c.Links) {
			idle := orNothing(l.Idle)
			if l.Idle < 0.05 {
				idle = "–"
			}
			rows = append(rows, rowOf(r.clock(r.Start.Add(seconds(l.At))), l.What, idle, orNothing(l.Took), linked(l.By)))
		}
		tableOr(d, []doc.Column{
			{Title: "Began", Weight: 0.7},
			{Title: "Step", Weight: 1.6},
			{Title: "Waited", Right: true, Weight: 0.6},
			{Title: "Took", Right: true, Weight: 0.6},
			{Title: "Started when the line above ended, because", Weight: 1.8},
		}, rows, "")
	}
	if len(r.Chains) == 0 {
		d.Add(doc.Paragraph{Text: doc.T("Nothing was commanded.")})
	}
}

// linked says why one step followed another.
func linked(by LinkedBy) string {
	switch by {
	case ByPlan:
		return "the plan makes it wait for that"
	case ByPlace:
		return "it took over that one's slot under a limit"
	case ByTime:
		return "of all steps, that one ended last before this one began"
	case ByEvent:
		return "that decision allowed it to start"
	}
	return ""
}

func (r *Retrospective) documentTimeline(d *doc.Document) {
	section(d, "Timeline", "timeline")
	var rows []doc.Row
	for _, m := range r.Timeline {
		rows = append(rows, rowOf(r.clock(m.At), "+"+english.Span(max(0, m.At.Sub(r.Start).Round(time.Second))), m.Text))
	}
	tableOr(d, []doc.Column{{Title: "Time", Weight: 0.5}, {Title: "After", Weight: 0.55, Right: true}, {Title: "What", Weight: 4}}, rows,
		"Nothing was recorded.")
}
