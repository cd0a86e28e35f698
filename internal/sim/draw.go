package sim

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"ebbtide/internal/forecast"
	"ebbtide/internal/plan"
)

// Odds are what a run is drawn from.
type Odds struct {
	Known  *forecast.Knowledge // how long actions take; nil: what the runbook says of them
	Outage bool                // when the mains fail, how long and how often, in place of the scenario's own changes
}

// The odds of what no runbook says (docs/FIGURES.md).
const (
	provenSigma   = 0.12               // of the logarithm of a battery's true capacity, if a discharge has shown it
	unprovenSigma = 0.45               // and if none has
	sheetMost     = 1.1                // no battery holds more than so many times what its sheet says
	biasSigma     = 0.3                // of the logarithm of what a UPS says that its battery lasts, against its sheet
	deathChance   = 0.04               // of a battery that gives out at once, at a charge that nobody knows
	commonSigma   = 0.15               // of the logarithm of what makes all actions of a night slow together
	outageMedian  = 60 * time.Second   //
	outageSigma   = 1.91               // four of five outages are shorter than five minutes
	againChance   = 0.2                // of a second outage
	againWithin   = 30 * time.Minute   // after the first
	firstFailure  = time.Minute        // the mains are on for so long
	afterwards    = 24 * time.Hour     // for everything to come back
	pollDrawn     = 20 * time.Second   // of supplies that are on line, unless the scenario says otherwise
	splitmix      = 0x9e3779b97f4a7c15 // the odd constant of that generator
	splitmixMul1  = 0xbf58476d1ce4e5b9 //
	splitmixMul2  = 0x94d049bb133111eb //
)

// Draw makes a scenario as it may really be: how long each action takes and whether it ends, how much each battery holds
// and what its UPS makes of that, and, if the odds say so, the outage. The same seed gives the same draw; neighbouring
// seeds have nothing to do with each other. What the scenario says itself (faults, lies, charges, crashes) stays.
func Draw(sc Scenario, seed uint64, odds Odds) Scenario {
	mixed := mix(seed)
	source := rand.New(rand.NewPCG(mixed, mix(mixed)))
	sc.Took = drawActions(sc.Settings.Estate, odds.Known, source)
	sc.Batteries = drawBatteries(&sc, source)
	if odds.Outage {
		sc.Changes, sc.For = drawOutage(&sc, source)
	}
	if sc.PollQuiet == 0 {
		sc.PollQuiet = pollDrawn
	}
	return sc
}

// mix is the finish of splitmix64: it makes numbers of seeds that differ in one bit differ in half of them.
func mix(x uint64) uint64 {
	x += splitmix
	x = (x ^ x>>30) * splitmixMul1
	x = (x ^ x>>27) * splitmixMul2
	return x ^ x>>31
}

func drawActions(estate *plan.Estate, known *forecast.Knowledge, source *rand.Rand) map[Action]time.Duration {
	took := map[Action]time.Duration{}
	slow := math.Exp(commonSigma * source.NormFloat64())
	for i := range estate.Len() {
		n := estate.Node(i)
		if n.Kind == plan.Supply || n.Kind == plan.Manual {
			continue
		}
		for _, verb := range [...]plan.Verb{plan.Protect, plan.Flush, plan.Stop, plan.Force, plan.Start, plan.Unprotect} {
			if !n.Can.Has(verb) {
				continue
			}
			d := known.Of(n, verb)
			d.Within = 0 // that is when it is forced or given up: what is slow does not end by then, and does in the end
			lasts, hung := d.Draw(source.Float64())
			if took[Action{n.ID, verb}] = time.Duration(slow * float64(lasts)); hung {
				took[Action{n.ID, verb}] = Never
			}
		}
	}
	return took
}

func drawBatteries(sc *Scenario, source *rand.Rand) map[string]Battery {
	drawn := maps.Clone(sc.Batteries)
	if drawn == nil {
		drawn = map[string]Battery{}
	}
	for _, s := range sc.Settings.Supplies {
		b, given := drawn[s.ID]
		if !given {
			b.Charge = 1
		}
		sigma := unprovenSigma
		if s.Capacity.Burn > 0 {
			sigma = provenSigma
		}
		capacity := min(sheetMost, math.Exp(sigma*source.NormFloat64()))
		bias := math.Exp(biasSigma * source.NormFloat64())
		dies, at := source.Float64() < deathChance, source.Float64()
		b.Health, b.Bias = cmp.Or(b.Health, capacity), cmp.Or(b.Bias, bias)
		if dies {
			b.DiesAt = max(b.DiesAt, at)
		}
		drawn[s.ID] = b
	}
	return drawn
}

// drawOutage lets the mains of every supply fail, and perhaps once more.
func drawOutage(sc *Scenario, source *rand.Rand) (changes []Change, until time.Duration) {
	length := func() time.Duration {
		return time.Duration(float64(outageMedian) * math.Exp(outageSigma*source.NormFloat64()))
	}
	mains := func(at time.Duration, on bool) {
		for _, s := range sc.Settings.Supplies {
			changes = append(changes, Change{At: at, Supply: s.ID, Mains: on})
		}
	}
	back := firstFailure + length()
	again, pause, second := source.Float64() < againChance, time.Duration(source.Int64N(int64(againWithin))), length()
	mains(firstFailure, false)
	mains(back, true)
	if again {
		mains(back+pause, false)
		back += pause + second
		mains(back, true)
	}
	return changes, back + afterwards
}
