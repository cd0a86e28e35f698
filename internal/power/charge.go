package power

import (
	"math"
	"time"
)

// tellCharge takes a charge where it is believed. What has fallen by far is held against what was burnt, and the load, as it fell.
func (b *battery) tellCharge(now time.Time, charge float64, f flow, steady bool) {
	s := &b.slips.charge
	if s.words == 1 && s.by == f && charge > b.charge+wholeFall { // the first of all was a slip
		held := b.refilled
		if b.anew(); f == refilling {
			b.refilled = held
		}
	}
	wasDoubted := !s.since.IsZero()
	fellFar := func(was, is float64, in time.Duration) bool {
		return chargeFell(was, is, in) || f == draining && b.snapped(was, is)
	}
	switch isBelieved := s.believes(now, charge, f, fellFar); {
	case !isBelieved && !wasDoubted:
		b.fell.since, b.fell.steady = b.since, steady
	case isBelieved && wasDoubted:
		b.since = b.fell.since
		b.readCharge(now, charge, f, b.fell.steady)
	case isBelieved:
		b.readCharge(now, charge, f, steady)
	}
}

// readCharge takes a charge. On battery its fall since the mains failed says how much there is; before that it says how
// much of the capacity was there to begin with.
func (b *battery) readCharge(now time.Time, charge float64, f flow, steady bool) {
	was, had := b.charge, b.charged
	b.charge, b.charged = charge, true
	full, _, _ := b.full()
	if !had || f == refilling { // a gauge that says less than was reckoned is believed
		b.spent = max(b.spent, (1-charge)*full)
	}
	if f == draining || f == tested { // what falls while the output is said to be off is no account of any load
		b.stretch.charge(charge)
	}
	if f != refilling {
		b.refilled = min(b.refilled, charge)
	}
	if f != draining {
		b.since = 0
		return
	}
	if !b.anchored {
		b.anchored, b.anchor, b.burnt, b.lasted, b.since = true, charge, 0, 0, 0
		return
	}
	left, sigma := b.byFall(charge)
	if had && steady && b.snapped(was, charge) {
		if b.lasted >= slopeAfter {
			drop := left
			if full > 0 {
				drop = min(drop, charge*full)
			}
			if !math.IsInf(drop, 1) {
				b.gauges[ByDrop].tell(now, drop*snapKeeps, fallSigma)
			}
		}
		b.anchor, b.burnt = charge, 0
	}
	b.gauges[ByFall].tell(now, left, sigma)
	if charge != was {
		b.since = 0
	}
}

// byFall gives the burn that is left if the charge goes on falling with what is burnt as it did since the mains failed.
// It never looks at a short window only: that is off by up to three times either way (research: discharge logs).
func (b *battery) byFall(charge float64) (left, sigma float64) {
	fallen := b.anchor - charge
	if fallen < slopeDrop || b.lasted < slopeAfter {
		return math.Inf(1), 0
	}
	return charge * b.burnt / fallen, fallSigma + fallGrain/fallen
}

// snapped tells whether the charge fell far more than what was burnt since it last changed explains.
func (b *battery) snapped(was, charge float64) bool {
	fall := was - charge
	if fall <= snapDrop {
		return false
	}
	full, _, _ := b.full()
	switch {
	case full > 0:
	case b.anchor-was >= slopeDrop:
		full = (b.burnt - b.since) / (b.anchor - was)
	case b.gauges[ByRuntime].known && was > 0:
		full = b.gauges[ByRuntime].last / was
	}
	return full > 0 && fall > snapTimes*b.since/full
}
