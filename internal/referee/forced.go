package referee

import (
	"fmt"

	"ebbtide/internal/plan"
)

// rule18: Every forced power-off has its reason on record, and no node of lower data risk was still being waited for.
//
// What goes with another supply wins no time for this one: only what shares a lost supply is compared. A host holds no data of
// its own: it goes when nothing on it can be waited for. What is tried again was decided before. What
// is forced although its power is back, to be started again, is in nobody's haste.
func (r *Referee) rule18(c *command) string {
	switch {
	case c.Verb != plan.Force:
		return ""
	case !c.node.intent.reasoned:
		return c.decl.ID + " was forced off without a reason on record"
	case c.decl.Kind == plan.Host, c.node.intent.again, !r.mayGo(c.Node):
		return ""
	}
	r.asking.anew()
	lost := func(s *supply) bool { return !s.online || s.committed || s.due }
	for _, j := range r.flights.nodes {
		other := r.estate.Node(j)
		gentle := r.nodes[j].intent.verb == plan.Stop && other.Can.Has(plan.Force) && other.Kind != plan.Person && other.Kind != plan.Host
		if gentle && j != c.Node && other.Risk < c.decl.Risk && r.goesDark(j, lost) && r.share(j, c.Node, lost) {
			return fmt.Sprintf("%s was forced off while %s, of lower risk, is waited for", c.decl.ID, other.ID)
		}
	}
	return ""
}

// share reports whether two nodes need the same lost supply. It begins questions of its own.
func (r *Referee) share(i, j int, lost func(*supply) bool) bool {
	defer r.asking.anew()
	for k := range r.supplies {
		s := &r.supplies[k]
		r.asking.anew()
		if !lost(s) || !r.needs(i, s.node) {
			continue
		}
		r.asking.anew()
		if r.needs(j, s.node) {
			return true
		}
	}
	return false
}
