package engine

import (
	"slices"
	"time"

	"ebbtide/internal/belief"
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
	f := e.facts(&e.Supplies[k])
	if !st.Stages[0] && p.Protect.Holds(f) {
		e.trigger(0, k, p.Protect.Because(f))
	}
	for at, stage := range p.Shed {
		if !st.Stages[at+1] && stage.When.Holds(f) {
			e.trigger(at+1, k, stage.When.Because(f))
		}
	}
	if p.Shutdown.Holds(f) {
		e.triggerEvery(k, p.Shutdown.Because(f))
	}
}

// triggerEvery starts the shutdown, and with it every stage that comes before it.
func (e *Engine) triggerEvery(k int, reason string) {
	for at := range e.Ledger.Stages {
		e.trigger(at, k, reason)
	}
}

func (e *Engine) trigger(at, k int, reason string) {
	if e.Standing(k).Stages[at] {
		return
	}
	s := &e.Supplies[k]
	id, stage := e.ID(s.Node), e.Ledger.Stages[at]
	e.record(ledger.Record{Kind: ledger.Triggered, Power: ledger.Power{Stage: stage, Supplies: []string{id}, Numbers: e.numbers(s)}, Reason: reason})
	e.notify(stage == power.ShutdownStage, "stage "+stage+" starts for "+id+": "+reason+" ("+e.Tells(s)+")")
}

const (
	lookAhead   = 15 * time.Second // a poll is expected to come within so long
	leastForCut = 30 * time.Second // the least that a cut and its delay need
	// doubted is what no way of telling may give beyond the reserve when an output is cut with what is on: that harms for certain, and
	// what one way fears another may know better, as a gauge does that was recharged sooner than was reckoned.
	doubted = 3 * time.Minute
	// pressing is the chance of the battery giving out from which waits are shortened: what is powered off is harmed for
	// certain, so that it takes more than for a start in time.
	pressing = 0.2
)

// pressureOf finds how short the time of a supply's battery is, where anything may be done about it.
func (e *Engine) pressureOf(k int) want.Pressure {
	if !e.mayPress(k) {
		return want.NoPressure
	}
	return e.shortness(k)
}

// shortness is how short the time of a supply's battery is.
func (e *Engine) shortness(k int) want.Pressure {
	s := &e.Supplies[k]
	left, _ := s.State.Outlook.At(pressing)
	likely := s.State.Likely
	if s.State.LowBattery && !left.Known {
		left = power.Known(power.LowBatteryLeft.Seconds())
		likely = left
	}
	reserve := e.Policy.Reserve.Seconds()
	switch {
	case !left.Known:
		return want.NoPressure
	case !s.Anew && likely.Value <= max(leastForCut.Seconds(), reserve/4) && (s.IsDying() || s.State.Outlook.Most().Value <= reserve+doubted.Seconds()):
		return want.CutNow
	case left.Value <= reserve:
		return want.ReserveReached
	case e.known && left.Value <= reserve+e.estimate.Hosts.Seconds():
		return want.ForceVMs
	}
	return want.NoPressure
}

// mayPress reports whether the shutdown for a supply that fails has begun, and nothing holds it.
func (e *Engine) mayPress(k int) bool {
	s := &e.Supplies[k]
	if most := s.State.Outlook.Most(); s.State.SilentFor > belief.DeafAfter && most.Known && most.Value <= 0 { // it is over: what is on has its power, or does not hear us
		return false
	}
	return !e.Ledger.Outage.Orders.Hold && e.Supplies[k].State.Failing() && !e.isBeingCut(k) && e.Standing(k).Stages[len(e.Ledger.Stages)-1]
}

// judgePressure finds how short the time of each node is: that of the last of its feeds to give out, or less if what it needs
// has less.
func (e *Engine) judgePressure() {
	changed := false
	for k := range e.Supplies {
		s, w, was := &e.Supplies[k], &e.watch[k], e.watch[k].burden
		now := e.pressureOf(k)
		if now > w.told && e.presses(k, now) { // once, however often it comes and goes
			w.told = now
			e.notify(true, e.ID(s.Node)+": "+now.String())
		}
		e.tellEnding(k)
		w.burden = burden{pressure: now, onLoad: now, trusted: !e.Standing(k).IsOut() || !s.Mute && !s.State.OutputOff, gone: e.Standing(k).Cycle.IsDark()}
		if e.isBeingCut(k) {
			w.onLoad = want.CutNow // what hangs on it alone is about to lose its power, or has
		}
		changed = changed || w.burden != was
		e.hurryDue = e.hurryDue || w.pressure != was.pressure || w.onLoad != was.onLoad || w.onLoad != want.NoPressure
	}
	if changed {
		e.pressNodes()
	}
}

// tellEnding tells people, once, that a battery gives out while an order of theirs keeps everything on.
func (e *Engine) tellEnding(k int) {
	s, w, st := &e.Supplies[k], &e.watch[k], e.Standing(k)
	held, calledOff := e.Ledger.Outage.Orders.Hold, st.Fails == ledger.CalledOff
	if w.ending || !held && !calledOff || !st.IsOut() || !s.State.Failing() || s.State.SilentFor > 0 || e.isBeingCut(k) || e.shortness(k) < want.ReserveReached {
		return
	}
	isOn := func(i int) bool { return e.Graph.Node(i).Can.Has(plan.Stop) && !e.IsOff(i) }
	if !slices.ContainsFunc(e.Graph.Dependents(s.Node), isOn) {
		return
	}
	w.ending = true
	why := "nothing is stopped or cut, since it is on hold: `ebbtide resume` goes on"
	if calledOff {
		why = "nothing is stopped or cut, since that was called off: shut down by hand what must not lose its power"
	}
	e.notify(true, e.ID(s.Node)+": its battery gives out ("+e.Tells(s)+"), and "+why)
}

// presses reports whether anything is on that the pressure of a supply concerns.
func (e *Engine) presses(k int, p want.Pressure) bool {
	concerns := func(n *plan.Node) bool {
		switch p {
		case want.ForceVMs:
			return n.Kind == plan.VM
		case want.ReserveReached:
			return n.Kind == plan.VM || n.Kind == plan.Host || n.Can.Has(plan.Flush)
		default:
			return n.Can.Has(plan.Stop)
		}
	}
	return slices.ContainsFunc(e.Graph.Dependents(e.Supplies[k].Node), func(i int) bool {
		return concerns(e.Graph.Node(i)) && e.GoesDown(i) && !e.IsOff(i) && !e.IsCutOff(i)
	})
}

// isBeingCut reports whether a supply's output is about to go off, or is off. A cut from before a crash may have been made since,
// or may have reached nobody: it counts once a look of this life has seen it count down.
func (e *Engine) isBeingCut(k int) bool {
	i := e.Supplies[k].Node
	w, seen := e.nodes[i].work, e.Beliefs[i].Seen.State
	stale := w != nil && w.resumed && seen != plan.Stopping && !belief.IsDown(seen)
	return e.Standing(k).Cycle >= ledger.CutSent && !stale
}

// pressNodes finds the pressure of each node. Where one has changed, all wants are judged anew.
func (e *Engine) pressNodes() {
	changed := false
	e.pressed = false
	for i := range e.Beliefs {
		was := e.Press[i]
		e.Press[i] = e.pressureAt(i)
		changed = changed || e.Press[i] != was
		e.pressed = e.pressed || e.Press[i] != want.NoPressure
	}
	if changed {
		e.TouchAll()
	}
}

// pressureAt is the pressure of one node, when those of all that it needs are known.
func (e *Engine) pressureAt(i int) want.Pressure {
	if k := e.Ledger.SupplyOf[i]; k >= 0 {
		return e.watch[k].pressure
	}
	most := e.feedPressure(i)
	for _, d := range e.Graph.Needs(i) {
		if e.Graph.Node(d).Kind != plan.Supply {
			most = max(most, e.Press[d])
		}
	}
	return most
}

// feedPressure is the pressure of the last of a node's feeds to give out. One that fails and is silent, or off, is not counted on,
// unless there is no other. Where all have gone dark there is no hurry any more.
func (e *Engine) feedPressure(i int) want.Pressure {
	heard, least, gone := false, want.CutNow, true
	for _, f := range e.Graph.Feeds(i) {
		k := e.Ledger.SupplyOf[f]
		if k < 0 || e.watch[k].gone {
			continue
		}
		s := &e.watch[k]
		gone = false
		if s.trusted && !heard {
			heard, least = true, want.CutNow
		}
		if s.trusted || !heard {
			least = min(least, s.onLoad)
		}
	}
	if gone {
		return want.NoPressure
	}
	return least
}
