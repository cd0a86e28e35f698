package power

import (
	"math"
	"time"
)

// DefaultRecharge is how long a battery takes from empty to full where the runbook does not say (NUT's nutdrv_qx takes
// the same for chargetime).
const DefaultRecharge = 12 * time.Hour

// Capacity is what discharges of a supply's battery have proven: how much a full one gives. The zero Capacity is
// unproven.
type Capacity struct {
	Burn       float64   `json:"burn"`       // in seconds at full load; 0: never proven
	Sigma      float64   `json:"sigma"`      // of its logarithm, now
	Discharges int       `json:"discharges"` // that told something
	At         time.Time `json:"at,omitzero"`
}

// Discharge is one stretch on battery, as it goes on record.
type Discharge struct {
	At    time.Time     `json:"at"` // its end
	Burn  float64       `json:"burn"`
	Took  time.Duration `json:"took"`
	Load  float64       `json:"load"` // on average, in percent
	From  float64       `json:"from"` // charge in percent
	To    float64       `json:"to"`
	Empty bool          `json:"empty,omitempty"` // it went on until the UPS called its battery low
	Drill bool          `json:"drill,omitempty"` // on purpose
}

// LearnCapacity tells what past discharges prove of a battery now.
func LearnCapacity(past []Discharge, now time.Time) Capacity { return Capacity{} }

// lowFactor is what a pessimistic value is of a median.
func lowFactor(sigma float64) float64 { return math.Exp(-normal95 * sigma) }

const normal95 = 1.6448536269514722 // the 95th percentile of the normal distribution
