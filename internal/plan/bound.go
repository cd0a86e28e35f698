package plan

import (
	"cmp"
	"slices"
	"time"
)

// LowerBound is a time that no order of the steps can beat under the limits, on nominal times: the longest chain, or
// the work that must pass through a limit between what comes before all of it and what comes after all of it.
func (p *Plan) LowerBound() time.Duration {
	after, _ := p.successors()
	before, forward := make([][]int, len(p.Steps)), make([]int, len(p.Steps))
	for i := range p.Steps {
		before[i], forward[i] = slices.Concat(p.Steps[i].After, p.Steps[i].Feeds), i
	}
	backward := slices.Clone(forward)
	slices.Reverse(backward)
	queues, of := p.queues()
	head, tail := p.least(forward, before, queues, of), p.least(backward, after, queues, of)
	var bound time.Duration
	for i := range p.Steps {
		bound = max(bound, head[i]+p.duration(i)+tail[i])
	}
	for _, q := range queues {
		bound = max(bound, p.through(q, head, tail))
	}
	return bound
}

// queue is the steps that share a limit.
type queue struct {
	steps []int
	width int // so many at a time
}

// queues lists the steps under each limit, those of a class and those of each of its lanes, and for each step its
// queues.
func (p *Plan) queues() (all []queue, of [][]int) {
	e := p.estate
	first := make([]int, len(e.limits)) // place of a class's queue; those of its lanes come after it
	for c, limit := range e.limits {
		first[c] = len(all)
		width := limit.Total
		if limit.PerHost > 0 && (width == 0 || width > limit.PerHost*e.lanes[c]) {
			width = limit.PerHost * e.lanes[c]
		}
		all = append(all, queue{width: width})
		for range e.lanes[c] {
			all = append(all, queue{width: limit.PerHost})
		}
	}
	of = make([][]int, len(p.Steps))
	for i, s := range p.Steps {
		if s.Milestone || s.Node < 0 || e.class[s.Node] < 0 {
			continue
		}
		class := first[e.class[s.Node]]
		for _, q := range []int{class, class + 1 + e.lane[s.Node]} {
			if all[q].width > 0 {
				all[q].steps = append(all[q].steps, i)
				of[i] = append(of[i], q)
			}
		}
	}
	return all, of
}

// least gives for each step how long all that must end before it takes at least: the longest chain, or those of the
// steps right before it that share a limit, from when the first of them can start. Turned round, it gives tails.
func (p *Plan) least(order []int, before [][]int, queues []queue, of [][]int) []time.Duration {
	type share struct {
		work, from time.Duration
		step       int // for which it was summed up
	}
	shares := make([]share, len(queues))
	head := make([]time.Duration, len(p.Steps))
	for _, i := range order {
		for _, j := range before[i] {
			head[i] = max(head[i], head[j]+p.duration(j))
			for _, q := range of[j] {
				s := &shares[q]
				if s.step != i+1 {
					*s = share{from: head[j], step: i + 1}
				}
				s.work, s.from = s.work+p.duration(j), min(s.from, head[j])
				head[i] = max(head[i], s.from+s.work/time.Duration(queues[q].width))
			}
		}
	}
	return head
}

// thresholds is how many tails are tried; any choice of them gives a bound.
const thresholds = 64

// through gives the longest time that some of the steps of a queue need together: of those with at least some tail and
// some head, the shortest head, their work by the width, and the shortest tail.
func (p *Plan) through(q queue, head, tail []time.Duration) time.Duration {
	byHead := slices.SortedStableFunc(slices.Values(q.steps), func(a, b int) int { return cmp.Compare(head[b], head[a]) })
	tails := make([]time.Duration, len(q.steps))
	for i, s := range q.steps {
		tails[i] = tail[s]
	}
	slices.Sort(tails)
	tails = slices.Compact(tails)
	var bound time.Duration
	for k := range min(thresholds, len(tails)) {
		least := tails[k*len(tails)/min(thresholds, len(tails))]
		var work time.Duration
		for _, s := range byHead {
			if tail[s] >= least {
				work += p.duration(s)
				bound = max(bound, head[s]+work/time.Duration(q.width)+least)
			}
		}
	}
	return bound
}
