// Package sim drives the engine in virtual time against a modelled estate and battery. It is product code: the dry run
// and the simulation use it, and so do the engine's own tests.
package sim

import (
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Fault is how a node misbehaves.
type Fault string

// The faults that a node may have.
const (
	Hang   Fault = "hang"   // accepts a stop and never goes down by itself
	Refuse Fault = "refuse" // refuses a graceful stop
	Vanish Fault = "vanish" // is deleted when it is first commanded
	Mute   Fault = "mute"   // does what it is told, but its answers are lost
	Stuck  Fault = "stuck"  // accepts every stop, forced ones too, and stays on
)

// thing is the truth about one node.
type thing struct {
	state     plan.State
	protected bool
	dirty     bool
	fault     Fault
	wasOn     bool // at the start
	change    int  // numbers its transitions: an older one under way is void
	crashed   bool // lost its power while on
}

// cell is the truth about one supply.
type cell struct {
	node    int
	mains   bool
	output  bool
	charge  float64 // 0..1
	runtime float64 // seconds that a full battery lasts at the present load
	cutAt   time.Time
	silent  bool
}

const (
	cutDelay    = 20 * time.Second // ups.delay.shutdown
	returnDelay = 30 * time.Second // ups.delay.start
	latency     = 20 * time.Millisecond
	poll        = time.Second
	restart     = 10 * time.Second // from a crash until Ebbtide runs again
)

// world is the modelled estate.
type world struct {
	estate *plan.Estate
	things []thing
	cells  []cell
}

// command carries out a verb on a node at the model's present time and tells how long until it has its effect.
func (s *simulation) command(i int, verb plan.Verb) (engine.Outcome, string) {
	t, decl := &s.things[i], s.estate.Node(i)
	if t.fault == Vanish {
		t.state = plan.Gone
	}
	if t.state == plan.Gone {
		return engine.NoSuchThing, "no such thing"
	}
	if !s.powered(i) && decl.Kind != plan.Supply && verb != plan.Start {
		return engine.Unreached, "no answer"
	}
	took := decl.Time(verb).Nominal
	switch verb {
	case plan.Protect:
		s.after(took, func() { t.protected = true })
	case plan.Unprotect:
		s.after(took, func() { t.protected = false })
	case plan.Flush:
		s.after(took, func() { t.dirty = false })
	case plan.Stop:
		if t.fault == Refuse {
			return engine.Refused, "the guest does not listen"
		}
		s.stop(i, took, t.fault == Hang || t.fault == Stuck)
	case plan.Force:
		s.stop(i, took, t.fault == Stuck)
	case plan.Start:
		return s.start(i, took)
	case plan.Cut:
		for k := range s.cells {
			if s.cells[k].node == i && s.cells[k].cutAt.IsZero() {
				s.cells[k].cutAt = s.now.Add(cutDelay)
				s.after(cutDelay, func() { s.loseOutput(k) })
			}
		}
	}
	if t.fault == Mute {
		return engine.TimedOut, "the answer was lost"
	}
	return engine.Done, ""
}

func (s *simulation) stop(i int, took time.Duration, never bool) {
	t := &s.things[i]
	if t.state != plan.On && t.state != plan.Stopping {
		return
	}
	t.state = plan.Stopping
	if never {
		return
	}
	t.change++
	change := t.change
	s.after(took, func() {
		if t.change == change {
			s.goOff(i)
		}
	})
}

// goOff takes a node down, and with a host the VMs on it.
func (s *simulation) goOff(i int) {
	t := &s.things[i]
	t.state = plan.Off
	t.change++
	if s.estate.Node(i).Kind != plan.Host {
		return
	}
	for _, u := range s.estate.Users(i) {
		if s.estate.Node(u).Kind == plan.VM && s.things[u].state != plan.Off && s.things[u].state != plan.Gone {
			s.things[u].crashed = t.crashed
			s.goOff(u)
		}
	}
}

func (s *simulation) start(i int, took time.Duration) (engine.Outcome, string) {
	t := &s.things[i]
	if t.state == plan.On || t.state == plan.Starting {
		return engine.Done, ""
	}
	if !s.powered(i) || s.hostOf(i) >= 0 && s.things[s.hostOf(i)].state != plan.On {
		return engine.Refused, "nothing to start it on"
	}
	s.boot(i, took)
	return engine.Done, ""
}

func (s *simulation) boot(i int, took time.Duration) {
	t := &s.things[i]
	t.state = plan.Starting
	t.change++
	change := t.change
	s.after(took, func() {
		if t.change == change && s.powered(i) {
			t.state = plan.On
		}
	})
}

func (s *simulation) hostOf(i int) int {
	if s.estate.Node(i).Kind != plan.VM {
		return -1
	}
	for _, j := range s.estate.Needs(i) {
		if s.estate.Node(j).Kind == plan.Host {
			return j
		}
	}
	return -1
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
	c.output = false
	s.referee.outputLost(s, c.node)
	for i := range s.things {
		t := &s.things[i]
		if kind := s.estate.Node(i).Kind; kind == plan.Supply || kind == plan.Person || s.powered(i) || t.state == plan.Off || t.state == plan.Gone || t.state == plan.Unknown {
			continue
		}
		t.crashed = s.estate.Node(i).Kind != plan.Passive
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
	c.output, c.cutAt = true, time.Time{}
	for i := range s.things {
		if n := s.estate.Node(i); n.ByPower && s.things[i].state == plan.Off && s.powered(i) {
			s.boot(i, n.Time(plan.Start).Nominal)
		}
	}
}

// setMains switches a supply's input.
func (s *simulation) setMains(k int, on bool) {
	c := &s.cells[k]
	c.mains = on
	if on && !c.output {
		s.after(returnDelay, func() { s.giveOutput(k) })
	}
}

// discharge moves a battery on by one poll.
func (s *simulation) discharge(k int) {
	c := &s.cells[k]
	switch {
	case c.mains:
		c.charge = min(1, c.charge+poll.Seconds()/(2*3600))
	case c.output:
		c.charge = max(0, c.charge-poll.Seconds()/c.runtime)
		if c.charge == 0 {
			s.loseOutput(k)
		}
	}
}

// reading is what the supply's UPS says now.
func (s *simulation) reading(k int) power.Reading {
	c := &s.cells[k]
	r := power.Reading{Supply: s.estate.Node(c.node).ID, Charge: power.Known(100 * c.charge), Runtime: power.Known(c.charge * c.runtime), Load: power.Known(50)}
	switch {
	case c.silent:
		return power.Reading{Supply: r.Supply, Link: power.Lost, Detail: "no answer"}
	case c.mains:
		r.Status = power.OL
	default:
		r.Status = power.OB
	}
	if c.charge < 0.1 && !c.mains {
		r.Status |= power.LB
	}
	if !c.output {
		r.Status |= power.OFF
		r.Status &^= power.OL
	}
	return r
}

// observe is what a probe of a node answers.
func (s *simulation) observe(i int) (engine.Outcome, plan.Observation) {
	t, decl := &s.things[i], s.estate.Node(i)
	if decl.Kind == plan.Supply {
		for k := range s.cells {
			if s.cells[k].node != i {
				continue
			}
			switch c := &s.cells[k]; {
			case !c.output:
				return engine.Done, plan.Observation{State: plan.Off}
			case !c.cutAt.IsZero():
				return engine.Done, plan.Observation{State: plan.Stopping, RemainFor: c.cutAt.Sub(s.now)}
			}
		}
		return engine.Done, plan.Observation{State: plan.On}
	}
	if t.state == plan.Gone {
		return engine.NoSuchThing, plan.Observation{}
	}
	if t.state == plan.Off && decl.OffAfter > 0 || !s.powered(i) && s.hostOf(i) < 0 {
		return engine.Done, plan.Observation{State: plan.Unreachable}
	}
	o := plan.Observation{State: t.state}
	if decl.Can.Has(plan.Protect) {
		o.Protected, o.Clean = plan.FactOf(t.protected), plan.FactOf(!t.dirty)
	}
	if decl.Healthy {
		o.Healthy = plan.FactOf(t.state == plan.On)
	}
	return engine.Done, o
}
