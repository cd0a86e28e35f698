package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/sim"
	"ebbtide/internal/timeline"
)

// drawnText says what a draw made of the batteries, and what never ends by itself in it.
func drawnText(sc *sim.Scenario) string {
	var parts []string
	for _, s := range sc.Settings.Supplies {
		b := sc.Batteries[s.ID]
		text := fmt.Sprintf("the battery of %s holds %.0f%% of its rated capacity, and its UPS reports %.0f%% of the rated runtime", s.ID,
			100*b.Health, 100*b.Bias)
		if b.DiesAt > 0 {
			text += fmt.Sprintf("; it dies at a charge of %.0f%%", 100*b.DiesAt)
		}
		parts = append(parts, text)
	}
	for i := range sc.Settings.Estate.Len() {
		id := sc.Settings.Estate.Node(i).ID
		for _, verb := range []plan.Verb{plan.Protect, plan.Flush, plan.Stop, plan.Force, plan.Start, plan.Unprotect} {
			if sc.Took[sim.Action{Node: id, Verb: verb}] == sim.Never {
				parts = append(parts, fmt.Sprintf("%s of %s hangs", verb, id))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// simulationText is the story, the end and the referee's verdict.
func simulationText(sc *sim.Scenario, r *sim.Result) string {
	var b strings.Builder
	for _, l := range story(sc, r) {
		fmt.Fprintf(&b, "%10s  %s\n", clock(l.at), l.text)
	}
	b.WriteString("\n")
	switch {
	case r.View.Outage == "" && overAt(r) > 0:
		fmt.Fprintf(&b, "The outage was over after %s.\n", brief(lasted(r)))
	case r.View.Outage == "":
		b.WriteString("There was no outage.\n")
	case r.View.Waiting != "":
		fmt.Fprintf(&b, "The outage was not over when the simulation ended: %s.\n", r.View.Waiting)
	default:
		b.WriteString("The outage was not over when the simulation ended.\n")
	}
	isSupply := func(id string) bool {
		return slices.ContainsFunc(r.View.Supplies, func(s engine.SupplyView) bool { return s.ID == id })
	}
	split := func(ids []string) (nodes, outputs []string) {
		for _, id := range ids {
			if isSupply(id) {
				outputs = append(outputs, id)
			} else {
				nodes = append(nodes, id)
			}
		}
		return nodes, outputs
	}
	on, outputsOn := split(r.On)
	off, outputsOff := split(r.Off)
	for _, list := range []struct {
		one, many string
		nodes     []string
	}{
		{"node on", "nodes on", on},
		{"node off", "nodes off", off},
		{"output on", "outputs on", outputsOn},
		{"output off", "outputs off", outputsOff},
		{"node lost power while running", "nodes lost power while running", r.Crashed},
	} {
		if len(list.nodes) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", english.Count(len(list.nodes), list.one, list.many), strings.Join(list.nodes, ", "))
		}
	}
	if len(r.Violations) == 0 {
		b.WriteString("Referee, judging by the true state of the estate: no rules broken.\n")
		return b.String()
	}
	b.WriteString("Referee, judging by the true state of the estate: rules broken:\n")
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  rule %s\n", v)
	}
	return b.String()
}

// lasted is how long the last outage that is over was open, by the simulation's own time.
func lasted(r *sim.Result) time.Duration {
	var opened time.Duration
	for _, l := range r.Lines {
		a, ok := l.Effect.(effect.Append)
		if ok && a.Record.Kind == ledger.Opened && l.At < overAt(r) {
			opened = l.At
		}
	}
	return overAt(r) - opened
}

// overAt is when the last outage was over, whatever the wall's clock was set to; 0: none was.
func overAt(r *sim.Result) time.Duration {
	for _, l := range slices.Backward(r.Lines) {
		if a, ok := l.Effect.(effect.Append); ok && a.Record.Kind == ledger.Closed {
			return l.At
		}
	}
	return 0
}

// clock writes a time since the beginning: 1:04:09.
func clock(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// told is a line of a story.
type told struct {
	at   time.Duration
	text string
}

// story tells what the engine recorded, in virtual time whatever the wall's clock was set to, with what happened from
// outside before it.
func story(sc *sim.Scenario, r *sim.Result) []told {
	crashes := map[[2]string]bool{}
	name := func(rec *ledger.Record) [2]string { return [2]string{rec.Outage, fmt.Sprint(rec.Seq)} }
	counted := sim.Counted(r.Records)
	for _, n := range sc.CrashAt {
		if n <= uint64(len(counted)) {
			crashes[name(&counted[n-1])] = true
		}
	}
	outside := outsideOf(sc)
	var lines []told
	var t timeline.Timeline
	for _, l := range r.Lines {
		for len(outside) > 0 && outside[0].at <= l.At {
			lines, outside = append(lines, outside[0]), outside[1:]
		}
		appended, ok := l.Effect.(effect.Append)
		if !ok {
			continue
		}
		rec := appended.Record
		t.Add(rec)
		if text := t.Phrase(&rec); text != "" {
			lines = append(lines, told{l.At, text})
		}
		if crashes[name(&rec)] {
			lines = append(lines, told{l.At, "* Ebbtide crashes and is restarted"})
		}
	}
	return lines
}
