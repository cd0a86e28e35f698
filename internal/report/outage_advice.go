package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// Suggestion is what may be done about something that was seen.
type Suggestion struct {
	About    string `json:"about"`    // a node or a supply; empty: the policy or Ebbtide itself
	What     string `json:"what"`     //
	Evidence string `json:"evidence"` // what it rests on
}

// suggest says what follows from what was seen, the most urgent first. Nothing is suggested that the records don't show.
func (f *fold) suggest() {
	f.suggestEarlier()
	f.suggestRestore()
	f.suggestBatteries()
	f.suggestLimits()
	f.suggestHealth()
	if !f.Simulated { // there it was asked for
		f.suggestPower()
	}
}

func (f *fold) suggestThat(about, what, evidence string, args ...any) {
	f.Suggestions = append(f.Suggestions, Suggestion{about, what, sentence(fmt.Sprintf(evidence, args...))})
}

// suggestEarlier looks for a shutdown that began too late.
func (f *fold) suggestEarlier() {
	var pressed []string
	for _, x := range f.Forced {
		if x.Cause == ledger.Pressed {
			pressed = append(pressed, x.Node)
		}
	}
	near := f.nearest()
	switch {
	case len(pressed) > 0:
		f.suggestThat("", "Let the shutdown begin earlier, or shed more before it: raise slack_below or charge_below of policy.shutdown, and let ebbtide simulate --trials tell what that changes.",
			"the battery would not have lasted for the rest of the plan: %s %s to be powered off, or cut with something on", english.Series(unique(pressed), named), f.would("had", "would have had"))
	case near != nil && near.Slack < 0:
		f.suggestThat("", "Let the shutdown begin earlier: raise slack_below in policy.shutdown.",
			"when %s %s late by %s already", near.What, f.would("started it was", "would have started it would have been"), english.Span(seconds(-near.Slack)))
	}
}

// suggestRestore looks for what did not come back.
func (f *fold) suggestRestore() {
	for _, node := range f.NotRestored {
		evidence := f.would("the outage was closed without it", "the outage would have been closed without it")
		for i := range f.story.Steps {
			if s := &f.story.Steps[i]; s.Node == node && s.Verb == plan.Start {
				evidence = fmt.Sprintf("its start, tried %s, ended as %s", english.Count(s.Attempts, "time"), s.State)
				if f.observed() {
					evidence = fmt.Sprintf("its start would have ended as %s", s.State)
				}
				if s.Reason != "" {
					evidence += ": " + s.Reason
				}
			}
		}
		if f.Simulated || f.observed() {
			f.suggestThat(node, "See that somebody knows how "+node+" is started by hand: on such a night it would not come back.", "%s", evidence)
			continue
		}
		f.suggestThat(node, "See why "+node+" did not come back, and start it by hand.", "%s", evidence)
	}
}

// Bounds between which what a battery gave is as it was said, as a share of the likely time.
const (
	worn   = 0.75
	better = 1.5
)

// suggestBatteries looks for what batteries gave.
func (f *fold) suggestBatteries() {
	ids := slices.Clone(f.Supplies)
	for _, b := range f.Batteries { // also one that was drilled
		ids = append(ids, b.Supply)
	}
	for _, id := range unique(ids) {
		told, flagged := false, false
		for _, b := range f.Batteries {
			if b.Supply != id {
				continue
			}
			told = told || b.Tells
			switch {
			case f.Simulated: // a model's battery is what the scenario says
			case b.Ratio > 0 && b.Ratio < worn:
				f.suggestThat(id, "Test the battery of "+id+", and replace it if a drill shows the same.",
					"by what it gave it would have lasted %s where %s was likely by %s: %.0f%%", english.Span(seconds(b.Gave)), english.Span(seconds(b.Likely)), b.By, 100*b.Ratio)
				flagged = true
			case b.Ratio > better && b.Tells:
				f.suggestThat(id, "Believe the battery of "+id+" more: give the supply a curve that was measured, so that nothing is shut down that need not be.",
					"by what it gave it would have lasted %s where %s was likely by %s: %.0f%%", english.Span(seconds(b.Gave)), english.Span(seconds(b.Likely)), b.By, 100*b.Ratio)
			}
		}
		if f.replaceSaid(id) && !flagged && !f.Simulated {
			f.suggestThat(id, "Replace the battery of "+id+".", "its UPS said that the battery is to be replaced")
		}
		if !told && f.Proven[id].Burn <= 0 {
			f.suggestThat(id, "Drill with "+id+", down to half its charge: its battery is unproven, and all that is reckoned with is what its UPS and the runbook say.",
				"no discharge that was watched from its beginning went far enough to tell what the battery holds")
		}
	}
}

func (f *fold) replaceSaid(id string) bool {
	return slices.ContainsFunc(f.records, func(r ledger.Record) bool {
		return r.Replace && slices.Contains(r.Supplies, id)
	})
}

// tight is from which share of its limit on a step that ended well is told of.
const tight = 0.8

// suggestLimits looks for steps that came near their limits or over them. A rehearsal shows only what can't be proven.
func (f *fold) suggestLimits() {
	if f.observed() {
		f.suggestProofs()
		return
	}
	for _, s := range f.sortedSteps() {
		hung, runs := hungBefore(f.Past, s.Node, s.Verb)
		late := f.outOfTime(s.Node, s.Verb)
		switch {
		case s.Verb == plan.Start && s.Attempts == 0 && s.State == timeline.Failed && late != "":
			f.suggestThat(s.Node, fmt.Sprintf("Switch %s on, or have its power off and on again: only that starts it.", s.Node), "%s", s.Reason)
		case s.Verb == plan.Cut || s.Attempts == 0:
		case late != "" && f.Simulated: // it was asked to hang
		case late != "" && hung > 0:
			f.suggestThat(s.Node, fmt.Sprintf("Mend %s, or force it sooner: it hangs when it is told to %s.", s.Node, s.Verb),
				"it hung this time (%s), and in %d of %s before", late, hung, english.Count(runs, "run"))
		case late != "" && s.State == timeline.Stopped:
			f.suggestThat(s.Node, fmt.Sprintf("Find out why %s did not %s by itself, or give it longer (down.within).", s.Node, s.Verb),
				"it was powered off: %s", late)
		case late != "":
			f.suggestThat(s.Node, fmt.Sprintf("Find out why the %s of %s could not be proven, or give it longer.", s.Verb, s.Node), "%s", late)
		case s.Limit > 0 && s.State == timeline.Proven && s.Took > tight*s.Limit && !s.blurred:
			f.suggestThat(s.Node, fmt.Sprintf("Give the %s of %s longer: %s, say.", s.Verb, s.Node, english.Span(roomier(&s))),
				"it took %s of the %s that it is given before it is forced or given up", english.Span(seconds(s.Took)), english.Span(seconds(s.Limit)))
		}
	}
}

// suggestProofs looks for what could not be proven although nothing was commanded.
func (f *fold) suggestProofs() {
	for _, s := range f.sortedSteps() {
		if late := f.outOfTime(s.Node, s.Verb); late != "" {
			f.suggestThat(s.Node, fmt.Sprintf("Find out why the %s of %s could not be proven in a rehearsal: on such a night it could not be either.", s.Verb, s.Node), "in the rehearsal: %s", late)
		}
	}
}

// sortedSteps lists the steps as they began.
func (f *fold) sortedSteps() []StepTaken {
	list := slices.Clone(f.Steps)
	slices.SortStableFunc(list, func(a, b StepTaken) int { return a.Started.Compare(b.Started) })
	return list
}

// roomier is a limit that leaves room for what was seen: half as much again, in whole half minutes.
func roomier(s *StepTaken) time.Duration {
	halves := math.Ceil(1.5 * s.Took / 30)
	return time.Duration(halves) * 30 * time.Second
}

// outOfTime gives the reason with which a step was forced or given up because its time was over; "" if it was not.
func (f *fold) outOfTime(node string, verb plan.Verb) string {
	for i := range f.records {
		r := &f.records[i]
		if r.Node != node || r.Verb == nil || r.Cause != ledger.Overtime {
			continue
		}
		if *r.Verb == verb || *r.Verb == plan.Force && verb == plan.Stop {
			return r.Reason
		}
	}
	return ""
}

// suggestHealth looks for starts that came too early: tried again, below something whose health nobody asks for.
func (f *fold) suggestHealth() {
	if f.Estate == nil || f.observed() {
		return
	}
	told := map[string]bool{}
	for _, s := range f.sortedSteps() {
		at, known := f.Estate.Index(s.Node)
		if !known || s.Verb != plan.Start || s.Attempts < 2 && s.State != timeline.Failed {
			continue
		}
		for _, need := range f.Estate.Needs(at) {
			n := f.Estate.Node(need)
			started := slices.ContainsFunc(f.Steps, func(b StepTaken) bool { return b.Node == n.ID && b.Verb == plan.Start && b.Attempts > 0 })
			if !started || n.Healthy || n.Kind == plan.Supply || told[n.ID] {
				continue
			}
			told[n.ID] = true
			f.suggestThat(n.ID, fmt.Sprintf("Give %s a health check (up.healthy), so that what needs it is not started before it serves.", n.ID),
				"nothing tells when it is ready, and the start of %s, which needs it, was tried %s and ended as %s", s.Node, english.Count(s.Attempts, "time"), s.State)
		}
	}
}

// suggestPower looks for times in which Ebbtide itself was away while something was still to be done.
func (f *fold) suggestPower() {
	var cut time.Time
	for i := range f.records {
		r := &f.records[i]
		if r.Kind == ledger.NoReturn {
			cut = r.At
		}
		if r.Kind == ledger.Gap && (cut.IsZero() || r.At.Before(cut)) {
			f.suggestThat("", "See that the machine that runs Ebbtide keeps its power to the end, and why Ebbtide was away.", "at %s: %s", f.clock(r.At), r.Reason)
		}
	}
}

// hungBefore is how often a verb on a node hung in earlier runs.
func hungBefore(past []forecast.Sample, node string, verb plan.Verb) (hung, runs int) {
	for _, s := range past {
		if s.Node == node && s.Verb == verb {
			if runs++; s.Hung {
				hung++
			}
		}
	}
	return hung, runs
}
