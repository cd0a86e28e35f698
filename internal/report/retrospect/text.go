package retrospect

import (
	"fmt"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/timeline"
)

// Blame lists the steps that were commanded, the slowest first, in the manner of systemd-analyze.
func (r *Retrospective) Blame() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.heading())
	if r.observed() {
		b.WriteString("Nothing was commanded: these are the steps that would have been taken, without the time that they would have taken.\n")
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Attempts == 0 {
			continue
		}
		took := orNothing(s.Took)
		if s.Ended.IsZero() {
			took = r.would("never ended", took)
		}
		fmt.Fprintf(&b, "%10s %s", took, doing(s.Verb, s.Node))
		if s.Expected > 0 && s.State != timeline.Open {
			fmt.Fprintf(&b, " (%s expected)", english.Span(seconds(s.Expected)))
		}
		if r.observed() || s.State != timeline.Proven || s.Attempts > 1 {
			fmt.Fprintf(&b, ": %s%s", r.would("", "would have ended as "), ending(s))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Critical draws the critical chains in the manner of systemd-analyze: the last step first, under it what let it start.
func (r *Retrospective) Critical() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.heading())
	if r.observed() {
		b.WriteString("\n" + notTold + "\n")
		return b.String()
	}
	if len(r.Chains) == 0 {
		b.WriteString("\nNothing was commanded.\n")
		return b.String()
	}
	b.WriteString("The time at which a step was commanded, counted from the start of the " + r.Noun() +
		", is printed after the \"@\"; the time it took, after the \"+\".\n")
	for _, c := range r.Chains {
		fmt.Fprintf(&b, "\npower-%s: %s\n", c.Goal, english.Span(seconds(c.Took)))
		for i, l := range c.Links {
			if i > 0 {
				b.WriteString(strings.Repeat("  ", i-1) + "└─")
			}
			fmt.Fprintf(&b, "%s @%s", l.What, english.Span(seconds(l.At)))
			if l.Took > 0 {
				fmt.Fprintf(&b, " +%s", english.Span(seconds(l.Took)))
			}
			if l.Idle >= soon.Seconds() {
				fmt.Fprintf(&b, " (waited %s)", english.Span(seconds(l.Idle)))
			}
			if l.By == ByPlace {
				b.WriteString(" (took over the slot below)")
			}
			if l.State == timeline.Stopped || l.State == timeline.Failed {
				fmt.Fprintf(&b, " %s", l.State)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// heading names an outage over a text about it.
func (r *Retrospective) heading() string {
	text := r.Title()
	if r.Open {
		text += ", so far"
	}
	return text + ": " + r.day(r.Start)
}
