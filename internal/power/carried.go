package power

import "time"

// Carried is what a tracker knows of a stretch on battery that a restart would lose. It goes on record while the stretch lasts.
type Carried struct {
	On  time.Duration `json:"on"`  // on battery, without interruption
	Out time.Duration `json:"out"` // the same, and on through spells on line that are too short to be a return

	Lasts  float64 `json:"lasts,omitempty"`  // seconds for which the battery lasts at least, as far as was known
	Charge float64 `json:"charge,omitempty"` // percent, by its gauge
	Load   float64 `json:"load,omitempty"`   // percent, the last that was measured
	Given
	Spent float64 `json:"spent,omitempty"` // burn since the battery was full
	Kept  bool    `json:"kept,omitempty"`  // which is an account of all since it was on line
	Left  float64 `json:"left,omitempty"`  // percent of a charge that can be left at most: see AssumeCharge

	// A runtime that stands still burns on: what was told, what that was in burn, and what has burnt since.
	Runtime float64 `json:"runtime,omitempty"`
	Meant   float64 `json:"meant,omitempty"`
	Stood   float64 `json:"stood,omitempty"`

	Volts float64 `json:"volts,omitempty"` // the highest of its input while it was on line: the sensor works
}

// Given is what a stretch on battery has given so far, of which a Discharge is made.
type Given struct {
	Took   time.Duration `json:"took"`
	Burn   float64       `json:"burn"`             // seconds at full load
	Loaded float64       `json:"loaded,omitempty"` // load, as a fraction, times seconds
	From   float64       `json:"from,omitempty"`   // charge, as a fraction; 0: none was told
	Low    bool          `json:"low,omitempty"`    // the UPS calls its battery low
	Mark   *Mark         `json:"mark,omitempty"`   // what it had given when it began to
	Drill  bool          `json:"drill,omitempty"`  // it was on purpose
	Told   bool          `json:"told,omitempty"`   // the Discharge is on record
}

// Mark is what a battery had given when its UPS began to call it low.
type Mark struct {
	Took   time.Duration `json:"took"`
	Burn   float64       `json:"burn"`
	Loaded float64       `json:"loaded,omitempty"`
	To     float64       `json:"to,omitempty"` // charge, as a fraction
}

// mark gives what is carried of a lowMark.
func (l *lowMark) mark() *Mark {
	if l == nil {
		return nil
	}
	return &Mark{Took: l.took, Burn: l.burn, Loaded: l.loaded, To: l.to}
}

// lowMark is the one that was carried; by an older version, which did not carry it, it is where that ended.
func (g *Given) lowMark() *lowMark {
	switch {
	case !g.Low:
		return nil
	case g.Mark == nil:
		return &lowMark{given{g.Burn, g.Took, g.Loaded}, g.From}
	}
	return &lowMark{given{g.Mark.Burn, g.Mark.Took, g.Mark.Loaded}, g.Mark.To}
}

// carriesFor is how long nobody may have heard a supply that is on battery afterwards, as before, for that to count as one stretch: in a
// longer time its mains may have been back.
const carriesFor = 2 * time.Minute

// Carry gives what a restart would lose of the present stretch on battery, as of the last reading. False: there is none, or it is not
// heard.
func (t *Tracker) Carry() (Carried, bool) {
	if t.mains != MainsOnBattery || t.silent {
		return Carried{}, false
	}
	b, s := &t.battery, &t.battery.stretch
	return Carried{
		On: t.heardAt.Sub(t.since), Out: t.heardAt.Sub(t.out), Volts: t.volts, Load: 100 * b.load,
		Given: Given{
			Took: s.took, Burn: s.burn, Loaded: s.loaded, From: s.from, Low: s.low != nil, Mark: s.low.mark(), Drill: s.drill,
			Told: s.onRecord,
		},
		Spent: b.spent, Kept: b.kept, Left: 100 * b.refilled, Runtime: b.runtime.left, Meant: b.runtime.meant, Stood: b.runtime.burnt,
	}, true
}

// TakeUp takes what was on record of a supply that was not heard yet: the last that was carried, so long before now. Where the clock was
// wrong meanwhile, or nobody knows, that is negative.
func (t *Tracker) TakeUp(now time.Time, c Carried, ago time.Duration) {
	if t.began {
		return
	}
	if t.carried, t.carriedAt = &c, (time.Time{}); ago >= 0 {
		t.carriedAt = now.Add(-ago)
	}
}

// resume goes on with what was carried, at the first word of the supply.
func (t *Tracker) resume(now time.Time) {
	c, gap := t.carried, now.Sub(t.carriedAt)
	t.carried = nil
	if c == nil {
		return
	}
	b := &t.battery
	t.volts = max(t.volts, c.Volts)
	if !b.loaded {
		b.readLoad(Known(c.Load))
	}
	switch {
	case t.mains == MainsOnline:
		b.spent = c.Spent
	case t.mains == MainsOnBattery && gap >= 0 && gap <= carriesFor:
		b.spent, b.kept = c.Spent, c.Kept
		t.since, t.out = now.Add(-gap-c.On), now.Add(-gap-c.Out)
		rate, load := 0.0, 0.0
		if c.Took > 0 {
			rate, load = c.Burn/c.Took.Seconds(), c.Loaded/c.Took.Seconds()
		}
		burnt := gap.Seconds() * rate
		b.spent += burnt
		b.runtime = standing{left: c.Runtime, meant: c.Meant, burnt: c.Stood + burnt}
		b.stretch = stretch{
			given: given{c.Burn + burnt, c.Took + gap, c.Loaded + load*gap.Seconds()}, charged: c.From > 0, from: c.From,
			to: c.From, low: c.lowMark(), drill: c.Drill, onRecord: c.Told,
		}
	}
}
