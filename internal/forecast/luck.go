package forecast

import "math/bits"

// luck is how long each step of a course takes in each trial. That depends neither on what is left of the plan nor on
// what was asked before, so a step is drawn once: when it is first played.
type luck struct {
	seed   uint64
	trials int
	kins   []fates   // by place; at 0 are those of steps without kin
	steps  [][]int64 // by step and trial, in microseconds; nil: not drawn yet
	ends   []int64   // room for longest
}

// fates are the mean and the scale of a kin's runs, by trial; none: not drawn yet.
type fates struct{ mean, scale []float64 }

// mostLuck is how many times are kept at most: 16 MB of them. Of a greater plan each trial is drawn when it is played.
const mostLuck = 1 << 21

// keep lets a course keep its luck in so many trials of a seed.
func (c *course) keep(trials int, seed uint64) {
	if steps := len(c.plan.Steps); steps*trials <= mostLuck {
		c.luck = &luck{seed: seed, trials: trials, kins: make([]fates, len(c.kins)+1), steps: make([][]int64, steps)}
	}
}

// trialSeed is the seed of one trial.
func trialSeed(seed uint64, trial int) uint64 { return mix(seed + uint64(trial)) }

// kept gives how long the steps of a network take, by number and trial; nil if that is not kept. Instant steps take no
// time, and have none.
func (n *network) kept(trials int, seed uint64, under map[int]odds) [][]int64 {
	l := n.course.luck
	if l == nil || l.seed != seed || l.trials < trials {
		return nil
	}
	took := make([][]int64, len(n.steps))
	for i, step := range n.steps {
		if n.cells[i].lane == pause {
			continue
		}
		if o, begun := under[int(step)]; begun {
			took[i] = l.rest(&o, step)
			continue
		}
		if l.steps[step] == nil {
			l.steps[step] = l.draw(n.course, step)
		}
		took[i] = l.steps[step]
	}
	return took
}

// draw draws a step's time in all trials.
func (l *luck) draw(c *course, step int32) []int64 {
	o, took := &c.odds[step], make([]int64, l.trials)
	fate := l.fates(c, o.kin)
	for j := range took {
		took[j] = o.draw(stepLuck(trialSeed(l.seed, j), step), fate.mean[j], fate.scale[j])
	}
	return took
}

// fates draws what a kin meets in all trials.
func (l *luck) fates(c *course, place int32) fates {
	f := &l.kins[place]
	if f.mean != nil {
		return *f
	}
	f.mean, f.scale = make([]float64, l.trials), make([]float64, l.trials)
	for j := range f.mean {
		seed := trialSeed(l.seed, j)
		if f.mean[j], f.scale[j] = common(seed), 1; place > 0 {
			f.mean[j], f.scale[j] = c.kins[place-1].draw(seed, place, f.mean[j])
		}
	}
	return *f
}

// rest draws what is left of a step that is under way, in all trials.
func (l *luck) rest(o *odds, step int32) []int64 {
	if o.begun.rest == nil {
		o.begun.rest = make([]int64, l.trials)
		for j := range o.begun.rest {
			o.begun.rest[j] = o.rest(stepLuck(trialSeed(l.seed, j), step))
		}
	}
	return o.begun.rest
}

// gather takes one trial out of what was kept.
func gather(kept [][]int64, trial int, took []int64) {
	for i, times := range kept {
		if took[i] = 0; times != nil {
			took[i] = times[trial]
		}
	}
}

// together is how many trials are played at once where no limit counts: their room is small, and mostly in the cache.
const together = 64

// longest gives how long a network takes in each trial where no limit counts: as long as its longest path. It plays many
// trials at once, step by step.
func (n *network) longest(took [][]int64, trials int) []int64 {
	spans := make([]int64, trials)
	for from := 0; from < trials; from += together {
		n.longestOf(took, from, spans[from:min(from+together, trials)])
	}
	return spans
}

// longestOf is longest for the trials from one on.
func (n *network) longestOf(took [][]int64, from int, spans []int64) {
	l, trials := n.course.luck, len(spans)
	if size := len(n.steps) * trials; len(l.ends) < size {
		l.ends = make([]int64, size)
	}
	farthest := int64(1<<(64-bits.Len(uint(len(n.steps)))) - 1) // as in the kernel
	reached := make([]bool, len(n.steps))
	for _, i := range n.order {
		end := l.ends[int(i)*trials:][:trials]
		if !reached[i] {
			clear(end)
		}
		if took[i] != nil { // of an instant step there are none
			for j, t := range took[i][from:][:trials] {
				end[j] = min(end[j]+t, farthest)
			}
		}
		after := n.next[n.cells[i].from:n.cells[i].to]
		if len(after) == 0 {
			latest(spans, end)
		}
		for _, next := range after {
			start := l.ends[int(next)*trials:][:trials]
			if reached[next] {
				latest(start, end)
				continue
			}
			reached[next] = true
			copy(start, end)
		}
	}
}

// latest puts each time off to another, where that is later.
func latest(times, other []int64) {
	for j, t := range other[:len(times)] {
		times[j] = max(times[j], t)
	}
}
