package forecast

import (
	"math"
	"time"

	"ebbtide/internal/plan"
)

// Sample is one run of a verb on a node that was seen.
type Sample struct {
	Node, Type string
	Verb       plan.Verb
	At         time.Time
	Took       time.Duration
	Nominal    time.Duration // what the runbook expects of it, so that nodes of a type can be compared; 0: not known
	Hung       bool          // it did not end by itself: Took says nothing
	Drill      bool          // in a drill, not in an outage
}

// Knowledge is what was learned of durations. The nil Knowledge knows nothing.
type Knowledge struct {
	byNode, byType map[subject]*evidence
}

// subject is what a sample is about: a node's or a type's name, and the verb.
type subject struct {
	name string
	verb plan.Verb
}

// How a sample's weight falls (docs/FIGURES.md).
const (
	halfLife    = 180 * 24 * time.Hour
	drillWeight = 0.7
)

// Learn makes knowledge from what was seen, as it weighs at now.
func Learn(seen []Sample, now time.Time) *Knowledge {
	k := &Knowledge{byNode: map[subject]*evidence{}, byType: map[subject]*evidence{}}
	for _, s := range seen {
		weight := math.Exp2(-max(0, now.Sub(s.At)).Hours() / halfLife.Hours())
		if s.Drill {
			weight *= drillWeight
		}
		for _, about := range []struct {
			all  map[subject]*evidence
			name string
		}{{k.byNode, s.Node}, {k.byType, s.Type}} {
			e, known := about.all[subject{about.name, s.Verb}]
			if !known {
				e = &evidence{}
				about.all[subject{about.name, s.Verb}] = e
			}
			e.add(s, weight)
		}
	}
	return k
}

// evidence sums up runs, weighed.
type evidence struct {
	relative, absolute moments // of ln(took/nominal), and of ln(seconds) where the nominal time is not known
	hung, runs         float64
	newest             time.Time
}

func (e *evidence) add(s Sample, weight float64) {
	e.runs += weight
	if s.At.After(e.newest) {
		e.newest = s.At
	}
	seconds := math.Log(max(s.Took, time.Millisecond).Seconds())
	switch {
	case s.Hung:
		e.hung += weight
	case s.Nominal > 0:
		e.relative.add(seconds-math.Log(s.Nominal.Seconds()), weight)
	default:
		e.absolute.add(seconds, weight)
	}
}

// of gives the moments for a node whose nominal time has that logarithm.
func (e *evidence) of(nominal float64) moments {
	m := e.relative.shifted(nominal)
	m.n, m.sum, m.squares = m.n+e.absolute.n, m.sum+e.absolute.sum, m.squares+e.absolute.squares
	return m
}

// moments are the sums that a mean and a variance are made from.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(y, weight float64) {
	m.n, m.sum, m.squares = m.n+weight, m.sum+weight*y, m.squares+weight*y*y
}

func (m moments) without(o moments) moments {
	return moments{max(0, m.n-o.n), m.sum - o.sum, m.squares - o.squares}
}

// shifted are the moments of the same values plus c.
func (m moments) shifted(c float64) moments {
	return moments{m.n, m.sum + m.n*c, m.squares + 2*c*m.sum + m.n*c*c}
}

// belief is a normal-inverse-gamma distribution of the mean and the variance of ln(seconds).
type belief struct{ mean, samples, freedom, variance float64 }

// negligible weight is that of rounding, or of what was seen ten years ago.
const negligible = 1e-6

func (b belief) after(m moments) belief {
	if m.n < negligible {
		return b
	}
	mean := m.sum / m.n
	spread := max(0, m.squares-m.n*mean*mean)
	off := mean - b.mean
	now := belief{samples: b.samples + m.n, freedom: b.freedom + m.n}
	now.mean = (b.samples*b.mean + m.sum) / now.samples
	now.variance = (b.freedom*b.variance + spread + b.samples*m.n/now.samples*off*off) / now.freedom
	return now
}

// scale is that of the t distribution of the next run.
func (b belief) scale() float64 { return math.Sqrt(b.variance * (1 + 1/b.samples)) }

// seen gives what was seen of a node, and of all nodes of its type.
func (k *Knowledge) seen(n *plan.Node, v plan.Verb) (own, others *evidence) {
	own, others = &evidence{}, &evidence{}
	if k == nil {
		return own, others
	}
	if e, known := k.byNode[subject{n.ID, v}]; known {
		own = e
	}
	if e, known := k.byType[subject{n.Type, v}]; known {
		others = e
	}
	return own, others
}

// mostFreedom is what a type tells at most about how much the runs of one of its nodes differ.
const mostFreedom = 12

// Of gives the odds of a verb on a node: what its own runs show, beginning from what those of the other nodes of its
// type show, beginning from what the runbook says. Nothing but evidence makes a verb other than Stop hang.
func (k *Knowledge) Of(n *plan.Node, v plan.Verb) Duration {
	t := n.Time(v)
	own, others := k.seen(n, v)
	d := Duration{Within: t.Within, Hang: hangChance(v, own, others), Samples: others.runs, Newest: others.newest, Pooled: others.runs > 0}
	if own.runs > negligible {
		d.Samples, d.Newest, d.Pooled = own.runs, own.newest, false
	}
	if t.Nominal <= 0 {
		return d // nothing is expected of it: it takes no time
	}
	nominal := math.Log(t.Nominal.Seconds())
	mine := own.of(nominal)
	b := belief{mean: nominal, samples: priorSamples, freedom: priorFreedom, variance: priorScale * priorScale}
	b = b.after(others.of(nominal).without(mine))
	if own.runs > negligible {
		// A node differs from others of its type by as much as its runs differ from each other.
		b = belief{mean: b.mean, samples: 1, freedom: min(b.freedom, mostFreedom), variance: b.scale() * b.scale() / 2}.after(mine)
	}
	d.Median, d.Sigma, d.Freedom = time.Duration(math.Exp(b.mean)*float64(time.Second)), b.scale(), b.freedom
	return d
}

// hangChance is the chance of a hang after so many were seen: of the node itself, beginning from its type's.
func hangChance(v plan.Verb, own, others *evidence) float64 {
	prior, weight := priorHung/(priorHung+priorEnded), priorHung+priorEnded
	if v != plan.Stop && others.hung == 0 {
		return 0
	}
	hung, runs := max(0, others.hung-own.hung), max(0, others.runs-own.runs)
	prior = (prior*weight + hung) / (weight + runs)
	return (prior*weight + own.hung) / (weight + own.runs)
}
