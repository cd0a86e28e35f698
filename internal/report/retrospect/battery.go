package retrospect

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
)

// BatteryTold is what a battery gave, beside what had been said of it. Durations are in seconds, the rest in percent.
type BatteryTold struct {
	Supply string    `json:"supply"`
	At     time.Time `json:"at"` // its end
	Took   float64   `json:"took"`
	From   float64   `json:"from"`
	To     float64   `json:"to"`
	Load   float64   `json:"load"`            // on average
	Empty  bool      `json:"empty,omitempty"` // it went on until the UPS called its battery low
	// Said is when it was said how long the battery lasts, absent if that is not on record.
	Said   time.Time `json:"said,omitzero"`
	Least  float64   `json:"said_least,omitempty"`
	Likely float64   `json:"said_likely,omitempty"`
	By     string    `json:"said_by,omitempty"`
	// Gave is how long it would have lasted from then on at that load, as this discharge shows; 0: it was too short to tell.
	Gave  float64 `json:"gave,omitempty"`
	Ratio float64 `json:"ratio,omitempty"` // of what it gave to what was likely
	// Pace is how long it would have lasted from Said on if its charge had gone on to fall as it did up to the end, whatever
	// the load was; told where Gave can't be.
	Pace  float64 `json:"pace,omitempty"`
	Tells bool    `json:"tells"` // the next plan reckons with what it showed
	Text  string  `json:"text"`
}

// leastFall is how many points of charge a discharge must have taken before it tells how long the rest would have lasted.
const leastFall = 10

// batteries holds what UPSes said against what their batteries gave.
func (f *fold) batteries() {
	for _, d := range f.story.Discharges {
		b := BatteryTold{
			Supply: d.Supply, At: d.At, Took: d.Took.Seconds(), From: d.From, To: d.To, Load: d.Load, Empty: d.Empty, Tells: d.Tells(),
		}
		if said := f.said(d.Supply, d.At.Add(-d.Took), d.At); said != nil {
			n := said.Numbers
			b.Said, b.Least, b.By = said.At, *n.Left, n.By
			if n.Likely != nil {
				b.Likely = *n.Likely
			}
			b.Gave = f.gave(&b, n)
			if b.Gave == 0 {
				b.Pace = f.pace(&b)
			}
			if b.Gave > 0 && b.Likely > 0 {
				b.Ratio = b.Gave / b.Likely
			}
		}
		b.Text = b.words()
		if b.Tells && !f.Simulated {
			b.Text += " The next plan takes that into account."
		}
		f.Batteries = append(f.Batteries, b)
	}
}

// pace reckons with the charge at the first decision of a stretch without mains, where the discharge itself was not watched
// from there on; 0: that can't be told. That decision becomes what was said.
func (f *fold) pace(b *BatteryTold) float64 {
	for i := range f.told {
		r := &f.told[i]
		if r.Kind != ledger.Triggered || r.Numbers == nil || r.Numbers.Charge == nil || r.Numbers.Left == nil ||
			!slices.Contains(r.Supplies, b.Supply) || !f.sameStretch(b.Supply, r.At, b.At) {
			continue
		}
		charge := *r.Numbers.Charge
		if charge-b.To < leastFall {
			return 0
		}
		b.Said, b.Least, b.By, b.Likely = r.At, *r.Numbers.Left, r.Numbers.By, 0
		if r.Numbers.Likely != nil {
			b.Likely = *r.Numbers.Likely
		}
		return b.At.Sub(r.At).Seconds() * charge / (charge - b.To)
	}
	return 0
}

// said finds the first decision of a discharge for which it was known how long the battery lasts; or, where Ebbtide was
// away in between, the last one before it on the same stretch without mains.
func (f *fold) said(supply string, from, to time.Time) *ledger.Record {
	var before *ledger.Record
	for i := range f.told {
		r := &f.told[i]
		if r.Kind != ledger.Triggered || r.Numbers == nil || r.Numbers.Left == nil ||
			!slices.Contains(r.Supplies, supply) || r.At.After(to) {
			continue
		}
		if !r.At.Before(from.Add(-soon)) {
			return r
		}
		if f.sameStretch(supply, r.At, to) {
			before = r
		}
	}
	return before
}

func (f *fold) sameStretch(supply string, a, b time.Time) bool {
	for _, s := range f.Away {
		if s.Supply == supply && !a.Before(s.From) && (s.To.IsZero() || !b.After(s.To)) {
			return true
		}
	}
	return false
}

// gave tells how long a battery would have lasted from a decision on, at the load that it had then; 0: that can't be
// told.
func (f *fold) gave(b *BatteryTold, n *ledger.Numbers) float64 {
	d := f.discharge(b)
	fall := b.From - b.To
	if b.Empty && d.Tells() { // an early alarm says nothing of what a battery holds
		fall = b.From
	}
	if fall < leastFall || n.Charge == nil || n.Load == nil || *n.Load <= 0 || d.Burn <= 0 {
		return 0
	}
	var curve []power.Point
	for i := range f.Sheets {
		if f.Sheets[i].ID == b.Supply {
			curve = f.Sheets[i].Curve
		}
	}
	lasts, _ := power.Capacity{Burn: d.Burn / fall * *n.Charge}.Lasts(curve, *n.Load/100)
	return lasts.Seconds()
}

func (f *fold) discharge(b *BatteryTold) power.Discharge {
	for _, d := range f.story.Discharges {
		if d.Supply == b.Supply && d.At.Equal(b.At) {
			return d.Discharge
		}
	}
	return power.Discharge{}
}

// words say what it gave in a sentence or two.
func (b *BatteryTold) words() string {
	text := fmt.Sprintf("%s was on battery for %s at %.0f%% load, charge %s.", b.Supply, english.Span(seconds(b.Took)), b.Load,
		english.Fall(b.From, b.To))
	if b.Empty {
		text = fmt.Sprintf("%s had been on battery for %s at %.0f%% load, charge %s, when its UPS reported a low battery.", b.Supply,
			english.Span(seconds(b.Took)), b.Load, english.Fall(b.From, b.To))
	}
	switch {
	case b.Said.IsZero():
		return text + " No prediction of its runtime was recorded during that time."
	case b.Pace > 0:
		return text + fmt.Sprintf(" Earlier in the same power failure, according to %[3]s, it was expected to last at least %[1]s and likely "+
			"%[2]s at the load at that moment; at the rate at which its charge fell from then on, while its load became smaller, it "+
			"would have lasted %[4]s.",
			english.Span(seconds(b.Least)), english.Span(seconds(b.Likely)), b.By, english.Span(seconds(b.Pace)))
	case b.Gave == 0:
		return text + fmt.Sprintf(" According to %[2]s, it was expected to last at least %[1]s; too little of it was used to tell "+
			"whether that was right.", english.Span(seconds(b.Least)), b.By)
	case b.Ratio == 0:
		return text + fmt.Sprintf(" According to %[2]s, it was expected to last at least %[1]s; it would have lasted %[3]s.",
			english.Span(seconds(b.Least)), b.By, english.Span(seconds(b.Gave)))
	}
	text += fmt.Sprintf(" According to %[3]s, it was expected to last at least %[1]s and likely %[2]s; judging by what it delivered, it would "+
		"have lasted %[4]s, %.0[5]f%% of the likely time",
		english.Span(seconds(b.Least)), english.Span(seconds(b.Likely)), b.By, english.Span(seconds(b.Gave)), 100*b.Ratio)
	if b.Gave < b.Least {
		text += " and less than the minimum"
	}
	return text + "."
}
