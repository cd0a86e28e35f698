package engine

import (
	"slices"

	"ebbtide/internal/belief"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// judgeTriggers starts the stages whose condition holds for a failing supply.
func (e *Engine) judgeTriggers(k int) {
	st := e.Standing(k)
	if st.Fails == ledger.CalledOff || st.Stages[len(e.Ledger.Stages)-1] { // that is the last of all stages
		return
	}
	p := e.Policy
	f := e.Facts(&e.Supplies[k])
	if !st.Stages[0] && e.begins(k, 0, p.Protect, f) {
		e.Trigger(0, k, p.Protect.Because(f))
	}
	for at, stage := range p.Shed {
		if !st.Stages[at+1] && e.begins(k, at+1, stage.When, f) {
			e.Trigger(at+1, k, stage.When.Because(f))
		}
	}
	if e.begins(k, len(e.Ledger.Stages)-1, p.Shutdown, f) {
		e.TriggerEvery(k, p.Shutdown.Because(f))
	}
}

// begins reports whether the condition of a stage holds for sure.
func (e *Engine) begins(k, stage int, c power.Condition, f power.Facts) bool {
	at := -1
	return c.HoldsBy(func(leaf power.Condition) bool {
		at++
		return e.isSure(k, &e.watch[k].stages[stage][at], leaf, f)
	})
}

// isSure reports whether a part of a condition holds for sure: what has its own time at once, what is measured when it has been told for
// long enough, and what is reckoned on while the supply is silent when it has been for long. What is said of a battery on line denies
// nothing: a worn one looks well there.
func (e *Engine) isSure(k int, sure *foresight.Sure, leaf power.Condition, f power.Facts) bool {
	s, word := &e.Supplies[k].State, e.watch[k].word
	holds, onBattery := leaf.Holds(f), s.Mains == power.MainsOnBattery
	switch {
	case !leaf.Kind.IsMeasured():
		return holds
	case s.SilentFor > 0:
		return holds && (sure.Is() || s.SilentFor > belief.DeafAfter)
	case !f.Tells(leaf.Kind):
	case leaf.Kind == power.TemperatureAbove:
		sure.Hear(word, holds)
	case leaf.Kind == power.SlackBelow && onBattery && s.OutFor == 0: // not judged yet: the first estimate is from before
	case leaf.Kind == power.SlackBelow && onBattery:
		sure.Hear(word, leaf.Holds(f.Soon(word.SureIn()))) // so that it is sure when it counts
	case onBattery:
		sure.Hear(word, holds)
	}
	return holds && sure.Is()
}

// pressureOf finds how short the time of a supply's battery is, where anything may be done about it. Its alarm has its own time.
func (e *Engine) pressureOf(k int) want.Pressure {
	s, w := &e.Supplies[k].State, &e.watch[k]
	switch {
	case !s.Failing(): // it may be for a moment
	case s.SilentFor > 0:
		w.short.Pass(e.Shortness(k), s.SilentFor > belief.DeafAfter)
	default:
		w.short.Hear(w.word, e.Shortness(k))
	}
	if !e.mayPress(k) {
		return want.NoPressure
	}
	return max(w.short.By, e.Alarmed(k))
}

// mayPress reports whether the shutdown for a supply that fails has begun, and nothing holds it.
func (e *Engine) mayPress(k int) bool {
	s := &e.Supplies[k]
	if s.IsOver() { // what is on has its power, or does not hear us
		return false
	}
	return !e.Ledger.Outage.Orders.Hold && e.Supplies[k].State.Failing() && !e.IsBeingCut(k) && e.Standing(k).Stages[len(e.Ledger.Stages)-1]
}

// judgePressure finds how short the time of each node is: that of the last of its feeds to give out, or less if what it needs
// has less.
func (e *Engine) judgePressure() {
	changed := false
	for k := range e.Supplies {
		s, t, was := &e.Supplies[k], &e.Times[k], e.Times[k]
		now := e.pressureOf(k)
		e.tellEnding(k)
		*t = foresight.Time{Battery: now, Load: now, Trusted: !e.Standing(k).IsOut() ||
			s.IsCountedOn(), Gone: e.Standing(k).Cycle.IsDark(), Late: e.IsLate(k, now), Ahead: was.Ahead}
		if e.IsBeingCut(k) {
			t.Load, t.Late = want.GoesDark, true // what hangs on it alone is about to lose its power, or has
		}
		changed = changed || *t != was
		e.HurryDue = e.HurryDue || t.Battery != was.Battery || t.Load != was.Load || t.Load != want.NoPressure
	}
	if changed {
		e.PressNodes()
	}
	for k := range e.Supplies {
		e.tellPressure(k)
	}
}

// tellPressure tells people how short the time of a supply's battery is, where that concerns anything that is on: once, however often it
// comes and goes.
func (e *Engine) tellPressure(k int) {
	if now := e.Times[k].Battery; now > e.watch[k].announced && e.Presses(k, now) {
		e.watch[k].announced = now
		e.Notify(true, e.ID(e.Supplies[k].Node)+": "+e.Would(now.String(), now.WouldBe()))
	}
}

// tellEnding tells people, once each, that a battery may not last for the plan, and that it gives out, while an order of theirs keeps
// everything on, or the policy does.
func (e *Engine) tellEnding(k int) {
	s, w, st := &e.Supplies[k], &e.watch[k], e.Standing(k)
	now := e.endingOf(k)
	if now <= w.ending || !st.IsOut() || !s.State.Failing() || s.State.SilentFor > 0 || e.IsBeingCut(k) {
		return
	}
	why := e.keptOn(st)
	isOn := func(i int) bool {
		return e.Graph.Node(i).Can.Has(plan.Stop) && !e.IsOff(i) && (e.ShowsUp(i) || !e.WasOff(i))
	}
	if why == "" || !slices.ContainsFunc(e.Graph.Dependents(s.Node), isOn) {
		return
	}
	w.ending = now
	e.Notify(true, e.ID(s.Node)+": its battery "+now.String()+" ("+e.Tells(s)+"), and "+why)
}

// ending is how near the end of a battery is while everything is kept on.
type ending uint8

const (
	notNear ending = iota
	tooShort
	givesOut
)

func (e ending) String() string {
	return [...]string{"lasts", "may not last for the rest of the plan", "is giving out"}[e]
}

// endingOf is how near that of a supply is. What waits for its trigger is not too late before that: it is reckoned with when it comes.
func (e *Engine) endingOf(k int) ending {
	s := &e.Supplies[k]
	switch {
	case s.State.LowBattery, e.watch[k].short.By >= want.ReserveReached:
		return givesOut
	case e.Ledger.Outage.Orders.Hold && e.IsPast(s):
		return tooShort
	}
	return notNear
}

// keptOn says why nothing is shut down for a supply that fails; "": it is.
func (e *Engine) keptOn(st *ledger.Standing) string {
	switch {
	case e.Ledger.Outage.Orders.Hold:
		return "nothing " + e.Would("is", "would be") + " stopped or cut, because the outage is on hold: `ebbtide resume` ends the hold"
	case st.Fails == ledger.CalledOff:
		return "nothing " + e.Would("is", "would be") + " stopped or cut, because the shutdown was aborted: shut down by hand what must not lose power"
	case !st.Stages[len(st.Stages)-1]:
		return "its shutdown " + e.Would("has not started", "would not have started") + " (trigger: " + e.Policy.Shutdown.String() + ")" + e.Would(": `ebbtide go` starts it now", "; while Ebbtide only observes, nothing starts it")
	}
	return ""
}
