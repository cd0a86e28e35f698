package power

import "time"

const (
	// lowAfter is how long a UPS must say that its battery is low before it is believed: several raise LB within a
	// second of going on battery, and a flap of the mains must never shut anything down.
	lowAfter = 5 * time.Second
	// ReturnAfter is how long mains must be there to count as back: a UPS that goes to and fro between a generator and its battery runs
	// down.
	ReturnAfter = 5 * time.Second
	// lineGap is the longest silence that does not interrupt a time on line.
	lineGap = 15 * time.Second
	// enough is what is left of a battery that is not empty at the next word: percent, and seconds.
	enough = 10
	while  = 60
)

// Tracker follows one supply. It is not safe for concurrent use.
type Tracker struct {
	id      string
	watts   float64 // nominal output power, 0: not said
	volts   float64 // the highest of its input while it was plainly on line; 0: none was told
	began   bool
	heard   bool
	silent  bool      // the last reading said nothing
	heardAt time.Time // the last reading that said something, or the first reading if none ever did
	status  Status    // its words
	mains   Mains
	since   time.Time // mains have been so without interruption
	out     time.Time // since when it is on battery, or was, but for spells on line that are too short to be a return

	carried   *Carried // what is on record of before it was heard; nil: nothing is, or it is taken up
	carriedAt time.Time

	plain  bool // it has been heard without the word OFF: where it says that, it means it
	meant  bool // the last reading was the first without, after OFF on battery: that was meant
	feigns bool // that its output is off was rehearsed
	empty  bool // the last reading said that nothing is left
	low    span
	forced span // told down by NUT's primary
	sag    span // brownout

	charge, load, temperature, voltage, transferLow, nominal held

	battery battery
}

// NewTracker makes a tracker that has heard nothing yet.
func NewTracker(s Supply) *Tracker {
	return &Tracker{id: s.ID, watts: s.Watts, battery: newBattery(s)}
}

// Declare takes over what is said anew of the supply. What was heard of it stays.
func (t *Tracker) Declare(s Supply) {
	t.watts = s.Watts
	t.battery.declare(s)
}

// Share gives what the load of another supply, in percent of that one's nominal output, is of this one's: the same where the runbook does
// not say the watts of both.
func (t *Tracker) Share(of *Tracker, load float64) float64 {
	if t.watts <= 0 || of.watts <= 0 {
		return load
	}
	return load * of.watts / t.watts
}

// Observe takes one reading, made at now. Times must not go backwards; only their differences count.
func (t *Tracker) Observe(now time.Time, r Reading) {
	if !t.began {
		t.began, t.heardAt, t.battery.at = true, now, now
	}
	t.battery.pass(now, t.flow())
	if r.Link != Fresh || !r.Status.says() {
		t.silent = true
		return
	}
	was, gap := t.flow(), now.Sub(t.heardAt)
	deaf := t.silent && gap > lineGap
	r.Status = t.words(&r)
	t.doubtEmpty(&r)
	if r.Voltage.Known && r.Status.Has(OL) && !r.Status.any(OB|CAL|DISCHRG|LB) {
		t.volts = max(t.volts, r.Voltage.Value)
	}
	t.follow(now, r.Status.mains(t.mains))
	t.meant = !t.plain && !r.Status.Has(OFF) && t.status.outputOff(true)
	t.silent, t.heard, t.heardAt, t.status, t.feigns = false, true, now, r.Status, r.Rehearsed
	t.battery.stretch.heard(gap <= lineGap || t.flow() == draining || t.flow() == tested)
	if was == resting && t.flow() == draining { // the mains may have been there meanwhile: what its gauges did then was no load's doing
		t.battery.end()
		t.battery.begin()
	}
	if deaf && t.flow() == draining && t.battery.recharged(r.Charge) { // its mains were there, and fail again
		t.battery.anew()
	}
	t.low.set(now, r.Status.low(t.mains))
	t.forced.set(now, r.Status.forcedDown(t.mains))
	t.plain = t.plain || r.Status.any(OL|OB) && !r.Status.Has(OFF)

	t.charge.tell(now, r.Charge)
	t.load.tell(now, r.Load)
	t.temperature.tell(now, r.Temperature)
	t.voltage.tell(now, r.Voltage)
	t.transferLow.tell(now, r.TransferLow)
	t.nominal.tell(now, r.Nominal)
	t.sag.set(now, t.mains == MainsOnline && t.sagging(now))
	t.battery.read(now, r, t.flow(), t.says(now, t.low), isRash(now.Sub(t.out), r.Charge))
	t.stretch(now)
	t.battery.forget(now, t.flow())
}

// doubtEmpty drops figures by which nothing is left from one word to the next of a battery that had enough: cards and drivers tell a zero
// now and then, and that may be the last word for long. It is so if the next word says it too.
func (t *Tracker) doubtEmpty(r *Reading) {
	was := t.empty
	t.empty = r.Runtime.Known && r.Runtime.Value <= 0 || r.Charge.Known && r.Charge.Value <= 0
	hadEnough := t.charge.figure.Known && t.charge.figure.Value > enough || t.battery.runtime.left > while
	if t.empty && !was && hadEnough {
		r.Runtime, r.Charge = Figure{}, Figure{}
	}
}

// follow notes what the mains are now.
func (t *Tracker) follow(now time.Time, m Mains) {
	if m == MainsOnBattery && t.mains != MainsOnBattery {
		if t.mains != MainsOnline || now.Sub(t.since) >= shortLine {
			t.battery.begin()
		}
	}
	if m == MainsOnline && t.mains == MainsOnBattery {
		t.battery.end()
	}
	interrupted := m == MainsOnline && t.silent && now.Sub(t.heardAt) > lineGap
	if m == t.mains && !interrupted {
		return
	}
	if m == MainsOnBattery && !t.hunts(now) {
		t.out = now
	}
	t.mains, t.since = m, now
	t.resume(now)
}

// hunts reports whether the mains are back for so short a time that they may go again: no stage begins for such flaps, and a battery that
// runs down by them is none the fuller.
func (t *Tracker) hunts(now time.Time) bool {
	return t.mains == MainsOnline && !t.out.IsZero() && now.Sub(t.since) < ReturnAfter
}

// Interrupt takes that a supply which says that it is on line was not, since its output went off although nobody cut it: OnlineFor
// counts anew from now.
func (t *Tracker) Interrupt(now time.Time) {
	if t.mains == MainsOnline {
		t.since = now
	}
}

// AssumeOnBattery takes a supply that was never heard for one that is on battery: that it fails is known from before the tracker's time,
// and so may be since when (TakeUp).
func (t *Tracker) AssumeOnBattery() {
	if t.began && t.mains == MainsUnknown {
		t.follow(t.heardAt, MainsOnBattery)
	}
}

// AssumeCharge takes a supply that was not heard yet for one whose charge, in percent, was so low before the tracker's time, and charged
// for so long after that; 0: nobody knows.
func (t *Tracker) AssumeCharge(charge float64, charged time.Duration) {
	if charge > 0 && !t.began {
		t.battery.refilled = charge / 100
		t.battery.refill(charged)
	}
}

// Holds gives the percent of a charge that the battery can have at most, whatever its gauge says; never 0.
func (t *Tracker) Holds() float64 { return max(1, 100*t.battery.refilled) }

// sagging reports whether the input voltage is below what the UPS tolerates, or needs boosting from below 0.9 of nominal. What is not told
// any more is as it was.
func (t *Tracker) sagging(now time.Time) bool {
	v, nominal := t.voltage.get(now, t.mains), t.nominal.figure
	if !v.Known {
		return t.sag.on
	}
	if t.status.Has(BOOST) && nominal.Known && v.Value < 0.9*nominal.Value {
		return true
	}
	if low := t.transferLow.figure; low.Known {
		return v.Value < low.Value
	}
	return nominal.Known && v.Value < 0.85*nominal.Value
}

// says reports whether a supply has said something for long enough to be believed. It counts the time between readings only, but on through
// silence: a UPS that said that its battery is low and fell silent is dying, not well.
func (t *Tracker) says(now time.Time, word span) bool {
	upTo := t.heardAt
	if t.silent {
		upTo = now
	}
	return word.on && word.until(upTo) >= lowAfter
}

// State tells how the supply is at now, which must not lie before the last reading. It changes nothing.
func (t *Tracker) State(now time.Time) State {
	s := State{
		Supply:         t.id,
		Mains:          t.mains,
		LowBattery:     t.says(now, t.low),
		ForcedDown:     t.says(now, t.forced),
		Calibrating:    t.status.Has(CAL),
		OutputOff:      t.status.outputOff(t.plain),
		SaysOff:        t.status.Has(OFF),
		WasOff:         t.meant && !t.silent,
		ReplaceBattery: t.status.Has(RB),
		Overload:       t.status.Has(OVER),
		Bypass:         t.status.Has(BYPASS),
		Charge:         t.charge.get(now, t.mains),
		Refilled:       t.refilled(now),
		Load:           t.load.get(now, t.mains),
		Temperature:    t.temperature.get(now, t.mains),
	}
	if t.silent {
		s.SilentFor = max(1, now.Sub(t.heardAt)) // also if its first reading says nothing
	}
	upTo := now // a silent supply is not known to be on line, or browned out, any longer than it said so
	if t.silent {
		upTo = t.heardAt
	}
	if t.sag.on {
		s.BrownoutFor = max(1, t.sag.until(upTo))
	}
	switch t.mains {
	case MainsOnBattery:
		s.OnBatteryFor, s.OutFor = max(0, now.Sub(t.since)), max(0, now.Sub(t.out))
	case MainsOnline:
		if s.SilentFor <= lineGap {
			s.OnlineFor = max(0, upTo.Sub(t.since))
		}
	case MainsUnknown:
	}
	s.Proven = t.battery.capacity.Burn > 0
	s.Outlook = t.outlook(now)
	s.settle()
	return s
}

// Left is that of State alone.
func (t *Tracker) Left(now time.Time) Figure {
	o := t.outlook(now)
	left, _ := o.At(Pessimistic)
	return left
}

// outlook is what the battery has left at now.
func (t *Tracker) outlook(now time.Time) Outlook {
	if !t.began || now.Equal(t.battery.at) {
		return t.battery.outlook()
	}
	b := t.battery // a copy: asking changes nothing
	b.pass(now, t.flow())
	return b.outlook()
}

// flow tells what the battery does, as far as the last reading said.
func (t *Tracker) flow() flow {
	switch {
	case t.mains == MainsOnBattery && t.status.outputOff(t.plain) && !t.feigns:
		return resting
	case t.mains == MainsOnBattery:
		return draining
	case t.status.Has(CAL):
		return tested
	}
	return refilling
}

// stretch keeps the account of the time on battery.
func (t *Tracker) stretch(now time.Time) {
	switch f := t.flow(); f {
	case draining, tested:
		t.battery.stretch.callsLow(t.says(now, t.low) || t.status.Has(LB))
		t.battery.stretch.drill = t.battery.stretch.drill || f == tested
	case refilling:
		t.battery.account()
	case resting:
	}
}

// Discharge gives the account of the present time on battery, or on a test, so far: before the reading that ends it.
// False: there is none, or it was told.
func (t *Tracker) Discharge(now time.Time) (Discharge, bool) { return t.battery.stretch.discharge(now) }

// Told notes that the account of the present time on battery is on record.
func (t *Tracker) Told() { t.battery.stretch.onRecord = true }

// Rate gives what a second at a load (percent) burns.
func (t *Tracker) Rate(load float64) float64 { return t.battery.curve.rate(load / 100) }

// refilled is what of the charge that the UPS tells can be there.
func (t *Tracker) refilled(now time.Time) Figure {
	charge := t.charge.get(now, t.mains)
	charge.Value = min(charge.Value, 100*t.battery.refilled)
	return charge
}
