package referee

import (
	"fmt"
	"slices"

	"ebbtide/internal/plan"
)

// rule18: Every forced power-off has its reason on record, and no node of lower data risk was still being waited for.
//
// Only what goes dark in each way in which this one may go dark now is compared: what another supply may go on feeding wins no time for it.
// Only a VM is waited for in that sense: a host, which holds no data of its own, goes when nothing on it can be waited for, and what else
// is stopped is not forced for want of time. What is off is waited for by nobody, whoever has yet to prove it, nor is what does not answer
// since its host is not on any more, or as its host does not, or did not when it was told, before a crash. What is tried again was decided
// before. What is forced although its power is back, to be started again, is in nobody's haste.
func (r *Referee) rule18(c *command) string {
	switch {
	case c.Verb != plan.Force:
		return ""
	case !c.node.intent.reasoned:
		return c.decl.ID + " was forced off without a reason on record"
	case c.decl.Kind == plan.Host, c.node.commanded.Has(plan.Force), !r.mayGo(c.Node):
		return ""
	}
	for _, j := range r.flights.nodes {
		other := r.estate.Node(j)
		down := r.nodes[j].isDown() || r.unseen(j) || r.lostWithHost(j) || r.neverReached(j) || r.rises(c.at, &r.nodes[j]) ||
			c.at.Sub(r.nodes[j].liedAt) <= r.fresh(c.at, j)
		gentle := !down && r.nodes[j].intent.verb == plan.Stop && other.Can.Has(plan.Force) && other.Kind == plan.VM
		if gentle && j != c.Node && other.Risk < c.decl.Risk && r.goesWith(j, c.Node) {
			return fmt.Sprintf("%s was forced off while %s, of lower risk, is waited for", c.decl.ID, other.ID)
		}
	}
	return ""
}

// neverReached reports whether a node did not answer when it was told to stop, in an earlier life whose end has lost what became of that,
// and has not answered since: to who goes on nothing says that it took its stop.
func (r *Referee) neverReached(i int) bool {
	n := &r.nodes[i]
	return n.intent.life != r.life && !n.vain.IsZero() && n.saidAt.Before(n.intent.at)
}

// lostWithHost reports whether a node was asked in vain since its host is not on any more, or is going, or was asked in vain as well.
func (r *Referee) lostWithHost(i int) bool {
	host, known := r.estate.Index(r.estate.Node(i).Host)
	return known && !r.nodes[i].vain.IsZero() && (r.nodes[host].now.State != plan.On || r.nodes[host].toldToStop ||
		!r.nodes[host].vain.IsZero())
}

// isLost reports whether what only a supply feeds has no power to look forward to, or nobody knows that it has.
func (s *supply) isLost() bool { return !s.online || s.gone }

// goesWith reports whether a node goes dark with each set of lost supplies that takes another down: all feeds of that, or of
// something that it needs.
func (r *Referee) goesWith(i, other int) bool {
	feeds := r.estate.Feeds(other)
	isLit := func(f int) bool { return !r.supplyAt(f).isLost() }
	if len(feeds) > 0 && !slices.ContainsFunc(feeds, isLit) {
		r.asking.anew()
		if !r.goesDark(i, func(s *supply) bool { return slices.Contains(feeds, s.node) }) {
			return false
		}
	}
	for _, d := range r.estate.Needs(other) {
		if r.place[d] < 0 && !r.goesWith(i, d) {
			return false
		}
	}
	return true
}
