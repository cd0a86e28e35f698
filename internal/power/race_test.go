package power

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var views = rapid.Custom(func(t *rapid.T) View {
	return View{
		Known: rapid.IntRange(0, 3).Draw(t, "known") > 0, Burn: rapid.Float64Range(0, 20_000).Draw(t, "burn"),
		Sigma: rapid.SampledFrom([]float64{0, 0.05, 0.12, 0.2, 0.3, 0.45}).Draw(t, "sigma"),
	}
})

var outlooks = rapid.Custom(func(t *rapid.T) Outlook {
	o := Outlook{Rate: rapid.Float64Range(0.05, 1.5).Draw(t, "rate")}
	for i := range o.Views {
		o.Views[i] = views.Draw(t, "view")
	}
	if rapid.Bool().Draw(t, "more") {
		o.After, o.More = rapid.Float64Range(0, 2000).Draw(t, "after"), o.Rate*rapid.Float64Range(1, 4).Draw(t, "times")
	}
	return o
})

var races = rapid.Custom(func(t *rapid.T) *Race {
	r := &Race{
		Reserve: time.Duration(rapid.IntRange(0, 600).Draw(t, "reserve")) * time.Second,
		Odds:    rapid.SampledFrom([]float64{Pessimistic, 0.001, 0.2, 0.5}).Draw(t, "odds"),
	}
	for range rapid.IntRange(1, 32).Draw(t, "shares") {
		r.Need = append(r.Need, time.Duration(rapid.IntRange(0, 3_000_000).Draw(t, "need"))*time.Millisecond)
	}
	slices.Sort(r.Need)
	return r
})

// Up to slack the chance, as package math gives it, is no greater than the odds, and a grain later it is.
func TestSlackIsWhereTheChanceReachesTheOdds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, r := outlooks.Draw(t, "outlook"), races.Draw(t, "race")
		slack := o.Slack(r)
		require.Equal(t, o.Known(), slack.Known)
		if !slack.Known {
			return
		}
		const (
			off    = 2e-6 // by which the tables may be wrong
			within = 1e-6 // seconds, by which rounding may move the time at which a chance leaps
		)
		require.LessOrEqual(t, o.Chance(r, slack.Value-within), r.Odds+off)
		if slack.Value < farthest {
			require.GreaterOrEqual(t, o.Chance(r, slack.Value+SlackGrain+within), r.Odds-off)
		}
	})
}

func TestSlackBelowIsSlackLessThan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, r := outlooks.Draw(t, "outlook"), races.Draw(t, "race")
		slack := o.Slack(r)
		for _, near := range []float64{-1000, -SlackGrain, -0.01, 0, 0.01, SlackGrain, 2 * SlackGrain, 1000} {
			require.Equal(t, slack.Known && slack.Value < slack.Value+near, o.SlackBelow(r, slack.Value+near), "%v beside %v", near,
				slack.Value)
		}
		at := rapid.Float64Range(-5000, 20_000).Draw(t, "at")
		require.Equal(t, slack.Known && slack.Value < at, o.SlackBelow(r, at))
	})
}

// docs/ARCHITECTURE.md, rule 14, to the last digit: more battery never lessens slack; a longer plan, a greater reserve, smaller odds
// and a greater load never add to it.
func TestSlackIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, r := outlooks.Draw(t, "outlook"), races.Draw(t, "race")
		slack := o.Slack(r)
		slightly := rapid.SampledFrom([]float64{1, 1 + 1e-15, 1 + 1e-9, 1 + 1e-6, 1.001, 2})
		more := o
		for i := range more.Views {
			more.Views[i].Burn *= slightly.Draw(t, "burn")
		}
		require.GreaterOrEqual(t, more.Slack(r).Value, slack.Value)
		heavy := o
		heavy.Rate *= slightly.Draw(t, "rate")
		heavy.More = max(heavy.Rate, heavy.More*slightly.Draw(t, "more"))
		require.LessOrEqual(t, heavy.Slack(r).Value, slack.Value)
		longer := &Race{Need: slices.Clone(r.Need), Reserve: r.Reserve +
			time.Duration(rapid.IntRange(0, 2).Draw(t, "reserve"))*time.Nanosecond, Odds: r.Odds / slightly.Draw(t, "odds")}
		for i := range longer.Need {
			longer.Need[i] += time.Duration(rapid.SampledFrom([]int{0, 1, 1e6, 1e10}).Draw(t, "longer"))
		}
		slices.Sort(longer.Need)
		require.LessOrEqual(t, o.Slack(longer).Value, slack.Value)
	})
}

// Whatever a UPS says: slack is a number, and found in a bounded number of steps.
func TestSlackOfAbsurdNumbers(t *testing.T) {
	absurd := rapid.SampledFrom([]float64{0, 1, -1, 600, 1e16, 1e300, 5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()})
	rapid.Check(t, func(t *rapid.T) {
		o := Outlook{Rate: absurd.Draw(t, "rate"), After: absurd.Draw(t, "after"), More: absurd.Draw(t, "more")}
		for i := range o.Views {
			o.Views[i] = View{Known: rapid.Bool().Draw(t, "known"), Burn: absurd.Draw(t, "burn"), Sigma: absurd.Draw(t, "sigma")}
		}
		r := &Race{
			Reserve: time.Duration(rapid.SampledFrom([]int64{0, 60e9, math.MaxInt64}).Draw(t, "reserve")),
			Odds:    absurd.Draw(t, "odds"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "shares") {
			r.Need = append(r.Need, time.Duration(rapid.SampledFrom([]int64{0, 1, 60e9, math.MaxInt64}).Draw(t, "need")))
		}
		slices.Sort(r.Need)
		slack := o.Slack(r)
		require.False(t, math.IsNaN(slack.Value) || math.IsInf(slack.Value, 0))
		require.LessOrEqual(t, math.Abs(slack.Value), farthest)
		if o.Rate >= 0 && o.More >= 0 { // no load gives back what was burnt
			require.Equal(t, slack.Known && slack.Value < 120, o.SlackBelow(r, 120))
		}
		require.False(t, o.SlackBelow(r, math.NaN()))
		require.False(t, o.SlackBelow(r, math.Inf(-1)))
		for _, p := range []float64{Pessimistic, 0.2, 0.5} {
			left, _ := o.At(p)
			require.False(t, math.IsNaN(left.Value) || math.IsInf(left.Value, 0))
		}
	})
}

func TestAnEmptyBatteryLeavesNoTime(t *testing.T) {
	o := Outlook{Rate: 1}
	o.Views[FromRuntime] = View{Known: true, Burn: 0, Sigma: 0.3}
	slack := o.Slack(&Race{Need: []time.Duration{time.Minute}, Reserve: time.Minute})
	require.InDelta(t, -120, slack.Value, 1)
	now := o.Slack(&Race{Need: []time.Duration{0}})
	require.InDelta(t, -SlackGrain, now.Value, 0, "what takes no time is too late too")
}

// The bounds that the tables promise.
func TestTablesAreAsExactAsTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.Float64Range(-12, 12).Draw(t, "z")
		require.InDelta(t, math.Erfc(-z/math.Sqrt2)/2, float64(normalShare(z))/certain, 1e-6)
		x := math.Exp(rapid.Float64Range(-700, 700).Draw(t, "log"))
		require.InDelta(t, math.Log2(x), log2(x), 2e-7)
		for _, up := range []float64{math.Nextafter(z, 100), z + 1e-9, z + 0.001} {
			require.GreaterOrEqual(t, normalShare(up), normalShare(z))
		}
		for _, up := range []float64{math.Nextafter(x, math.Inf(1)), x * (1 + 1e-9), x * 1.001} {
			require.GreaterOrEqual(t, log2(up), log2(x))
		}
	})
	for i := range len(normals) { // the marks are where a table would break
		z := float64(i)/marks - marksReach
		require.LessOrEqual(t, normalShare(math.Nextafter(z, -100)), normalShare(z))
		require.GreaterOrEqual(t, normalShare(math.Nextafter(z, 100)), normalShare(z))
	}
	for i := range len(logs) {
		x := 0.5 + float64(i)/(2*octave)
		for _, x := range []float64{x, 1024 * x} {
			require.LessOrEqual(t, log2(math.Nextafter(x, 0)), log2(x))
			require.GreaterOrEqual(t, log2(math.Nextafter(x, 1e9)), log2(x))
		}
	}
	require.InDelta(t, fearsPessimistic, -math.Sqrt2*math.Erfinv(2*Pessimistic-1), 1e-15)
	require.Equal(t, int64(certain), normalShare(math.Inf(1)))
	require.Zero(t, normalShare(math.Inf(-1)))
	require.InDelta(t, -1074, log2(5e-324), 0)
}

// A condition that is judged by a race says what it says of the slack.
func TestConditionsAskTheRaceForSlack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := State{Mains: MainsOnBattery, OnBatteryFor: time.Minute, OutFor: time.Minute, Outlook: outlooks.Draw(t, "outlook")}
		for i := range s.Outlook.Views {
			s.Outlook.Views[i].Burn += 20_000 // no condition asks for less than no slack
		}
		s.settle()
		r := races.Draw(t, "race")
		slack, ahead := s.Outlook.Slack(r), float64(rapid.IntRange(0, 15).Draw(t, "ahead"))
		told := Facts{State: s, Slack: slack}
		told.Slack.Value -= ahead
		asked := Facts{State: s, Race: r, Ahead: ahead}
		near := max(0, int(slack.Value)+rapid.IntRange(-20, 20).Draw(t, "near"))
		c := Condition{Kind: SlackBelow, For: time.Duration(near) * time.Second}
		require.Equal(t, c.Holds(told), c.Holds(asked))
		require.Equal(t, told.Tells(SlackBelow), asked.Tells(SlackBelow))
	})
}

func BenchmarkSlack(b *testing.B) {
	o := Outlook{Rate: 0.5}
	o.Views[FromRuntime] = View{Known: true, Burn: 500, Sigma: 0.3}
	o.Views[FromNameplate] = View{Known: true, Burn: 450, Sigma: 0.45}
	r := &Race{Reserve: time.Minute}
	for i := range 32 {
		r.Need = append(r.Need, time.Duration(60+3*i)*time.Second)
	}
	slack := o.Slack(r).Value
	b.Run("slack", func(b *testing.B) {
		for b.Loop() {
			o.Slack(r)
		}
	})
	b.Run("below", func(b *testing.B) {
		for b.Loop() {
			o.SlackBelow(r, slack+1)
		}
	})
	b.Run("below, far off", func(b *testing.B) {
		for b.Loop() {
			o.SlackBelow(r, slack-300)
		}
	})
}
