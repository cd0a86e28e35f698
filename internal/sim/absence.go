package sim

import (
	"time"

	"ebbtide/internal/plan"
)

// absence keeps since when something that was on at the start is not.
type absence struct {
	nodes int
	since time.Time
}

// absent notes that a node's state is now another. What somebody deleted is missed by nobody.
func (s *simulation) absent(t *simNode, state plan.State) {
	away := t.wasOn && state != plan.On && state != plan.Gone
	if away == t.away {
		return
	}
	t.away = away
	if away {
		if s.absence.nodes++; s.absence.nodes == 1 {
			s.absence.since = s.now
		}
		return
	}
	if s.absence.nodes--; s.absence.nodes == 0 {
		s.result.Down += s.now.Sub(s.absence.since)
		s.result.Back = s.now.Sub(Epoch)
	}
}

// countAbsence counts what has not come back, up to the end of the run.
func (s *simulation) countAbsence() {
	r := &s.result
	if s.absence.nodes > 0 {
		r.Down += s.now.Sub(s.absence.since)
		r.Back = s.now.Sub(Epoch)
	}
	for i := range s.nodes {
		if s.nodes[i].away {
			r.Missing = append(r.Missing, s.estate.Node(i).ID)
		}
	}
}
