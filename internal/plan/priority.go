package plan

import (
	"cmp"
	"slices"
	"time"
)

// rankByTail orders steps by how long the plan still takes from their start on, longest first; ties by position.
// (Longest-tail-first is the usual priority rule for list scheduling under limits.)
func (p *Plan) rankByTail() {
	after, _ := p.successors()
	tail := p.tails(after)
	for i := range tail {
		tail[i] += p.duration(i)
	}
	p.rank = ranking(tail)
}

// tails gives for each step how long the plan takes at least after its end.
func (p *Plan) tails(after [][]int) []time.Duration {
	tail := make([]time.Duration, len(p.Steps))
	for i := len(p.Steps) - 1; i >= 0; i-- {
		for _, next := range after[i] {
			tail[i] = max(tail[i], p.duration(next)+tail[next])
		}
	}
	return tail
}

// ranking gives each step its place when they are ordered by weight, heaviest first; ties by position.
func ranking(weight []time.Duration) []int {
	order := make([]int, len(weight))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	rank := make([]int, len(order))
	for place, step := range order {
		rank[step] = place
	}
	return rank
}

// Forward-backward improvement ends after so many rounds without a shorter schedule, and after so much work in all:
// a plan is compiled when a runbook is loaded, and must not keep anybody waiting.
const (
	stallLimit   = 3
	mostRounds   = 20
	improvements = 3_000_000 // steps times lanes
)

// improve looks for an order of urgency that makes the plan shorter on nominal times. Where all VMs have equally long
// tails, longest-tail-first empties all hosts together, and then they queue for the limit of hosts. Run backwards, with
// those first that ended last, the plan shows how late each step may start; run forwards in that order, hosts are
// emptied one after the other (docs/FIGURES.md).
func (p *Plan) improve() {
	if len(p.estate.limits) == 0 {
		return // all that is ready starts: the order changes nothing
	}
	lanes := 1
	for _, n := range p.estate.lanes {
		lanes += n
	}
	rounds := min(mostRounds, improvements/(lanes*max(1, len(p.Steps))))
	if rounds == 0 {
		return
	}
	after, left := p.successors()
	before, users := make([][]int, len(p.Steps)), make([]int, len(p.Steps))
	for i := range p.Steps {
		before[i], users[i] = slices.Concat(p.Steps[i].After, p.Steps[i].Feeds), len(after[i])
	}
	least := p.LowerBound()
	forward := p.run(after, left, p.rank)
	best := forward.Total
	for round, since := 0, 0; round < rounds && since < stallLimit && best > least; round++ {
		backward := p.run(before, users, ranking(forward.End))
		rank := ranking(backward.End)
		forward = p.run(after, left, rank)
		if since++; forward.Total < best {
			p.rank, best, since = rank, forward.Total, 0
		}
	}
}
