package plan

import (
	"cmp"
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
	n := len(p.Steps)
	sc := Schedule{Start: make([]time.Duration, n), End: make([]time.Duration, n)}
	after, left := p.successors()
	d := p.Dispatcher()
	cause := make([]int, n) // the step whose end let this one start, -1: none
	running := NewQueue(ending.before)
	settle := func(step int) {
		for _, next := range after[step] {
			if left[next]--; left[next] == 0 {
				cause[next] = step
				d.Add(next)
			}
		}
	}
	dispatch := func(now time.Duration, freed int) {
		for s := d.Next(); s >= 0; s = d.Next() {
			if cause[s] < 0 || sc.End[cause[s]] < now {
				cause[s] = freed
			}
			sc.Start[s], sc.End[s] = now, now+p.duration(s)
			running.Push(ending{at: sc.End[s], step: s})
		}
	}
	for s := range n {
		cause[s] = -1
		if left[s] == 0 {
			d.Add(s)
		}
	}
	dispatch(0, -1)
	last := -1
	for running.Len() > 0 {
		end := running.Pop()
		if node := p.Steps[end.step].Node; node >= 0 {
			d.Release(node)
		}
		settle(end.step)
		dispatch(end.at, end.step)
		last = end.step
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

// rankByTail orders steps by how long the plan still takes from their start on, longest first; ties by position.
// (Longest-tail-first is the usual priority rule for list scheduling under limits.)
func (p *Plan) rankByTail() {
	after, _ := p.successors()
	tail := make([]time.Duration, len(p.Steps))
	for i := len(p.Steps) - 1; i >= 0; i-- {
		for _, next := range after[i] {
			tail[i] = max(tail[i], tail[next])
		}
		tail[i] += p.duration(i)
	}
	order := make([]int, len(p.Steps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tail[b], tail[a]) })
	p.rank = make([]int, len(p.Steps))
	for rank, step := range order {
		p.rank[step] = rank
	}
}

// ending is a running step and when it ends.
type ending struct {
	at   time.Duration
	step int
}

func (a ending) before(b ending) bool {
	return a.at < b.at || a.at == b.at && a.step < b.step
}
