package retrospect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/effect"
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
	f.suggestCuts()
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
	near, stuck := f.nearest(), f.stuckBefore(unique(pressed))
	switch {
	case len(stuck) > 0:
		for _, s := range stuck {
			what := fmt.Sprintf("Find out why the %s of %s could not be proven", s.Verb, s.Node)
			if s.Verb == plan.Stop {
				what += ", and give it something that proves it off or powers it off, such as a BMC or a PDU outlet"
			}
			evidence := "what comes after it " + f.would("waited", "would have waited") + " until the battery was nearly empty: " +
				english.Series(f.after(s.Node, unique(pressed)), named)
			if lost := f.after(s.Node, f.lost); len(lost) > 0 {
				evidence = "what comes after it " + f.would("was not stopped, and was on when its output was cut",
					"would not have been stopped, and would have been on when its output was cut") + ": " + english.Series(lost, named)
			}
			f.suggestThat(s.Node, what+".", "%s", evidence)
		}
	case len(pressed) > 0:
		f.suggestThat("", "Start the shutdown earlier, or shed more before it: raise slack_below or charge_below in policy.shutdown, and "+
			"check the effect with ebbtide simulate --trials.",
			"the battery would not have lasted for the rest of the plan: %s %s to be powered off, or to be cut while something was still on",
			english.Series(unique(pressed), named), f.would("had", "would have had"))
	case near != nil && near.Slack < 0:
		f.suggestThat("", "Start the shutdown earlier: raise slack_below in policy.shutdown, or add it.",
			"when %s %s already %s late", near.What, f.would("started, it was", "would have started, it would have been"),
			english.Span(seconds(-near.Slack)))
	}
}

// after tells which of some nodes come after one on the way down: what it needs. Where the plan is not known, all of them may.
func (f *fold) after(node string, of []string) []string {
	if f.Estate == nil {
		return of
	}
	stuck, known := f.Estate.Index(node)
	return slices.DeleteFunc(slices.Clone(of), func(id string) bool {
		i, is := f.Estate.Index(id)
		return !known || !is || !slices.Contains(f.Estate.Dependents(i), stuck)
	})
}

// stuckBefore finds the stops and flushes that were given up and waited for until time pressed, where it pressed nothing else: with more
// of it that would have been the same. Something has to come after them, of what was pressed or lost; and a person's step proves nothing.
func (f *fold) stuckBefore(pressed []string) []*timeline.Step {
	isShort := func(x Forced) bool {
		return x.Cause == ledger.Pressed && !strings.Contains(x.Reason, ledger.PassedOver) && !strings.Contains(x.Reason, ledger.LeftDirty)
	}
	if slices.ContainsFunc(f.Forced, isShort) || !slices.ContainsFunc(f.Forced, func(x Forced) bool { return x.Cause == ledger.Pressed }) {
		return nil
	}
	var stuck []*timeline.Step
	for i := range f.story.Steps {
		s := &f.story.Steps[i]
		told := slices.ContainsFunc(stuck, func(t *timeline.Step) bool { return t.Node == s.Node && t.Verb == s.Verb })
		held := len(f.after(s.Node, f.lost)) > 0 || len(f.lost) == 0 && len(f.after(s.Node, pressed)) > 0
		n := f.Find(s.Node)
		isByHand := n != nil && n.Kind == plan.Manual
		if (s.Verb == plan.Stop || s.Verb == plan.Flush) && s.State == timeline.Failed && !told && held && !isByHand {
			stuck = append(stuck, s)
		}
	}
	return stuck
}

// suggestRestore looks for what did not come back.
func (f *fold) suggestRestore() {
	for _, node := range f.NotRestored {
		evidence := f.would("the outage was closed without it", "the outage would have been closed without it")
		for i := range f.story.Steps {
			if s := &f.story.Steps[i]; s.Node == node && s.Verb == plan.Start {
				evidence = fmt.Sprintf("outcome of its start after %s: %s", english.Count(s.Attempts, "attempt"), s.State)
				if s.Attempts == 0 {
					evidence = fmt.Sprintf("outcome of its start, which was not sent: %s", s.State)
				}
				if f.observed() {
					evidence = fmt.Sprintf("outcome that its start would have had: %s", s.State)
				}
				if s.Reason != "" {
					evidence += ": " + s.Reason
				}
			}
		}
		if f.Simulated || f.observed() {
			f.suggestThat(node, "Make sure that someone knows how to start "+node+
				" by hand: in an outage like this it would not come back.", "%s", evidence)
			continue
		}
		f.suggestThat(node, "Find out why "+node+" did not come back, and start it by hand.", "%s", evidence)
	}
}

// suggestCuts looks for outputs that were to be cut and were not: what starts by the return of its power alone rests on that.
func (f *fold) suggestCuts() {
	for _, node := range f.uncut() {
		unproven := "its cut " + f.would("was not proven", "would not have been proven")
		evidence := unproven
		for i := range f.story.Steps {
			if s := &f.story.Steps[i]; s.Node == node && s.Verb == plan.Cut && s.Reason != "" {
				evidence = unproven + ": " + strings.TrimPrefix(s.Reason, effect.Observing)
			}
		}
		f.suggestThat(node, "Enable the command that cuts the output of "+node+
			" in its UPS or driver, or write `cut: none` for it.", "%s", evidence)
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
					"judging by what it delivered, it would have lasted %s; %s was likely according to %s: %.0f%% of that",
					english.Span(seconds(b.Gave)), english.Span(seconds(b.Likely)), b.By, 100*b.Ratio)
				flagged = true
			case b.Ratio > better && b.Tells:
				f.suggestThat(id, "Trust the battery of "+id+
					" more: give the supply a measured curve, so that nothing is shut down needlessly.",
					"judging by what it delivered, it would have lasted %s; %s was likely according to %s: %.0f%% of that",
					english.Span(seconds(b.Gave)), english.Span(seconds(b.Likely)), b.By, 100*b.Ratio)
			}
		}
		if f.replaceSaid(id) && !flagged && !f.Simulated {
			f.suggestThat(id, "Replace the battery of "+id+".", "its UPS reported that the battery needs replacing")
		}
		if !told && f.Proven[id].Burn <= 0 {
			f.suggestThat(id, "Drill the battery of "+id+" down to half its charge: what it holds is unproven.",
				"no discharge that was observed from its start went far enough to show it; the plan relies on what its UPS and the "+
					"runbook say")
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
			f.suggestThat(s.Node, fmt.Sprintf("Switch %s on, or power-cycle it: nothing else starts it.", s.Node), "%s", s.Reason)
		case s.Verb == plan.Cut || s.Attempts == 0:
		case late != "" && f.Simulated: // it was asked to hang
		case late != "" && hung > 0:
			f.suggestThat(s.Node, fmt.Sprintf("Fix %s, or force it sooner: it hangs when told to %s.", s.Node, s.Verb),
				"it hung this time (%s) and in %d of %s before that", late, hung, english.Count(runs, "run"))
		case late != "" && s.State == timeline.Stopped:
			f.suggestThat(s.Node, fmt.Sprintf("Find out why %s did not %s by itself, or allow more time (down.within).", s.Node, s.Verb),
				"it was forced off: %s", late)
		case late != "":
			f.suggestThat(s.Node, fmt.Sprintf("Find out why the %s of %s could not be proven, or allow more time.", s.Verb,
				s.Node), "%s", late)
		case s.Limit > 0 && s.State == timeline.Proven && s.Took > tight*s.Limit && !s.blurred:
			f.suggestThat(s.Node, fmt.Sprintf("Allow more time for the %s of %s: %s, say.", s.Verb, s.Node, english.Span(roomier(&s))),
				"it took %s of the %s allowed before it is forced or given up", english.Span(seconds(s.Took)),
				english.Span(seconds(s.Limit)))
		}
	}
}

// suggestProofs looks for what could not be proven although nothing was commanded.
func (f *fold) suggestProofs() {
	for _, s := range f.sortedSteps() {
		if late := f.outOfTime(s.Node, s.Verb); late != "" {
			f.suggestThat(s.Node, fmt.Sprintf("Find out why the %s of %s could not be proven in a rehearsal: in a real outage it could "+
				"not be proven either.", s.Verb, s.Node), "in the rehearsal: %s", late)
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
		if !known || s.Verb != plan.Start || s.Attempts == 0 || s.Attempts == 1 && s.State != timeline.Failed {
			continue
		}
		for _, need := range f.Estate.Needs(at) {
			n := f.Estate.Node(need)
			started := slices.ContainsFunc(f.Steps,
				func(b StepTaken) bool { return b.Node == n.ID && b.Verb == plan.Start && b.Attempts > 0 })
			if !started || n.Healthy || n.Kind == plan.Supply || told[n.ID] {
				continue
			}
			told[n.ID] = true
			f.suggestThat(n.ID, fmt.Sprintf("Give %s a health check (up.healthy), so that what needs it is not started before it is ready.",
				n.ID),
				"nothing shows when it is ready; outcome of the start of %s, which needs it, after %s: %s", s.Node,
				english.Count(s.Attempts, "attempt"), s.State)
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
			f.suggestThat("", "Make sure that the machine that runs Ebbtide keeps its power to the end, and find out why Ebbtide was not running.", "at %s: %s", f.clock(r.At), r.Reason)
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
