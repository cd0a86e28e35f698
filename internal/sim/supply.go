package sim

import (
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// simSupply is the truth about one supply.
type simSupply struct {
	Battery
	node        int
	watts       float64 // nominal; 0: not said
	curve       power.Curve
	offDelay    time.Duration
	onDelay     time.Duration
	atStart     float64 // its rate at the load at the start
	load        float64 // now, as a share of nominal
	extra       float64 // of it: what no node draws
	temperature power.Figure
	voltage     power.Figure
	sagsSince   time.Time // its input is browned out since, as far as the controller has heard; zero: it is not
	tripsOnLine bool      // its temperature or its voltage is what the policy takes its load down for, as far as the controller can know
	mains       bool
	output      bool
	staysOff    bool    // after its own cut, until a person switches it on
	held        bool    // and it is so
	uncut       bool    // took a cut and did not make it
	charge      float64 // 0..1
	cutAt       time.Time
	cutDue      time.Time // when the cut is due that the controller has had accepted in this life of it; zero: none is
	cutSeen     bool      // that it was made has been seen by a look
	lookAt      time.Time // the last of these
	returnAt    time.Time // when its output comes back, while that is counted down
	lostAt      time.Time // when its output went off, last
	silent      bool
	dead        bool // its battery gave out: nothing powers its own electronics until the mains are back
	tests       bool // runs on its battery on purpose
	over        bool // told to end that, and not heard on line since, or fell silent in it: nobody can tell that from an outage
	heardTest   bool // and was in one, or it was over in that way, when it was heard last
	// untold is until when nobody can tell a test from an outage, since the UPS does not tell its input voltage.
	untold time.Time
	polls  int
	// changed is when its mains, its output or its voice last changed.
	changed time.Time
	tick    func()        // polls it, and sets when it is polled next
	pollAt  time.Duration // since Epoch
}

const (
	cutDelay    = 20 * time.Second // ups.delay.shutdown, where the runbook does not say offdelay
	cutMargin   = 15 * time.Second // how much longer than that the product's adapter gives a UPS, before its cut counts as not made
	unwatched   = 8 * time.Second  // and for so long it takes an output to be off and on again without having been seen
	returnDelay = 30 * time.Second // ups.delay.start, where it does not say ondelay
	poll        = time.Second
	quiet       = time.Minute      // with nothing changed for so long, a supply that is on line or off may be polled more rarely
	testExcuse  = 32 * time.Second // after a UPS was told to end its test: what the engine waits, and two polls
	lowCharge   = 0.1              // where an honest UPS raises its low-battery flag
)

// armCut begins a supply's delayed cut.
func (s *simulation) armCut(i int) {
	for k := range s.supplies {
		c := &s.supplies[k]
		if c.node != i {
			continue
		}
		c.cutDue, c.cutSeen = s.now.Add(c.offDelay), false
		if !c.cutAt.IsZero() {
			continue
		}
		c.cutAt, c.uncut = s.now.Add(c.offDelay), false
		if c.mains && c.Deaf > 0 {
			c.Deaf--
			life := s.life
			s.after(c.offDelay, func() {
				c.cutAt, c.uncut = time.Time{}, s.life == life // who was away meanwhile can't tell
				s.referee.Uncut(s.now, c.node)
			})
			continue
		}
		s.after(c.offDelay, func() {
			c.held = c.staysOff && c.output
			s.loseOutput(k)
		})
	}
}

// test begins or ends a supply's test: it runs on its battery although its mains are on.
func (s *simulation) test(i int, on bool) (ledger.Outcome, string) {
	for k := range s.supplies {
		if c := &s.supplies[k]; c.node == i {
			if c.Test.None {
				return ledger.Refused, "it has no such test"
			}
			c.over = c.tests && !on
			c.tests = on && c.output || c.tests && c.Test.Endless
			c.untold = s.now.Add(testExcuse)
			if on {
				c.untold = s.now.Add(24 * time.Hour)
			}
		}
	}
	return ledger.Done, ""
}

// loseOutput takes a supply's output away: what only it fed loses its power, cleanly off or not.
func (s *simulation) loseOutput(k int) {
	c := &s.supplies[k]
	if !c.output {
		return
	}
	c.output, c.lostAt, c.tests, s.weighed = false, s.now, false, false
	s.changed(k)
	s.referee.OutputLost(s.now, c.node)
	s.darken()
	s.countReturn(k)
}

// countReturn begins a supply's return timer, if its mains are there and it does not run already. A new failure stops it.
func (s *simulation) countReturn(k int) {
	c := &s.supplies[k]
	if !c.mains || c.output || c.held || !c.returnAt.IsZero() {
		return
	}
	at := s.now.Add(c.onDelay)
	c.returnAt = at
	s.at(at, func() {
		if c.returnAt.Equal(at) {
			c.returnAt = time.Time{}
			s.giveOutput(k)
		}
	})
}

// giveOutput brings a supply's output back: what starts by itself with its power starts.
func (s *simulation) giveOutput(k int) {
	c := &s.supplies[k]
	if c.output || !c.mains {
		return
	}
	dead := s.unpowered()
	c.output, c.cutAt, s.weighed = true, time.Time{}, false
	s.changed(k)
	s.referee.OutputBack(s.now, c.node)
	s.light(dead)
}

// noticed is how long an output has been off before anybody comes and switches it on.
const noticed = time.Minute

// switchOn is a person at a supply whose output stays off after its cut.
func (s *simulation) switchOn(k int) {
	if c := &s.supplies[k]; !c.output && s.now.Sub(c.lostAt) < noticed {
		s.after(noticed, func() { s.switchOn(k) })
		return
	}
	s.supplies[k].held = false
	if c := &s.supplies[k]; !c.output && c.mains {
		s.referee.Meddled(s.now, c.node)
	}
	s.giveOutput(k)
}

// setMains switches a supply's input.
func (s *simulation) setMains(k int, on bool) {
	c := &s.supplies[k]
	c.mains, c.dead = on, c.dead && !on
	s.changed(k)
	c.tests = c.tests && on
	if !on && !c.returnAt.IsZero() {
		s.meet(MetTimerAnew)
		c.returnAt = time.Time{}
	}
	s.countReturn(k)
}

// observeSupply is what a probe of a supply's output answers. Of a UPS that is silent no more is known than when the cut
// is due that it has accepted.
func (s *simulation) observeSupply(i int) plan.Observation {
	for k := range s.supplies {
		if s.supplies[k].node != i {
			continue
		}
		return s.supplies[k].look(s)
	}
	return plan.Observation{State: plan.On}
}

// look is what a look at the output shows, as the product's adapter tells it: that a cut was made is known to who has seen it, or did not
// look for a while.
func (c *simSupply) look(s *simulation) plan.Observation {
	away := s.now.Sub(c.lookAt) > unwatched
	c.lookAt = s.now
	var seen plan.Observation
	switch {
	case c.silent || c.dead:
		s.meet(MetSupplyLook)
		seen = c.unheard(s.now)
	case !c.output:
		seen.State = plan.Off
	case !c.cutAt.IsZero():
		seen.State, seen.RemainFor = plan.Stopping, c.cutAt.Sub(s.now)
	case !c.cutSeen && (!away || !s.now.After(c.cutDue)) && s.now.Before(c.cutDue.Add(cutMargin)):
		seen.State, seen.RemainFor = plan.Stopping, max(0, c.cutDue.Sub(s.now))
	default:
		c.cutDue = time.Time{}
		seen.State, seen.Uncut = plan.On, c.uncut
	}
	c.cutSeen = c.cutSeen || seen.State == plan.Off
	return seen
}

// unheard is what can be told of the output of a UPS that is silent, as the product's adapter tells it.
func (c *simSupply) unheard(now time.Time) plan.Observation {
	switch left := c.cutDue.Sub(now); {
	case c.cutDue.IsZero():
		return plan.Observation{State: plan.Unreachable, Detail: "no answer"}
	case left > 0:
		left = max(0, left-deadAfter) // as of when it is known that nothing answers
		return plan.Observation{State: plan.Stopping, RemainFor: left, Detail: "silent since it accepted the cut"}
	}
	return plan.Observation{State: plan.Off, Detail: "silent since it accepted the cut, and its delay is over"}
}
