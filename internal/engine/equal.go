package engine

import (
	"fmt"
	"slices"
)

func (l *ledger) equal(o *ledger) bool {
	if l.newest != o.newest || l.op != o.op || (l.outage == nil) != (o.outage == nil) {
		return false
	}
	return l.outage == nil || l.outage.equal(o.outage)
}

func (o *outage) equal(p *outage) bool {
	return o.id == p.id && o.seq == p.seq && o.format == p.format && o.orders == p.orders && o.snapped == p.snapped && o.drill.equal(&p.drill) &&
		slices.EqualFunc(o.supplies, p.supplies, standing.equal) && slices.Equal(o.nodes, p.nodes) &&
		slices.Equal(o.lost, p.lost) && slices.Equal(o.scope, p.scope) && slices.Equal(o.cut, p.cut) && slices.EqualFunc(o.due, p.due, slices.Equal)
}

func (d *drill) equal(e *drill) bool {
	return d.phase == e.phase && d.was == e.was && slices.Equal(d.in, e.in) && d.supply == e.supply && d.battery == e.battery
}

func (s standing) equal(t standing) bool {
	return s.fails == t.fails && s.cycle == t.cycle && slices.Equal(s.stages, t.stages) && s.reason == t.reason && s.missed == t.missed && s.unseen == t.unseen
}

// differs names what differs in two ledgers; "": nothing does.
func (l *ledger) differs(o *ledger) string {
	if l.equal(o) {
		return ""
	}
	if l.outage == nil || o.outage == nil {
		return "only one has an open outage"
	}
	for i := range l.outage.nodes {
		if l.outage.nodes[i] != o.outage.nodes[i] {
			return fmt.Sprintf("node %s: %+v, and by its records %+v", l.estate.Node(i).ID, l.outage.nodes[i], o.outage.nodes[i])
		}
	}
	for k := range l.outage.supplies {
		if !l.outage.supplies[k].equal(o.outage.supplies[k]) {
			return fmt.Sprintf("supply %s: %+v, and by its records %+v", l.estate.Node(l.node[k]).ID, l.outage.supplies[k], o.outage.supplies[k])
		}
	}
	return "the outage itself"
}
