package runbook

import (
	"fmt"
	"math"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Sentences says the runbook's rules in English, one sentence each, for people who check or print it: what Triggers says,
// then the limits and what becomes of the outputs.
func (rb *Runbook) Sentences() []string {
	out := rb.Triggers()
	for _, l := range rb.Policy.Limits {
		out = append(out, limitSentence(l))
	}
	for i := range rb.Supplies {
		s := &rb.Supplies[i]
		switch s.Cut {
		case schema.CutNone:
			out = append(out, fmt.Sprintf("The output of %s is never cut: it stays on until its battery is empty.", s.ID))
		case schema.CutStayOff:
			out = append(out, fmt.Sprintf("The output of %s is cut when everything that only it feeds is down, and stays off until "+
				"someone switches it on.", s.ID))
		case schema.CutShutdownReturn, schema.CutLoadOff:
			out = append(out, fmt.Sprintf("The output of %s is cut when everything that only it feeds is down, and returns with mains power.", s.ID))
		}
	}
	for _, o := range rb.Outlets() {
		out = append(out, fmt.Sprintf("Outlet %s of %s is switched off when everything plugged into it is down, and on again before any "+
			"of it starts.", o.Name, o.Supply.ID))
	}
	return out
}

// Triggers says in English what is done when, one sentence for each stage, the way back and the reserve.
func (rb *Runbook) Triggers() []string {
	p := rb.policy()
	out := []string{fmt.Sprintf("When %s, write-back caches switch to write-through; this is reversible.", p.Protect)}
	for i, s := range p.Shed {
		out = append(out, fmt.Sprintf("When %s, stage %s shuts down %s.", s.When, s.Name, english.Series(rb.Policy.Shed[i].Nodes, math.MaxInt)))
	}
	rest := "everything"
	if len(p.Shed) > 0 {
		rest = "everything else"
	}
	if p.Odds > 0 {
		out = append(out, fmt.Sprintf("Slack allows for a chance of %s that the battery gives out before everything is down.",
			percentText(100*p.Odds)))
	}
	return append(out,
		fmt.Sprintf("When %s, %s that would lose power is shut down in order, along with what depends on it.", p.Shutdown, rest),
		fmt.Sprintf("When %s, what was on is brought back in reverse order.", p.Restore),
		fmt.Sprintf("The last %s of battery time are reserved for flushing caches, stopping hosts and storage, and cutting the output.",
			english.Span(p.Reserve)),
	)
}

func limitSentence(l plan.Limit) string {
	var parts []string
	if l.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d at a time", l.Total))
	}
	if l.PerHost > 0 {
		parts = append(parts, fmt.Sprintf("%d per host", l.PerHost))
	}
	return fmt.Sprintf("Limit for type %s: %s.", l.Class, strings.Join(parts, ", "))
}
