package sim

import "ebbtide/internal/plan"

// powered reports whether any feed of a node has its output on, and so for what it physically stands on.
func (s *simulation) powered(i int) bool {
	if host := s.nodes[i].host; host >= 0 && (s.nodes[host].state == plan.Off || s.nodes[host].state == plan.Gone && !s.powered(host)) ||
		s.unplugged(i) {
		return false // a host that nobody can see any more has power all the same
	}
	feeds := s.estate.Feeds(i)
	for _, f := range feeds {
		for k := range s.supplies {
			if s.supplies[k].node == f && s.supplies[k].output {
				return true
			}
		}
	}
	return len(feeds) == 0
}

// unplugged reports whether a node hangs on an outlet that is off. One that somebody took out of the UPS's words is still there.
func (s *simulation) unplugged(i int) bool {
	outlet := s.nodes[i].outlet
	return outlet >= 0 && (s.nodes[outlet].state == plan.Off || s.nodes[outlet].state == plan.Starting)
}

// outletOf gives the outlet that a node hangs on, -1 if it hangs on none.
func outletOf(estate *plan.Estate, i int) int {
	for _, j := range estate.Needs(i) {
		if estate.Node(j).Kind == plan.Outlet {
			return j
		}
	}
	return -1
}

// darken takes down what has no power any more, cleanly off or not.
func (s *simulation) darken() {
	for i := range s.nodes {
		t, n := &s.nodes[i], s.estate.Node(i)
		if n.Kind == plan.Supply || n.Kind == plan.Manual || s.powered(i) || t.state == plan.Off || t.state == plan.Gone ||
			t.state == plan.Unknown {
			continue
		}
		t.dark = n.Kind != plan.Passive
		// a clean cache needs no stop of its own
		t.crashed = t.crashed || t.dark && n.Kind != plan.Outlet && (n.Can.Has(plan.Stop) || t.dirty)
		if s.unplugged(i) {
			s.referee.Followed(s.now, i, t.outlet)
		}
		s.goOff(i)
	}
}

// unpowered tells of each thing whether it has no power: only such a one starts when its power comes.
func (s *simulation) unpowered() []bool {
	dead := make([]bool, len(s.nodes))
	for i := range s.nodes {
		dead[i] = !s.powered(i)
	}
	return dead
}

// light starts what starts by itself with its power, of what was dead and has it now. A VM comes up with its host.
func (s *simulation) light(dead []bool) {
	for i := range s.nodes {
		t := &s.nodes[i]
		if !dead[i] || s.nodes[i].host >= 0 || !s.powered(i) {
			continue
		}
		t.lit++
		if t.outlet >= 0 {
			s.referee.Followed(s.now, i, t.outlet)
		}
		late := t.habit.BootsAfter
		if !t.boots && late == 0 && !s.estate.Node(i).ByPower || t.state != plan.Off {
			continue
		}
		if late == 0 {
			s.boot(i, s.took(i, plan.Start))
			continue
		}
		lit, change := t.lit, t.change
		s.after(late, func() {
			if t.lit == lit && t.change == change && t.state == plan.Off && s.powered(i) {
				s.meet(MetBootedLate)
				s.boot(i, s.took(i, plan.Start))
			}
		})
	}
}
