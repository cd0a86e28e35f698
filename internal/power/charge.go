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
	b.takeBack(now, charge)
	switch isBelieved := s.believes(now, charge, f, chargeFell); {
	case !isBelieved && !wasDoubted:
		b.fell.since, b.fell.steady, b.fell.onLine = b.since, steady, f == refilling
	case isBelieved && wasDoubted:
		b.since = b.fell.since
		if _, _, by := b.full(); b.fell.onLine { // it is the first word on what it gave while nobody saw it
			b.charged, b.gauges[by] = false, gauge{}
		}
		b.readCharge(now, charge, f, b.fell.steady)
	case isBelieved:
		b.readCharge(now, charge, f, steady)
	}
}

// readCharge takes a charge. On battery its fall since the mains failed says how much there is; before that it says how
// much of the capacity was there to begin with.
func (b *battery) readCharge(now time.Time, charge float64, f flow, steady bool) {
	was, had, refilled := b.charge, b.charged, b.refilled
	b.steps.tell(charge)
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
	if !b.stepped && charge < was && was-charge <= b.steps.size() { // it may have been almost there as the mains failed
		b.stepped, b.anchor, b.burnt = true, charge, 0
	}
	left, sigma := b.byFall(charge)
	if had && steady && b.snapped(was, charge) {
		b.drop = drop{
			at: now, from: was, to: charge, gauge: b.gauges[FromDrop], anchor: b.anchor, burnt: b.burnt, since: b.since,
			refilled: refilled,
		}
		if b.lasted >= slopeAfter {
			least := left
			if full > 0 {
				least = min(least, charge*full)
			}
			if !math.IsInf(least, 1) {
				b.gauges[FromDrop].tell(now, least*snapKeeps, fallSigma)
			}
		}
		b.anchor, b.burnt = charge, 0
	}
	b.gauges[FromSlope].tell(now, left, sigma)
	if charge != was {
		b.since = 0
	}
}

// coarse are the steps, in percent, in which gauges tell a charge that tell it so. What falls by one of them has not fallen far.
var coarse = [...]int{25, 20, 10, 5}

// steps is which of these a gauge is known not to have, by what it has told: each a bit.
type steps uint8

func (s *steps) tell(charge float64) {
	for at, step := range coarse {
		if percent := int(math.Round(100 * charge)); percent%step != 0 || math.Abs(100*charge-float64(percent)) > 0.01 {
			*s |= 1 << at
		}
	}
}

// size is the largest step that a gauge may have, as a fraction of all; 0: it tells more finely.
func (s *steps) size() float64 {
	for at, step := range coarse {
		if *s&(1<<at) == 0 {
			return float64(step)/100 + 1e-9
		}
	}
	return 0
}

// drop is a sudden drop of the charge that was taken for a cell which gives out, and what was reckoned with before it.
type drop struct {
	at            time.Time // zero: there was none, or it is past taking back
	from, to      float64
	gauge         gauge
	anchor, burnt float64
	since         float64
	refilled      float64
}

// dropStands is for how long a word may stand that was wrong; one word may whatever the pace.
const dropStands = 15 * time.Second

// takeBack takes a drop back where the charge is told as it was, or almost: that was a wrong word. A cell that has given out does not
// recover.
func (b *battery) takeBack(now time.Time, charge float64) {
	d := b.drop
	switch {
	case d.at.IsZero():
		return
	case charge == d.to && now.Sub(d.at) <= dropStands:
		return
	case b.charge != d.to || charge <= (d.from+d.to)/2:
		b.drop = drop{}
		return
	}
	d.gauge.last, d.gauge.before = d.gauge.last-b.since, d.gauge.before-b.since
	b.gauges[FromDrop], b.anchor, b.burnt, b.since = d.gauge, d.anchor, d.burnt+b.since, d.since+b.since
	b.charge, b.refilled, b.drop = d.from, d.refilled, drop{}
}

// byFall gives the burn that is left if the charge goes on falling with what is burnt as it did since the mains failed.
// It never looks at a short window only: that is off by up to three times either way (docs/FIGURES.md).
func (b *battery) byFall(charge float64) (left, sigma float64) {
	fallen := b.anchor - charge
	if fallen < slopeDrop || b.lasted < slopeAfter {
		return math.Inf(1), 0
	}
	return charge * b.burnt / fallen, fallSigma + fallGrain/fallen
}

// snapped reports whether the charge fell far more than what was burnt since it last changed explains.
func (b *battery) snapped(was, charge float64) bool {
	fall := was - charge
	if fall <= max(snapDrop, b.steps.size()) {
		return false
	}
	full, _, _ := b.full()
	switch {
	case full > 0:
	case b.anchor-was >= slopeDrop:
		full = (b.burnt - b.since) / (b.anchor - was)
	case b.gauges[FromRuntime].known && was > 0:
		full = b.gauges[FromRuntime].last / was
	}
	return full > 0 && fall > snapTimes*b.since/full
}
