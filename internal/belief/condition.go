package belief

import (
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
)

// Condition is how a supply is, in one word: what its readings say, and what this outage has done with its output.
type Condition uint8

// The conditions. docs/ENGINE.md has the table that ConditionOf is, made from it.
const (
	Unheard   Condition = iota // nothing was heard of it since Ebbtide began
	Mains                      // on line, and it has not failed in this outage
	Testing                    // runs on its battery on purpose
	OnBattery                  // fails: on battery, or its output is off although nobody cut it
	Silent                     // it failed when it fell silent: no better than its last word
	Quiet                      // it had not failed when it fell silent
	Unfit                      // on line, and too hot or browned out for what the policy allows
	Returning                  // on line again, not for long enough to count
	Charging                   // its mains are back, or browned out, and its recharge gate is shut
	Ready                      // its mains are back, and its gate is open
	ToBeCut                    // something was stopped that only its power cycle starts again
	CutArmed                   // its cut was commanded, and counts down
	Dark                       // its output is off
	Conditions
)

var conditionTexts = [Conditions]string{
	"not heard from yet", "on line", "testing its battery", "on battery", "silent, failing when last heard", "silent, not failing when last heard", "on line, but another shutdown trigger is met",
	"on line again, but not for long enough", "recharging", "ready", "to be cut", "about to be cut", "off",
}

func (c Condition) String() string { return conditionTexts[c] }

// Carries reports whether what a supply feeds keeps its power from it: nothing is stopped for one that carries.
func (c Condition) Carries() bool {
	return c == Unheard || c == Mains || c == Quiet || c == Testing || c == Charging || c == Ready
}

// Starts reports whether something may be started on a supply.
func (c Condition) Starts() bool { return c == Mains || c == Ready }

// Gate is how the recharge gate of a supply is.
type Gate uint8

// How a gate is.
const (
	NoGate   Gate = iota // it has none: it has not failed in this outage
	GateShut             // it failed, or may have: after a crash nobody knows, since the last records may be lost
	GateOpen
)

// Reading is what the newest reading of a supply says, as far as its condition goes.
type Reading uint8

// What it may say.
const (
	SaysNothing Reading = iota // nothing was ever heard
	SaysOnline
	SaysShort   // on line again, not for long enough
	SaysTest    // it discharges on purpose
	SaysBattery // on battery, or the output is off
	SaysUnfit   // on line, and what the policy watches beside the battery holds
	WentSilent  // the last word is old
	Readings
)

// ReadingOf sorts a supply's state.
func ReadingOf(s *power.State, unfit bool) Reading {
	switch {
	case s.Mains == power.MainsUnknown && !s.OutputOff:
		return SaysNothing
	case s.SilentFor > 0:
		return WentSilent
	case s.Failing():
		return SaysBattery
	case unfit:
		return SaysUnfit
	case s.Calibrating:
		return SaysTest
	case s.OnlineFor < power.ReturnAfter:
		return SaysShort
	}
	return SaysOnline
}

// failedCondition gives the condition of a supply that fails, by what it says.
var failedCondition = [Readings]Condition{
	SaysNothing: Silent, SaysOnline: Returning, SaysShort: Returning, SaysTest: Returning, SaysBattery: OnBattery, SaysUnfit: Unfit,
	WentSilent: Silent,
}

// ConditionOf gives the condition of a supply: from how it stands on record, from its newest reading, from whether its
// output was seen to be off, and from how its recharge gate is.
func ConditionOf(st *ledger.Standing, says Reading, off bool, gate Gate) Condition {
	switch st.Cycle {
	case ledger.CutProven, ledger.WentDark, ledger.GaveOut:
		if off {
			return Dark
		}
		return CutArmed
	case ledger.CutSent:
		return CutArmed
	case ledger.Committed:
		return ToBeCut
	case ledger.Uncut:
	}
	if st.IsOut() {
		return failedCondition[says]
	}
	switch {
	case says == SaysNothing:
		return Unheard
	case says == SaysTest:
		return Testing
	case says == WentSilent && gate == NoGate:
		return Quiet
	case gate == NoGate:
		return Mains
	case gate == GateOpen && says == SaysOnline:
		return Ready
	}
	return Charging
}
