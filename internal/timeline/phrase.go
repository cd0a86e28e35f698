package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Phrase says a record in plain words, with the part of it that matters to people; "" if it is not worth a line. The
// timeline must have it already. Of an outage that was only observed, each line says so.
func (t *Timeline) Phrase(r *ledger.Record) string {
	if t.Observed() {
		if text := t.wouldBe(r); text != "" {
			return t.told(text)
		}
	}
	return t.told(t.happened(r))
}

// happened says a record of what was done: of the course of the outage, or of a step.
func (t *Timeline) happened(r *ledger.Record) string {
	if text := t.courseWords(r); text != "" {
		return text
	}
	return t.stepWords(r)
}

// ofNodes counts what a snapshot has as on, of what there is: supplies apart, which are no nodes to people.
func (t *Timeline) ofNodes(r *ledger.Record) string {
	all := 0
	for _, n := range r.Nodes {
		if !slices.Contains(t.Supplies, n.Node) {
			all++
		}
	}
	return fmt.Sprintf("%d of %s", t.Summary.WasOn, english.Count(all, "node"))
}

// courseWords says a record of the course of an outage; "" for others.
func (t *Timeline) courseWords(r *ledger.Record) string {
	switch r.Kind {
	case ledger.Opened:
		if r.Mode == ledger.ModeDrill {
			return "drill of " + english.List(r.Scope, 6) + ", " + r.Reason
		}
		return "outage: " + strings.Join(r.Supplies, ", ") + ": " + r.Reason
	case ledger.Snapshot:
		return fmt.Sprintf("snapshot: %s on, to be brought back later", t.ofNodes(r))
	case ledger.Widened:
		if len(r.Supplies) == 0 {
			return fmt.Sprintf("%s could not be reached before: it is on, to be brought back later", r.Nodes[0].Node)
		}
		return fmt.Sprintf("the outage now includes %s: %s on, to be brought back later", strings.Join(r.Supplies, ", "),
			english.Count(t.Summary.WasOn, "node"))
	case ledger.NoReturn:
		if r.Cause == ledger.AfterAll {
			return strings.Join(r.Supplies, " and ") + ": to be cut after all, to power-cycle " + r.Node + ": " + r.Reason
		}
		return "point of no return: the shutdown is carried through before anything is brought back"
	case ledger.Mains:
		return strings.Join(r.Supplies, ", ") + ": " + r.Reason
	case ledger.Turned:
		return "power-" + string(r.Goal) + of(r) + ": " + r.Reason
	case ledger.Closed:
		if t.Drill() {
			return "the drill is over: " + r.Reason
		}
		return "the outage is over: " + r.Reason
	case ledger.Gap:
		return r.Reason
	case ledger.Spent:
		return gave(r)
	default:
	}
	return ""
}

// stepWords says a record of a step, of a stage or of somebody's word; "" for others.
func (t *Timeline) stepWords(r *ledger.Record) string {
	switch r.Kind {
	case ledger.Triggered:
		return "stage " + string(r.Stage) + of(r) + ": " + r.Reason
	case ledger.Intent:
		switch {
		case *r.Verb == plan.Discharge:
			return r.Node + " is told to run on battery"
		case *r.Verb == plan.EndDischarge:
			return r.Node + " is told to go back on line: " + r.Reason
		case forced(r):
			return fmt.Sprintf("%s %s: %s", forcedWords(*r.Verb), r.Node, r.Reason)
		}
	case ledger.Accepted:
		if r.Outcome != ledger.Done {
			return fmt.Sprintf("%s %s: %s", r.Verb, r.Node, r.Reason)
		}
	case ledger.Proven:
		return fmt.Sprintf("%s %s%s", r.Node, doneWords(*r.Verb), t.took(r))
	case ledger.Failed:
		return fmt.Sprintf("%s: %s not proven: %s", r.Node, r.Verb, r.Reason)
	case ledger.HeldBack:
		return fmt.Sprintf("%s: %s held back: %s", r.Node, r.Verb, r.Reason)
	case ledger.Reopened:
		return fmt.Sprintf("%s now shows as %s: it %s", r.Node, r.State, r.Reason)
	case ledger.Forbidden:
		if r.Verb == nil {
			return "a bug in Ebbtide: " + r.Reason
		}
		return fmt.Sprintf("%s %s was not sent, because of a bug in Ebbtide: %s", r.Verb, r.Node, r.Reason)
	case ledger.Ordered:
		text := strings.TrimSpace(string(r.Order)+" "+r.Node) + " ordered by " + r.By
		if r.Reason != "" {
			text += ", and refused: " + r.Reason
		}
		return text
	case ledger.Asked:
		return fmt.Sprintf("a person is asked to %s %s", r.Verb, r.Node)
	default:
	}
	return ""
}

// of names the supplies that a stage or a direction is of, if any is on record.
func of(r *ledger.Record) string {
	if len(r.Supplies) == 0 || r.Goal == plan.Down { // whose reason names it
		return ""
	}
	return " for " + strings.Join(r.Supplies, ", ")
}

// gave says what a battery gave.
func gave(r *ledger.Record) string {
	d := r.Discharge
	if d == nil {
		return ""
	}
	text := strings.Join(r.Supplies, ", ") + " was on battery for " + Span(d.Took)
	if d.From > d.To {
		text += ", " + english.Fall(d.From, d.To)
	}
	if d.Empty {
		text += ", until it reported a low battery"
	}
	return text
}

// forced reports whether a record is a command that does not wait for proof or consent.
func forced(r *ledger.Record) bool {
	return r.Kind == ledger.Intent && (*r.Verb == plan.Force || *r.Verb == plan.Cut && r.Reason != "")
}

func forcedWords(v plan.Verb) string {
	if v == plan.Cut {
		return "cutting the output of"
	}
	return "powering off"
}

// doneWords says what is so when a verb is proven. Records do not tell a cache from a cluster or a host: what is said
// of being protected holds for all.
func doneWords(v plan.Verb) string {
	switch v {
	case plan.Protect:
		return "is prepared for the shutdown"
	case plan.Flush:
		return "has no dirty blocks left"
	case plan.Stop, plan.Force:
		return "is off"
	case plan.Cut:
		return "is cutting its output"
	case plan.Start:
		return "is on again"
	case plan.Unprotect:
		return "is restored to its previous settings"
	case plan.Discharge:
		return "is running on battery for the drill"
	case plan.EndDischarge:
		return "is back on line"
	default:
		return v.String()
	}
}

// What is said of what nothing had to be commanded for.
const (
	alreadySo = ", without a command"
	byItself  = " by itself"
)

// took says how long the step of a Proven record took, if a command was needed.
func (t *Timeline) took(r *ledger.Record) string {
	for i := len(t.Steps) - 1; i >= 0; i-- {
		s := &t.Steps[i]
		if s.Node != r.Node || s.Verb != *r.Verb {
			continue
		}
		switch {
		case s.Attempts == 0 && s.Verb == plan.Start:
			return byItself
		case s.Attempts == 0:
			return alreadySo
		}
		return " (" + Span(s.Took()) + ")"
	}
	return ""
}

// Span writes how long something took, as english.Span does.
func Span(d time.Duration) string { return english.Span(d) }
