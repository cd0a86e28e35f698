package plan

import (
	"slices"
	"time"
)

// Schedule is when each step would run if each took its nominal time and nothing failed.
type Schedule struct {
	Start, End []time.Duration // by step, from the start of the plan
	Total      time.Duration   // the makespan
	// Chain is the critical chain: the steps that make the plan as long as it is, in order. Each starts when the one
	// before it ends, because it waits for it or because it takes over its place under a limit.
	Chain []int
}

// Schedule runs the plan on nominal times under the limits, by the same rule as the engine.
func (p *Plan) Schedule() Schedule {
	after, left := p.successors()
	return p.run(after, left, p.rank)
}

// run is Schedule for a graph over the steps, which is the plan's own or the same turned round, and an order of urgency.
func (p *Plan) run(after [][]int, waits, rank []int) Schedule {
	n := len(p.Steps)
	sc := Schedule{Start: make([]time.Duration, n), End: make([]time.Duration, n)}
	left := slices.Clone(waits)
	d := p.dispatcher(rank)
	cause := make([]int, n) // the step whose end let this one start, -1: none
	running := NewQueue(ending.before)
	last := -1 // the step that settled last
	var offer func(now time.Duration, step, freed int)
	settle := func(now time.Duration, step int) {
		last = step
		for _, next := range after[step] {
			if left[next]--; left[next] == 0 {
				offer(now, next, step)
			}
		}
	}
	offer = func(now time.Duration, step, freed int) {
		cause[step] = freed
		sc.Start[step] = now // until it is dispatched: when it was ready
		if !p.Steps[step].Milestone {
			d.Add(step)
			return
		}
		sc.End[step] = now // it takes no time and no place
		settle(now, step)
	}
	dispatch := func(now time.Duration, freed int) {
		for s := d.Next(); s >= 0; s = d.Next() {
			if sc.Start[s] < now {
				cause[s] = freed
			}
			sc.Start[s], sc.End[s] = now, now+p.Steps[s].Times.Nominal
			running.Push(ending{at: sc.End[s], rank: rank[s], step: s})
		}
	}
	for s := range n {
		if waits[s] == 0 {
			offer(0, s, -1)
		}
	}
	dispatch(0, -1)
	for running.Len() > 0 {
		end := running.Pop()
		d.Release(p.Steps[end.step].Node)
		settle(end.at, end.step)
		dispatch(end.at, end.step)
		sc.Total = end.at
	}
	for ; last >= 0; last = cause[last] {
		sc.Chain = append(sc.Chain, last)
	}
	slices.Reverse(sc.Chain)
	return sc
}

// duration is a step's nominal time; a milestone takes none.
func (p *Plan) duration(step int) time.Duration {
	if p.Steps[step].Milestone {
		return 0
	}
	return p.Steps[step].Times.Nominal
}

// successors gives for each step the steps that wait for it, and how many each still waits for. Of several feeds all
// are waited for: the estimate is the pessimistic one.
func (p *Plan) successors() (after [][]int, left []int) {
	after, left = make([][]int, len(p.Steps)), make([]int, len(p.Steps))
	for i := range p.Steps {
		for _, waits := range [][]int{p.Steps[i].After, p.Steps[i].Feeds} {
			left[i] += len(waits)
			for _, j := range waits {
				after[j] = append(after[j], i)
			}
		}
	}
	return after, left
}

// ending is a running step and when it ends. Of those that end together the more urgent comes first.
type ending struct {
	at         time.Duration
	rank, step int
}

func (a ending) before(b ending) bool {
	return a.at < b.at || a.at == b.at && a.rank < b.rank
}
