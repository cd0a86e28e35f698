package sim

import (
	"slices"

	"ebbtide/internal/effect"
	"ebbtide/internal/forecast"
	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// What an estimate takes in a simulation, unless the scenario says so: enough trials for its purpose, and of a great estate no more
// than play so many nodes, but some.
const (
	mostEstimateTrials  = 100
	leastEstimateTrials = 20
	estimateNodes       = 20_000
)

func estimateTrials(sc *Scenario) int {
	if sc.EstimateTrials > 0 {
		return sc.EstimateTrials
	}
	return min(mostEstimateTrials, max(leastEstimateTrials, estimateNodes/max(1, sc.Settings.Estate.Len())))
}

// estimate tells how long the rest of the plan takes. The answer to the same question is the same.
func (s *simulation) estimate(ask effect.Estimate) foresight.Estimate {
	weighs := s.engine.WeighsSlack()
	if !s.asked || weighs != s.slack || !slices.Equal(ask.Down, s.ask.Down) || !slices.Equal(ask.Scope, s.ask.Scope) ||
		!slices.Equal(ask.Running, s.ask.Running) {
		s.asked, s.slack, s.ask, s.estimated = true, weighs, ask, s.scenario.Forecast(s.estate, ask)
	}
	answer := s.estimated
	answer.Serial = ask.Serial
	return answer
}

// forecasting answers how long the rest of a plan takes where the scenario does not say who does. Where nobody reads the
// answers (lean), they are what is decided by and no more: how long waits may be, what slack is judged by while it is, or the
// test of a battery, and what a recharge is judged by if another shutdown is.
func (s *simulation) forecasting() func(*plan.Estate, effect.Estimate) foresight.Estimate {
	f := s.scenario.forecaster
	if f == nil {
		f = forecast.New(nil, estimateTrials(&s.scenario))
	}
	if !s.lean {
		return f.Answer
	}
	slack, tests, whole := decidesBy(&s.scenario, power.SlackBelow), testsBattery(&s.scenario), decidesBy(&s.scenario, power.RechargedFor)
	return func(estate *plan.Estate, ask effect.Estimate) foresight.Estimate {
		return f.Some(estate, ask, forecast.Parts{Need: tests || slack && s.engine.WeighsSlack(), Whole: whole})
	}
}

// decidesBy reports whether any condition of the policy is of a kind.
func decidesBy(sc *Scenario, kind power.Kind) bool {
	p := &sc.Settings.Policy
	all := []power.Condition{p.Protect, p.Shutdown, p.Restore}
	for i := range p.Shed {
		all = append(all, p.Shed[i].When)
	}
	return slices.ContainsFunc(all, func(c power.Condition) bool { return slices.Contains(c.Needs(), kind) })
}

// testsBattery reports whether the drill of a battery is ordered in a scenario: it keeps a whole shutdown possible.
func testsBattery(sc *Scenario) bool {
	return slices.ContainsFunc(sc.Changes, func(c Change) bool { return c.Drill != nil && c.Drill.Supply != "" })
}
