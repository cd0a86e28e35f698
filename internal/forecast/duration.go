package forecast

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"ebbtide/internal/plan"
)

// Duration is the odds of how long a verb on a node takes: the logarithm of the seconds beyond the floor has a t
// distribution, and with a chance of its own the verb never ends by itself.
type Duration struct {
	Floor   time.Duration `json:"floor"`   // no run is shorter
	Median  time.Duration `json:"median"`  // of the runs that end, with the floor
	Sigma   float64       `json:"sigma"`   // the scale of the logarithm of what is beyond the floor
	Freedom float64       `json:"freedom"` // degrees of freedom, at least 1; 0: a normal distribution
	Hang    float64       `json:"hang"`    // the chance that it does not end by itself, 0..1
	Within  time.Duration `json:"within"`  // then it is forced or given up: no run is longer; 0: it is waited for
	Samples float64       `json:"samples"` // how much was seen, in runs, older ones counting less; 0: nothing
	Pooled  bool          `json:"pooled"`  // the samples are of other nodes of its type: none of its own was seen
	Newest  time.Time     `json:"newest,omitzero"`
}

// Quantile gives the time within which a share p of the runs ends, those that hang counting as Within.
func (d Duration) Quantile(p float64) time.Duration {
	if p >= 1-d.Hang {
		return d.bound(math.Inf(1))
	}
	p /= 1 - d.Hang
	if d.Freedom > 0 {
		return d.at(distuv.StudentsT{Sigma: 1, Nu: d.Freedom}.Quantile(p))
	}
	return d.at(distuv.UnitNormal.Quantile(p))
}

// Draw gives the run that a uniform u of [0,1) stands for, and whether it hangs: it has not ended by itself Within.
// A greater u is a longer run, and the shares are those of Quantile, from tables that cost no more than a look.
func (d Duration) Draw(u float64) (took time.Duration, hung bool) {
	if u >= 1-d.Hang {
		return d.bound(math.Inf(1)), true
	}
	took = d.at(quantiles(d.Freedom).at(u / (1 - d.Hang)))
	return took, d.Within > 0 && took >= d.Within
}

// at is the run whose logarithm is so many scales from the median's.
func (d Duration) at(scales float64) time.Duration {
	return d.bound(d.Floor.Seconds() + (d.Median-d.Floor).Seconds()*math.Exp(d.Sigma*scales))
}

// longest is what a run takes that nothing bounds.
const longest = 1000 * time.Hour

func (d Duration) bound(seconds float64) time.Duration {
	most := longest
	if d.Within > 0 {
		most = d.Within
	}
	if seconds >= most.Seconds() {
		return most
	}
	return time.Duration(seconds * float64(time.Second))
}

// The odds of what was never seen (docs/FIGURES.md).
const (
	priorSamples = 1   // the runbook's nominal time weighs as much as so many runs, for the median
	priorFreedom = 4   // and as much as so many for the scale
	priorScale   = 0.5 // of the logarithm
	priorHung    = 0.5 // so many runs hung,
	priorEnded   = 24.5
)

// Prior is what a runbook alone says of a verb on a node: its nominal time is taken for the median.
func Prior(n *plan.Node, v plan.Verb) Duration { return (*Knowledge)(nil).Of(n, v) }
