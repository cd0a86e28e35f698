package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// inGoodTime is how long before its power goes storage could have been told to stop, at the least, where that is to be asked why it was
// not.
const inGoodTime = 5 * time.Minute

// judgeLeft notes storage that answers, and that loses its power without having been told to stop, though all that is on of what stands on
// it is of the same kind: it answers, nothing on it has been on for minutes, and nobody told it to stop.
//
// It is judged when an output goes off whose shutdown began in good time, which is heard and honest, and while the controller was there and
// free to act all the while. Of another supply of the storage that went off unheard nobody could know.
func (r *Referee) judgeLeft(s *supply, at time.Time) {
	began := slices.MaxFunc([]time.Time{s.triggeredAt, r.resumed, r.heldUntil}, time.Time.Compare)
	isFree := r.has(Records) && !r.hold && !r.forgetful && !r.observes
	if !isFree || !s.triggered || at.Sub(began) < inGoodTime || s.aborted || s.deaf || !s.last.Honest {
		return
	}
	hasPower := func(f int) bool {
		return f != s.node && r.place[f] >= 0 && (r.supplyAt(f).output || r.supplyAt(f).deaf)
	}
	for _, i := range r.estate.Dependents(s.node) {
		if r.estate.Node(i).Risk == plan.Storage && r.isLeft(at, i) && !slices.ContainsFunc(r.estate.AllSources(i), hasPower) {
			r.Avoidable = append(r.Avoidable, fmt.Sprintf("%s lost its power at %s while it was on, and was never told to stop", r.id(i), at.Sub(r.began)))
		}
	}
}

// isLeft reports whether a node that others stand on answers, was not told to stop, and none of those was on in the last minutes that is
// not left as well.
func (r *Referee) isLeft(at time.Time, i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	answers := n.now.State == plan.On && n.vain.IsZero() && !n.lied && at.Sub(n.changed) >= inGoodTime
	wasTold := n.commanded.Has(plan.Stop) && !n.changed.After(n.toldAt) // and has not come up since
	if !answers || decl.Switches || !decl.Can.Has(plan.Stop) || wasTold || len(r.usersOf(i)) == 0 {
		return false
	}
	return !slices.ContainsFunc(r.usersOf(i), func(u int) bool {
		isOff := r.nodes[u].isDown() && at.Sub(r.nodes[u].changed) >= inGoodTime
		return !isOff && !r.isLeft(at, u)
	})
}
