package power

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/english"
)

// Facts is what conditions are judged against, for one supply.
type Facts struct {
	State State
	// Slack is the battery time left minus what the rest of the plan needs and the reserve, in seconds.
	Slack Figure
	// Race, where it is given, is what slack is judged by in the place of Slack, so that nobody works it out whom no
	// condition asks. Ahead is how many seconds of it pass until the next reading.
	Race  *Race
	Ahead float64
	// AnotherShutdown is the battery time at the present load that an interrupted power-up and a whole further
	// shutdown need, plus 20%, in seconds.
	AnotherShutdown Figure
}

// IsMeasured reports whether a reading measures what a kind of condition is judged by, so that one may be wrong about it.
func (k Kind) IsMeasured() bool {
	switch k {
	case SlackBelow, RuntimeBelow, ChargeBelow, TemperatureAbove:
		return true
	case OnBattery, LowBattery, SilentOnBattery, Brownout, Online, ChargeAbove, RechargedFor, Any, All:
	}
	return false
}

// Tells reports whether what a kind of condition is judged against is known.
func (f Facts) Tells(kind Kind) bool {
	switch kind {
	case SlackBelow:
		return f.Slack.Known || f.Race != nil && len(f.Race.Need) > 0 && f.State.Left.Known
	case RuntimeBelow:
		return f.State.Left.Known
	case ChargeBelow, ChargeAbove:
		return f.State.Charge.Known
	case TemperatureAbove:
		return f.State.Temperature.Known
	case RechargedFor:
		return f.State.Left.Known && f.AnotherShutdown.Known || f.State.Charge.Known
	case OnBattery, LowBattery, SilentOnBattery, Brownout, Online, Any, All:
	}
	return true
}

// Holds judges the condition. One on an unknown figure does not hold, nor does the zero condition, nor an empty any or
// all. Those that speak of the battery (on_battery, slack_below, runtime_below, charge_below, low_battery,
// silent_on_battery) hold on battery only: a battery that is still recharging is no reason to go down.
func (c Condition) Holds(f Facts) bool { return c.holds(&f) }

func (c *Condition) holds(f *Facts) bool {
	s := &f.State
	switch c.Kind {
	case OnBattery, SlackBelow, RuntimeBelow, ChargeBelow, LowBattery, SilentOnBattery:
		return s.Mains == MainsOnBattery && c.holdsOnBattery(f)
	case Brownout:
		return s.BrownoutFor > 0 && s.BrownoutFor >= c.For
	case TemperatureAbove:
		return s.Temperature.Known && s.Temperature.Value > c.Than
	case Online:
		return s.Mains == MainsOnline && s.SilentFor <= lineGap && s.OnlineFor >= c.For
	case ChargeAbove:
		return s.Refilled.Known && s.Refilled.Value >= c.Than
	case RechargedFor:
		return f.isRecharged()
	case Any, All:
		for i := range c.Of {
			if c.Of[i].holds(f) == (c.Kind == Any) {
				return c.Kind == Any
			}
		}
		return c.Kind == All && len(c.Of) > 0
	}
	return false
}

// holdsOnBattery judges a condition that speaks of the battery while its supply is on that.
func (c *Condition) holdsOnBattery(f *Facts) bool {
	s := &f.State
	switch c.Kind {
	case OnBattery:
		return s.OnBatteryFor >= c.For
	case SlackBelow:
		return s.OutFor >= SlackAfter && f.slackBelow(c.For.Seconds())
	case RuntimeBelow:
		return s.Left.Known && s.Left.Value < c.For.Seconds()
	case ChargeBelow:
		return s.Charge.Known && s.Charge.Value < c.Than
	case LowBattery:
		return s.LowBattery || s.ForcedDown
	case SilentOnBattery:
		return s.SilentFor > 0 && s.SilentFor >= c.For
	case Brownout, TemperatureAbove, Online, ChargeAbove, RechargedFor, Any, All: // they hold on line too, or only there
	}
	return false
}

// isRecharged reports whether the battery lasts for another shutdown. A full battery is as much as can be waited for.
func (f *Facts) isRecharged() bool {
	s := &f.State
	return s.Left.Known && f.AnotherShutdown.Known && s.Left.Value*s.filled() >= f.AnotherShutdown.Value || s.Refilled.Known &&
		s.Refilled.Value >= fullCharge
}

// HoldsBy judges the condition by what is found of its parts. Each is asked, in order.
func (c Condition) HoldsBy(part func(Condition) bool) bool {
	switch c.Kind {
	case "":
		return false
	case Any, All:
	default:
		return part(c)
	}
	holds := 0
	for _, of := range c.Of {
		if of.HoldsBy(part) {
			holds++
		}
	}
	return holds > 0 && (c.Kind == Any || holds == len(c.Of))
}

// Parts counts what HoldsBy asks for.
func (c Condition) Parts() int {
	n := 0
	c.HoldsBy(func(Condition) bool { n++; return false })
	return n
}

// slackBelow reports whether slack is known and less than so many seconds.
func (f *Facts) slackBelow(seconds float64) bool {
	if f.Race != nil {
		return f.State.Outlook.SlackBelow(f.Race, seconds+f.Ahead)
	}
	return f.Slack.Known && f.Slack.Value < seconds
}

// OnMains gives the first kind by which the condition may hold while the mains are on; "" if it can't.
func (c Condition) OnMains() Kind {
	switch c.Kind {
	case Brownout, TemperatureAbove:
		return c.Kind
	case Any:
		for _, of := range c.Of {
			if kind := of.OnMains(); kind != "" {
				return kind
			}
		}
	case All:
		if len(c.Of) > 0 && !slices.ContainsFunc(c.Of, func(of Condition) bool { return of.OnMains() == "" }) {
			return c.Of[0].OnMains()
		}
	case OnBattery, SlackBelow, RuntimeBelow, ChargeBelow, LowBattery, SilentOnBattery, Online, ChargeAbove, RechargedFor:
	}
	return ""
}

// Because says what of a condition that holds makes it hold, in English: of any, those that do.
func (c Condition) Because(f Facts) string {
	if c.Kind == LowBattery && f.State.ForcedDown && !f.State.LowBattery {
		return "forced shutdown ordered in NUT (FSD)"
	}
	if c.Kind != Any {
		return c.String()
	}
	var of []Condition
	for _, one := range c.Of {
		if one.Holds(f) {
			of = append(of, one)
		}
	}
	if len(of) == 1 {
		return of[0].Because(f)
	}
	return Condition{Kind: Any, Of: of}.String()
}

// Missing says what a condition that does not hold waits for, with the numbers of now: "on line for 2m of 10m".
func (c Condition) Missing(f Facts) string {
	s := &f.State
	switch c.Kind {
	case Online:
		if s.Mains == MainsOnline && s.OnlineFor < c.For {
			return fmt.Sprintf("on line for %s of %s", brief(s.OnlineFor), english.Span(c.For))
		}
	case ChargeAbove:
		if s.Refilled.Known && s.Refilled.Value < c.Than {
			return fmt.Sprintf("%s (now taken as %.0f%%%s)", c.required(), math.Floor(s.Refilled.Value), s.disbelief())
		}
	case RechargedFor:
		if s.Refilled.Known {
			return fmt.Sprintf("%s (now taken as %.0f%%%s)", c.required(), math.Floor(s.Refilled.Value), s.disbelief())
		}
	case Any, All:
		var missing []string
		for _, of := range c.Of {
			if !of.Holds(f) {
				missing = append(missing, of.Missing(f))
			}
		}
		return strings.Join(missing, map[Kind]string{Any: " or ", All: "; "}[c.Kind])
	case OnBattery, SlackBelow, RuntimeBelow, ChargeBelow, LowBattery, SilentOnBattery, Brownout, TemperatureAbove:
	}
	return c.String()
}

// required says a condition that does not hold yet.
func (c Condition) required() string { return strings.Replace(c.String(), " is ", " has to be ", 1) }

// disbelief says what a gauge says that is not believed yet: a charge does not rise by more than its time allows.
func (s *State) disbelief() string {
	if !s.Charge.Known || s.Charge.Value < s.Refilled.Value+1 {
		return ""
	}
	return fmt.Sprintf("; its UPS reports %.0f%%, more than it can have recharged in that time", s.Charge.Value)
}

// Soon are these facts as they may be in so long, as far as slack goes: it counts then, and is less.
func (f Facts) Soon(in time.Duration) Facts {
	f.State.OutFor = max(f.State.OutFor, SlackAfter)
	f.Ahead += in.Seconds()
	return f
}

// WaitsForSlack reports whether a condition holds but for that slack does not count yet.
func (f Facts) WaitsForSlack(c Condition) bool {
	return f.State.OutFor < SlackAfter && c.Holds(f.Soon(0))
}

// SlackAfter is how long a supply must be on battery for its slack to count: most failures of the mains are over by then
// (docs/FIGURES.md).
const SlackAfter = 10 * time.Second

// fullCharge is the charge in percent from which a battery counts as full: gauges are rounded, and some stop at 99.
const fullCharge = 99

// IsZero reports whether there is no condition. It never holds.
func (c Condition) IsZero() bool { return c.Kind == "" }

// Needs lists the kinds of the condition's leaves, each once, in order.
func (c Condition) Needs() []Kind {
	if c.IsZero() {
		return nil
	}
	if c.Kind != Any && c.Kind != All {
		return []Kind{c.Kind}
	}
	var kinds []Kind
	for _, of := range c.Of {
		for _, kind := range of.Needs() {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// Longest is the longest time that the condition asks for in leaves of the kinds that are given, or of any if none is.
func (c Condition) Longest(kinds ...Kind) (longest time.Duration) {
	if len(kinds) == 0 || slices.Contains(kinds, c.Kind) {
		longest = c.For
	}
	for _, of := range c.Of {
		longest = max(longest, of.Longest(kinds...))
	}
	return longest
}

// String says the condition in English: "on battery for 10s or slack is below 2m".
func (c Condition) String() string {
	switch c.Kind {
	case OnBattery:
		return "on battery" + c.lasting()
	case SlackBelow:
		return "slack is below " + english.Span(c.For)
	case RuntimeBelow:
		return "battery time left is below " + english.Span(c.For)
	case ChargeBelow:
		return fmt.Sprintf("charge is below %s%%", plain(c.Than))
	case LowBattery:
		return "the battery is low"
	case SilentOnBattery:
		return "silent on battery" + c.lasting()
	case Brownout:
		return "browned out" + c.lasting()
	case TemperatureAbove:
		return fmt.Sprintf("temperature is above %s °C", plain(c.Than))
	case Online:
		return "on line" + c.lasting()
	case ChargeAbove:
		return fmt.Sprintf("charge is at least %s%%", plain(c.Than))
	case RechargedFor:
		return "the battery is recharged enough for another shutdown"
	case Any:
		return c.join(" or ")
	case All:
		return c.join(" and ")
	}
	return "never"
}

func (c Condition) lasting() string {
	if c.For == 0 {
		return ""
	}
	return " for " + english.Span(c.For)
}

func (c Condition) join(word string) string {
	if len(c.Of) == 0 {
		return "never"
	}
	var parts []string
	for _, of := range c.Of {
		text := of.String()
		if (of.Kind == Any || of.Kind == All) && of.Kind != c.Kind && len(of.Of) > 1 {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, word)
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
