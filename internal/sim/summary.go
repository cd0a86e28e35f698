package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Summary is what came of many runs of one scenario.
type Summary struct {
	Trials int    `json:"trials"`
	Seed   uint64 `json:"seed"` // of the first run; each has the next

	Needed      Chance `json:"needed"`      // without a shutdown the batteries would not have lasted
	Shutdown    Chance `json:"shutdown"`    // the shutdown stage began
	Crash       Chance `json:"crash"`       // something lost its power while on, and that was not the plan
	Forced      Chance `json:"forced"`      // nodes were powered off without asking
	Unnecessary Chance `json:"unnecessary"` // the shutdown began, though the batteries would have lasted
	Stranded    Chance `json:"stranded"`    // something that was on did not come back
	Violations  Chance `json:"violations"`  // a rule was broken

	Slack []StageSlack `json:"slack"` // by stage, in the order of the policy
	// ForcedNodes is how many nodes were powered off without asking, of the runs in which any was.
	ForcedNodes Spread `json:"forced_nodes"`
	Down        Spread `json:"down_seconds"` // how long anything was down, of the runs in which something was
	Back        Spread `json:"back_seconds"` // from the return of the mains until all was on again, of the same runs
	// DownMean is the mean over all runs, those in which nothing went down among them, in seconds.
	DownMean float64  `json:"down_mean_seconds"`
	Critical []Share  `json:"critical"`     // most often first
	Broken   []Broken `json:"broken_rules"` // the first few
}

// Chance is how often something happened.
type Chance struct {
	Count int      `json:"count"`
	Share float64  `json:"share"`
	Low   float64  `json:"low"`  // the true chance lies between these two
	High  float64  `json:"high"` // with a probability of 95% (Wilson's interval)
	Seeds []uint64 `json:"seeds"`
}

// StageSlack is how much battery time was to spare when a stage began.
type StageSlack struct {
	Stage   plan.Stage `json:"stage"`
	Seconds Spread     `json:"slack_seconds"`
}

// Spread is how a figure was distributed. All are 0 if nothing was measured.
type Spread struct {
	Count int     `json:"count"`
	Min   float64 `json:"min"`
	P5    float64 `json:"p5"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Share is a step and how often it was on the chain of steps that ended last, of the runs that came to the first cut.
type Share struct {
	Node  string  `json:"node"`
	Verb  string  `json:"verb"`
	Share float64 `json:"share"`
}

// Broken is a rule that was broken in a run.
type Broken struct {
	Seed uint64 `json:"seed"`
	Rule string `json:"rule"`
}

const (
	seedsShown    = 5
	brokenShown   = 10
	criticalShown = 10
)

// Summarise sums up runs, of which the first had this seed and each other the next.
func Summarise(policy power.Policy, outcomes []Outcome, seed uint64) *Summary {
	s := &Summary{Trials: len(outcomes), Seed: seed, Broken: []Broken{}}
	chance := func(of func(o *Outcome) bool) Chance { return chanceOf(outcomes, seed, of) }
	s.Needed = chance(func(o *Outcome) bool { return o.Shutdown && !o.Unnecessary || !o.Shutdown && o.Crashed })
	s.Shutdown = chance(func(o *Outcome) bool { return o.Shutdown })
	s.Crash = chance(func(o *Outcome) bool { return o.Crashed })
	s.Forced = chance(func(o *Outcome) bool { return o.Forced > 0 })
	s.Unnecessary = chance(func(o *Outcome) bool { return o.Unnecessary })
	s.Stranded = chance(func(o *Outcome) bool { return len(o.Stranded) > 0 })
	s.Violations = chance(func(o *Outcome) bool { return len(o.Violations) > 0 })

	stages := []plan.Stage{plan.ProtectStage}
	for _, stage := range policy.Shed {
		stages = append(stages, plan.Stage(stage.Name))
	}
	slack := func(stage plan.Stage) Spread {
		return spreadOf(outcomes, func(o *Outcome) (float64, bool) {
			left, known := o.Slack[stage]
			return left.Seconds(), known
		})
	}
	for _, stage := range append(stages, plan.ShutdownStage) {
		s.Slack = append(s.Slack, StageSlack{stage, slack(stage)})
	}
	s.ForcedNodes = spreadOf(outcomes, func(o *Outcome) (float64, bool) { return float64(o.Forced), o.Forced > 0 })
	s.Down = spreadOf(outcomes, func(o *Outcome) (float64, bool) { return o.Down.Seconds(), o.Down > 0 })
	s.Back = spreadOf(outcomes, func(o *Outcome) (float64, bool) { return o.Back.Seconds(), o.Down > 0 })
	var down time.Duration
	for i := range outcomes {
		down += outcomes[i].Down / time.Duration(len(outcomes))
		for _, rule := range outcomes[i].Violations {
			if len(s.Broken) < brokenShown {
				s.Broken = append(s.Broken, Broken{seed + uint64(i), rule})
			}
		}
	}
	s.DownMean = down.Seconds()
	s.Critical = sharesOf(outcomes)
	return s
}

func chanceOf(outcomes []Outcome, seed uint64, of func(o *Outcome) bool) Chance {
	c := Chance{Seeds: []uint64{}}
	for i := range outcomes {
		if of(&outcomes[i]) {
			if c.Count++; len(c.Seeds) < seedsShown {
				c.Seeds = append(c.Seeds, seed+uint64(i))
			}
		}
	}
	if n := float64(len(outcomes)); n > 0 {
		const z = 1.96
		p := float64(c.Count) / n
		centre, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
		c.Share, c.Low, c.High = p, (centre-half)/(1+z*z/n), (centre+half)/(1+z*z/n)
		switch c.Count { // rounding must not make a chance of nothing
		case 0:
			c.Low = 0
		case len(outcomes):
			c.High = 1
		}
	}
	return c
}

// spreadOf takes quantiles by nearest rank: each is a figure that was measured.
func spreadOf(outcomes []Outcome, of func(o *Outcome) (float64, bool)) Spread {
	var all []float64
	for i := range outcomes {
		if v, measured := of(&outcomes[i]); measured {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	at := func(p float64) float64 { return all[max(0, int(math.Ceil(p*float64(len(all))))-1)] }
	return Spread{Count: len(all), Min: all[0], P5: at(0.05), P50: at(0.5), P95: at(0.95), P99: at(0.99), Max: all[len(all)-1]}
}

func sharesOf(outcomes []Outcome) []Share {
	counts, of := map[Action]int{}, 0
	for i := range outcomes {
		if len(outcomes[i].Critical) > 0 {
			of++
		}
		for _, a := range outcomes[i].Critical {
			counts[a]++
		}
	}
	shares := []Share{}
	for a, n := range counts {
		shares = append(shares, Share{a.Node, a.Verb.String(), float64(n) / float64(of)})
	}
	slices.SortFunc(shares, func(a, b Share) int {
		return cmp.Or(-cmp.Compare(a.Share, b.Share), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Verb, b.Verb))
	})
	return shares[:min(len(shares), criticalShown)]
}
