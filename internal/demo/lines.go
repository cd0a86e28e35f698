package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// Lines is a view that writes a line for each thing that happens, with the time since the demo began.
type Lines struct {
	w     io.Writer
	began time.Time
	told  timeline.Timeline
}

// NewLines makes a view that writes to w.
func NewLines(w io.Writer) *Lines { return &Lines{w: w, began: time.Now()} }

// Says writes a line.
func (l *Lines) Says(text string) { l.line(time.Now(), text) }

// Recorded writes a line for each record that people want to see.
func (l *Lines) Recorded(records []engine.Record) {
	for i := range records {
		l.told.Add(records[i])
		if text := phrase(&records[i], &l.told); text != "" {
			l.line(records[i].At, text)
		}
	}
}

// Power writes nothing: the records tell what matters.
func (*Lines) Power(bool, bool, float64, float64) {}

func (l *Lines) line(at time.Time, text string) {
	_, _ = fmt.Fprintf(l.w, "%6.1fs  %s\n", max(0, at.Sub(l.began).Seconds()), cut(text, 90)) // a reader that has gone misses nothing
}

// cut shortens a text to width characters.
func cut(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}

// phrase says a record in plain words; "" if it is not worth a line. The timeline has it already.
func phrase(r *engine.Record, t *timeline.Timeline) string {
	switch r.Kind {
	case engine.Opened:
		return "outage: " + strings.Join(r.Supplies, ", ") + " is " + r.Reason
	case engine.Snapshot:
		return fmt.Sprintf("snapshot: %d of %d nodes are on, and come back", t.Summary.WasOn, len(r.Nodes))
	case engine.Triggered:
		return "stage " + r.Stage + ": " + r.Reason
	case engine.Intent:
		if isForced(r) {
			return fmt.Sprintf("%s %s: %s", forcedWords(*r.Verb), r.Node, r.Reason)
		}
	case engine.Accepted:
		if r.Outcome != engine.Done {
			return fmt.Sprintf("%s %s: %s", r.Verb, r.Node, r.Reason)
		}
	case engine.Proven:
		return fmt.Sprintf("%s %s%s", r.Node, doneWords(*r.Verb), took(t, r))
	case engine.Failed:
		return fmt.Sprintf("%s %s was not proven: %s", r.Verb, r.Node, r.Reason)
	case engine.Reopened:
		return fmt.Sprintf("%s was off and is seen %s: it is stopped once more", r.Node, r.State)
	case engine.NoReturn:
		return "point of no return: what has begun is finished first"
	case engine.Mains:
		return strings.Join(r.Supplies, ", ") + ": " + r.Reason
	case engine.Turned:
		return "going " + string(r.Goal) + ": " + r.Reason
	case engine.Closed:
		return "the outage is over: " + r.Reason
	case engine.Widened, engine.Ordered, engine.Asked, engine.Gap:
		return string(r.Kind) + " " + r.Node + r.Reason
	}
	return ""
}

func forcedWords(v plan.Verb) string {
	if v == plan.Cut {
		return "cutting the output of"
	}
	return "powering off"
}

// doneWords says what is so when a verb is proven.
func doneWords(v plan.Verb) string {
	switch v {
	case plan.Protect:
		return "is in write-through mode"
	case plan.Flush:
		return "has no dirty block left"
	case plan.Stop, plan.Force:
		return "is off"
	case plan.Cut:
		return "cuts its output"
	case plan.Start:
		return "is on again"
	case plan.Unprotect:
		return "is in write-back mode again"
	default:
		return v.String()
	}
}

// took says how long the step of a Proven record took, if a command was needed.
func took(t *timeline.Timeline, r *engine.Record) string {
	for i := len(t.Steps) - 1; i >= 0; i-- {
		s := &t.Steps[i]
		if s.Node != r.Node || s.Verb != *r.Verb {
			continue
		}
		if s.Attempts == 0 {
			return ", and was so already"
		}
		return fmt.Sprintf(" (%.1fs)", s.Took().Seconds())
	}
	return ""
}
