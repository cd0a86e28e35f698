package forecast

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
)

// Odds is how long a whole plan takes, in many trials.
type Odds struct {
	spans    []int64
	Critical []foresight.Critical // which steps made it so long, most often first
}

// At gives the time within which a share p of the trials was over.
func (o *Odds) At(p float64) time.Duration { return (&outcome{spans: o.spans}).at(p) }

// Play plays a whole plan in so many trials. The same plan has the same odds.
func Play(p *plan.Plan, known *Knowledge, trials int) Odds {
	n := newCourse(p, known).whole()
	o := n.try(trials, seedOf(p.Digest()), nil)
	return Odds{spans: o.spans, Critical: n.critical(&o, trials)}
}

// outcome is what the trials of a network showed.
type outcome struct {
	spans  []int64 // how long each trial took, in microseconds, ascending
	chains []int32 // by step: in how many trials it was on the critical chain
}

// at gives the time within which a share p of the trials was over.
func (o *outcome) at(p float64) time.Duration {
	if len(o.spans) == 0 {
		return 0
	}
	return time.Duration(o.spans[rankOf(p, len(o.spans))]) * time.Microsecond
}

// enough steps in all trials are worth another worker.
const enough = 50_000

// try plays so many trials of a network with what is known of the steps under way. What comes out does not depend on
// how many workers there are.
func (n *network) try(trials int, seed uint64, under map[int]odds) outcome {
	workers := max(1, min(runtime.GOMAXPROCS(0), trials*len(n.steps)/enough))
	return n.tryWith(workers, trials, seed, under)
}

func (n *network) tryWith(workers, trials int, seed uint64, under map[int]odds) outcome {
	o := outcome{spans: make([]int64, trials), chains: make([]int32, len(n.steps))}
	if len(n.steps) == 0 {
		return o
	}
	kept := n.kept(trials, seed, under)
	var group sync.WaitGroup
	counts := make([][]int32, workers)
	for w := range workers {
		work := func() {
			kernel, took := newKernel(n), make([]int64, len(n.steps))
			counts[w] = make([]int32, len(n.steps))
			draw := func(trial int) { gather(kept, trial, took) }
			if kept == nil {
				drawer := newDrawer(n, under)
				draw = func(trial int) { drawer.draw(trialSeed(seed, trial), took) }
			}
			for j := w; j < trials; j += workers {
				draw(j)
				o.spans[j] = kernel.play(took)
				kernel.chain(counts[w])
			}
		}
		if w == workers-1 {
			work()
		} else {
			group.Go(work)
		}
	}
	group.Wait()
	for _, count := range counts {
		for i, c := range count {
			o.chains[i] += c
		}
	}
	slices.Sort(o.spans)
	return o
}

// spans are those of try, without what the trials show beside.
func (n *network) spans(trials int, seed uint64, under map[int]odds) []int64 {
	kept := n.kept(trials, seed, under)
	if kept == nil || len(n.lanes) > 0 {
		return n.try(trials, seed, under).spans
	}
	spans := n.longest(kept, trials)
	slices.Sort(spans)
	return spans
}

// within gives the time within which a share p of the trials is over, as at of try does. Where limits count it plays no
// more trials than it must: not those that can't be among the longest, whatever waits for a place in them.
func (n *network) within(p float64, trials int, seed uint64, under map[int]odds) time.Duration {
	kept := n.kept(trials, seed, under)
	if kept == nil {
		o := n.try(trials, seed, under)
		return o.at(p)
	}
	top := longestOf{most: trials - rankOf(p, trials)}
	spans := n.longest(kept, trials)
	if len(n.lanes) == 0 {
		for _, span := range spans {
			top.add(span)
		}
		return top.least()
	}
	most, order := n.atMost(kept, spans), make([]int, trials)
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(most[b], most[a]) })
	kernel, took := newKernel(n), make([]int64, len(n.steps))
	for _, j := range order {
		if top.full() && most[j] <= float64(top.spans[0]) {
			break
		}
		gather(kept, j, took)
		top.add(kernel.play(took))
	}
	return top.least()
}

// atMost bounds how long each trial is: its longest path, and what the steps of its critical chain wait for places. While
// one waits, its lane or its class is full; and where so many run at once, that can't be for longer than all its steps
// take together, by so many.
func (n *network) atMost(took [][]int64, longest []int64) []float64 {
	most := make([]float64, len(longest))
	for j, span := range longest {
		most[j] = float64(span) + 1 // whatever is lost in rounding
	}
	for i := range n.cells {
		if n.cells[i].lane < 0 {
			continue
		}
		lane := n.lanes[n.cells[i].lane]
		share := 1/float64(lane.most) + 1/float64(n.classes[lane.class].most)
		for j, t := range took[i][:len(longest)] {
			most[j] += float64(t) * share
		}
	}
	return most
}

// rankOf is the place, from 0, of what a share p of so many is no greater than.
func rankOf(p float64, of int) int { return min(int(p*float64(of)), of-1) }

// longestOf keeps the longest of some spans, ascending.
type longestOf struct {
	most  int
	spans []int64
}

func (l *longestOf) full() bool { return len(l.spans) == l.most }

func (l *longestOf) add(span int64) {
	if l.full() {
		if span <= l.spans[0] {
			return
		}
		l.spans = append(l.spans[:0], l.spans[1:]...)
	}
	at, _ := slices.BinarySearch(l.spans, span)
	l.spans = slices.Insert(l.spans, at, span)
}

func (l *longestOf) least() time.Duration { return time.Duration(l.spans[0]) * time.Microsecond }
