package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"ebbtide/internal/demo"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// watcher is a view that has an end.
type watcher interface {
	demo.View
	end()
}

// lineView writes a plain line for each thing that happens, with the time since the first.
type lineView struct {
	out   io.Writer
	began time.Time
}

func newLineView(out io.Writer) *lineView { return &lineView{out: out, began: time.Now()} }

func (v *lineView) say(text string) {
	fmt.Fprintf(v.out, "%6.1fs  %s\n", time.Since(v.began).Seconds(), text)
}

func (v *lineView) Says(text string) { v.say(text) }

func (v *lineView) Recorded(records []engine.Record) {
	for i := range records {
		if text := recordLine(&records[i]); text != "" {
			v.say(text)
		}
	}
}

func (v *lineView) Power(bool, bool, float64, float64) {}

func (v *lineView) end() {}

// recordLine says what a record means; "" for one that says nothing to somebody who watches.
func recordLine(r *engine.Record) string {
	supplies := strings.Join(r.Supplies, " and ")
	switch r.Kind {
	case engine.Opened:
		return "power failure: " + supplies + " is " + r.Reason
	case engine.Snapshot:
		on := 0
		for _, n := range r.Nodes {
			if n.State == plan.On {
				on++
			}
		}
		return fmt.Sprintf("survey: %d of %d are on; that is what will come back", on, len(r.Nodes))
	case engine.Triggered:
		return "stage " + r.Stage + ": " + r.Reason
	case engine.Intent:
		text := commandWords(*r.Verb) + " " + r.Node
		if r.Attempt > 1 {
			text += fmt.Sprintf(" (try %d)", r.Attempt)
		}
		if r.Reason != "" {
			text += ": " + r.Reason
		}
		return text + " …"
	case engine.Accepted:
		if r.Outcome == engine.Done {
			return ""
		}
		return fmt.Sprintf("  %s: %s: %s", r.Node, r.Outcome, r.Reason)
	case engine.Proven:
		return "  " + r.Node + " is " + provenWords(*r.Verb)
	case engine.Failed:
		return fmt.Sprintf("  %s %s: not proven: %s", commandWords(*r.Verb), r.Node, r.Reason)
	case engine.NoReturn:
		return "point of no return: the plan is finished before anything comes back"
	case engine.Turned:
		return "now going " + string(r.Goal) + ": " + r.Reason
	case engine.Mains:
		return supplies + ": " + r.Reason
	case engine.Reopened:
		return r.Node + " is on again: " + r.Reason
	case engine.Closed:
		return "the outage is over: " + r.Reason
	case engine.Widened, engine.Ordered, engine.Asked, engine.Gap:
		return string(r.Kind) + " " + r.Node + " " + r.Reason
	default:
		return ""
	}
}

func commandWords(v plan.Verb) string {
	switch v {
	case plan.Protect:
		return "switch to write-through:"
	case plan.Flush:
		return "flush the cache of"
	case plan.Stop:
		return "shut down"
	case plan.Force:
		return "power off"
	case plan.Cut:
		return "cut the output of"
	case plan.Start:
		return "start"
	case plan.Unprotect:
		return "switch back to write-back:"
	default:
		return v.String()
	}
}

func provenWords(v plan.Verb) string {
	switch v {
	case plan.Protect:
		return "in write-through"
	case plan.Flush:
		return "clean"
	case plan.Stop, plan.Force:
		return "off"
	case plan.Cut:
		return "cut, and will come back with the mains"
	case plan.Start:
		return "on"
	case plan.Unprotect:
		return "in write-back"
	default:
		return "done"
	}
}

// writeDemoResult tells what came of it.
func writeDemoResult(w io.Writer, r demo.Result) {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "proven off before the cut\t%d of %d\n", r.ProvenOff, r.WasOn)
	fmt.Fprintf(t, "brought back\t%d of %d\n", r.Restored, r.WasOn)
	fmt.Fprintf(t, "powered off by force\t%d\n", r.Forced)
	fmt.Fprintf(t, "dirty blocks at the cut\t%d\n", r.DirtyBlocksAtCut)
	fmt.Fprintf(t, "least slack\t%.1f s\n", r.SlackSeconds)
	if r.Crashes > 0 {
		fmt.Fprintf(t, "crashes of Ebbtide\t%d\n", r.Crashes)
	}
	fmt.Fprintf(t, "rules broken\t%d\n", len(r.Violations))
	_ = t.Flush() // to memory or to where the rest goes
	for _, v := range r.Violations {
		fmt.Fprintf(w, "  %s\n", v)
	}
	if len(r.NotRestored) > 0 {
		fmt.Fprintf(w, "not brought back, and reported: %s\n", strings.Join(r.NotRestored, ", "))
	}
	fmt.Fprintln(w)
}
