package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// flights are the nodes with an intent that has no result.
type flights struct {
	nodes []int   // in no order
	at    []int   // per node: its place in nodes, -1: none
	again []bool  // per node: it was in flight before its last intent
	total []int   // per limit
	lanes [][]int // per limit and lane
}

func newFlights(e *plan.Estate) flights {
	f := flights{
		at: make([]int, e.Len()), again: make([]bool, e.Len()), total: make([]int, len(e.Limits())),
		lanes: make([][]int, len(e.Limits())),
	}
	for i := range f.at {
		f.at[i] = -1
		if limit, lane := e.Lane(i); limit >= 0 && lane >= len(f.lanes[limit]) {
			f.lanes[limit] = append(f.lanes[limit], make([]int, lane+1-len(f.lanes[limit]))...)
		}
	}
	return f
}

// fly notes that a node is worked on, or is no more.
func (r *Referee) fly(i int, flies bool) {
	f, by := &r.flights, 1
	switch at := f.at[i]; {
	case flies == (at >= 0):
		return
	case flies:
		f.at[i] = len(f.nodes)
		f.nodes = append(f.nodes, i)
	default:
		by = -1
		last := f.nodes[len(f.nodes)-1]
		f.nodes[at], f.at[last] = last, at
		f.nodes, f.at[i] = f.nodes[:len(f.nodes)-1], -1
	}
	if limit, lane := r.estate.Lane(i); limit >= 0 {
		f.total[limit] += by
		f.lanes[limit][lane] += by
	}
}

// land ends all flights.
func (r *Referee) land() {
	for _, i := range slices.Clone(r.flights.nodes) {
		r.fly(i, false)
	}
}

// rule9: Concurrency limits hold, counting what was in flight before a crash.
//
// In flight is what has an intent and no result. A start that is refused is told again beside all others.
func (r *Referee) rule9(i int, at time.Time) {
	limit, lane := r.estate.Lane(i)
	if limit < 0 {
		return
	}
	l := r.estate.Limits()[limit]
	if n := r.flights.total[limit]; l.Total > 0 && n > l.Total {
		r.violate(at, 9, fmt.Sprintf("%d of %s at once, limit %d", n, l.Class, l.Total))
	}
	if n := r.flights.lanes[limit][lane]; l.PerHost > 0 && n > l.PerHost {
		r.violate(at, 9, fmt.Sprintf("%d of %s at once on %s, limit %d", n, l.Class, r.estate.Node(i).Host, l.PerHost))
	}
}
