package sim

import "ebbtide/internal/power"

// change lets happen what comes from outside.
func (s *simulation) change(c Change) {
	switch {
	case c.Order != nil:
		s.apply(*c.Order)
		return
	case c.Drill != nil:
		s.apply(*c.Drill)
		return
	case c.Clock != nil:
		s.skew += *c.Clock
		s.referee.ClockSet(s.now)
		return
	case c.Journal != nil:
		s.setJournal(*c.Journal)
		return
	case c.Becomes != nil:
		if i, ok := s.estate.Index(c.Node); ok {
			s.meddle(i, *c.Becomes)
		}
		return
	}
	if i, ok := s.estate.Index(c.Node); ok && c.Silent != nil {
		s.nodes[i].silent = *c.Silent
		return
	}
	for k := range s.supplies {
		if s.estate.Node(s.supplies[k].node).ID != c.Supply {
			continue
		}
		s.changed(k)
		switch at := &s.supplies[k]; {
		case c.SwitchedOn:
			s.switchOn(k)
		case c.Silent != nil:
			at.silent, at.over = *c.Silent, at.over || at.tests && *c.Silent
		case c.ExtraLoad != nil:
			at.extra, s.weighed = *c.ExtraLoad, false
		case c.Temperature != nil:
			at.temperature = power.Known(*c.Temperature)
		case c.Voltage != nil:
			at.voltage = power.Known(*c.Voltage)
		default:
			s.setMains(k, c.Mains)
		}
	}
}
