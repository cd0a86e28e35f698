package power

import "time"

// Kind names a trigger condition, with the key that a runbook spells it by.
type Kind string

// The conditions of the runbook language. Those of the first group make things go down, those of the second let them
// come back; any and all combine.
const (
	OnBattery        Kind = "on_battery"        // for a time
	SlackBelow       Kind = "slack_below"       // time
	RuntimeBelow     Kind = "runtime_below"     // time
	ChargeBelow      Kind = "charge_below"      // percent
	LowBattery       Kind = "low_battery"       // true
	SilentOnBattery  Kind = "silent_on_battery" // for a time
	Brownout         Kind = "brownout"          // for a time
	TemperatureAbove Kind = "temperature_above" // °C
	Online           Kind = "online"            // for a time
	ChargeAbove      Kind = "charge_above"      // percent
	RechargedFor     Kind = "recharged_for"     // another_shutdown
	Any              Kind = "any"
	All              Kind = "all"
)

// IsForReturn reports whether a kind of condition speaks of mains that are back: a restore waits for it, and nothing is shut down by it.
func (k Kind) IsForReturn() bool {
	switch k {
	case Online, ChargeAbove, RechargedFor:
		return true
	case OnBattery, SlackBelow, RuntimeBelow, ChargeBelow, LowBattery, SilentOnBattery, Brownout, TemperatureAbove, Any, All:
	}
	return false
}

// Condition is a trigger as data: it can be checked against what a UPS reports, simulated, and printed as a sentence.
type Condition struct {
	Kind Kind          `json:"kind"`
	For  time.Duration `json:"for,omitempty"`  // on_battery, silent_on_battery, brownout, online, slack_below, runtime_below
	Than float64       `json:"than,omitempty"` // charge_below, charge_above: percent; temperature_above: °C
	Of   []Condition   `json:"of,omitempty"`   // any, all
}
