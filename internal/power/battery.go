package power

import (
	"math"
	"time"
)

// LowBatteryLeft is what a low-battery flag means where the UPS tells no runtime.
const LowBatteryLeft = 2 * time.Minute

const (
	slopeDrop  = 0.05             // charge must have fallen so far before its fall says anything
	slopeAfter = 30 * time.Second // and so much battery time have passed: voltage-based gauges sag at once, then settle
	shortLine  = time.Minute      // an on-line spell shorter than this does not start the fall afresh

	snapDrop   = 0.05 // a fall of more than so much between two readings, at a load that did not rise,
	snapTimes  = 3    // and of so many times what was to be expected, is a sudden drop
	snapKeeps  = 0.7  // what is left after it, of what the charge would mean
	steadyLoad = 1.1  // a load that rose by no more than this did not rise

	wornFactor = 0.5 // a battery that the UPS wants replaced, or that failed its test, counts for half

	// On battery the UPS's own runtime never counts for more than this times what it said when the mains failed.
	runtimeRise = 1.05

	// quickestRecharge is the least time in which any battery comes from empty to full: a gauge that goes by the voltage says full minutes
	// after the mains are back, since nothing draws on it any more.
	quickestRecharge = 20 * time.Minute

	// How far each way is off, as the standard deviation of the logarithm (docs/FIGURES.md).
	runtimeSigma = 0.30
	runtimeLearn = 0.20 // of a battery whose capacity is proven: the UPS has seen the same discharge
	sheetSigma   = 0.45
	fallSigma    = 0.15 // and fallGrain over what the charge fell by: it is told in whole percents
	fallGrain    = 0.01
)

// gauge is one way of telling the burn that is left. It holds what the last two readings told: the lower counts, so
// it falls at once and rises only when two readings in a row say so.
type gauge struct {
	known        bool
	last, before float64
	sigma, least float64 // least: lowFactor of sigma
	at           time.Time
}

func (g *gauge) tell(now time.Time, burn, sigma float64) {
	g.before = burn
	if g.known {
		g.before = g.last
	}
	if sigma != g.sigma || g.least == 0 {
		g.sigma, g.least = sigma, lowFactor(sigma)
	}
	g.known, g.last, g.at = true, burn, now
}

func (g *gauge) view() View {
	low := min(g.last, g.before)
	if !g.known || math.IsInf(low, 1) {
		return View{}
	}
	return View{Known: true, Burn: max(0, low), Sigma: g.sigma, least: g.least}
}

// standing is a runtime that stands still, for as long as it does.
type standing struct {
	left  float64 // that its UPS says, in seconds
	meant float64 // what that was in burn, at the load of when it first said so
	burnt float64 // since then, on battery
}

// battery estimates what a supply's battery has left, in burn: seconds at full load. Its ways of telling are
// independent and the most pessimistic counts. On battery a way that is no longer told goes on burning, so that
// missing data never raises it.
type battery struct {
	curve    curve
	capacity Capacity      // proven; Burn 0: not
	recharge time.Duration // from empty to full
	at       time.Time     // up to when burn is accounted

	loaded        bool
	load, loadWas float64 // of the last two readings that told it, as fractions; the higher counts
	rate          float64 // what a second at that load burns

	spent   float64 // burn since it was full, as far as its capacity is known
	charged bool    // a charge was told
	charge  float64 // the last, as a fraction
	since   float64 // burn since the charge last changed

	anchored bool
	stepped  bool    // it has fallen since by one of the steps in which it is told
	anchor   float64 // the charge when the mains failed, or after a sudden drop
	burnt    float64 // since then
	lasted   time.Duration
	ceiling  float64 // what the UPS's runtime said when the mains failed; 0: nothing yet
	runtime  standing
	doubted  standing // that is not believed yet
	kept     bool     // what was spent is an account of all since it was on line
	// the most of a charge that there can be, as a fraction: of the lowest since it was full, and what has come back since
	refilled float64

	slips struct{ charge, runtime slip }
	fell  struct { // as the charge began to fall that is not believed yet
		since  float64
		steady bool
		onLine bool
	}
	drop    drop
	steps   steps
	health  float64 // what its capacity was last told with
	gauges  [sources]gauge
	stretch stretch
}

func newBattery(s Supply) battery {
	b := battery{curve: newCurve(s.Curve), capacity: s.Capacity, recharge: s.Recharge, refilled: 1}
	if b.recharge <= 0 {
		b.recharge = DefaultRecharge
	}
	b.rate = b.curve.rate(b.x())
	return b
}

// declare takes over what is said anew of the supply.
func (b *battery) declare(s Supply) {
	anew := newBattery(s)
	b.curve, b.capacity, b.recharge = anew.curve, anew.capacity, anew.recharge
	b.rate = b.curve.rate(b.x())
}

// full is the burn that a full battery gives, how sure that is, and which way says so; 0: not known.
func (b *battery) full() (burn, sigma float64, by Source) {
	if b.capacity.Burn > 0 {
		return b.capacity.Burn, b.capacity.Sigma, FromCapacity
	}
	return b.curve.full, sheetSigma, FromNameplate
}

// x is the load to reckon with. A load that was never told counts as full.
func (b *battery) x() float64 {
	if !b.loaded {
		return 1
	}
	return max(b.load, b.loadWas)
}

// flow is what a battery does.
type flow uint8

const (
	refilling flow = iota // on line
	draining              // supplies the load, and for it the mains are gone
	tested                // supplies the load on purpose
	resting               // on battery, and the output is off
)

// pass accounts for the time up to now.
func (b *battery) pass(now time.Time, f flow) {
	spent := now.Sub(b.at)
	b.at = now
	b.forget(now, f)
	if spent <= 0 || f == resting {
		return
	}
	full, _, _ := b.full()
	if f == refilling {
		b.refill(spent)
		b.spent = max(0, b.spent-full*spent.Seconds()/b.recharge.Seconds())
		return
	}
	burn := spent.Seconds() * b.rate
	b.spent, b.since = b.spent+burn, b.since+burn
	if full > 0 {
		b.spent = min(b.spent, full)
	}
	b.stretch.pass(burn, spent, b.x())
	if f == tested {
		return
	}
	b.burnt += burn
	b.runtime.burnt += burn
	b.doubted.burnt += burn
	b.lasted += spent
	for i := range b.gauges {
		if g := &b.gauges[i]; g.known {
			g.last -= burn
			g.before -= burn
		}
	}
}

// refill adds what can have come back in that time.
func (b *battery) refill(charged time.Duration) {
	b.refilled = min(1, b.refilled+charged.Seconds()/min(quickestRecharge, b.recharge).Seconds())
}

// forget drops what was not told for long. On battery it burns on instead.
func (b *battery) forget(now time.Time, f flow) {
	if f != refilling && f != tested {
		return
	}
	old := now.Add(-kept)
	for i := range b.gauges {
		if g := &b.gauges[i]; g.known && g.at.Before(old) {
			*g = gauge{}
		}
	}
}

// begin starts the fall of the charge afresh: the mains have failed.
func (b *battery) begin() {
	b.anchored, b.stepped = false, false
	b.gauges[FromSlope], b.gauges[FromDrop], b.drop = gauge{}, gauge{}, drop{}
}

// end forgets what only the stretch on battery could tell.
func (b *battery) end() {
	if s := &b.slips.charge; !s.since.IsZero() && s.told == several { // whether it was a slip nothing will tell any more
		b.refilled = min(b.refilled, s.least)
	}
	b.gauges[FromSlope], b.gauges[FromDrop], b.gauges[FromAlarm], b.ceiling, b.drop = gauge{}, gauge{}, gauge{}, 0, drop{}
}

// recharged reports whether a charge is told that is more than there can be unless the mains were back since the last.
func (b *battery) recharged(charge Figure) bool {
	return charge.Known && b.charged && charge.Value/100 >= b.charge+slopeDrop
}

// anew forgets what was reckoned while nothing was heard: the mains were there, for a while that nobody knows.
func (b *battery) anew() {
	b.end()
	b.begin()
	b.gauges, b.charged, b.spent, b.kept, b.refilled = [sources]gauge{}, false, 0, false, 1
}

// read takes the figures of a fresh reading. The time up to now must have been passed. A rash alarm tells nothing of what is left.
func (b *battery) read(now time.Time, r Reading, f flow, low, rash bool) {
	loadWas := b.x()
	b.readLoad(r.Load)
	health := 1.0
	if r.Status.Has(RB) || r.TestFailed {
		health = wornFactor
	}
	b.kept = b.kept || f == refilling
	if r.Charge.Known {
		b.tellCharge(now, r.Charge.Value/100, f, b.x() <= loadWas*steadyLoad)
	}
	if r.Runtime.Known {
		b.readRuntime(now, r.Runtime.Value, f, health)
	}
	b.tellFull(now, f, health)
	switch {
	case !low:
		b.gauges[FromAlarm].tell(now, math.Inf(1), 0)
	case r.RuntimeLow.Known:
		b.gauges[FromAlarm].tell(now, r.RuntimeLow.Value*b.rate, 0)
	case !r.Runtime.Known && !rash:
		b.gauges[FromAlarm].tell(now, LowBatteryLeft.Seconds()*b.rate, 0)
	}
}

// tellFull reckons from what a full battery gives. On battery the burn alone goes on from there.
func (b *battery) tellFull(now time.Time, f flow, health float64) {
	full, sigma, by := b.full()
	if full <= 0 || !b.charged && b.capacity.Burn <= 0 && (!b.kept || f != draining && b.spent <= 0) {
		return // one that was on line is taken to have been full, as long as nothing better is known; on line that is worth nothing
	}
	if f == draining && b.gauges[by].known && health == b.health {
		return
	}
	left := full - b.spent
	if b.charged && f == refilling {
		left = min(left, full*b.charge)
	}
	b.health = health
	b.gauges[by].tell(now, left*health, sigma)
}

func (b *battery) readLoad(load Figure) {
	if !load.Known || load.Value <= 0 { // a load of 0 is what a UPS says that does not measure it
		return
	}
	before, was := b.x(), b.load
	b.load = load.Value / 100
	b.loadWas = b.load
	if b.loaded {
		b.loadWas = was
	}
	b.loaded = true
	if x := b.x(); x != before {
		b.rate = b.curve.rate(x)
	}
}

// readRuntime takes a runtime. One that stands still on battery is as old as when it was told first, and has burnt on since.
func (b *battery) readRuntime(now time.Time, left float64, f flow, health float64) {
	if s := &b.slips.runtime; s.words == 1 && left > 2*s.last && (s.by == f || f == draining) { // the first of all was a slip
		b.ceiling, b.gauges[FromRuntime] = 0, gauge{}
	}
	wasDoubted := !b.slips.runtime.since.IsZero()
	isSlip := !b.slips.runtime.believes(now, left, f, runtimeFell)
	w := &b.runtime
	switch {
	case isSlip:
		w = &b.doubted
	case wasDoubted && left == b.doubted.left: // it stands since it was doubted
		b.runtime = b.doubted
	}
	if left != w.left || f != draining {
		*w = standing{left: left, meant: left * b.rate}
	}
	burn := max(0, w.meant-w.burnt) // whatever the load is by now
	if !isSlip && (f != draining || b.ceiling == 0) {
		b.ceiling = burn
	}
	if f == draining && b.ceiling > 0 {
		burn = min(burn, b.ceiling*runtimeRise)
	}
	sigma := runtimeSigma
	if b.capacity.Burn > 0 {
		sigma = runtimeLearn
	}
	b.gauges[FromRuntime].tell(now, burn*health, sigma)
}

// outlook gives what is left. The time up to now must have been passed.
func (b *battery) outlook() Outlook {
	o := Outlook{Rate: b.rate}
	for i := range b.gauges {
		if b.gauges[i].known {
			o.Views[i] = b.gauges[i].view()
		}
	}
	return o
}
