package referee

import (
	"fmt"

	"ebbtide/internal/plan"
)

// rule18: Every forced power-off has its reason on record, and no node of lower data risk was still being waited for.
//
// What other supplies go on feeding wins no time for this one: only what goes dark with each lost supply that takes this one
// down is compared. A host holds no data of its own: it goes when nothing on it can be waited for. What is tried again was
// decided before. What is forced although its power is back, to be started again, is in nobody's haste.
func (r *Referee) rule18(c *command) string {
	switch {
	case c.Verb != plan.Force:
		return ""
	case !c.node.intent.reasoned:
		return c.decl.ID + " was forced off without a reason on record"
	case c.decl.Kind == plan.Host, c.node.intent.again, !r.mayGo(c.Node):
		return ""
	}
	alone := r.lostUnder(c.Node)
	for _, j := range r.flights.nodes {
		other := r.estate.Node(j)
		gentle := r.nodes[j].intent.verb == plan.Stop && other.Can.Has(plan.Force) && other.Kind != plan.Person && other.Kind != plan.Host
		if gentle && j != c.Node && other.Risk < c.decl.Risk && r.goesWith(j, alone) {
			return fmt.Sprintf("%s was forced off while %s, of lower risk, is waited for", c.decl.ID, other.ID)
		}
	}
	return ""
}

// isLost reports whether what only a supply feeds has no power to look forward to.
func (s *supply) isLost() bool { return !s.online || s.committed || s.due }

// lostUnder lists the lost supplies of which each alone takes a node down.
func (r *Referee) lostUnder(i int) []*supply {
	var alone []*supply
	for k := range r.supplies {
		s := &r.supplies[k]
		r.asking.anew()
		if s.isLost() && r.goesDark(i, func(other *supply) bool { return other == s }) {
			alone = append(alone, s)
		}
	}
	return alone
}

// goesWith reports whether a node goes dark with each of some supplies; with none given, with all that are lost.
func (r *Referee) goesWith(i int, alone []*supply) bool {
	for _, s := range alone {
		r.asking.anew()
		if !r.goesDark(i, func(other *supply) bool { return other == s }) {
			return false
		}
	}
	r.asking.anew()
	return len(alone) > 0 || r.goesDark(i, (*supply).isLost)
}
