package power

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const day = 24 * time.Hour

func ago(d time.Duration) time.Time { return epoch.Add(-d) }

// low is the capacity that 95 of 100 such batteries have.
func low(c Capacity) float64 { return c.Burn * lowFactor(c.Sigma) }

// The numbers are those of docs/FIGURES.md.
func TestWhatADischargeProves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		past        []Discharge
		burn, sigma float64
	}{
		"nothing":                   {nil, 0, 0},
		"too little of it":          {[]Discharge{{At: epoch, Burn: 100, From: 100, To: 81}}, 0, 0},
		"no burn":                   {[]Discharge{{At: epoch, From: 100, To: 0, Empty: true}}, 0, 0},
		"a charge that rose":        {[]Discharge{{At: epoch, Burn: 100, From: 20, To: 60}}, 0, 0},
		"a fifth of it":             {[]Discharge{{At: epoch, Burn: 100, From: 100, To: 80}}, 500, 0.20},
		"half of it":                {[]Discharge{{At: epoch, Burn: 250, From: 90, To: 40}}, 500, 0.17},
		"half of it in a drill":     {[]Discharge{{At: epoch, Burn: 250, From: 90, To: 40, Drill: true}}, 500, 0.12},
		"all of it":                 {[]Discharge{{At: epoch, Burn: 450, From: 100, To: 10, Empty: true}}, 450, 0.12},
		"low, and the gauge is not": {[]Discharge{{At: epoch, Burn: 90, Took: 2 * time.Minute, From: 100, To: 85, Empty: true}}, 90, 0.30},
		"low within a second":       {[]Discharge{{At: epoch, Burn: 1, Took: time.Second, From: 100, To: 99, Empty: true}}, 0, 0},
		"low, begun half full":      {[]Discharge{{At: epoch, Burn: 200, From: 50, To: 10, Empty: true}}, 500, 0.175},
		"a drill a year ago":        {[]Discharge{{At: ago(year), Burn: 500, From: 100, To: 0, Drill: true}}, 480, 0.42},
		"a drill five months ago":   {[]Discharge{{At: ago(5 * month), Burn: 500, From: 100, To: 0, Drill: true}}, 500 * math.Pow(0.96, 5.0/12), 0.12},
		"a drill ten years ago":     {[]Discharge{{At: ago(10 * year), Burn: 500, From: 100, To: 0, Drill: true}}, 500 * math.Pow(0.96, 10), 0.45},
		"from a clock set back":     {[]Discharge{{At: epoch.Add(year), Burn: 450, From: 100, To: 10, Empty: true}}, 450, 0.12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := LearnCapacity(c.past, epoch)
			require.InDelta(t, c.burn, got.Burn, 1e-6)
			require.InDelta(t, c.sigma, got.Sigma, 1e-9)
			for _, d := range c.past {
				require.Equal(t, c.burn > 0, d.Tells())
			}
			if c.burn == 0 {
				require.Equal(t, Capacity{}, got)
			}
		})
	}
}

func TestHowLongACapacityLasts(t *testing.T) {
	t.Parallel()
	points := []Point{{Load: 50, Time: 21 * time.Minute}, {Load: 100, Time: 9 * time.Minute}}
	c := Capacity{Burn: 540, Sigma: sigmaProven}
	likely, least := c.Lasts(points, 1)
	require.Equal(t, 9*time.Minute, likely)
	require.InDelta(t, 540*math.Exp(-1.645*0.12), least.Seconds(), 0.1)
	likely, _ = c.Lasts(points, 0.5)
	require.InDelta(t, 21*60, likely.Seconds(), 0.001)
}

func drill(at time.Time, burn float64) Discharge {
	return Discharge{At: at, Burn: burn, From: 100, To: 0, Drill: true}
}

// An old battery is not averaged with the one that it was.
func TestACellThatDied(t *testing.T) {
	t.Parallel()
	past := []Discharge{drill(ago(300*day), 600), drill(ago(200*day), 590), drill(ago(100*day), 585), drill(ago(day), 200)}
	got := LearnCapacity(past, epoch)
	require.InDelta(t, 200, got.Burn, 1)
	require.InDelta(t, sigmaProven, got.Sigma, 0.01)
	require.Equal(t, 4, got.Discharges)
	require.Equal(t, ago(day), got.At)
}

// A new battery is believed step by step: one discharge that gave more may be a gauge that erred.
func TestABatteryThatWasReplaced(t *testing.T) {
	t.Parallel()
	old := []Discharge{drill(ago(300*day), 300), drill(ago(200*day), 290)}
	once := LearnCapacity(append(old, drill(ago(30*day), 600)), epoch)
	require.Greater(t, once.Burn, 400.0)
	require.Less(t, low(once), 400.0, "they disagree: that widens it")
	twice := LearnCapacity(append(old, drill(ago(30*day), 600), drill(ago(day), 600)), epoch)
	require.Greater(t, low(twice), low(once))
}

// discharges are drawn with what gauges say wrongly, too.
var discharges = rapid.Custom(func(t *rapid.T) Discharge {
	odd := rapid.SampledFrom([]float64{0, -5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64})
	figure := func(name string, low, high float64) float64 {
		if rapid.IntRange(0, 19).Draw(t, name+" is odd") == 0 {
			return odd.Draw(t, name)
		}
		return rapid.Float64Range(low, high).Draw(t, name)
	}
	return Discharge{
		At:   ago(time.Duration(rapid.IntRange(1, 3000).Draw(t, "days ago")) * day),
		Burn: figure("burn", 1, 3600), From: figure("from", 40, 100), To: figure("to", 0, 80),
		Took:  time.Duration(rapid.IntRange(0, 3600).Draw(t, "took")) * time.Second,
		Empty: rapid.Bool().Draw(t, "empty"), Drill: rapid.Bool().Draw(t, "drill"),
	}
})

func TestLawsOfCapacity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		past := rapid.SliceOfN(discharges, 0, 12).Draw(t, "past")
		c := LearnCapacity(past, epoch)
		for _, v := range []float64{c.Burn, c.Sigma} {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0) || v < 0, "%+v", c)
		}
		if c.Discharges == 0 {
			require.Equal(t, Capacity{}, c)
			return
		}
		require.GreaterOrEqual(t, c.Sigma, sigmaProven)
		require.LessOrEqual(t, c.Discharges, len(past))

		shuffled := rapid.Permutation(past).Draw(t, "shuffled")
		require.Equal(t, c, LearnCapacity(shuffled, epoch), "the order does not matter")

		later := LearnCapacity(past, epoch.Add(time.Duration(rapid.IntRange(1, 2000).Draw(t, "later"))*day))
		require.Less(t, low(later), low(c), "age only lowers it")

		worse := drill(epoch, rapid.Float64Range(0.01, 1).Draw(t, "worse")*c.Burn)
		again := LearnCapacity(append(slices.Clone(past), worse), epoch)
		require.LessOrEqual(t, again.Burn, c.Burn*(1+1e-9), "what is newer and lower never raises it")
	})
}
