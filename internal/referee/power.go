package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// rule5: No power-up on battery, or before the recharge gate: mains stable, and battery enough for an interrupted power-up
// plus a whole further shutdown, plus 20%.
//
// It holds for what is put back to write-back too. A supply that did not fail in this outage needs no gate. Of the gate, what
// another shutdown takes is not judged.
func (r *Referee) rule5(c *command) string {
	what := "started"
	switch c.Verb {
	case plan.Start:
	case plan.Unprotect:
		what = "put back"
	default:
		return ""
	}
	r.asking.anew()
	if !r.carried(c.Node, func(s *supply) bool { return s.online }) {
		return fmt.Sprintf("%s is %s on battery", c.decl.ID, what)
	}
	r.asking.anew()
	if !r.carried(c.Node, func(s *supply) bool { return s.online && (!s.failed || s.opened) && r.lasts(s) }) {
		return fmt.Sprintf("%s is %s before the recharge gate is open, or on an output that is to be cut", c.decl.ID, what)
	}
	return ""
}

// rule15: A supply that falls silent on battery counts as worse than its last reading. Missing data never raises an
// estimate.
//
// Judged where it matters most: nothing comes back on a supply that was last heard to be out.
func (r *Referee) rule15(c *command) string {
	if c.Verb != plan.Start && c.Verb != plan.Unprotect {
		return ""
	}
	r.asking.anew()
	if r.carried(c.Node, func(s *supply) bool { return s.heardOut.IsZero() }) {
		return ""
	}
	return fmt.Sprintf("%s of %s while nothing that feeds it was heard to be back", c.Verb, c.decl.ID)
}

// rule21: A node that keeps a live feed and needs nothing that goes dark is left alone.
//
// With it rule 17 is judged: with A and B feeds a node counts as powered while any of its feeds is. A feed is live when it
// was heard to be for long enough, and neither committed to be cut nor told to. What a drill takes may be stopped until that
// turns. What was told to stop when it might be, and hangs on its way down, or is frozen, may be forced when its power is back,
// to be started again.
func (r *Referee) rule21(c *command) string {
	switch {
	case r.drill != nil && !r.drill[c.Node]:
		return fmt.Sprintf("%s %s in a drill that does not take it", c.Verb, c.decl.ID)
	case !c.stops() && c.Verb != plan.Cut, r.mayGo(c.Node):
		return ""
	case c.Verb == plan.Force && c.node.toldToStop && c.decl.Can.Has(plan.Start) && r.hangs(c):
		return ""
	default:
		return c.decl.ID + " keeps its power and was told to " + c.Verb.String()
	}
}

// hangs reports whether a node that was told to stop is neither on nor goes as quickly as it should. What is tried again was decided
// before.
func (r *Referee) hangs(c *command) bool {
	st := c.node.now.State
	return st == plan.Unknown || c.node.commanded.Has(plan.Force) || st != plan.On &&
		c.at.Sub(c.node.toldAt) >= c.decl.Time(plan.Stop).Nominal
}

// mayGo reports whether a node may be told to stop at all.
func (r *Referee) mayGo(i int) bool { return r.nodes[i].dark || r.drill != nil && !r.drillUp }

// listens is for how long the controller, when it is back, waits at least for the first word of a supply until that counts as silent; it
// hears that a poll later.
const listens = 20 * time.Second

// slowness is what the engine may take from a reading to its command, and slowSilence where its node does not answer: it is asked
// first, and given the time of an answer.
const (
	slowness    = 10 * time.Second
	slowSilence = 25 * time.Second
	believed    = 7 * time.Second // that its time is short is so in more than one reading: in words of them
	words       = 3
	slowPoll    = 5 * time.Second  // the slowest in an outage
	goesYet     = 2 * guarded      // what was told in the life before, and does not answer, may be on its way
	weighed     = 25 * time.Second // what its UPS says of a battery is held against what else is known of it before all are hurried
)

// rule11: The reserve (flush, halt, cut) is never spent by earlier stages.
//
// When a battery is down to the reserve, and its UPS says so, no VM that goes with it is waited for any longer, or told to
// shut down with all the time that it may take. What another supply goes on feeding does not go with it, and a cut that is on its way waits
// for nobody any more. What the controller can't know is not asked of it, nor that it powers off what is on its way up (rule 6).
func (r *Referee) rule11(s *supply, at time.Time, p Poll) {
	if !r.isInReserve(s, at, p) {
		return
	}
	if at.Sub(s.spent) < slowness+s.believes()+r.slowest || at.Sub(r.resumed) < weighed+r.slowest || r.hold ||
		at.Sub(r.heldUntil) < slowness || s.aborted || s.due {
		return
	}
	listening := max(listens, r.policy.Shutdown.Longest(power.SilentOnBattery)) + slowness
	gone := func(other *supply) bool { return r.isGoneForLong(other, at, listening) }
	for _, i := range r.flights.nodes {
		if !r.isToBeForced(s, at, i) {
			continue
		}
		r.asking.anew()
		with := r.goesDark(i, func(other *supply) bool { return other == s || gone(other) })
		r.asking.anew()
		if with && !r.goesDark(i, func(other *supply) bool { return other != s && gone(other) }) {
			r.violate(at, 11, fmt.Sprintf("%s is waited for although only the reserve of %s is left", r.id(i), r.id(s.node)))
		}
	}
}

// isInReserve follows since when the battery of a supply is down to the reserve, and reports whether this poll says that it is. A poll that
// is missed says nothing, and changes nothing.
func (r *Referee) isInReserve(s *supply, at time.Time, p Poll) bool {
	switch {
	case !p.Heard && at.Sub(s.heardAt) <= missedPoll:
		return false
	case !r.has(Batteries | Records), !p.Heard, !p.Honest, p.On, p.Unfit, !s.output, !s.triggered, p.Left > r.policy.Reserve:
		s.spent = time.Time{}
		return false
	case s.spent.IsZero():
		s.spent = at
	}
	return true
}

// isGoneForLong reports whether another supply is known to be lost, or about to be, for so long that the engine has acted on that. One that
// has not been heard in this life of the controller is listened to first.
func (r *Referee) isGoneForLong(s *supply, at time.Time, listening time.Duration) bool {
	young := !s.heardAt.After(r.resumed) && at.Sub(r.resumed) < listening
	unknown := s.deaf && (young || s.heardOut.IsZero()) // it was well when it fell silent
	late := slowness
	if s.deaf { // it may only have missed a word
		late = slowSilence
	}
	off := !s.output && at.Sub(s.offAt) >= late
	return !s.online && !unknown && (s.due && at.Sub(s.dueAt) >= slowness || off || !s.spent.IsZero() &&
		at.Sub(s.spent) >= slowness+s.believes())
}

// isToBeForced reports whether a node is a VM on its way down that the engine, as far as that can know, has had the time to power off since
// a supply was down to the reserve.
func (r *Referee) isToBeForced(s *supply, at time.Time, i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	fresh := at.Sub(n.intent.at) < slowness+r.slowest && !n.intent.again && (n.intent.at.Sub(s.spent) < weighed || n.intent.yields)
	if decl.Kind != plan.VM || n.intent.verb != plan.Stop || !decl.Can.Has(plan.Force) || fresh || r.isOffUnshown(at, i) ||
		r.rises(at, n) || r.forgetful {
		return false
	}
	return !r.isSilentYet(s, at, i) && !r.turnHasJustCome(s, i, at) && !r.holdsDirty(i)
}

// isSilentYet reports whether a node that goes down does not answer, and may answer, or show as off, in the time of that; or has only just
// begun to answer.
func (r *Referee) isSilentYet(s *supply, at time.Time, i int) bool {
	n, goes := &r.nodes[i], goesYet
	if n.intent.at.Before(r.resumed) { // no clock tells how much of its time was over when the controller was back
		goes = max(goes, r.estate.Node(i).Time(plan.Stop).Within)
	}
	silent := at.Sub(s.spent) < slowSilence+s.believes() || at.Sub(r.resumed) < goes+slowness
	return !n.vain.IsZero() && silent || at.Sub(n.spokeAt) < slowness+r.slowest
}

// holdsDirty reports whether a node holds what could not be flushed, which was given up: it is asked to stop, which may write that.
func (r *Referee) holdsDirty(i int) bool {
	return r.nodes[i].failed.Has(plan.Flush) || slices.ContainsFunc(r.protectors, func(c int) bool {
		return r.nodes[c].failed.Has(plan.Flush) && slices.Contains(r.estate.Needs(c), i)
	})
}

// isOffUnshown reports whether a node is off, and nobody can show that: not for long enough, or it went with its host.
func (r *Referee) isOffUnshown(at time.Time, i int) bool {
	n := &r.nodes[i]
	since := min(at.Sub(n.changed), at.Sub(r.resumed), at.Sub(n.roused)) // what it said before that says nothing
	if !n.intent.again {                                                 // it may have been off before it was told
		since = min(since, at.Sub(n.intent.at))
	}
	return n.isDown() && (since < r.proves() || r.lostWithHost(i))
}

// believes is how long it takes until what a supply says of its battery is believed, at the pace at which it is heard.
func (s *supply) believes() time.Duration { return max(believed, words*min(s.every, slowPoll)) }

// turnHasJustCome reports whether one of lower risk is waited for since it is silent, or was powered off so short a time ago that what
// comes after it is still being made sure of.
func (r *Referee) turnHasJustCome(s *supply, i int, at time.Time) bool {
	return slices.ContainsFunc(r.flights.nodes, func(j int) bool {
		in := &r.nodes[j].intent
		justForced := in.verb == plan.Force && at.Sub(in.at) < slowness+r.slowest
		return r.estate.Node(j).Risk < r.estate.Node(i).Risk && (justForced || in.verb == plan.Stop && r.isSilentYet(s, at, j))
	})
}

// proves is how long it takes two looks that agree, and those of a new life before them.
func (r *Referee) proves() time.Duration { return slowness + 4*r.slowest }

// rises reports whether a node comes up, or may not have been seen to be up yet.
func (r *Referee) rises(at time.Time, n *node) bool {
	return n.now.State == plan.Starting || n.now.State == plan.On && at.Sub(n.changed) < r.proves()
}

// rule20Cut is the part of rule 20 that speaks of the point of no return: what only a power cycle starts again is cut before it is expected
// back, unless something that goes with that supply was given up, on record, or a cut was not made and nothing waits for one. One that was
// to come after its mains were back is nobody's plan: it may be called off.
func (r *Referee) rule20Cut(s *supply, at time.Time, when string) {
	if !s.committed || s.cut || s.afterAll || s.uncut && (s.missed || !r.waitsForCycle(s)) || r.gaveUp(s) ||
		r.looksCycled(s, s.committedAt) {
		return
	}
	r.violate(at, 20, fmt.Sprintf("%s past the point of no return, and %s was not cut", when, r.id(s.node)))
}

// waitsForCycle reports whether anything that only the cycle of a supply starts, and that was on, is not, as far as anybody can know. What
// another feeds all the while that starts not; of what an outage that is forgotten has told a moment before nobody knows.
func (r *Referee) waitsForCycle(s *supply) bool {
	return slices.ContainsFunc(r.estate.Users(s.node), func(u int) bool {
		n := &r.nodes[u]
		otherwise := slices.ContainsFunc(r.estate.Feeds(u), func(f int) bool {
			return f != s.node && r.place[f] >= 0 &&
				r.lasts(r.supplyAt(f))
		})
		return r.estate.Node(u).ByPower && !otherwise && n.listed && !n.forgot && !r.unseen(u) && n.now.State != plan.On &&
			n.now.State != plan.Gone
	})
}

// looksCycled reports whether somebody has since switched on what only the cycle of a supply starts: it looks as if that had been.
func (r *Referee) looksCycled(s *supply, since time.Time) bool {
	return slices.ContainsFunc(r.estate.Users(s.node), func(u int) bool {
		n := &r.nodes[u]
		return r.estate.Node(u).ByPower && n.meddled.After(since) && (n.now.State == plan.On || n.now.State == plan.Starting)
	})
}

// standstill is for how long nothing moves until a plan that stands still past its point of no return is given up.
const standstill = 2 * time.Minute

// gaveUp reports whether anything that needs a supply was given up on its way down in its present round, and is not off, or its own
// cut was, or that of another supply without which its cycle starts nothing.
func (r *Referee) gaveUp(s *supply) bool {
	cutFailed := func(f int) bool { return r.nodes[f].failed.Has(plan.Cut) }
	for _, u := range r.estate.Users(s.node) {
		if r.estate.Node(u).ByPower && slices.Contains(r.estate.Feeds(u), s.node) && slices.ContainsFunc(r.estate.Feeds(u), cutFailed) {
			return true
		}
	}
	r.asking.anew()
	for i := range r.nodes {
		n := &r.nodes[i]
		bars := n.failed&plan.VerbSet(plan.Stop, plan.Force, plan.Flush) != 0 && !n.isDown()
		if i == s.node && n.failed.Has(plan.Cut) || bars && r.needs(i, s.node) {
			return true
		}
	}
	return false
}

// needs reports whether a node needs a supply, itself or through others. The caller begins a question with asking.anew.
func (r *Referee) needs(i, supply int) bool {
	if r.asking.asked[i] != r.asking.question {
		is := i == supply
		for _, j := range r.estate.Needs(i) {
			is = is || r.needs(j, supply)
		}
		r.asking.asked[i], r.asking.answer[i] = r.asking.question, is
	}
	return r.asking.answer[i]
}
