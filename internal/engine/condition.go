package engine

import (
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
)

// condition is how a supply is, in one word: what its readings say, and what this outage has done with its output.
type condition uint8

// The conditions. docs/ENGINE.md has the table that conditionOf is, made from it.
const (
	unheard   condition = iota // nothing was heard of it since Ebbtide began
	mains                      // on line, and it has not failed in this outage
	testing                    // runs on its battery on purpose
	onBattery                  // fails: on battery, or its output is off although nobody cut it
	silent                     // it failed when it fell silent: no better than its last word
	quiet                      // it had not failed when it fell silent
	unfit                      // on line, and too hot or browned out for what the policy allows
	returning                  // on line again, not for long enough to count
	charging                   // its mains are back, or browned out, and its recharge gate is shut
	ready                      // its mains are back, and its gate is open
	toBeCut                    // something was stopped that only its power cycle starts again
	cutArmed                   // its cut was commanded, and counts down
	dark                       // its output is off
	conditions
)

var conditionTexts = [conditions]string{
	"not heard yet", "on line", "testing its battery", "on battery", "silent, and failing when it was last heard", "silent, and well when it was last heard", "on line, but unfit",
	"on line again, not for long enough", "recharging", "ready", "to be cut", "about to be cut", "off",
}

func (c condition) String() string { return conditionTexts[c] }

// carries reports whether what a supply feeds keeps its power from it: nothing is stopped for one that carries.
func (c condition) carries() bool {
	return c == unheard || c == mains || c == quiet || c == testing || c == charging || c == ready
}

// starts reports whether something may be started on a supply.
func (c condition) starts() bool { return c == mains || c == ready }

// gate is how the recharge gate of a supply is.
type gate uint8

const (
	noGate   gate = iota // it has none: it has not failed in this outage
	gateShut             // it failed, or may have: after a crash nobody knows, since the last records may be lost
	gateOpen
)

// reading is what the newest reading of a supply says, as far as its condition goes.
type reading uint8

const (
	saysNothing reading = iota // nothing was ever heard
	saysOnline
	saysShort   // on line again, not for long enough
	saysTest    // it discharges on purpose
	saysBattery // on battery, or the output is off
	saysUnfit   // on line, and what the policy watches beside the battery holds
	wentSilent  // the last word is old
	readings
)

// readingOf sorts a supply's state.
func readingOf(s *power.State, unfit bool) reading {
	switch {
	case s.Mains == power.MainsUnknown && !s.OutputOff:
		return saysNothing
	case s.SilentFor > 0:
		return wentSilent
	case s.Failing():
		return saysBattery
	case unfit:
		return saysUnfit
	case s.Calibrating:
		return saysTest
	case s.OnlineFor < returnAfter:
		return saysShort
	}
	return saysOnline
}

// failedCondition gives the condition of a supply that fails, by what it says.
var failedCondition = [readings]condition{
	saysNothing: silent, saysOnline: returning, saysShort: returning, saysTest: returning, saysBattery: onBattery, saysUnfit: unfit, wentSilent: silent,
}

// conditionOf gives the condition of a supply: from how it stands on record, from its newest reading, from whether its
// output was seen to be off, and from how its recharge gate is.
func conditionOf(st *ledger.Standing, says reading, off bool, gate gate) condition {
	switch st.Cycle {
	case ledger.CutProven, ledger.WentDark, ledger.GaveOut:
		if off {
			return dark
		}
		return cutArmed
	case ledger.CutSent:
		return cutArmed
	case ledger.Committed:
		return toBeCut
	case ledger.Uncut:
	}
	if st.IsOut() {
		return failedCondition[says]
	}
	switch {
	case says == saysNothing:
		return unheard
	case says == saysTest:
		return testing
	case says == wentSilent && gate == noGate:
		return quiet
	case gate == noGate:
		return mains
	case gate == gateOpen && says == saysOnline:
		return ready
	}
	return charging
}
