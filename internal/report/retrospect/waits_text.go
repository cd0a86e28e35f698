package retrospect

import (
	"fmt"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/report/doc"
)

func (r *Retrospective) documentWaits(d *doc.Document) {
	section(d, r.would("What waited, and for what", "What would have waited, and for what"), "waits")
	var rows []doc.Row
	for _, w := range r.foldedWaits() {
		rows = append(rows, rowOf(r.clock(w.From), w.what(), w.long(r.Open), w.For))
	}
	tableOr(d, []doc.Column{
		{Title: "From", Weight: 0.5},
		{Title: "What"},
		{Title: r.would("Waited", "Would have waited"), Weight: 0.7, Right: true},
		{Title: "For", Weight: 2.2},
	}, rows, r.would("Nothing that waited long was recorded.", "Nothing would have waited long, as far as was recorded."))
}

// foldedWait is the wait of the members of a selector that waited for the same; the first stands for all.
type foldedWait struct {
	Wait
	count int
	least float64
}

// foldedWaits makes one of the waits of a selector's members that waited for the same.
func (r *Retrospective) foldedWaits() []foldedWait {
	type like struct {
		group, what string
		verb        plan.Verb
		never       bool
	}
	key := func(w *Wait) like {
		k := like{group: w.Group, what: w.For, never: w.To.IsZero()}
		if w.Verb != nil {
			k.verb = *w.Verb
		}
		return k
	}
	counts, at := map[like]int{}, map[like]int{}
	for i := range r.Waits {
		counts[key(&r.Waits[i])]++
	}
	var out []foldedWait
	for i := range r.Waits {
		w := &r.Waits[i]
		k := key(w)
		if first, seen := at[k]; seen {
			out[first].count++
			out[first].least = w.Waited
			continue
		}
		if k.group != "" && counts[k] >= alike {
			at[k] = len(out)
		}
		out = append(out, foldedWait{*w, 1, w.Waited})
	}
	return out
}

func (w *foldedWait) what() string {
	switch {
	case w.Node == "":
		return "everything that was to be done"
	case w.Verb == nil:
		return w.Node
	case w.count > 1:
		return fmt.Sprintf("%s %s ×%d", w.Verb, w.Group, w.count)
	}
	return doing(*w.Verb, w.Node)
}

func (w *foldedWait) long(open bool) string {
	text := english.Span(seconds(w.Waited))
	if w.count > 1 && w.least < w.Waited {
		text = english.Span(seconds(w.least)) + " to " + text
	}
	if w.To.IsZero() {
		text += map[bool]string{false: ", and never ended", true: " so far"}[open]
	}
	return text
}
