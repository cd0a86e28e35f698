package engine

import (
	"time"

	"ebbtide/internal/plan"
)

// Nominal answers an Estimate effect from the plan's nominal times under its limits. It is the drivers' to call, off
// the engine's path.
func Nominal(estate *plan.Estate, ask Estimate) Estimated {
	left, scope := members(estate, ask.Down), members(estate, ask.Scope)
	down := func(in func(int) bool) time.Duration { return estate.Plan(plan.Down, in).Schedule().Total }
	whole := down(func(i int) bool { return scope[i] }) + estate.Plan(plan.Up, func(i int) bool {
		return scope[i] && estate.Node(i).Kind != plan.Supply
	}).Schedule().Total
	return Estimated{
		Serial: ask.Serial,
		Left:   down(func(i int) bool { return left[i] }),
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
