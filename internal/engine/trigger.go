package engine

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// judgeTriggers starts the stages whose condition holds for a failing supply.
func (e *Engine) judgeTriggers(k int) {
	st := e.standing(k)
	if st.Fails == ledger.CalledOff || st.Stages[len(e.ledger.Stages)-1] { // that is the last of all stages
		return
	}
	p := e.policy
	f := e.facts(&e.supplies[k])
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
	for at := range e.ledger.Stages {
		e.trigger(at, k, reason)
	}
}

func (e *Engine) trigger(at, k int, reason string) {
	if e.standing(k).Stages[at] {
		return
	}
	s := &e.supplies[k]
	id, stage := e.id(s.node), e.ledger.Stages[at]
	e.record(ledger.Record{Kind: ledger.Triggered, Power: ledger.Power{Stage: stage, Supplies: []string{id}, Numbers: e.numbers(s)}, Reason: reason})
	e.notify(stage == power.ShutdownStage, "stage "+stage+" starts for "+id+": "+reason+" ("+e.tells(s)+")")
}

// pressure is how short a battery's time is: a level, found anew at each reading.
type pressure uint8

const (
	noPressure     pressure = iota
	forceVMs                // VMs are powered off, lowest data risk first
	reserveReached          // hosts too, and caches are flushed before their users are off
	cutNow                  // outputs are cut with what is on
)

func (p pressure) String() string {
	return [...]string{
		"battery time is enough",
		"the battery may not last for the rest of the plan: VMs that are still on are powered off",
		"only the reserve is left: hosts are powered off, caches flushed",
		"the battery is about to die: outputs are cut with what is still on",
	}[p]
}

const (
	lookAhead      = 15 * time.Second // a poll is expected to come within so long
	lowBatteryLeft = 2 * time.Minute  // what a low-battery flag means where the UPS gives no runtime
	leastForCut    = 30 * time.Second // the least that a cut and its delay need
	// doubted is what no way of telling may give beyond the reserve when an output is cut with what is on: that harms for certain, and
	// what one way fears another may know better, as a gauge does that was recharged sooner than was reckoned.
	doubted = 3 * time.Minute
	// pressing is the chance of the battery giving out from which waits are shortened: what is powered off is harmed for
	// certain, so that it takes more than for a start in time.
	pressing = 0.2
)

// pressureOf finds how short the time of a supply's battery is.
func (e *Engine) pressureOf(k int) pressure {
	s := &e.supplies[k]
	if !e.mayPress(k) {
		return noPressure
	}
	left, _ := s.state.Outlook.At(pressing)
	likely := s.state.Likely
	if s.state.LowBattery && !left.Known {
		left = power.Known(lowBatteryLeft.Seconds())
		likely = left
	}
	reserve := e.policy.Reserve.Seconds()
	switch {
	case !left.Known:
		return noPressure
	case !s.anew && likely.Value <= max(leastForCut.Seconds(), reserve/4) && (s.isDying() || s.state.Outlook.Most().Value <= reserve+doubted.Seconds()):
		return cutNow
	case left.Value <= reserve:
		return reserveReached
	case e.known && left.Value <= reserve+e.estimate.Hosts.Seconds():
		return forceVMs
	}
	return noPressure
}

// mayPress reports whether the shutdown for a supply that fails has begun, and nothing holds it.
func (e *Engine) mayPress(k int) bool {
	s := &e.supplies[k]
	if most := s.state.Outlook.Most(); s.state.SilentFor > deafAfter && most.Known && most.Value <= 0 { // it is over: what is on has its power, or does not hear us
		return false
	}
	return !e.ledger.Outage.Orders.Hold && e.supplies[k].state.Failing() && !e.isBeingCut(k) && e.standing(k).Stages[len(e.ledger.Stages)-1]
}

// isDying reports whether a battery itself raises the alarm: its UPS says that it is low, or a cell gave out.
func (s *supply) isDying() bool {
	return s.state.LowBattery || s.state.Outlook.Views[power.ByDrop].Known
}

// judgePressure finds how short the time of each node is: that of the last of its feeds to give out, or less if what it needs
// has less.
func (e *Engine) judgePressure() {
	changed := false
	for k := range e.supplies {
		s, w, was := &e.supplies[k], &e.watch[k], e.watch[k].burden
		now := e.pressureOf(k)
		if now > w.told && e.presses(k, now) { // once, however often it comes and goes
			w.told = now
			e.notify(true, e.id(s.node)+": "+now.String())
		}
		w.burden = burden{pressure: now, onLoad: now, trusted: !e.standing(k).IsOut() || !s.mute && !s.state.OutputOff, gone: e.standing(k).Cycle.IsDark()}
		if e.isBeingCut(k) {
			w.onLoad = cutNow // what hangs on it alone is about to lose its power, or has
		}
		changed = changed || w.burden != was
		e.hurryDue = e.hurryDue || w.pressure != was.pressure || w.onLoad != was.onLoad || w.onLoad != noPressure
	}
	if changed {
		e.pressNodes()
	}
}

// presses reports whether anything is on that the pressure of a supply concerns.
func (e *Engine) presses(k int, p pressure) bool {
	concerns := func(n *plan.Node) bool {
		switch p {
		case forceVMs:
			return n.Kind == plan.VM
		case reserveReached:
			return n.Kind == plan.VM || n.Kind == plan.Host || n.Can.Has(plan.Flush)
		default:
			return n.Can.Has(plan.Stop)
		}
	}
	return slices.ContainsFunc(e.estate.Dependents(e.supplies[k].node), func(i int) bool {
		return concerns(e.estate.Node(i)) && e.goesDown(i) && !e.isOff(i) && !e.isCutOff(i)
	})
}

// isBeingCut reports whether a supply's output is about to go off, or is off. A cut from before a crash may have been made since,
// or may have reached nobody: it counts once a look of this life has seen it count down.
func (e *Engine) isBeingCut(k int) bool {
	n := &e.nodes[e.supplies[k].node]
	stale := n.work != nil && n.work.resumed && e.beliefs[e.supplies[k].node].seen.State == plan.On
	return e.standing(k).Cycle >= ledger.CutSent && !stale
}

// pressNodes finds the pressure of each node. Where one has changed, all wants are judged anew.
func (e *Engine) pressNodes() {
	changed := false
	e.pressed = false
	for i := range e.beliefs {
		was := e.press[i]
		e.press[i] = e.pressureAt(i)
		changed = changed || e.press[i] != was
		e.pressed = e.pressed || e.press[i] != noPressure
	}
	if changed {
		e.touchAll()
	}
}

// pressureAt is the pressure of one node, when those of all that it needs are known.
func (e *Engine) pressureAt(i int) pressure {
	if k := e.ledger.SupplyOf[i]; k >= 0 {
		return e.watch[k].pressure
	}
	most := e.feedPressure(i)
	for _, d := range e.estate.Needs(i) {
		if e.estate.Node(d).Kind != plan.Supply {
			most = max(most, e.press[d])
		}
	}
	return most
}

// feedPressure is the pressure of the last of a node's feeds to give out. One that fails and is silent, or off, is not counted on,
// unless there is no other. Where all have gone dark there is no hurry any more.
func (e *Engine) feedPressure(i int) pressure {
	heard, least, gone := false, cutNow, true
	for _, f := range e.estate.Feeds(i) {
		k := e.ledger.SupplyOf[f]
		if k < 0 || e.watch[k].gone {
			continue
		}
		s := &e.watch[k]
		gone = false
		if s.trusted && !heard {
			heard, least = true, cutNow
		}
		if s.trusted || !heard {
			least = min(least, s.onLoad)
		}
	}
	if gone {
		return noPressure
	}
	return least
}
