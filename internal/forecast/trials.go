package forecast

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// Odds is how long a whole plan takes, in many trials.
type Odds struct {
	spans    []int64
	Critical []engine.Critical // which steps made it so long, most often first
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
	return time.Duration(o.spans[min(int(p*float64(len(o.spans))), len(o.spans)-1)]) * time.Microsecond
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
	if len(n.lanes) > 0 || len(n.steps) == 0 {
		return n.try(trials, seed, under).spans
	}
	kept := n.kept(trials, seed, under)
	if kept == nil {
		return n.try(trials, seed, under).spans
	}
	spans := n.longest(kept, trials)
	slices.Sort(spans)
	return spans
}
