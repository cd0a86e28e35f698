package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/power"
)

// box is a UPS of a synthetic fleet, and the truth about its battery (docs/FIGURES.md: an assumption, not field
// data).
type box struct {
	full   float64 // seconds that a new battery lasts at full load
	shape  float64 // the exponent of its curve
	load   float64 // that it carries, as a share of nominal
	health float64 // what its battery holds, of a new one's
	bias   float64 // what it says that it lasts, of a new one's
	diesAt float64 // the share of what it holds at which it gives out, without a word before; 0: it does not
	drill  float64 // what a drill has measured, of what it holds
	learnt bool    // its firmware knows what its battery holds
}

const lowAt = 0.1 // of what it holds: a UPS raises its low-battery flag

func drawBox(luck *rand.Rand) box {
	between := func(low, high float64) float64 { return low + (high-low)*luck.Float64() }
	b := box{full: 60 * between(6, 12), shape: between(1, 1.4), load: between(0.25, 0.8)}
	switch kind := luck.Float64(); {
	case kind < 0.6:
		b.health = between(0.8, 1.05)
	case kind < 0.9:
		b.health = between(0.45, 0.8)
	default:
		b.health = between(0.1, 0.45)
	}
	b.learnt, b.bias = luck.Float64() < 0.4, math.Exp(0.3*luck.NormFloat64())
	if calibrated := b.health * math.Exp(0.1*luck.NormFloat64()); b.learnt {
		b.bias = calibrated
	}
	if at := luck.Float64(); luck.Float64() < 0.04 {
		b.diesAt = at
	}
	b.drill = math.Exp(0.1 * luck.NormFloat64())
	return b
}

// sheet is how long a new battery lasts at a load, in seconds.
func (b *box) sheet(load float64) float64 {
	return b.full * math.Pow((load+0.08)/1.08, -b.shape)
}

// life is how long it really lasts at its load, from full.
func (b *box) life() float64 { return (1 - b.diesAt) * b.health * b.sheet(b.load) }

// supply is what a runbook says of it: three points of its data sheet, and what the drill has shown.
func (b *box) supply(id string, drilled bool, now time.Time) power.Supply {
	s := power.Supply{ID: id}
	for _, load := range []float64{20, 50, 100} {
		s.Curve = append(s.Curve, power.Point{Load: load, Time: time.Duration(b.sheet(load/100) * float64(time.Second))})
	}
	if drilled {
		gave := b.health * b.drill * power.NewCurve(s.Curve).Rate(b.load) * b.sheet(b.load)
		s.Capacity = power.LearnCapacity([]power.Discharge{{
			At: now.Add(-100 * 24 * time.Hour), Burn: 0.8 * gave, From: 100, To: 20,
			Drill: true,
		}}, now)
	}
	return s
}

// says is what it tells after so many seconds on battery at its load: whole percents, and a runtime that is as wrong as
// its firmware. (naive: where the firmware has not learnt what the battery holds, its gauge counts on a new one as well,
// until the voltage falls in the last tenth.)
func (b *box) says(id string, seconds float64, naive bool) power.Reading {
	truth := max(0, 1-seconds/(b.health*b.sheet(b.load)))
	charge := truth
	if naive && !b.learnt {
		charge = min(max(0, 1-seconds/b.sheet(b.load)), truth/lowAt)
	}
	charge = math.Round(100*charge) / 100
	r := power.Reading{
		Supply: id, Status: power.OL, Charge: power.Known(100 * charge),
		Runtime: power.Known(charge * b.sheet(b.load) * b.bias), Load: power.Known(100 * b.load),
	}
	if seconds > 0 {
		if r.Status = power.OB; truth < lowAt {
			r.Status |= power.LB
		}
	}
	return r
}

// TestBatteryCalibration measures how often a battery lasts less long than its pessimistic bound says. What the bounds
// are made of was never fitted to this fleet, nor to these seeds.
func TestBatteryCalibration(t *testing.T) {
	wanted(t)
	at := []int{30, 300, 600}
	for _, c := range []struct {
		name           string
		drilled, naive bool
	}{{"drilled", true, false}, {"undrilled", false, false}, {"drilled_naive_gauge", true, true}, {"undrilled_naive_gauge", false, true}} {
		luck := rand.New(rand.NewPCG(20270301, 4))
		alive, crossed := make([]float64, len(at)), make([]float64, len(at))
		likely := make([]float64, len(at)) // what a bound gives away: its share of what there was
		for range 4000 {
			b := drawBox(luck)
			tracker := power.NewTracker(b.supply("ups", c.drilled, epoch))
			for s := range 3 {
				tracker.Observe(epoch.Add(time.Duration(s-3)*10*time.Second), b.says("ups", 0, c.naive))
			}
			next := 0
			for s := 1; next < len(at) && float64(s) < b.life(); s++ {
				now := epoch.Add(time.Duration(s) * time.Second)
				tracker.Observe(now, b.says("ups", float64(s), c.naive))
				if s != at[next] {
					continue
				}
				left := tracker.State(now).Left
				require.True(t, left.Known)
				alive[next]++
				likely[next] += left.Value / (b.life() - float64(s))
				if b.life()-float64(s) < left.Value {
					crossed[next]++
				}
				next++
			}
		}
		for i := range at {
			share := 100 * crossed[i] / alive[i]
			f := figure{
				Figure: fmt.Sprintf("battery_bound_crossed_%s_%ds", c.name, at[i]), Value: share, Unit: "%", Target: "-", OK: true,
				Runs: int(alive[i]),
			}
			if c.drilled && !c.naive {
				f.Target, f.OK = "<= 6", share <= 6
			}
			f.Note = fmt.Sprintf("5%% bound; on average it is %.0f%% of what there was", 100*likely[i]/alive[i])
			f.print(t)
		}
	}
}

// epoch is when synthetic outages begin.
var epoch = time.Date(2027, 3, 1, 3, 0, 0, 0, time.UTC)
