package timeline

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/effect"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Observed reports whether it was only observed: nothing was commanded, and its steps are what would have been done.
func (t *Timeline) Observed() bool { return t.Mode == ledger.ModeObserve }

// told marks what is told of an outage that was only observed. What says that it was rehearsed is told already.
func (t *Timeline) told(text string) string {
	if !t.Observed() || text == "" || strings.HasPrefix(text, effect.Observing) || strings.HasPrefix(text, "rehearsed") {
		return text
	}
	return effect.Observing + text
}

// going begins what is said of a direction.
func (t *Timeline) going() string {
	if t.Observed() {
		return "would begin the power-"
	}
	return "power-"
}

// wouldBe says a record of an outage that was only observed, where it tells of something that was done or came of it; ""
// for what really happened.
func (t *Timeline) wouldBe(r *ledger.Record) string {
	switch r.Kind {
	case ledger.Snapshot:
		return fmt.Sprintf("snapshot: %s on, would be brought back later", t.ofNodes(r))
	case ledger.Widened:
		if len(r.Supplies) == 0 {
			return r.Nodes[0].Node + " could not be reached before: it is on, would be brought back later"
		}
		return fmt.Sprintf("the outage now includes %s: %s on, would be brought back later", strings.Join(r.Supplies, ", "),
			english.Count(t.Summary.WasOn, "node"))
	case ledger.NoReturn:
		if r.Cause == ledger.AfterAll {
			return strings.Join(r.Supplies, " and ") + ": would be cut after all, to power-cycle " + r.Node + ": " + r.Reason
		}
		return "point of no return: the shutdown would be carried through before anything was brought back"
	case ledger.Mains:
		switch {
		case r.Cause == ledger.Cycled && t.wasCut(r.Supplies):
			return strings.Join(r.Supplies, ", ") + ": its output would be on again"
		case r.Cause == ledger.Dark && t.wasCut(r.Supplies):
			return strings.Join(r.Supplies, ", ") + ": its output would be off"
		}
		return ""
	case ledger.Turned:
		return "would begin the power-" + string(r.Goal) + of(r) + ": " + r.Reason
	case ledger.Closed:
		return "the outage is over (observed only): " + r.Reason
	default:
		return t.stepWouldBe(r)
	}
}

// stepWouldBe is wouldBe of a step, of a stage or of a person.
func (t *Timeline) stepWouldBe(r *ledger.Record) string {
	switch r.Kind {
	case ledger.Triggered:
		return "stage " + string(r.Stage) + " would start" + of(r) + ": " + r.Reason
	case ledger.Intent:
		if !forced(r) {
			return ""
		}
		if *r.Verb == plan.Cut {
			return fmt.Sprintf("would cut the output of %s: %s", r.Node, r.Reason)
		}
		return fmt.Sprintf("would power off %s: %s", r.Node, r.Reason)
	case ledger.Proven:
		text := r.Node + " " + wouldWords(*r.Verb)
		if took := t.took(r); took == alreadySo || took == byItself {
			text += ", without a command"
		}
		return text
	case ledger.Failed:
		return fmt.Sprintf("%s: %s would not have been proven: %s", r.Node, r.Verb, r.Reason)
	case ledger.HeldBack:
		return fmt.Sprintf("%s: %s would be held back: %s", r.Node, r.Verb, r.Reason)
	case ledger.Asked:
		return fmt.Sprintf("a person would be asked to %s %s", r.Verb, r.Node)
	default:
		return ""
	}
}

// wasCut reports whether the cut of any of some supplies was rehearsed: what its output does after that is made up.
func (t *Timeline) wasCut(supplies []string) bool {
	return slices.ContainsFunc(t.Steps, func(s Step) bool { return s.Verb == plan.Cut && slices.Contains(supplies, s.Node) })
}

// wouldWords says what would be so when a verb is proven: doneWords of what is only rehearsed.
func wouldWords(v plan.Verb) string {
	words := doneWords(v)
	for is, would := range map[string]string{"is ": "would be ", "has ": "would have ", "cuts ": "would cut ", "runs ": "would run "} {
		if rest, ok := strings.CutPrefix(words, is); ok {
			return would + rest
		}
	}
	return "would be: " + words
}
