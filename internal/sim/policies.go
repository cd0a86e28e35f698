package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/english"
	"ebbtide/internal/forecast"
	"ebbtide/internal/power"
)

// Alternative is a scenario under another rule for the shutdown.
type Alternative struct {
	Name     string
	Scenario Scenario
}

// OwnPolicy is the name of the policy as the runbook has it.
const OwnPolicy = "the runbook's policy"

// Alternatives puts a scenario beside the rules that other tools start a shutdown by. Nothing but the trigger is
// changed: stages, order, proofs and the last means when a battery gives in stay Ebbtide's. As with those tools, the
// UPS's low-battery flag starts the shutdown in any case. Their "runtime" is the UPS's own: neither a curve nor a proven
// capacity is known to it.
func Alternatives(sc Scenario, odds Odds) []Alternative {
	low := power.Condition{Kind: power.LowBattery}
	under := func(c power.Condition) Scenario {
		changed := sc
		changed.Settings.Policy.Shutdown = power.Condition{Kind: power.Any, Of: []power.Condition{c, low}}
		return changed
	}
	takes := planTakes(&sc, odds)
	timer := under(power.Condition{Kind: power.OnBattery, For: 5 * time.Minute})
	charge := under(power.Condition{Kind: power.ChargeBelow, Than: 50})
	flag := sc
	flag.Settings.Policy.Shutdown = low
	runtime := under(power.Condition{Kind: power.RuntimeBelow, For: takes})
	runtime.Settings.Supplies = slices.Clone(sc.Settings.Supplies)
	for i := range runtime.Settings.Supplies {
		s := &runtime.Settings.Supplies[i]
		s.Curve, s.Capacity = nil, power.Capacity{}
	}
	return []Alternative{
		{OwnPolicy, sc},
		{"timer: 5m on battery", timer},
		{"percentage: charge below 50%", charge},
		{"low battery only", flag},
		{fmt.Sprintf("UPS's runtime below %s", english.Span(takes)), runtime},
	}
}

// planTakes is how long the whole plan takes down, at p95, in whole seconds.
func planTakes(sc *Scenario, odds Odds) time.Duration {
	estate := sc.Settings.Estate
	all := make([]string, estate.Len())
	for i := range all {
		all[i] = estate.Node(i).ID
	}
	answer := forecast.New(odds.Known, forecast.DefaultTrials).Answer(estate, effect.Estimate{Down: all, Scope: all})
	return time.Duration(math.Ceil(answer.At(0.95).Seconds())) * time.Second
}
