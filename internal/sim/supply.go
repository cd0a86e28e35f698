package sim

import (
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// cell is the truth about one supply.
type cell struct {
	Battery
	node   int
	mains  bool
	output bool
	charge float64 // 0..1
	cutAt  time.Time
	silent bool
	tests  bool // runs on its battery on purpose
	over   bool // and was told to end that
	// untold is until when nobody can tell a test from an outage, since the UPS does not tell its input voltage.
	untold time.Time
	polls  int
	// changed is when its mains, its output or its voice last changed.
	changed time.Time
}

const (
	cutDelay    = 20 * time.Second // ups.delay.shutdown
	returnDelay = 30 * time.Second // ups.delay.start
	poll        = time.Second
	quiet       = 2 * time.Minute  // with nothing changed for so long, a supply on line may be polled more rarely
	testExcuse  = 32 * time.Second // after a UPS was told to end its test: what the engine waits, and two polls
	lowCharge   = 0.1              // where an honest UPS raises its low-battery flag
)

// armCut begins a supply's delayed cut.
func (s *simulation) armCut(i int) {
	for k := range s.cells {
		if c := &s.cells[k]; c.node == i && c.cutAt.IsZero() {
			c.cutAt = s.now.Add(cutDelay)
			s.after(cutDelay, func() { s.loseOutput(k) })
		}
	}
}

// test begins or ends a supply's test: it runs on its battery although its mains are on.
func (s *simulation) test(i int, on bool) (engine.Outcome, string) {
	for k := range s.cells {
		if c := &s.cells[k]; c.node == i {
			if c.Test.None {
				return engine.Refused, "it has no such test"
			}
			c.tests = on && c.output || c.tests && c.Test.Endless
			c.over = c.tests && !on
			c.untold = s.now.Add(testExcuse)
			if on {
				c.untold = s.now.Add(24 * time.Hour)
			}
		}
	}
	return engine.Done, ""
}

// powered tells whether any feed of a node has its output on, and so for what it physically stands on.
func (s *simulation) powered(i int) bool {
	if host := s.hostOf(i); host >= 0 && s.things[host].state == plan.Off {
		return false
	}
	feeds := s.estate.Feeds(i)
	for _, f := range feeds {
		for k := range s.cells {
			if s.cells[k].node == f && s.cells[k].output {
				return true
			}
		}
	}
	return len(feeds) == 0
}

// loseOutput takes a supply's output away: what only it fed loses its power, cleanly off or not.
func (s *simulation) loseOutput(k int) {
	c := &s.cells[k]
	if !c.output {
		return
	}
	c.output, c.tests, c.changed = false, false, s.now
	s.referee.outputLost(s, c.node)
	for i := range s.things {
		t := &s.things[i]
		if kind := s.estate.Node(i).Kind; kind == plan.Supply || kind == plan.Person || s.powered(i) || t.state == plan.Off || t.state == plan.Gone || t.state == plan.Unknown {
			continue
		}
		t.crashed = s.estate.Node(i).Kind != plan.Passive
		t.dark = t.crashed
		s.goOff(i)
	}
	if c.mains {
		s.after(returnDelay, func() { s.giveOutput(k) })
	}
}

// giveOutput brings a supply's output back: what starts by itself with its power starts.
func (s *simulation) giveOutput(k int) {
	c := &s.cells[k]
	if c.output || !c.mains {
		return
	}
	dead := make([]bool, len(s.things)) // only what had no power at all starts when it comes
	for i := range s.things {
		dead[i] = !s.powered(i)
	}
	c.output, c.cutAt, c.changed = true, time.Time{}, s.now
	for i := range s.things {
		if n := s.estate.Node(i); n.ByPower && dead[i] && s.things[i].state == plan.Off && s.powered(i) {
			s.boot(i, n.Time(plan.Start).Nominal)
		}
	}
}

// setMains switches a supply's input.
func (s *simulation) setMains(k int, on bool) {
	c := &s.cells[k]
	c.mains, c.changed = on, s.now
	c.tests = c.tests && on
	if on && !c.output {
		s.after(returnDelay, func() { s.giveOutput(k) })
	}
}

// discharge moves a battery on by the time to the next poll.
func (s *simulation) discharge(k int, by time.Duration) {
	c := &s.cells[k]
	switch {
	case c.mains && !c.tests:
		c.charge = min(1, c.charge+by.Seconds()/c.Recharge.Seconds())
	case c.output:
		c.charge = max(0, c.charge-by.Seconds()/c.Runtime.Seconds())
		c.tests = c.tests && c.charge >= lowCharge
		if c.charge <= c.DiesAt {
			s.loseOutput(k)
		}
	}
}

// polling is what the referee learns of a poll.
func (s *simulation) polling(k int) polling {
	c := &s.cells[k]
	return polling{
		supply: c.node, mains: c.mains, on: c.mains && c.output && !(c.tests && c.over), heard: !c.silent && !s.stopped && (c.mains || c.Test.Volts || s.now.After(c.untold)), honest: len(c.Says) == 0 && c.output && c.DiesAt == 0,
		charge: c.charge, left: time.Duration(c.charge * float64(c.Runtime)),
	}
}

// reading is what the supply's UPS says now.
func (s *simulation) reading(k int) power.Reading {
	c := &s.cells[k]
	c.polls++
	says := func(l Lie) bool { return slices.Contains(c.Says, l) }
	r := power.Reading{Supply: s.estate.Node(c.node).ID, Charge: power.Known(100 * c.charge), Runtime: power.Known(c.charge * c.Runtime.Seconds()), Load: power.Known(50)}
	if c.silent {
		return power.Reading{Supply: r.Supply, Link: power.Lost, Detail: "no answer"}
	}
	if says(Jumps) {
		r.Runtime.Value *= [...]float64{1, 3, 0.4, 1.5, 0.8, 2}[c.polls/7%6]
	}
	if says(Twice) {
		r.Runtime.Value *= 2
	}
	if says(NoRuntime) {
		r.Runtime = power.Figure{}
	}
	if says(NoCharge) {
		r.Charge = power.Figure{}
	}
	r.Status = power.OB
	switch {
	case c.mains && c.tests:
		r.Status = power.OB | power.DISCHRG
	case c.mains:
		r.Status = power.OL
	}
	if c.Test.Volts {
		r.Nominal, r.Voltage = power.Known(230), power.Known(0)
		if c.mains {
			r.Voltage = power.Known(231)
		}
	}
	if r.Status.Has(power.OB) && (c.charge < lowCharge && !says(NeverLow) || says(LowAtOnce)) {
		r.Status |= power.LB
	}
	if !c.output {
		r.Status |= power.OFF
		r.Status &^= power.OL
	}
	return r
}

// observeSupply is what a probe of a supply's output answers.
func (s *simulation) observeSupply(i int) plan.Observation {
	for k := range s.cells {
		if s.cells[k].node != i {
			continue
		}
		switch c := &s.cells[k]; {
		case !c.output:
			return plan.Observation{State: plan.Off}
		case !c.cutAt.IsZero():
			return plan.Observation{State: plan.Stopping, RemainFor: c.cutAt.Sub(s.now)}
		}
	}
	return plan.Observation{State: plan.On}
}
