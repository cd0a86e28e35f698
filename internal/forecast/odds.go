package forecast

import (
	"math"
	"time"

	"ebbtide/internal/plan"
)

// odds is a step's Duration in the form that trials are drawn from. Times are in microseconds.
type odds struct {
	table  *table
	floor  float64
	median float64 // without the floor
	sigma  float64 // of the table; 1 where a kin has the scale
	within float64
	forced float64 // the median of what comes after a hang
	begun  *begun  // of a step that is under way
	hang   uint32  // of 2³²
	kin    int32   // place in the course's kins; 0: none
}

// begun is how far a step is that is under way.
type begun struct {
	elapsed float64
	past    float64 // the share of the runs that end by themselves that have ended by then
	rest    []int64 // by trial: what is left of it, once that is drawn
}

// kin are steps of which the same is known and no more: where they are slower than expected, they are so together.
// The scale and the mean of their logarithms are drawn once in each trial.
type kin struct {
	typ     string
	verb    plan.Verb
	freedom float64
	samples float64
	scale   float64 // of a run, the mean being known
	doubt   float64 // that of the mean by that of a run
	spread  *table
}

// commonScale is that of the logarithm of what slows all steps of a trial down together: a slow array, a busy network
// (an assumption: docs/FIGURES.md).
const commonScale = 0.15

const perMicrosecond = 1e-3 // of nanoseconds

func micros(t time.Duration) float64 { return float64(t) * perMicrosecond }

// stepOdds makes the odds of a step of a plan from what is known of it.
func (c *course) stepOdds(step int, known *Knowledge) odds {
	s := &c.plan.Steps[step]
	n := c.plan.Estate().Node(s.Node)
	d := known.Of(n, s.Verb)
	o := odds{
		table: quantiles(d.Freedom), floor: micros(d.Floor), median: micros(d.Median - d.Floor), sigma: d.Sigma,
		within: micros(d.bound(math.Inf(1))), hang: uint32(min(1, d.Hang) * math.MaxUint32),
	}
	if d.Within == 0 {
		o.hang = 0 // it would never end
	}
	if s.Verb == plan.Stop && n.Can.Has(plan.Force) {
		o.forced = micros(known.Of(n, plan.Force).Median)
	}
	if d.Pooled || d.Samples == 0 {
		o.kin, o.table, o.sigma = c.kinOf(n.Type, s.Verb, d), quantiles(0), 1
	}
	return o
}

// kinOf gives the place of the kin that a step belongs to.
func (c *course) kinOf(typ string, verb plan.Verb, d Duration) int32 {
	k := kin{typ: typ, verb: verb, freedom: d.Freedom, samples: d.Samples + priorSamples}
	k.scale, k.spread = d.Sigma/math.Sqrt(1+1/k.samples), spreads.of(k.freedom)
	k.doubt = 1 / math.Sqrt(k.samples)
	at, known := c.places[k]
	if !known {
		c.kins = append(c.kins, k)
		at = int32(len(c.kins)) // 0 is none
		c.places[k] = at
	}
	return at
}

// draw draws the mean and the scale that a kin's runs have in a trial.
func (k *kin) draw(seed uint64, place int32, common float64) (mean, scale float64) {
	x := mix(seed ^ uint64(place)<<32)
	scale = k.scale * k.spread.at(unit(x))
	return common + scale*k.doubt*quantiles(0).at(unit(x<<32)), scale
}

// common draws the mean of the steps of a trial that have no kin.
func common(seed uint64) float64 { return commonScale * quantiles(0).at(unit(mix(seed^1<<63))) }

// stepLuck is a step's luck in a trial: the same in every network of the plan, so that they can be compared.
func stepLuck(seed uint64, step int32) uint64 { return mix(seed + uint64(step)) }

// draw draws how long a step takes whose kin have such a mean and scale. It is not under way.
func (o *odds) draw(x uint64, mean, scale float64) int64 {
	end := o.within
	if uint32(x) >= o.hang {
		end = o.floor + o.median*exp(mean+scale*o.sigma*o.table.at(unit(x)))
	}
	if end >= o.within {
		end = o.within + o.force(x)
	}
	return int64(end)
}

// drawer draws the trials of a network.
type drawer struct {
	steps []int32   // of the plan, by number
	odds  []odds    // by number; instant steps have none
	kins  []kin     // of the course
	used  []int32   // places, from 1, of those that the network has steps of
	mean  []float64 // by place, in this trial
	scale []float64
}

func newDrawer(n *network, under map[int]odds) *drawer {
	d := &drawer{
		steps: n.steps, odds: make([]odds, len(n.steps)), kins: n.course.kins, mean: make([]float64, len(n.course.kins)+1),
		scale: make([]float64, len(n.course.kins)+1),
	}
	for i, step := range n.steps {
		if n.cells[i].lane == pause {
			continue
		}
		d.odds[i] = n.course.odds[step]
		if o, begun := under[int(step)]; begun {
			d.odds[i] = o
		}
		if k := d.odds[i].kin; k > 0 && d.scale[k] == 0 {
			d.used, d.scale[k] = append(d.used, k), 1
		}
	}
	return d
}

// draw fills in how long each step of a trial takes. The same seed gives the same times.
func (d *drawer) draw(seed uint64, took []int64) {
	d.mean[0], d.scale[0] = common(seed), 1
	for _, place := range d.used {
		d.mean[place], d.scale[place] = d.kins[place-1].draw(seed, place, d.mean[0])
	}
	for i := range d.odds {
		o := &d.odds[i]
		x := stepLuck(seed, d.steps[i])
		switch {
		case o.table == nil:
			took[i] = 0
		case o.begun != nil:
			took[i] = o.rest(x)
		default:
			took[i] = o.draw(x, d.mean[o.kin], d.scale[o.kin])
		}
	}
}

// rest draws what is left of a step that is under way, from the runs that take longer than it has.
func (o *odds) rest(x uint64) int64 {
	end := o.within
	if uint32(x) >= o.hang {
		end = o.floor + o.median*exp(o.sigma*o.table.at(o.begun.past+(1-o.begun.past)*unit(x)))
	}
	if end = max(end, o.begun.elapsed); end >= o.within {
		return int64(max(0, o.within-o.begun.elapsed) + o.force(x))
	}
	return int64(end - o.begun.elapsed)
}

// force draws how long the forced rung takes after a hang.
func (o *odds) force(x uint64) float64 {
	if o.forced == 0 {
		return 0
	}
	return o.forced * exp(priorScale*normal(mix(x)))
}

// since are the odds of a step that has been under way for so long: that it hangs is the likelier, the longer ago it
// should have ended. What its verb is by now counts: a stop that was forced is as long as a forced one.
func (c *course) since(step int, u plan.Verb, elapsed time.Duration, known *Knowledge) odds {
	n := c.plan.Estate().Node(c.plan.Steps[step].Node)
	d := known.Of(n, u)
	o := odds{
		table: quantiles(d.Freedom), sigma: d.Sigma, floor: micros(d.Floor), median: micros(d.Median - d.Floor),
		within: micros(d.bound(math.Inf(1))),
	}
	if u == c.plan.Steps[step].Verb {
		o.forced = c.odds[step].forced
	}
	o.begun = &begun{elapsed: micros(elapsed)}
	if beyond := o.begun.elapsed - o.floor; beyond > 0 && o.median > 0 && o.sigma > 0 {
		o.begun.past = o.table.below(math.Log(beyond/o.median) / o.sigma)
	}
	hang := d.Hang / (d.Hang + (1-d.Hang)*(1-o.begun.past))
	if d.Hang == 0 || d.Within == 0 {
		hang = 0
	}
	o.hang = uint32(hang * math.MaxUint32)
	return o
}
