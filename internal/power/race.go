package power

import (
	"math"
	"slices"
	"time"
)

// Race is the rest of a plan against a battery: the plan and the reserve are to be over before the battery is empty, but
// for the odds that are accepted.
type Race struct {
	Need    []time.Duration // what the rest of the plan takes: the middles of equal shares of its odds, ascending
	Reserve time.Duration
	Odds    float64 // of the battery giving out first, at which slack is 0; 0: Pessimistic
}

// Slack is how many seconds the rest of the plan may still wait: the last multiple of SlackGrain after which the chance
// that the battery gives out first is no greater than the odds. It is negative where that is past. More battery never
// lessens it, and a longer plan, a greater reserve or smaller odds never add to it, not even in the last digit. It is
// unknown where nothing is known of the battery or the plan, and at most farthest either way.
func (o *Outlook) Slack(r *Race) Figure {
	c, ok := o.course(r)
	if !ok {
		return Figure{}
	}
	// Beyond high even the shortest plan fails, and before low not even the longest does; rounding may have moved them.
	left, _ := o.At(c.odds)
	low := max(-mostGrains, grains(left.Value-c.reserve-seconds(r.Need[len(r.Need)-1]))-1)
	high := min(mostGrains, grains(left.Value-c.reserve-seconds(r.Need[0]))+1)
	for step := int64(1); low > -mostGrains && c.fails(low); step *= 2 {
		low, high = max(-mostGrains, low-step), low
	}
	for step := int64(1); high < mostGrains && !c.fails(high); step *= 2 {
		low, high = high, min(mostGrains, high+step)
	}
	if high == mostGrains && !c.fails(high) {
		low = high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; c.fails(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return Known(float64(low) * SlackGrain)
}

// SlackBelow reports whether Slack is known and less than so many seconds: the one thing that most readings ask, in one
// look near that limit where Slack takes about ten.
func (o *Outlook) SlackBelow(r *Race, seconds float64) bool {
	c, ok := o.course(r)
	if !ok || math.IsNaN(seconds) {
		return false
	}
	at := int64(math.Ceil(max(-farthest, min(seconds, farthest)) / SlackGrain))
	return at > -mostGrains && c.fails(at)
}

// Chance is the chance that the battery gives out before the rest of the plan, begun after so many seconds, and its
// reserve have ended. It is 0 where nothing is known.
func (o *Outlook) Chance(r *Race, after float64) float64 {
	if len(r.Need) == 0 {
		return 0
	}
	sum, ready := 0.0, *o
	for i := range ready.Views {
		if v := &ready.Views[i]; v.Known {
			v.log = math.Log(v.Burn)
		}
	}
	for _, need := range r.Need {
		sum += ready.GivesOut(after + r.Reserve.Seconds() + need.Seconds())
	}
	return sum / float64(len(r.Need))
}

// SlackGrain is how exactly slack is told, in seconds. Sums of its multiples are exact.
const SlackGrain = 1.0 / 8

const mostGrains = int64(farthest / SlackGrain)

// grains is about how many grains so many seconds are.
func grains(seconds float64) int64 {
	if math.IsNaN(seconds) {
		return 0
	}
	return int64(max(-farthest, min(seconds, farthest)) / SlackGrain)
}

// seconds is cheaper than Duration.Seconds, and as exact as is needed.
func seconds(d time.Duration) float64 { return float64(d) * 1e-9 }

// course is a race made ready to be run many times.
type course struct {
	*Outlook
	need          []time.Duration
	reserve, odds float64
	most          int64 // what the chances of all needs may sum up to
	fall          [sources]slope
	falls         int
}

// slope is how the fear that a view has of a burn grows with the burn's logarithm.
type slope struct {
	empty bool    // nothing is left
	at    float64 // log2 of the view's median
	steep float64 // standard deviations to the octave; 0: nothing is feared before at, and all from there on
}

// course makes a race ready; false if nothing is known.
func (o *Outlook) course(r *Race) (course, bool) {
	c := course{Outlook: o, need: r.Need, reserve: seconds(r.Reserve), odds: r.Odds}
	if len(r.Need) == 0 {
		return c, false
	}
	if !(c.odds > 0) {
		c.odds = Pessimistic
	}
	c.most = int64(min(c.odds, 1) * float64(len(r.Need)) * certain)
	for i := range o.Views {
		v := &o.Views[i]
		if !v.Known || !(v.Burn < math.Inf(1)) { // what says no number says nothing
			continue
		}
		s := slope{at: log2(v.Burn), empty: v.Burn <= 0}
		if v.Sigma >= sharp {
			s.steep = math.Ln2 / v.Sigma
		}
		c.fall[c.falls] = s
		c.falls++
	}
	return c, c.falls > 0
}

// fails reports whether the chance is greater than the odds if the plan begins after so many grains. It looks at the
// longest needs first, and no further than the sum is in doubt: the chance of a shorter need is no greater. The sums are
// of whole numbers, so that looking further would never say otherwise.
func (c *course) fails(grain int64) bool {
	after, left := float64(grain)*SlackGrain+c.reserve, c.most
	for i, need := range slices.Backward(c.need) {
		chance := c.chance(after + seconds(need))
		if left -= chance; left < 0 {
			return true
		}
		if chance*int64(i) <= left {
			return false
		}
	}
	return false
}

// chance is GivesOut in parts of certain, from tables: it never falls with the time or the load, nor rises with what is
// left.
func (c *course) chance(within float64) int64 {
	if within < 0 {
		return 0
	}
	burn := c.burnt(within)
	if math.IsNaN(burn) { // the load is no number
		return certain
	}
	worst, log := math.Inf(-1), log2(burn)
	for i := range c.fall[:c.falls] {
		switch s := &c.fall[i]; {
		case s.empty, s.steep == 0 && log >= s.at:
			return certain
		case s.steep > 0:
			worst = max(worst, (log-s.at)*s.steep)
		}
	}
	return normalShare(worst)
}
