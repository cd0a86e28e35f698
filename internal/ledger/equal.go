package ledger

import (
	"fmt"
	"slices"
)

func (l *Ledger) equal(o *Ledger) bool {
	if l.Newest != o.Newest || l.Op != o.Op || (l.Outage == nil) != (o.Outage == nil) {
		return false
	}
	return l.Outage == nil || l.Outage.equal(o.Outage)
}

func (o *Outage) equal(p *Outage) bool {
	return o.ID == p.ID && o.Seq == p.Seq && o.Format == p.Format && o.Orders == p.Orders && o.Snapped == p.Snapped &&
		o.Drill.equal(&p.Drill) && o.clock.Equal(p.clock) &&
		slices.EqualFunc(o.Supplies, p.Supplies, Standing.equal) && slices.Equal(o.Nodes, p.Nodes) &&
		slices.Equal(o.Lost, p.Lost) && slices.Equal(o.Scope, p.Scope) && slices.Equal(o.Cut, p.Cut) &&
		slices.EqualFunc(o.Due, p.Due, slices.Equal)
}

func (d *Drill) equal(e *Drill) bool {
	return d.Phase == e.Phase && d.Was == e.Was && slices.Equal(d.In, e.In) && d.Supply == e.Supply && d.Battery == e.Battery
}

func (s Standing) equal(t Standing) bool {
	return s.Fails == t.Fails && s.Cycle == t.Cycle && slices.Equal(s.Stages, t.Stages) && s.Reason == t.Reason && s.Missed == t.Missed &&
		s.Unseen == t.Unseen && s.Twice == t.Twice && s.Passed == t.Passed &&
		s.Charge == t.Charge && s.Charges.Equal(t.Charges) && s.On == t.On && s.Carried == t.Carried && s.At.Equal(t.At) &&
		s.SetBack == t.SetBack && s.Failed.Equal(t.Failed)
}

// Differs names what differs in two ledgers; "": nothing does.
func (l *Ledger) Differs(o *Ledger) string {
	if l.equal(o) {
		return ""
	}
	if l.Outage == nil || o.Outage == nil {
		return "only one has an open outage"
	}
	for i := range l.Outage.Nodes {
		if l.Outage.Nodes[i] != o.Outage.Nodes[i] {
			return fmt.Sprintf("node %s: %+v, and by its records %+v", l.estate.Node(i).ID, l.Outage.Nodes[i], o.Outage.Nodes[i])
		}
	}
	for k := range l.Outage.Supplies {
		if !l.Outage.Supplies[k].equal(o.Outage.Supplies[k]) {
			return fmt.Sprintf("supply %s: %+v, and by its records %+v", l.estate.Node(l.SupplyNodes[k]).ID, l.Outage.Supplies[k], o.Outage.Supplies[k])
		}
	}
	return "the outage itself"
}
