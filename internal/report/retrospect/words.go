package retrospect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// named is how many names a sentence has at most.
const named = 6

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// in gives a time in the zone of the readers.
func (r *Retrospective) in(t time.Time) time.Time {
	if r.zone != nil {
		return t.In(r.zone)
	}
	return t
}

// clock writes a time of day, with the day where the outage began on another.
func (r *Retrospective) clock(t time.Time) string {
	t = r.in(t)
	if t.Format(time.DateOnly) == r.in(r.Start).Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2 Jan 15:04:05")
}

// day writes a time with its date and zone.
func (r *Retrospective) day(t time.Time) string { return r.in(t).Format("2 January 2006 15:04:05 MST") }

// group gives the selector that a node was expanded from, "" if it stands for itself.
func (f *fold) group(node string) string {
	if n := f.Find(node); n != nil {
		return n.Group
	}
	if before, _, member := strings.Cut(node, "/"); member {
		return before
	}
	return ""
}

// reckoning says the numbers that a decision was made from. Up is decided by what another shutdown would need.
func (r *Retrospective) reckoning(n *ledger.Numbers, goal plan.Goal) string {
	need, late, spare := "the rest of the plan "+r.would("needed ", "would have needed "),
		"it "+r.would("was", "would have been")+" late by ", "it could have waited "
	if goal == plan.Up {
		need, late, spare = "another shutdown would have needed ", "the battery would have been short by ", "that would have left "
	}
	if n == nil {
		return ""
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch state := stateOf(n); {
	case n.Left != nil:
		text := "the battery " + state + "would last at least " + english.Span(seconds(*n.Left))
		if n.By != "" {
			text += " by " + n.By
		}
		if n.Likely != nil {
			text += ", and likely " + english.Span(seconds(*n.Likely))
		}
		add("%s", text)
	case state != "":
		add("how long the battery %swould last was not known", state)
	default:
		add("how long the battery would last was not known")
	}
	if n.Plan != nil {
		text := need + english.Span(seconds(*n.Plan)) + " (p95)"
		if n.PlanLikely != nil {
			text += " and likely " + english.Span(seconds(*n.PlanLikely))
		}
		if n.Reserve != nil {
			text += ", and its reserve is " + english.Span(seconds(*n.Reserve))
		}
		add("%s", text)
	}
	if n.Slack != nil {
		switch {
		case *n.Slack < 0:
			add("%s%s", late, english.Span(seconds(-*n.Slack)))
		default:
			add("%s%s", spare, english.Span(seconds(*n.Slack)))
		}
	}
	if n.Odds != nil {
		add("the chance that the battery would give out first was %.1f%%", 100**n.Odds)
	}
	return strings.Join(parts, "; ")
}

// stateOf says what was known of a battery: "(51%, load 27%) ".
func stateOf(n *ledger.Numbers) string {
	var parts []string
	if n.Charge != nil {
		parts = append(parts, fmt.Sprintf("%.0f%%", *n.Charge))
	}
	if n.Load != nil {
		parts = append(parts, fmt.Sprintf("load %.0f%%", *n.Load))
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, ", ") + ") "
}

// doing says a verb on a node: "stop esx1".
func doing(v plan.Verb, node string) string { return v.String() + " " + node }

// sentence makes a sentence of words.
func sentence(words string) string {
	words = strings.TrimSuffix(strings.TrimSpace(words), ".")
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:] + "."
}

// unique sorts names and drops those that are there twice.
func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
