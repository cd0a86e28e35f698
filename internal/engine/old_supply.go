package engine

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// supply is one UPS: its power state, and what this outage has done with its output (kept in its node).
type supply struct {
	node    int
	tracker *power.Tracker
	state   power.State
	failed  bool // is or was failing in the open outage
	out     bool // failing now; its return counts only after a while
	heard   bool // polled since the engine was made
	gate    bool // the recharge gate is open
	harmed  bool // on line, and the policy takes things down nevertheless: browned out, or too hot
	cycled  bool // something was commanded that only a power cycle of this supply takes back
	offSeen bool // its readings have said since its cut that the output is off, or have said nothing
	habit   bool // it says OFF although nothing was cut
	readAt  time.Time
	ahead   time.Duration // to the next poll: as long as to the last one, lookAhead at most
}

// read takes one reading: it may open an outage, widen it, trigger stages, hold the plan or open the gate.
func (e *Engine) read(r power.Reading) {
	at := slices.IndexFunc(e.supplies, func(s supply) bool { return e.id(s.node) == r.Supply })
	if at < 0 {
		return
	}
	s := &e.supplies[at]
	if s.state.Mains == power.MainsOnBattery && r.Link == power.Fresh && r.Status.Has(power.OL) {
		e.spent(s)
	}
	s.ahead = min(max(0, e.now.Sub(s.readAt)), lookAhead)
	s.readAt = e.now
	s.tracker.Observe(e.now, e.excuse(s, r))
	s.state = s.tracker.State(e.now)
	if n := &e.nodes[s.node]; s.state.SaysOff && !n.down && !n.done.Has(plan.Cut) && (n.exec == nil || n.exec.rung != plan.Cut) {
		s.habit = true
	}
	s.offSeen = s.offSeen || s.state.OutputOff || s.state.SilentFor > 0 || s.state.SaysOff && !s.habit
	e.survive(s)
	e.chores()
	s.harmed = e.harms(s)
	failing := s.state.Failing() || s.harmed || s.out && !e.back(s)
	if failing != s.out {
		s.out = failing
		e.mainsChanged(s)
	}
	e.followDischarge(s, r)
	if e.run == nil {
		return
	}
	if dark := e.darkNow(s.node); dark != e.run.dark[s.node] || !s.heard {
		s.heard = true
		e.redark()
	}
	if s.out {
		e.judgeTriggers(s)
	} else if s.failed {
		e.judgeGate(s)
	}
	e.judgePressure()
}

// back tells whether a supply that was failing has its mains again for long enough to count.
func (e *Engine) back(s *supply) bool {
	return !s.state.Failing() && !s.harmed && s.state.Mains == power.MainsOnline && s.state.OnlineFor >= returnAfter
}

// harms tells whether a stage that stops something holds for a supply that is on line: what speaks of the battery does not
// hold there, a brown-out and the temperature do.
func (e *Engine) harms(s *supply) bool {
	if s.state.Mains != power.MainsOnline || s.state.Calibrating {
		return false
	}
	f := power.Facts{State: s.state}
	return e.settings.Policy.Shutdown.Holds(f) || slices.ContainsFunc(e.settings.Policy.Shed, func(st power.Stage) bool { return st.When.Holds(f) })
}

// mainsChanged follows a supply that began or ended to fail.
func (e *Engine) mainsChanged(s *supply) {
	id := e.id(s.node)
	switch {
	case s.out && e.run == nil:
		s.failed = true
		e.openOutage(s)
		return
	case e.run == nil:
		return
	case s.out && !s.failed:
		s.failed = true
		e.widen(s)
	case s.out:
		s.gate = false
		e.run.pressure = noPressure // what was spared meanwhile is pressed too
		if e.run.goal == plan.Up {  // before the word on the mains: a crash between the two must not keep it going up
			e.turn(plan.Down, id+" fails again during the power-up")
		}
		e.record(Record{Kind: Mains, Cause: Failing, Supplies: []string{id}, Reason: e.tells(s), Replace: s.state.ReplaceBattery})
		e.notify(true, id+" fails again: "+e.tells(s))
		e.weAreOn()
	default:
		e.record(Record{Kind: Mains, Cause: Returned, Supplies: []string{id}, Reason: e.tells(s), Replace: s.state.ReplaceBattery})
		e.notify(false, id+" is back: "+e.tells(s))
	}
	e.run.looked = e.run.looked && !s.out
	e.redark()
}

// weAreOn takes back that our own machine was stopped, which it was before the mains came back in between.
func (e *Engine) weAreOn() {
	for i := range e.nodes {
		if n := &e.nodes[i]; e.estate.Node(i).Kind == plan.Self && n.done.Has(plan.Stop) && n.exec == nil {
			n.done &^= plan.VerbSet(plan.Stop)
			if e.run.snapped && e.run.surveys == 0 {
				e.rebuild()
			}
		}
	}
}

// redark finds anew what goes dark as the supplies are.
func (e *Engine) redark() {
	e.run.dark = e.findDark()
	e.unpark()
}

// darkNow tells whether a supply fails at present, or is past its point of no return, or its output was cut and has not
// come back. One that failed before a crash and has not been heard from since still fails.
func (e *Engine) darkNow(i int) bool {
	s := e.supplyAt(i)
	return s != nil && (e.nodes[i].down || s.cycled || s.state.Failing() || s.harmed || s.out && s.state.Mains == power.MainsUnknown)
}

// unheard tells whether a supply of the outage has not been polled since a crash.
func (e *Engine) unheard() bool {
	return slices.ContainsFunc(e.supplies, func(s supply) bool { return s.failed && !s.heard })
}

func (e *Engine) supplyAt(i int) *supply {
	for k := range e.supplies {
		if e.supplies[k].node == i {
			return &e.supplies[k]
		}
	}
	return nil
}

// tells says how a supply is, and what of the policy holds for one that is on line.
func (e *Engine) tells(s *supply) string {
	text := s.state.String()
	if !s.harmed {
		return text
	}
	f := power.Facts{State: s.state}
	for _, st := range e.settings.Policy.Shed {
		if st.When.Holds(f) {
			return text + ", and " + st.When.Because(f)
		}
	}
	return text + ", and " + e.settings.Policy.Shutdown.Because(f)
}

// live tells whether a supply feeds its load from the mains: fresh, on line and not in a test, and not cut by us without
// having been seen on again since.
func (e *Engine) live(s *supply) bool {
	if s.out || s.state.Calibrating || s.state.OutputOff || s.state.SilentFor > 0 || s.state.Mains != power.MainsOnline {
		return false
	}
	return !e.nodes[s.node].down
}

// fed tells whether a node may be started as far as power goes: it has no feeds of its own, or any of them is live and,
// where it failed in this outage, charged enough.
func (e *Engine) fed(i int) bool {
	feeds := e.estate.Feeds(i)
	return len(feeds) == 0 || slices.ContainsFunc(feeds, func(f int) bool {
		s := e.supplyAt(f)
		return s != nil && e.live(s) && (!s.failed || s.gate)
	})
}

// judgeTriggers starts the stages whose condition holds for a failing supply.
func (e *Engine) judgeTriggers(s *supply) {
	if e.run.aborted || slices.Contains(e.run.stage(power.ShutdownStage).supplies, s.node) { // that is the last of all stages
		return
	}
	p := &e.settings.Policy
	f := e.facts(s)
	if p.Protect.Holds(f) {
		e.trigger(power.ProtectStage, s, p.Protect.Because(f))
	}
	for _, stage := range p.Shed {
		if stage.When.Holds(f) {
			e.trigger(stage.Name, s, stage.When.Because(f))
		}
	}
	if p.Shutdown.Holds(f) {
		e.triggerAll(s, p.Shutdown.Because(f))
	}
}

// triggerAll starts the shutdown, and with it every stage that comes before it.
func (e *Engine) triggerAll(s *supply, reason string) {
	e.trigger(power.ProtectStage, s, reason)
	for _, stage := range e.settings.Policy.Shed {
		e.trigger(stage.Name, s, reason)
	}
	e.trigger(power.ShutdownStage, s, reason)
}

func (e *Engine) trigger(stage string, s *supply, reason string) {
	st := e.run.stage(stage)
	if slices.Contains(st.supplies, s.node) {
		return
	}
	st.supplies, st.reason = append(st.supplies, s.node), reason
	id := e.id(s.node)
	e.record(Record{Kind: Triggered, Stage: stage, Supplies: []string{id}, Reason: reason, Numbers: e.numbers(s)})
	e.notify(stage == power.ShutdownStage, "stage "+stage+" starts for "+id+": "+reason+" ("+e.tells(s)+")")
	st.due = e.estate.Scope(func(i int) bool { return slices.Contains(st.supplies, i) })
	e.unpark()
}

// judgeGate opens the recharge gate of a supply whose mains are back.
func (e *Engine) judgeGate(s *supply) {
	restore := e.settings.Policy.Restore
	if s.gate || !e.live(s) {
		return
	}
	if !restore.Holds(e.facts(s)) {
		return
	}
	s.gate = true
	e.unpark()
}

// judgePressure shortens waits when the battery runs down faster than the plan: first VMs are forced, lowest data risk
// first, then hosts; then only flush, halt and cut remain, and at last the output is cut with what is left.
func (e *Engine) judgePressure() {
	r := e.run
	if r == nil || r.goal != plan.Down || r.hold || r.aborted || r.progress.plan == nil {
		return
	}
	level := noPressure
	for i := range e.supplies {
		s := &e.supplies[i]
		if !s.state.Failing() || e.nodes[s.node].down || !slices.Contains(r.stage(power.ShutdownStage).supplies, s.node) {
			continue
		}
		left, _ := s.state.Outlook.At(pressing)
		likely := s.state.Likely
		if s.state.LowBattery && !left.Known {
			left = power.Known(lowBatteryLeft.Seconds())
			likely = left
		}
		if !left.Known {
			continue
		}
		reserve := e.settings.Policy.Reserve.Seconds()
		switch {
		case likely.Value <= max(leastForCut.Seconds(), reserve/4):
			level = max(level, cutNow)
		case left.Value <= reserve:
			level = max(level, reserveReached)
		case e.estimated && left.Value <= reserve+e.estimate.Hosts.Seconds():
			level = max(level, forceVMs)
		}
	}
	if level <= r.pressure {
		return
	}
	r.pressure = level
	e.notify(true, level.String())
	e.press()
}

// pressure is how far waits are shortened.
type pressure uint8

const (
	noPressure pressure = iota
	forceVMs
	reserveReached
	cutNow
)

func (p pressure) String() string {
	return [...]string{
		"battery time is enough",
		"the battery runs down faster than the plan: VMs that are still on are powered off",
		"only the reserve is left: hosts are powered off, caches flushed",
		"the battery is about to die: outputs are cut with what is still on",
	}[p]
}

const (
	lookAhead      = 15 * time.Second // a poll is expected to come within so long
	lowBatteryLeft = 2 * time.Minute  // what a low-battery flag means where the UPS gives no runtime
	leastForCut    = 30 * time.Second // the least that a cut and its delay need
)

// pressing is the chance of the battery giving out from which waits are shortened: what is powered off is harmed for
// certain, so that it takes more than for a start in time.
const pressing = 0.2

// pessimistic is the share of trials that a plan's time covers.
const pessimistic = 1 - power.Pessimistic

// chores are what comes round while readings come in: looks at the whole estate while all is well, at given-up nodes
// and cut supplies in an outage, and a new estimate.
func (e *Engine) chores() {
	if e.run == nil || e.discharging() {
		if !e.now.Before(e.sweepAt) {
			e.sweepAt = e.now.Add(sweepEvery)
			for i := range e.nodes {
				e.probeNode(i)
			}
			e.askForEstimate()
		}
		return
	}
	if e.now.Sub(e.asked) >= askEstimate {
		e.askForEstimate()
	}
	if e.now.Before(e.run.lookAt) {
		return
	}
	e.run.lookAt = e.now.Add(failedLook / 3)
	e.unpark() // what a guard held back is tried again
	for i := range e.nodes {
		n := &e.nodes[i]
		cutAndGone := e.estate.Node(i).Kind == plan.Supply && n.down
		if (n.bad != 0 && n.exec == nil || cutAndGone) && !e.now.Before(n.nextLook) {
			n.nextLook = e.now.Add(failedLook)
			if cutAndGone {
				n.nextLook = e.now.Add(failedLook / 3)
			}
			e.probeNode(i)
		}
	}
}

// askForEstimate asks how long the rest of the plan takes. The engine goes on without the answer.
func (e *Engine) askForEstimate() {
	e.asked = e.now
	e.serial++
	ask := Estimate{Serial: e.serial}
	for i := range e.nodes {
		if !e.concerns(i) {
			continue
		}
		ask.Scope = append(ask.Scope, e.id(i))
		if !e.nodes[i].down {
			ask.Down = append(ask.Down, e.id(i))
		}
		if x := e.nodes[i].exec; x != nil && x.goal == plan.Down && x.given {
			ask.Running = append(ask.Running, Underway{Node: e.id(i), Verb: x.rung, For: max(0, e.now.Sub(x.since))})
		}
	}
	e.out = append(e.out, ask)
}
