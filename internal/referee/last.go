package referee

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// nearDeath is what a battery may truly last beyond the reserve when its output is cut with what is on. The engine can't know it so
// well: it trusts no battery with its last tenth (package power), and reckons with the next poll. Load that may fall to it from
// others that feed the same leaves it its share of that time.
const nearDeath = 3 * time.Minute

// comesSoon is how long a cut may take to come after its command.
const comesSoon = time.Minute

// lowCharge is where an honest UPS says that its battery is low.
const lowCharge = 0.1

// byDeadline reports whether an output is cut because its battery is about to give out, on record.
func (r *Referee) byDeadline(c *command) bool {
	return c.node.intent.reasoned && r.nearsItsEnd(c.at, c.Node, r.policy.Reserve+nearDeath)
}

// passesOver reports whether a node is told to go for want of time, on record, although the stop of what uses it was given up.
func (r *Referee) passesOver(c *command, user int) bool {
	hasGivenUp := r.nodes[user].failed.Has(plan.Stop) || r.forgetful
	return hasGivenUp && !r.goesSoon(c.at, user) && r.isLastCall(c)
}

// leavesDirty reports whether it is although the flush of what it holds, or of a cache on it, was given up.
func (r *Referee) leavesDirty(c *command, cache int) bool {
	return (r.nodes[cache].failed.Has(plan.Flush) || r.forgetful) && r.isLastCall(c)
}

// isLastCall reports whether a node is told to go for want of time, on record: each supply that it draws its power from is about to be cut,
// near its end, or so near to it that the stops of what it feeds would take until then. Storage is asked, and not powered off.
func (r *Referee) isLastCall(c *command) bool {
	if c.decl.Switches || !c.node.intent.reasoned || !c.node.intent.pressed {
		return false
	}
	if c.Verb != plan.Stop && c.decl.Kind != plan.VM && c.decl.Kind != plan.Host {
		return false
	}
	lasts := func(f int) bool {
		if r.place[f] < 0 {
			return false
		}
		s := r.supplyAt(f)
		isLost := s.written && !s.heardAt.After(r.resumed) // on record; that it was heard on line since is forgotten with a crash
		hasMains := !s.fell && !isLost && !r.forgetful     // as far as was heard
		isDue := s.due && c.at.Sub(s.dueAt) <= comesSoon
		isUnheard := s.litAt.After(s.heardAt) // that it came on
		return s.output && !isDue && !isUnheard && (hasMains || !r.nearsItsEnd(c.at, f, max(r.policy.Reserve, r.lastTakes(f))+nearDeath))
	}
	sources := r.estate.AllSources(c.Node)
	return len(sources) > 0 && !slices.ContainsFunc(sources, lasts)
}

// lastTakes is how long it usually takes to flush and stop the storage that hangs on a supply, each after what stands on it, and to cut the
// output.
func (r *Referee) lastTakes(supply int) (longest time.Duration) {
	const cut = 30 * time.Second
	takes := make([]time.Duration, r.estate.Len())
	for _, i := range r.estate.Dependents(supply) {
		for _, d := range r.estate.Needs(i) {
			takes[i] = max(takes[i], takes[d])
		}
		n := r.estate.Node(i)
		holdsCache := (n.Kind == plan.VM || n.Kind == plan.Host) &&
			slices.ContainsFunc(r.estate.Users(i), func(u int) bool { return r.estate.Node(u).Can.Has(plan.Flush) })
		if (n.Kind != plan.Other || n.Switches) && !holdsCache {
			continue
		}
		if n.Can.Has(plan.Stop) {
			takes[i] += n.Time(plan.Stop).Nominal
		}
		if n.Can.Has(plan.Flush) {
			takes[i] += n.Time(plan.Flush).Nominal
		}
		longest = max(longest, takes[i])
	}
	return longest + cut
}

// goesSoon reports whether a node says that it is on its way down, and has not been for longer than its stop, or its power-off, may take.
func (r *Referee) goesSoon(at time.Time, i int) bool {
	n := &r.nodes[i]
	heard := n.said == plan.Stopping && n.vain.IsZero() && !n.lied && !n.cameAt.Before(n.saidAt) && n.cameAt.After(r.resumed)
	if n.toldBy == plan.Force {
		if n.toldAt.Before(r.clockSet) && r.clockSet.Before(r.resumed) { // for how long it has been going is on no record
			return false
		}
		if n.intent.again { // what did not heed one power-off gets no time for the next
			return false
		}
		times := r.estate.Node(i).Time(plan.Force)
		if at.Sub(n.toldAt) < min(times.Within, 2*times.Nominal) {
			return n.now.State == plan.Stopping && heard
		}
	}
	return n.now.State == plan.Stopping && heard && at.Sub(n.changed) < r.estate.Node(i).Time(plan.Stop).Within
}

// nearsItsEnd reports whether the battery of a supply may give out within so long, as far as its UPS says.
func (r *Referee) nearsItsEnd(at time.Time, supply int, most time.Duration) bool {
	s := r.supplyAt(supply)
	honest, left := r.has(Batteries) && s.last.Heard && s.last.Honest, s.last.Left
	if r.has(Batteries) && !s.last.Heard && s.heardHonest && s.heardAt.After(r.resumed) {
		honest, left = true, s.heardLeft-at.Sub(s.heardAt)
	}
	sharing := 1 // of those that feed what it feeds, itself included
	for _, u := range r.estate.Users(supply) {
		sharing = max(sharing, len(r.estate.Feeds(u)))
	}
	if sharing > 1 {
		most = time.Duration(sharing) * most * 11 / 10 // twice the load empties a battery in less than half the time
	}
	return !honest || (!s.last.On || !s.last.Heard) && (left <= most || s.last.Charge < lowCharge)
}
