package power

import (
	"cmp"
	"math"
	"slices"
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

// Lasts tells how long a full battery lasts at a load, as a fraction of nominal, by the supply's curve: as likely longer
// as not, and pessimistically.
func (c Capacity) Lasts(points []Point, load float64) (likely, least time.Duration) {
	seconds := c.Burn / newCurve(points).rate(load)
	return time.Duration(seconds * float64(time.Second)), time.Duration(seconds * lowFactor(c.Sigma) * float64(time.Second))
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

// What a discharge says of a capacity, and how that ages (docs/FIGURES.md).
const (
	deepFall    = 0.50 // a drill in which the charge fell so far, as a fraction, counts as a measurement
	fullFrom    = 95   // percent: a full battery, as gauges have it
	leastBurn   = 1    // seconds at full load: no battery gives less, or more than
	mostBurn    = 30 * 24 * 3600
	sigmaProven = 0.12         // after a drill or a full discharge; no number of them makes a battery more predictable
	sigmaFlag   = runtimeSigma // where the UPS calls its battery low while its gauge says otherwise,
	flagAfter   = time.Minute  // and did so no sooner: several say so at once when they go on battery
	sigmaNever  = sheetSigma   // of a battery that was never seen to give anything: age makes it no worse
	sigmaMonth  = 0.05         // by which it grows with each month, once it is older than
	goodFor     = 6 * month
	ageing      = 0.96 // of the capacity is left a year later
	priorWeight = 4.0  // degrees of freedom of what is believed of the scatter beforehand
	halfLife    = 6 * month
	month       = year / 12
	year        = 365 * 24 * time.Hour
)

// told is what one discharge says: the logarithm of the capacity, as it has aged since, and its error.
type told struct {
	at       time.Time
	y, sigma float64
}

// LearnCapacity tells what past discharges prove of a battery now. The order of past does not matter. A battery gets
// worse, never better: what a newer discharge contradicts from below counts for little, and for nothing when it is far
// below.
func LearnCapacity(past []Discharge, now time.Time) Capacity {
	var seen []told
	for _, d := range past {
		if o, ok := d.tells(now); ok {
			o.y += now.Sub(o.at).Hours() / year.Hours() * math.Log(ageing)
			seen = append(seen, o)
		}
	}
	if len(seen) == 0 {
		return Capacity{}
	}
	slices.SortFunc(seen, func(a, b told) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.y, b.y), cmp.Compare(a.sigma, b.sigma))
	})
	newest := seen[len(seen)-1].at
	precisions := make([]float64, len(seen))
	sum, mean, count := 0.0, 0.0, 0.0
	for i, o := range seen {
		w := trust(o, seen[i+1:], newest)
		precisions[i] = w / (o.sigma * o.sigma)
		sum, mean, count = sum+precisions[i], mean+precisions[i]*o.y, count+w
	}
	mean /= sum
	scatter := priorWeight
	for i, o := range seen {
		scatter += precisions[i] * (o.y - mean) * (o.y - mean)
	}
	sigma := math.Sqrt(scatter / (priorWeight + max(0, count-1)) * max(1/sum, sigmaProven*sigmaProven))
	return Capacity{
		Burn: math.Exp(mean), Sigma: aged(max(sigma, sigmaProven), now.Sub(newest)), Discharges: len(seen), At: newest,
	}
}

// trust tells how much a discharge counts, 0 to 1, beside the newest and all later ones.
func trust(o told, later []told, newest time.Time) float64 {
	w := math.Exp2(-newest.Sub(o.at).Hours() / halfLife.Hours())
	for _, l := range later {
		if over := (o.y - l.y) / (2 * l.sigma); over > 0 && l.at.After(o.at) {
			w *= math.Exp(-over * over)
		}
	}
	return w
}

// Tells reports whether anything can be learned from a discharge: most are too short.
func (d Discharge) Tells() bool {
	_, ok := d.tells(d.At)
	return ok
}

// tells gives what a discharge says of the capacity, as of the newest moment that it can be from; false if that is
// nothing.
func (d Discharge) tells(now time.Time) (told, bool) {
	o := told{at: d.At}
	if o.at.After(now) { // a clock was set back
		o.at = now
	}
	fall := (d.From - d.To) / 100
	switch full := d.Empty && d.From >= fullFrom; {
	case !(d.Burn >= leastBurn && d.Burn <= mostBurn && fall <= 1): // or not a number
		return told{}, false
	case full && fall >= learnsFrom:
		o.y, o.sigma = math.Log(d.Burn), sigmaProven
	case full && d.Took >= flagAfter:
		o.y, o.sigma = math.Log(d.Burn), sigmaFlag
	case fall >= learnsFrom:
		o.y, o.sigma = math.Log(d.Burn)-math.Log(fall), fallSigma+fallGrain/fall
		if d.Drill && fall >= deepFall {
			o.sigma = sigmaProven
		}
	default:
		return told{}, false
	}
	return o, true
}

// aged widens what was sure when it was last proven, such a time ago.
func aged(sigma float64, since time.Duration) float64 {
	if since <= goodFor {
		return sigma
	}
	return max(sigma, min(sigmaNever, sigma+sigmaMonth*float64(since-goodFor)/float64(month)))
}

// lowFactor is what a pessimistic value is of a median.
func lowFactor(sigma float64) float64 { return math.Exp(-fears(Pessimistic) * sigma) }
