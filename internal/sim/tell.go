package sim

import (
	"fmt"
	"strings"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Tell writes a run as lines: time and record, then the end and what broke a rule.
func Tell(r *Result) string {
	var b strings.Builder
	for _, rec := range r.Records {
		if rec.Kind == ledger.Still { // for a restart
			continue
		}
		fmt.Fprintf(&b, "%8s %s\n", rec.At.Sub(Epoch).Round(100*time.Millisecond), phrase(rec))
	}
	fmt.Fprintf(&b, "end: on %v, off %v, crashed %v\n", r.On, r.Off, r.Crashed)
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "VIOLATION %s\n", v)
	}
	return b.String()
}

func phrase(rec ledger.Record) string {
	parts := []string{string(rec.Kind)}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(string(rec.Stage))
	add(string(rec.Goal))
	add(string(rec.Order))
	if rec.Verb != nil {
		add(rec.Verb.String())
	}
	add(rec.Node)
	if rec.Attempt > 1 {
		add(fmt.Sprintf("#%d", rec.Attempt))
	}
	add(strings.Join(rec.Supplies, ","))
	if rec.Kind != ledger.Failed { // that its command was taken is no word on how it ended
		add(string(rec.Outcome))
	}
	var on []string
	for _, n := range rec.Nodes {
		if rec.Kind == ledger.Opened || rec.Kind == ledger.Intent {
			break // the whole estate: the snapshot follows; and the reason tells what a cut takes along
		}
		s := n.Node + "=" + n.State.String()
		if n.Protected != plan.NotKnown {
			s += "/protected:" + n.Protected.String()
		}
		on = append(on, s)
	}
	add(strings.Join(on, " "))
	if rec.Kind != ledger.Proven || rec.Cause == ledger.Silence || rec.Cause == ledger.Already {
		if rec.Reason != "" {
			add("(" + rec.Reason + ")")
		}
	}
	if rec.Kind == ledger.Seen {
		add(string(rec.Cause))
	}
	return strings.Join(parts, " ")
}
