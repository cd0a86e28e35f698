package sim

import (
	"fmt"
	"slices"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// end is rule 8: with the mains on for long, everything is over, unless it is on hold, or says what it waits for and a
// person is needed.
func (r *Referee) end(t truth, result *Result) {
	switch {
	case result.View.Outage == "", result.View.Hold, r.nobodyLeft(t):
	case result.View.Waiting == "":
		r.violate(t.time(), "8: the outage is stuck and does not say on what")
	case !slices.ContainsFunc(r.feeds, func(f feed) bool { return !f.online }):
		r.violate(t.time(), "8: the outage is not over: "+result.View.Waiting)
	}
}

// nobodyLeft excuses one end, which nobody can mend: our own machine is off, and the supply that was to start it again took
// its cut while its mains were there and did not make it (docs/systems/nut.md). Its cut is the last of all for that.
func (r *Referee) nobodyLeft(t truth) bool {
	for i := range r.estate.Len() {
		if r.estate.Node(i).Kind == plan.Self && t.stateOf(i) == plan.Off && slices.ContainsFunc(r.estate.Feeds(i), t.ignoredOf) {
			return true
		}
	}
	return false
}

// owe notes what was on when it came into a snapshot: it comes back, or is reported.
func (r *Referee) owe(t truth, nodes []engine.NodeState) {
	for _, n := range nodes {
		if i, ok := r.estate.Index(n.Node); ok {
			if r.known[i] && !r.forgetful {
				r.violate(t.time(), "4: the snapshot of "+n.Node+" was taken again")
			}
			r.known[i] = n.State != plan.Unknown && n.State != plan.Unreachable // else it may be added once, when it answers
			r.listed[i] = n.State == plan.On || n.State == plan.Starting
			r.owed[i] = t.stateOf(i) == plan.On
			r.set(t, i, n)
		}
	}
}

// closed is rule 20.
func (r *Referee) closed(t truth, reported []engine.NodeState) {
	for i, owed := range r.owed {
		n := r.estate.Node(i)
		told := slices.ContainsFunc(reported, func(s engine.NodeState) bool { return s.Node == n.ID })
		if owed && !told && !r.meddled[i] && n.Kind != plan.Supply && t.stateOf(i) != plan.On {
			r.violate(t.time(), fmt.Sprintf("20: %s was on before, and is neither brought back nor reported: it is %s", n.ID, t.stateOf(i)))
		}
	}
	r.putBack(t, reported)
	r.toldBack(t, reported)
	clear(r.owed)
}

// toldBack is rule 19 the other way round: what was shown as off is shown as back, also where nobody started it.
func (r *Referee) toldBack(t truth, reported []engine.NodeState) {
	for i, off := range r.shownOff {
		n := r.estate.Node(i)
		told := slices.ContainsFunc(reported, func(s engine.NodeState) bool { return s.Node == n.ID })
		if off && !told && r.listed[i] && !r.meddled[i] && !r.misled[i] && !r.forgetful && t.stateOf(i) == plan.On {
			r.violate(t.time(), fmt.Sprintf("19: %s was shown as off, is on, and nothing on record says that it came back", n.ID))
		}
	}
}
