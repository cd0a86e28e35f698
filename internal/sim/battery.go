package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

const (
	evenLoad = 0.5  // of a supply whose watts the runbook does not say
	tripLoad = 1.25 // a supply on battery drops what is more
	nominal  = 230  // volts of the mains
	sags     = 0.85 // of them, below which an input is browned out
)

// newCell makes a supply with its battery as a scenario has it. What that leaves open is taken from the runbook.
func newCell(node int, s power.Supply, b Battery, given bool) simSupply {
	if !given {
		b = Battery{Charge: 1}
	}
	b.Recharge = cmp.Or(b.Recharge, s.Recharge, usualRecharge)
	return simSupply{
		Battery: b, node: node, watts: s.Watts, curve: power.NewCurve(s.Curve), mains: true, output: true, charge: b.Charge,
		offDelay: cmp.Or(s.OffDelay, cutDelay), onDelay: cmp.Or(s.OnDelay, returnDelay), staysOff: s.StaysOff,
	}
}

// settle reckons what follows from the load at the start: it is what the battery's runtime is told at.
func (s *simulation) settle() {
	for i := range s.nodes {
		if s.estate.Node(i).Watts > 0 {
			s.drawing = append(s.drawing, i)
		}
	}
	s.weigh()
	for k := range s.supplies {
		c := &s.supplies[k]
		c.atStart = c.curve.Rate(c.load)
		if c.Runtime == 0 && c.watts > 0 {
			c.Runtime = c.curve.Lasts(c.load)
		}
		c.Runtime = cmp.Or(c.Runtime, usualRuntime)
	}
}

// weigh reckons anew what each supply carries: what is on draws its watts from its live feeds, from each the same.
func (s *simulation) weigh() {
	s.weighed = true
	for k := range s.supplies {
		c := &s.supplies[k]
		c.load = c.extra
		if c.watts == 0 {
			c.load += evenLoad
		}
	}
	for _, i := range s.drawing {
		if state := s.nodes[i].state; state != plan.On && state != plan.Starting && state != plan.Stopping {
			continue
		}
		sources := s.estate.Sources(i)
		carries := func(c *simSupply) bool { return c.output && slices.Contains(sources, c.node) }
		live := 0
		for k := range s.supplies {
			if carries(&s.supplies[k]) {
				live++
			}
		}
		for k := range s.supplies {
			if c := &s.supplies[k]; c.watts > 0 && carries(c) {
				c.load += s.estate.Node(i).Watts / float64(live) / c.watts
			}
		}
	}
}

// discharge moves a battery on by the time to the next poll.
func (s *simulation) discharge(k int, by time.Duration) {
	c, was := &s.supplies[k], s.supplies[k].charge
	if !s.weighed {
		s.weigh()
	}
	defer func() {
		if c.charge != was {
			s.stirred = s.passed
		}
	}()
	switch {
	case c.mains && !c.tests:
		c.charge = min(1, c.charge+by.Seconds()/c.Recharge.Seconds())
	case c.output:
		c.charge = max(0, c.charge-by.Seconds()*c.rate()/(c.Runtime.Seconds()*c.healthy()))
		c.tests = c.tests && c.charge >= lowCharge
		switch spent := c.charge <= c.DiesAt || c.load > tripLoad; {
		case spent && c.mains: // it was a test: the mains carry the load
			s.meet(MetTestEnded)
			c.tests = false
		case spent:
			s.loseOutput(k)
			c.dead = true
		}
	}
}

// rate is how fast the present load burns the battery, against the load at the start.
func (c *simSupply) rate() float64 { return c.curve.Rate(c.load) / c.atStart }

// healthy is the battery's true capacity against its sheet.
func (c *simSupply) healthy() float64 { return cmp.Or(c.Health, 1) }

// left is how long the battery lasts at the present load.
func (c *simSupply) left() time.Duration {
	return time.Duration(c.charge * c.healthy() * float64(c.Runtime) / c.rate())
}

// honest reports whether its UPS says how it is.
func (c *simSupply) honest() bool {
	return !slices.ContainsFunc(c.Says, func(l Lie) bool { return l != Slips }) && c.Bias == 0 && c.output && c.DiesAt == 0 &&
		c.healthy() == 1 && c.Steps == 0
}

// gauge is the charge as its UPS tells it, from 0 to 1.
func (c *simSupply) gauge() float64 {
	if c.Steps == 0 {
		return c.charge
	}
	return min(1, math.Round(c.charge/c.Steps)*c.Steps)
}

// feel finds, at a poll that is heard, whether the policy takes down what a supply on line feeds: for the heat, or a brown-out.
func (s *simulation) feel(c *simSupply) {
	switch {
	case !c.mains || !c.sags():
		c.sagsSince = time.Time{}
	case c.sagsSince.IsZero():
		c.sagsSince = s.now
	}
	state := power.State{Mains: power.MainsOnline, Temperature: c.temperature}
	if !c.sagsSince.IsZero() {
		state.BrownoutFor = s.now.Sub(c.sagsSince)
	}
	c.tripsOnLine = s.holds(state)
}

func (c *simSupply) sags() bool { return c.voltage.Known && c.voltage.Value < sags*nominal }

// holds reports whether a stage of the policy that stops something holds.
func (s *simulation) holds(state power.State) bool {
	p, f := &s.scenario.Settings.Policy, power.Facts{State: state}
	return p.Shutdown.Holds(f) || slices.ContainsFunc(p.Shed, func(st power.Stage) bool { return st.When.Holds(f) })
}

// isUnfit reports whether nothing is to be started on a supply that is on line: it is too hot, or browned out however shortly, for the
// policy.
func (s *simulation) isUnfit(c *simSupply) bool {
	state := power.State{Mains: power.MainsOnline, Temperature: c.temperature}
	if c.sags() {
		state.BrownoutFor = 24 * time.Hour
	}
	return s.holds(state)
}

// slipsEvery is which of its readings is wrong, of a UPS that slips, if nothing else is said: less than one in a minute.
const slipsEvery = 67

// reading is what the supply's UPS says now. Its runtime is that of a battery like on its sheet.
func (s *simulation) reading(k int) power.Reading {
	c := &s.supplies[k]
	c.polls++
	charge := c.gauge()
	r := power.Reading{
		Supply: s.estate.Node(c.node).ID, Charge: power.Known(100 * charge), Runtime: power.Known(charge * c.Runtime.Seconds() / c.rate()),
		Load: power.Known(100 * c.load), Temperature: c.temperature, Voltage: c.voltage,
	}
	if c.silent || c.dead {
		return power.Reading{Supply: r.Supply, Link: power.Lost, Detail: "no answer"}
	}
	if c.Bias > 0 {
		r.Runtime.Value *= c.Bias
	}
	if c.voltage.Known {
		r.Nominal = power.Known(nominal)
	}
	c.lie(&r)
	if c.Test.Volts {
		r.Nominal, r.Voltage = power.Known(nominal), power.Known(0)
		if c.mains {
			r.Voltage = power.Known(nominal)
		}
	}
	r.Status = c.status()
	return r
}

func (c *simSupply) says(l Lie) bool { return slices.Contains(c.Says, l) }

// lie makes of what a UPS knows what it says.
func (c *simSupply) lie(r *power.Reading) {
	if c.says(Jumps) {
		r.Runtime.Value *= [...]float64{1, 3, 0.4, 1.5, 0.8, 2}[c.polls/7%6]
	}
	if c.says(Twice) {
		r.Runtime.Value *= 2
	}
	if every := cmp.Or(c.Slips, slipsEvery); c.says(Slips) && c.polls%every == 0 { // which nobody should take for the end
		r.Runtime = power.Known(0)
		if c.polls/every%2 == 0 {
			r.Charge = power.Known(0)
		}
	}
	if c.says(NoRuntime) {
		r.Runtime = power.Figure{}
	}
	if c.says(NoCharge) {
		r.Charge = power.Figure{}
	}
}

// status is what stands in ups.status.
func (c *simSupply) status() power.Status {
	status := power.OB
	switch {
	case c.mains && c.tests:
		status = power.OB | power.DISCHRG
	case c.mains:
		status = power.OL
	}
	if status.Has(power.OB) && (c.charge < lowCharge && !c.says(NeverLow) || c.says(LowAtOnce)) {
		status |= power.LB
	}
	if c.load > 1 {
		status |= power.OVER
	}
	if !c.output {
		status |= power.OFF
		status &^= power.OL
	}
	return status
}
