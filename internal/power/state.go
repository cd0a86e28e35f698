package power

import (
	"fmt"
	"strings"
	"time"

	"ebbtide/internal/english"
)

// State is what is known of a supply at one moment.
type State struct {
	Supply string
	// Mains is the last believable word. It stays through silence.
	Mains Mains

	// How long it has been so without interruption; 0 when it is not so.
	OnBatteryFor time.Duration // counts on through silence
	OutFor       time.Duration // the same, and on through spells on line of less than 5 s
	OnlineFor    time.Duration // stands still in a silence of up to 15 s; a longer one interrupts it
	SilentFor    time.Duration // since the last reading that said something
	BrownoutFor  time.Duration // stands still in a silence; more than 0 from the first word of it on

	LowBattery     bool // on battery and low, said for at least 5 s
	ForcedDown     bool // on battery, and NUT's primary has ordered everybody down (FSD), for at least 5 s
	Calibrating    bool // discharging on purpose: counts as on line
	OutputOff      bool // the UPS says that it does not supply its load
	SaysOff        bool // it says OFF, which beside OL is a habit of some and proves nothing by itself
	WasOff         bool // it said so on battery since its first word, and has just ceased to: that was no habit
	ReplaceBattery bool
	Overload       bool
	Bypass         bool // supplied past the battery: the next failure of the mains is not covered

	Charge      Figure // percent
	Refilled    Figure // percent: what of the charge can be there by now, since it was lowest
	Load        Figure // percent of nominal
	Temperature Figure // °C
	Left        Figure // seconds of battery left, pessimistically: with a chance of Pessimistic it is less
	Likely      Figure // seconds of battery left, as likely more as less
	By          Source // what Left was told by
	Proven      bool   // a drill or an outage has shown what the battery gives

	Outlook Outlook `json:"-"` // what Left and Likely are made from
}

// settle sets what follows from the outlook.
func (s *State) settle() {
	s.Left, s.By = s.Outlook.At(Pessimistic)
	s.Likely, _ = s.Outlook.At(0.5)
}

// Carrying is the state of a supply that is expected to take over another's load after so many seconds, and then burns
// so much in a second.
func (s State) Carrying(after, rate float64) State {
	if rate > s.Outlook.Rate {
		s.Outlook.After, s.Outlook.More = after, rate
		s.settle()
	}
	return s
}

// Failing reports whether what the supply feeds would go dark: it is on battery, or was when it fell silent, or its
// output is off.
func (s State) Failing() bool {
	return !s.Calibrating && (s.Mains == MainsOnBattery || s.OutputOff)
}

// IsRash reports whether an alarm comes too soon to tell what is left: several UPSes raise it whenever they go on battery. That it begins a
// shutdown is right still.
func (s State) IsRash() bool { return isRash(s.OutFor, s.Charge) }

func isRash(outFor time.Duration, charge Figure) bool {
	return outFor < flagAfter && charge.Known && charge.Value >= halfFull
}

// halfFull is the charge, in percent, that an alarm of the first minute is held against.
const halfFull = 50

// filled is the share of what the gauges tell that can be there by now, since the charge was lowest: no battery is full in minutes.
func (s State) filled() float64 {
	if !s.Charge.Known || !s.Refilled.Known || s.Charge.Value <= 0 {
		return 1
	}
	return s.Refilled.Value / s.Charge.Value
}

// forSoLong says for how long it has been on battery; "" in its first moment.
func (s State) forSoLong() string {
	if s.OnBatteryFor <= 0 {
		return ""
	}
	return " for " + brief(s.OnBatteryFor)
}

// String says it in plain words: "on battery for 12s, 87%, about 9m left".
func (s State) String() string {
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case s.Mains == MainsUnknown && !s.OutputOff:
		say("never heard from")
	case s.SilentFor > 0:
		say("silent for %s", brief(s.SilentFor))
		say("last seen %s", s.seen())
	case s.OutputOff && !s.Calibrating:
		say("output off")
	case s.Mains == MainsOnBattery:
		say("on battery%s", s.forSoLong())
	default:
		say("%s", s.seen())
	}
	if s.LowBattery {
		say("battery low")
	}
	if s.ForcedDown {
		say("forced shutdown ordered in NUT")
	}
	if s.BrownoutFor > 0 {
		say("browned out for %s", brief(s.BrownoutFor))
	}
	if s.Overload {
		say("overloaded")
	}
	if s.ReplaceBattery {
		say("battery needs replacing")
	}
	if s.Mains == MainsOnBattery && s.Charge.Known {
		say("%.0f%%", s.Charge.Value)
	}
	if s.Mains == MainsOnBattery && s.Left.Known {
		say("at least %s left", Roughly(s.Left.Value))
	}
	return strings.Join(parts, ", ")
}

func (s State) seen() string {
	switch {
	case s.Calibrating:
		return "calibrating"
	case s.OutputOff:
		return "with its output off"
	case s.Bypass && s.Mains == MainsOnline:
		return "on bypass"
	}
	return s.Mains.String()
}

// brief writes how long something has lasted, in whole seconds.
func brief(d time.Duration) string { return english.Span(d.Truncate(time.Second)) }

// Roughly writes seconds no more precisely than they are known, rounded down: "9m", "1m 20s".
func Roughly(seconds float64) string {
	d := time.Duration(min(seconds, 1e9) * float64(time.Second))
	switch {
	case d >= 5*time.Minute:
		d = d.Truncate(time.Minute)
	case d >= time.Minute:
		d = d.Truncate(10 * time.Second)
	}
	return brief(d)
}
