package forecast

import (
	"math"
	"time"

	"ebbtide/internal/plan"
)

// Duration is the odds of how long a verb on a node takes: the logarithm of the seconds beyond the floor has a t
// distribution, and with a chance of its own the verb never ends by itself.
type Duration struct {
	Floor   time.Duration `json:"floor"`   // no run is shorter
	Median  time.Duration `json:"median"`  // of the runs that end, with the floor
	Sigma   float64       `json:"sigma"`   // the scale of the logarithm of what is beyond the floor
	Freedom float64       `json:"freedom"` // degrees of freedom; 0: a normal distribution
	Hang    float64       `json:"hang"`    // the chance that it does not end by itself, 0..1
	Within  time.Duration `json:"within"`  // then it is forced or given up: no run is longer
	Samples float64       `json:"samples"` // how much was seen, in runs, older ones counting less; 0: nothing
	Newest  time.Time     `json:"newest,omitzero"`
}

// Quantile gives the time within which a share p of the runs ends, those that hang counting as Within.
func (d Duration) Quantile(p float64) time.Duration {
	if p >= 1-d.Hang {
		return d.Within
	}
	z := math.Sqrt2 * math.Erfinv(2*p/(1-d.Hang)-1)
	beyond := (d.Median - d.Floor).Seconds() * math.Exp(d.Sigma*z)
	return min(d.Within, d.Floor+time.Duration(beyond*float64(time.Second)))
}

// The odds of what was never seen (research: simulation defaults).
const (
	priorSigma = 0.5
	priorHang  = 0.02
)

// Prior is what a runbook alone says of a verb on a node: its nominal time is taken for the median.
func Prior(n *plan.Node, v plan.Verb) Duration {
	t := n.Time(v)
	d := Duration{Median: t.Nominal, Sigma: priorSigma, Within: t.Within}
	if v == plan.Stop {
		d.Hang = priorHang
	}
	return d
}

// Sample is one run of a verb on a node that was seen.
type Sample struct {
	Node, Type string
	Verb       plan.Verb
	At         time.Time
	Took       time.Duration
	Hung       bool // it did not end by itself: Took says nothing
	Drill      bool // in a drill, not in an outage
}

// Knowledge is what was learned of durations. The nil Knowledge knows nothing.
type Knowledge struct{}

// Learn makes knowledge from what was seen, as it weighs at now.
func Learn(seen []Sample, now time.Time) *Knowledge { return nil }

// Of gives the odds of a verb on a node.
func (k *Knowledge) Of(n *plan.Node, v plan.Verb) Duration { return Prior(n, v) }
