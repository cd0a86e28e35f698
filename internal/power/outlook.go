package power

import (
	"fmt"
	"math"
)

// Pessimistic is the share of cases in which a battery may turn out to give less than a pessimistic figure says, and a
// plan to take longer. Slack is judged by it.
const Pessimistic = 0.05

// Source names a way of telling what a battery has left.
type Source uint8

// The sources. They know nothing of each other, and the most pessimistic counts.
const (
	FromRuntime   Source = iota // the UPS's own battery.runtime
	FromSlope                   // how the charge fell with what was burnt since the mains failed, never over a short window
	FromCapacity                // what past discharges have proven, less what was burnt
	FromNameplate               // the runbook's curve, less what was burnt: nothing is proven
	FromDrop                    // a sudden drop of the charge at a steady load: a cell that gives out
	FromAlarm                   // battery.runtime.low, while the UPS says that its battery is low
	sources
)

var sourceTexts = [...]string{
	"the UPS's own runtime", "the fall of its charge", "its proven capacity", "the runbook's curve", "a sudden drop of its charge", "its low-battery flag",
}

func (s Source) String() string { return sourceTexts[s] }

// MarshalText writes the source in words.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads it.
func (s *Source) UnmarshalText(b []byte) error {
	for i, text := range sourceTexts {
		if text == string(b) {
			*s = Source(i)
			return nil
		}
	}
	return fmt.Errorf("unknown way of telling %q", b)
}

// View is what one way tells: the logarithm of the burn that is left has a normal distribution.
type View struct {
	Known bool
	Burn  float64 // the median, in seconds at full load
	Sigma float64 // of the logarithm; 0: certain

	log, least float64 // of Burn, and lowFactor of Sigma, where they were worked out before; 0: they were not
}

// Outlook is how long a battery lasts, with its odds: the views, and how fast it is burnt.
type Outlook struct {
	Views [sources]View
	Rate  float64 // burn in a second at the present load
	// After so many seconds the load rises to burn More in a second: another supply is expected to give out then, and
	// what both feed falls to this one. 0: it stays.
	After, More float64
}

// Known reports whether any view says something.
func (o *Outlook) Known() bool {
	for i := range o.Views {
		if o.Views[i].Known {
			return true
		}
	}
	return false
}

// burnt is what is burnt in so many seconds from now.
func (o *Outlook) burnt(seconds float64) float64 {
	if o.After <= 0 || seconds <= o.After {
		return seconds * o.Rate
	}
	return o.After*o.Rate + (seconds-o.After)*o.More
}

// lasting is how many seconds a burn lasts.
func (o *Outlook) lasting(burn float64) float64 {
	if o.After <= 0 || burn <= o.After*o.Rate {
		return burn / o.Rate
	}
	return o.After + (burn-o.After*o.Rate)/o.More
}

// GivesOut gives the chance that the battery is empty within so many seconds: what the view that fears most for them
// says. It is 0 where nothing is known.
func (o *Outlook) GivesOut(within float64) float64 {
	if within < 0 {
		return 0
	}
	burn, worst := o.burnt(within), math.Inf(-1)
	log := math.Log(burn)
	for i := range o.Views { // the greatest argument has the greatest chance
		if v := &o.Views[i]; v.Known {
			worst = max(worst, v.score(burn, log))
		}
	}
	return math.Erfc(-worst/math.Sqrt2) / 2
}

// sharp is the spread below which a view is certain: what is divided by less is no number.
const sharp = 1e-9

// score is how many standard deviations a burn lies above what the view takes for as likely as not; log is its logarithm.
func (v *View) score(burn, log float64) float64 {
	switch {
	case v.Burn <= burn && (v.Sigma < sharp || v.Burn <= 0):
		return math.Inf(1)
	case v.Sigma < sharp || burn <= 0:
		return math.Inf(-1)
	}
	median := v.log
	if median == 0 {
		median = math.Log(v.Burn)
	}
	return (log - median) / v.Sigma
}

// At gives the seconds within which the battery is empty with chance p, and the way that says so. It is unknown where
// nothing is known, and farthest at most.
func (o *Outlook) At(p float64) (Figure, Source) {
	lowest, by := math.Inf(1), Source(0)
	z := fears(p)
	for i := range o.Views {
		v := &o.Views[i]
		if !v.Known {
			continue
		}
		if burn := max(0, v.Burn) * v.below(p, z); burn < lowest {
			lowest, by = burn, Source(i)
		}
	}
	if math.IsInf(lowest, 1) {
		return Figure{}, by
	}
	seconds := o.lasting(lowest)
	if !(seconds > 0) { // or the load is no number
		seconds = 0
	}
	return Known(min(seconds, farthest)), by
}

// Most gives the seconds that the battery lasts, as likely as not, by the way that hopes most. It is unknown where nothing is
// known, and farthest at most.
func (o *Outlook) Most() Figure {
	most := math.Inf(-1)
	for i := range o.Views {
		if v := &o.Views[i]; v.Known {
			most = max(most, v.Burn)
		}
	}
	if math.IsInf(most, -1) {
		return Figure{}
	}
	seconds := o.lasting(max(0, most))
	if !(seconds > 0) {
		seconds = 0
	}
	return Known(min(seconds, farthest))
}

// farthest is as many seconds as anything is looked ahead: three hundred years. No battery lasts so long; a load of next
// to nothing may say so.
const farthest = 1e10

// below is what a view gives with chance p at most, as a share of its median. z is that chance's.
func (v *View) below(p, z float64) float64 {
	switch {
	case p == 0.5:
		return 1
	case p == Pessimistic && v.least > 0:
		return v.least
	}
	return math.Exp(-z * v.Sigma)
}

// fears is how many standard deviations below its middle a normal distribution has a share p.
func fears(p float64) float64 {
	switch p { // these are asked for at each reading
	case Pessimistic:
		return fearsPessimistic
	case 0.5:
		return 0
	}
	return -math.Sqrt2 * math.Erfinv(2*p-1)
}

const fearsPessimistic = 1.6448536269514724

// Told is what one way tells, for people.
type Told struct {
	By     string  `json:"by"`
	Likely float64 `json:"likely"` // seconds at the present load, as likely more as less
	Least  float64 `json:"least"`  // seconds, pessimistically
}

// Told lists what each way tells that says something.
func (o *Outlook) Told() []Told {
	var list []Told
	for i := range o.Views {
		if !o.Views[i].Known {
			continue
		}
		one := Outlook{Rate: o.Rate, After: o.After, More: o.More}
		one.Views[i] = o.Views[i]
		likely, _ := one.At(0.5)
		least, _ := one.At(Pessimistic)
		list = append(list, Told{Source(i).String(), likely.Value, least.Value})
	}
	return list
}
