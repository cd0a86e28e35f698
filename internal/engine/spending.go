package engine

import (
	"math"
	"time"

	"ebbtide/internal/power"
)

// spending adds up what a battery gives in a drill, from readings.
type spending struct {
	at       time.Time // of the newest reading
	took     time.Duration
	burn     float64 // seconds at full load
	from, to float64 // percent
	empty    bool
}

// add takes a fresh reading; spends tells whether the battery is discharged on purpose.
func (s *spending) add(now time.Time, r power.Reading, spends bool) {
	on := spends && r.Status&discharges != 0
	if !s.at.IsZero() && on {
		load := 1.0 // one that is not told counts as full
		if r.Load.Known && r.Load.Value > 0 {
			load = r.Load.Value / 100
		}
		s.took += now.Sub(s.at)
		s.burn += now.Sub(s.at).Seconds() * math.Pow((load+0.08)/1.08, 1.25)
	}
	if s.at.IsZero() {
		s.from = r.Charge.Value
	}
	if on {
		s.to, s.empty = r.Charge.Value, s.empty || r.Status.Has(power.LB)
	}
	s.at = now
}

// sum gives the account; false if there is nothing to tell.
func (s *spending) sum(now time.Time) (power.Discharge, bool) {
	return power.Discharge{At: now, Burn: s.burn, Took: s.took, From: s.from, To: s.to, Empty: s.empty, Drill: true}, s.took > 0 && s.to < s.from
}
