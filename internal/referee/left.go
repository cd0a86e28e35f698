package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// inGoodTime is how long before its power goes storage could have been told to stop, at the least, where that is to be asked why it was not.
const inGoodTime = 5 * time.Minute

// judgeLeft notes storage that answers, and on which nothing has been on for minutes, and that loses its power without having been told to stop.
//
// It is judged when an output goes off whose shutdown began in good time, which is heard and honest, and while the controller was there and free to act all the
// while. Of another supply of the storage that went off unheard nobody could know.
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
		if !r.nodes[i].given.Has(plan.Stop) && r.isFreeStorage(at, i) && !slices.ContainsFunc(r.estate.AllSources(i), hasPower) {
			r.Avoidable = append(r.Avoidable, fmt.Sprintf("%s lost its power at %s while it was on, and was never told to stop", r.id(i), at.Sub(r.began)))
		}
	}
}

// isFreeStorage reports whether a node holds up others and answers, and nothing on it has been on for a while.
func (r *Referee) isFreeStorage(at time.Time, i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	holds := decl.Kind == plan.Other && !decl.Switches || decl.Kind == plan.VM || decl.Kind == plan.Host
	isStorage := holds && decl.Can.Has(plan.Stop) && len(r.usersOf(i)) > 0
	answers := n.now.State == plan.On && n.vain.IsZero() && !n.lied && at.Sub(n.changed) >= inGoodTime
	return isStorage && answers && !slices.ContainsFunc(r.usersOf(i), func(u int) bool {
		return !r.nodes[u].isDown() || at.Sub(r.nodes[u].changed) < inGoodTime
	})
}
