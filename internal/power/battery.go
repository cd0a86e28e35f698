package power

import (
	"math"
	"time"
)

const (
	slopeDrop  = 0.05             // charge must have fallen so far before its slope says anything
	slopeAfter = 30 * time.Second // and so much battery time have passed: voltage-based gauges sag at once, then settle
	slopeGrain = 0.01             // charge is reported in whole percents: the true fall may be one more
	shortLine  = time.Minute      // an on-line spell shorter than this does not start the slope afresh
	wornFactor = 0.5              // a battery that the UPS wants replaced counts for half
)

// view is one way of telling the burn that is left. It holds what the last two readings told: the lower counts, so it
// falls at once and rises only when two readings in a row say so.
type view struct {
	known        bool
	last, before float64
	at           time.Time
}

func (v *view) tell(now time.Time, burn float64) {
	v.before = burn
	if v.known {
		v.before = v.last
	}
	v.known, v.last, v.at = true, burn, now
}

func (v view) low() float64 {
	if !v.known {
		return math.Inf(1)
	}
	return min(v.last, v.before)
}

// battery estimates what a supply's battery has left, in burn: seconds at full load. Its views are independent and the
// lowest counts. On battery a view that is no longer told goes on burning, so that missing data never raises it.
type battery struct {
	curve curve
	at    time.Time // up to when burn is accounted

	loaded        bool
	load, loadWas float64 // of the last two readings that told it, as fractions; the higher counts

	burnt    float64       // on battery, since the charge was first told there
	lasted   time.Duration // that it took
	anchored bool
	anchor   float64 // the charge then, as a fraction

	runtime view // the UPS's own battery.runtime
	slope   view // how the charge fell since going on battery
	sheet   view // the runbook's curve times the charge
	alarm   view // battery.runtime.low, while the UPS says that the battery is low
}

func (b *battery) views() [4]*view { return [...]*view{&b.runtime, &b.slope, &b.sheet, &b.alarm} }

// x is the load to reckon with. A load that was never told counts as full.
func (b *battery) x() float64 {
	if !b.loaded {
		return 1
	}
	return max(b.load, b.loadWas)
}

// pass accounts for the time up to now.
func (b *battery) pass(now time.Time, m Mains) {
	spent := now.Sub(b.at)
	b.at = now
	if m != MainsOnBattery {
		for _, v := range b.views() {
			if now.Sub(v.at) > kept {
				v.known = false
			}
		}
		return
	}
	if spent <= 0 {
		return
	}
	burn := spent.Seconds() * b.curve.rate(b.x())
	b.burnt += burn
	b.lasted += spent
	for _, v := range b.views() {
		v.last -= burn
		v.before -= burn
	}
}

// begin starts the slope afresh.
func (b *battery) begin() {
	b.anchored, b.slope = false, view{}
}

// read takes the figures of a fresh reading. The time up to now must have been passed.
func (b *battery) read(now time.Time, r Reading, m Mains, low bool) {
	// A load of 0 is what a UPS says that does not measure it.
	if r.Load.Known && r.Load.Value > 0 {
		was := b.load
		b.load = r.Load.Value / 100
		b.loadWas = b.load
		if b.loaded {
			b.loadWas = was
		}
		b.loaded = true
	}
	rate := b.curve.rate(b.x())
	health := 1.0
	if r.Status.Has(RB) {
		health = wornFactor
	}
	if r.Runtime.Known {
		b.runtime.tell(now, r.Runtime.Value*rate*health)
	}
	if r.Charge.Known {
		charge := r.Charge.Value / 100
		if b.curve.full > 0 {
			b.sheet.tell(now, charge*b.curve.full*health)
		}
		if m == MainsOnBattery {
			b.slope.tell(now, b.sloped(charge))
		}
	}
	switch {
	case !low:
		b.alarm.tell(now, math.Inf(1))
	case r.RuntimeLow.Known:
		b.alarm.tell(now, r.RuntimeLow.Value*rate)
	}
}

// sloped gives the burn that is left if the charge goes on falling with what is burnt as it did since going on battery.
// It never looks at a short window only: that is off by up to three times either way (research: discharge logs).
func (b *battery) sloped(charge float64) float64 {
	if !b.anchored {
		b.anchored, b.anchor, b.burnt, b.lasted = true, charge, 0, 0
	}
	fallen := b.anchor - charge
	if fallen < slopeDrop || b.lasted < slopeAfter {
		return math.Inf(1)
	}
	return max(0, charge-slopeGrain) * b.burnt / (fallen + slopeGrain)
}

// left gives the seconds that are left at the present load. The time up to now must have been passed.
func (b *battery) left() Figure {
	lowest := math.Inf(1)
	for _, v := range b.views() {
		lowest = min(lowest, v.low())
	}
	if math.IsInf(lowest, 1) {
		return Figure{}
	}
	return Known(max(0, lowest) / b.curve.rate(b.x()))
}
