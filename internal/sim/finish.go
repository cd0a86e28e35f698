package sim

import (
	"slices"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/referee"
)

// hopeless reports whether the recharge gate waits for a charge that a UPS does not tell: somebody must see to it.
func (s *simulation) hopeless() bool {
	needs := s.scenario.Settings.Policy.Restore.Needs()
	blind := slices.ContainsFunc(s.supplies, func(c simSupply) bool { return slices.Contains(c.Says, NoCharge) })
	return blind && (slices.Contains(needs, power.ChargeAbove) || slices.Contains(needs, power.RechargedFor))
}

func (s *simulation) finish() {
	r := &s.result
	for i := range s.nodes {
		id := s.estate.Node(i).ID
		switch s.nodes[i].state {
		case plan.On:
			r.On = append(r.On, id)
		case plan.Off, plan.Gone:
			r.Off = append(r.Off, id)
		default:
		}
		if s.nodes[i].crashed {
			r.Crashed = append(r.Crashed, id)
		}
	}
	for _, rec := range r.Records {
		if rec.Kind == ledger.Closed {
			r.Ended = rec.At.Sub(Epoch)
		}
	}
	s.countAbsence()
	r.View = s.engine.View()
	if !s.hopeless() {
		s.referee.Ended(s.now, referee.End{Open: r.View.Outage != "", Hold: r.View.Hold, Waiting: r.View.Waiting})
	}
	r.Violations, r.Avoidable = s.referee.Violations, s.referee.Avoidable
}
