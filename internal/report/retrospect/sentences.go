package retrospect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// Title names it for people.
func (r *Retrospective) Title() string {
	what := r.Noun()
	switch {
	case r.Simulated:
		what = "simulated " + what
	case r.observed():
		what = "observed " + what
	}
	return strings.ToUpper(what[:1]) + what[1:] + " " + r.Outage
}

// observed reports whether nothing was commanded: what is told of steps is what would have been.
func (r *Retrospective) observed() bool { return r.Mode == ledger.ModeObserve }

// would gives the words for what was, or those for what would have been where it was only observed.
func (r *Retrospective) would(was, would string) string {
	if r.observed() {
		return would
	}
	return was
}

// Noun is what it is: an outage or a drill.
func (r *Retrospective) Noun() string {
	if r.Mode == ledger.ModeDrill {
		return "drill"
	}
	return "outage"
}

// say tells it in five sentences.
func (f *fold) say() {
	f.Sentences = []string{f.whatFailed(), f.whatWentDown(), f.howNear(), f.whatCameBack(), f.whatDidNot()}
	switch {
	case f.Simulated:
		f.note("Simulated: none of this has happened. It was played in virtual time, on a model of the estate.")
	case f.Mode == ledger.ModeDrill && len(f.Supplies) > 0:
		f.note("A drill: it was done on purpose, until mains power failed and it became an outage.")
	case f.Mode == ledger.ModeDrill:
		f.note("A drill: all of this was done on purpose.")
	case f.observed():
		f.note("Ebbtide was only observing: it sent no commands. The steps are what it would have done, as far as its probes of the " +
			"systems showed; how long steps take can't be learned from this.")
	}
	if f.Open {
		f.note("The " + f.Noun() + " is not over: this is how things stood at " + f.day(f.Until) + ".")
	}
	for i := range f.records {
		if r := &f.records[i]; r.Kind == ledger.Gap {
			if off := f.ownStop(r.At); !off.IsZero() && !f.observed() {
				f.note(fmt.Sprintf("From %s to %s the machine that Ebbtide runs on was off with the rest, as planned: what happened "+
					"meanwhile, and when mains power came back, was not observed.", f.clock(off), f.clock(r.At)))
				continue
			}
			f.note(f.clock(r.At) + ": " + r.Reason + ". What happened just before that was not observed.")
		}
	}
	for i, s := range f.Steps {
		if s.Expected > 0 || f.Estate != nil {
			break
		}
		if i == len(f.Steps)-1 {
			f.note("Without the runbook or earlier recorded outages, there are no expected times: name the runbook with --runbook.")
		}
	}
	if f.Estate != nil && f.Digest != "" && f.digestNow() != f.Digest {
		f.note("The runbook used here makes a different plan from the one that was followed (digest " + f.Digest +
			"): it may have changed since, and expected times and what waits for what are taken from today's.")
	}
}

// ownStop is when Ebbtide's own machine was told to stop before it was away until a time; zero if it was not.
func (f *fold) ownStop(until time.Time) time.Time {
	var off time.Time
	for i := range f.records {
		r := &f.records[i]
		n := f.Find(r.Node)
		switch {
		case !r.At.Before(until):
			return off
		case r.Kind == ledger.Gap:
			off = time.Time{}
		case r.Kind == ledger.Intent && n != nil && n.Kind == plan.Self && *r.Verb == plan.Stop:
			off = r.At
		}
	}
	return off
}

func (f *fold) note(text string) { f.Notes = append(f.Notes, text) }

// digestNow is the digest that the plan of this outage would have by the runbook as it is.
func (f *fold) digestNow() string {
	first := &f.records[0]
	if len(first.Scope) > 0 {
		return f.Estate.Plan(plan.Down, func(i int) bool { return slices.Contains(first.Scope, f.Estate.Node(i).ID) }).Digest()
	}
	scope := f.Estate.Scope(func(i int) bool { return slices.Contains(first.Supplies, f.Estate.Node(i).ID) })
	return f.Estate.Plan(plan.Down, func(i int) bool { return scope[i] }).Digest()
}

// whatFailed says what failed, when, and for how long.
func (f *fold) whatFailed() string {
	var parts []string
	alike := map[string][]string{} // supplies by what is said of them
	for _, id := range f.Supplies {
		text := f.failure(id)
		if text == "" {
			continue
		}
		if alike[text] == nil {
			parts = append(parts, text)
		}
		alike[text] = append(alike[text], id)
	}
	for i, text := range parts {
		parts[i] = english.Series(alike[text], named) + " " + text
	}
	switch {
	case f.Mode == ledger.ModeDrill && len(parts) == 0:
		return sentence(fmt.Sprintf("on %s %s ordered a drill of %s", f.day(f.Start), f.By, english.Series(f.Scope, named)))
	case f.Mode == ledger.ModeDrill:
		return sentence(fmt.Sprintf("on %s %s ordered a drill of %s; while it ran, mains power at %s", f.day(f.Start), f.By,
			english.Series(f.Scope, named), strings.Join(parts, "; at ")))
	case len(parts) == 0:
		return sentence(fmt.Sprintf("on %s an outage began; which supply failed was not recorded", f.day(f.Start)))
	}
	return sentence(fmt.Sprintf("on %s, as recorded by Ebbtide, mains power at %s%s", f.in(f.Start).Format("2 January 2006"),
		strings.Join(parts, "; at "), f.would("", "; Ebbtide only observed and sent no commands")))
}

// failure says when a supply's power failed, and for how long.
func (f *fold) failure(id string) string {
	var begins []string
	var away time.Duration
	back := true
	for _, a := range f.Away {
		switch {
		case a.Supply != id:
			continue
		case a.To.IsZero():
			back = false
		default:
			away += a.To.Sub(a.From)
		}
		begins = append(begins, f.clock(a.From))
	}
	if len(begins) == 0 {
		return ""
	}
	text := "failed at " + strings.Join(begins, " and again at ")
	if len(begins) > 3 {
		text = fmt.Sprintf("failed %d times starting at %s", len(begins), begins[0])
	}
	if !back {
		return text + fmt.Sprintf(" and was still out %s later", english.Span(f.Until.Sub(f.lastFailure(id))))
	}
	text += " and was out for " + english.Span(away)
	if len(begins) > 1 {
		text += " in all"
	}
	return text
}

func (f *fold) lastFailure(id string) time.Time {
	var last time.Time
	for _, a := range f.Away {
		if a.Supply == id {
			last = a.From
		}
	}
	return last
}

// whatWentDown says what went down, and how that is known.
func (f *fold) whatWentDown() string {
	p := &f.Proof
	down := p.down()
	if down == 0 {
		was := f.would("was", "would have been")
		if p.WasOn == 0 {
			return "Nothing " + was + " shut down."
		}
		return fmt.Sprintf("Nothing %s shut down; %s on.", was, english.Count(p.WasOn, "node was", "nodes were"))
	}
	var how []string
	if p.Off > 0 {
		text := fmt.Sprintf("%d %s without force", p.Off, f.would("proven off", "would have been proven off"))
		switch {
		case f.observed():
		case p.Silent == 1 && p.Off == 1:
			text += " (by its silence after it accepted its stop)"
		case p.Silent == p.Off:
			text += " (by their silence after they accepted their stop)"
		case p.Silent > 0:
			text += fmt.Sprintf(" (%d of them by silence after accepting the stop)", p.Silent)
		}
		how = append(how, text)
	}
	if p.Forced > 0 {
		how = append(how, fmt.Sprintf("%d %s by force (%s)", p.Forced, f.would("powered off", "would have been powered off"),
			english.Series(f.powered, named)))
	}
	if p.Unproven > 0 {
		how = append(how, fmt.Sprintf("%d %s (%s)", p.Unproven,
			f.would("commanded off but never proven off", "would never have been proven off"), english.Series(f.unsure, named)))
	}
	if p.Lost > 0 {
		how = append(how, fmt.Sprintf("%d %s (%s)", p.Lost,
			f.would("cut off without being proven off", "would have been cut off without being proven off"), english.Series(f.lost, named)))
	}
	went, was := f.would("went", "would have gone"), f.would("was", "would have been")
	text := fmt.Sprintf("of %s that were on, %d %s down: %s", english.Count(p.WasOn, "node"), down, went, english.Series(how, named))
	switch {
	case p.WasOn == 1:
		text = fmt.Sprintf("the one node that was on %s down: %s", went, english.Series(how, named))
	case down == p.WasOn:
		text = fmt.Sprintf("%s that were on %s down: %s", allOf(down, "nodes"), went, english.Series(how, named))
	}
	if cut := f.cuts(); len(cut) > 0 {
		text += "; the output of " + english.Series(cut, named) + " " + was + " cut"
	}
	if uncut := f.uncut(); len(uncut) > 0 {
		text += "; the output of " + english.Series(uncut, named) + " " + f.would("could not be cut", "could not have been cut")
	}
	if dirty := f.leftDirty(); len(dirty) > 0 {
		text += "; " + english.Series(dirty, named) + " " + f.would("could not be proven clean before the storage was stopped", "could not have been proven clean before the storage was stopped")
	}
	return sentence(text)
}

// leftDirty names the caches that were not proven clean as what they keep their data on was stopped for want of time.
func (f *fold) leftDirty() []string {
	var caches []string
	for i := range f.records {
		if _, names, is := strings.Cut(f.records[i].Reason, ledger.LeftDirty); is && f.records[i].Kind == ledger.Intent {
			caches = append(caches, strings.Split(names, ", ")...)
		}
	}
	return unique(caches)
}

// allOf says that it is all of so many: "both nodes", "all 3 nodes".
func allOf(n int, of string) string {
	if n == 2 {
		return "both " + of
	}
	return fmt.Sprintf("all %d %s", n, of)
}

func (f *fold) cuts() []string {
	var nodes []string
	for i := range f.story.Steps {
		if s := &f.story.Steps[i]; s.Verb == plan.Cut && s.State == timeline.Proven {
			nodes = append(nodes, s.Node)
		}
	}
	return unique(nodes)
}

// uncut names the supplies that were to be cut and were not.
func (f *fold) uncut() []string {
	cut := f.cuts()
	var nodes []string
	for i := range f.story.Steps {
		if s := &f.story.Steps[i]; s.Verb == plan.Cut && s.State == timeline.Failed && !slices.Contains(cut, s.Node) {
			nodes = append(nodes, s.Node)
		}
	}
	return unique(nodes)
}

// howNear says how near it came to the end of a battery.
func (f *fold) howNear() string {
	f.Nearest = f.nearest()
	var parts []string
	switch n := f.Nearest; {
	case n == nil && f.story.Drill():
		parts = append(parts, "no supply failed, so only the drill itself drew on a battery")
	case n == nil:
		parts = append(parts, "how close it "+f.would("came", "would have come")+" to the end of a battery was not recorded")
	case n.Slack < 0:
		parts = append(parts, fmt.Sprintf("time %s short by %s when %s %s at %s", f.would("was", "would have been"),
			english.Span(seconds(-n.Slack)), n.What, f.would("started", "would have started"), f.clock(n.At)))
	default:
		parts = append(parts, fmt.Sprintf("the least time to spare %s %s, when %s %s at %s", f.would("was", "would have been"),
			english.Span(seconds(n.Slack)), n.What, f.would("started", "would have started"), f.clock(n.At)))
	}
	least, at := 101.0, ""
	for _, b := range f.Batteries {
		if b.To < least {
			least, at = b.To, b.Supply
		}
	}
	if at != "" {
		parts = append(parts, fmt.Sprintf("the lowest recorded charge was %.0f%%, at %s", least, at))
	}
	return sentence(strings.Join(parts, "; "))
}

// whatCameBack says what came back, and when.
func (f *fold) whatCameBack() string {
	p := &f.Proof
	down := p.down()
	last := f.lastStep(func(s *timeline.Step) bool { return s.Verb == plan.Start && s.State == timeline.Proven })
	switch {
	case down == 0:
		return f.would("Nothing had to come back.", "Nothing would have had to come back.")
	case p.Back == 0 && f.Open:
		return f.would("Nothing has come back yet.", "Nothing would have come back yet.")
	case p.Back == 0:
		return f.would("Nothing is proven to have come back.", "Nothing would have been proven to have come back.")
	}
	would := f.would("came back", "would have come back")
	text := fmt.Sprintf("%d of these %d %s", p.Back, down, would)
	switch {
	case p.Back == down && down == 1:
		text = "it " + would
	case p.Back == down:
		text = allOf(down, "of these") + " " + would
	}
	switch {
	case f.observed(): // when is not known: it was rehearsed
	case last != nil && p.Back > 1:
		text += fmt.Sprintf(", the last (%s) at %s, %s after the %s began", last.Node, f.clock(last.Ended),
			english.Span(last.Ended.Sub(f.Start)), f.Noun())
	case last != nil:
		text += fmt.Sprintf(" at %s, %s after the %s began", f.clock(last.Ended), english.Span(last.Ended.Sub(f.Start)), f.Noun())
	}
	return sentence(text)
}

// whatDidNot says what did not come back, and what is open.
func (f *fold) whatDidNot() string {
	switch {
	case len(f.NotRestored) > 0:
		return sentence(fmt.Sprintf("%s %s come back: %s", english.Count(len(f.NotRestored), "node"), f.would("did not", "would not have"),
			english.Series(f.NotRestored, named)))
	case f.overtaken():
		down := f.Proof.down()
		return sentence(fmt.Sprintf("Ebbtide was armed before it was over: %d of %d that would have gone down would not have been back yet",
			down-f.Proof.Back, down))
	case f.Open:
		down := f.Proof.down()
		if down == f.Proof.Back {
			return f.would("It is not over yet.", "It would not be over yet.")
		}
		return sentence(fmt.Sprintf("it is not over: %d of %d that %s down %s back yet", down-f.Proof.Back, down,
			f.would("went", "would have gone"), f.would("are not", "would not be")))
	default:
		return sentence(f.would("it ended with: ", "it would have ended with: ") + strings.TrimPrefix(f.Result, effect.Observing))
	}
}
