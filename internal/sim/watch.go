package sim

import (
	"slices"

	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/referee"
)

// What the referee is told of the model: all of it. Each place that changes the truth of a node ends with show.

// watched is what the referee sees here.
const watched = referee.Records | referee.Moves | referee.Batteries

// show tells the referee how a node is now.
func (s *simulation) show(i int) {
	t := &s.nodes[i]
	state := t.state
	if t.frozen {
		state = plan.Unknown // it has power, and is good for nothing
	}
	s.referee.Changed(s.now, i, referee.Condition{State: state, Protected: t.protected, Dirty: t.dirty, Set: t.set, Dark: t.dark})
}

// showAnswer tells the referee what a probe of a node answers. What it gives is called when that answer comes.
func (s *simulation) showAnswer(i int, outcome ledger.Outcome, seen plan.Observation) (comes func()) {
	says := outcome == ledger.NoSuchThing || outcome == ledger.Done && seen.State != plan.Unknown && seen.State != plan.Unreachable
	byBMC := s.quiet(i) && (seen.State != plan.Off || s.nodes[i].state != plan.Off) // its own system said nothing, and the BMC nothing new
	if !says || byBMC {
		s.referee.Unanswered(s.now, i)
		return nil
	}
	t := &s.nodes[i]
	wrongly := t.looks > 0 && (t.looks == t.liesAt || t.looks == t.goneAt) || s.misled(i)
	tell := func() { s.referee.Told(s.now, i, wrongly) }
	if t.goesUnseen() && wrongly {
		return tell // and of what is so it says nothing
	}
	if s.now.Before(t.staleUntil) && seen != s.view(i, t.state) || t.goesUnseen() {
		return nil // it is of before
	}
	s.referee.Answered(s.now, i)
	return tell
}

// misled reports whether a node's BMC says that it is on, whatever is so.
func (s *simulation) misled(i int) bool {
	return slices.Contains(misleading, s.scenario.BMCs[s.estate.Node(i).ID])
}

// showCommand tells the referee of a command that is given now.
func (s *simulation) showCommand(i int, do effect.Do) {
	s.referee.Commanded(s.now, referee.Command{Node: i, Verb: do.Verb, Op: uint64(do.Op), Settings: do.Settings})
}

// showPoll tells the referee of a poll of a supply.
func (s *simulation) showPoll(k int) {
	c := &s.supplies[k]
	heard := !c.silent && !c.dead && (!s.stopped || s.replayed)
	if heard {
		s.feel(c)
		s.hearTest(c)
		c.heardTest = c.tests || c.over
	}
	untold := !c.mains && !c.Test.Volts && !s.now.After(c.untold) || !heard && (c.tests || c.over || c.heardTest)
	s.referee.Polled(s.now, referee.Poll{
		Supply: c.node, Mains: c.mains, On: c.mains && c.output && (!c.tests || !c.over) && !c.tripsOnLine, Unfit: c.mains &&
			s.isUnfit(c), Honest: c.honest(),
		Heard: heard && !untold, Untold: untold && !s.stopped,
		Charge: c.gauge(), Left: c.left(), // of the charge nobody knows better
	})
}

// hearTest takes that a supply which is heard on line is not in its test any more, also where nobody could tell it to end that.
func (s *simulation) hearTest(c *simSupply) {
	if !c.mains || c.tests {
		return
	}
	c.over = false
	if c.untold.Sub(s.now) > testExcuse {
		c.untold = s.now.Add(testExcuse)
	}
}
