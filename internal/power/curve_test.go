package power

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gxt3 is the data sheet of a Liebert GXT3 230 V with internal batteries.
var gxt3 = []Point{
	{10, 105 * time.Minute},
	{20, 52 * time.Minute},
	{30, 40 * time.Minute},
	{40, 27 * time.Minute},
	{50, 21 * time.Minute},
	{60, 17 * time.Minute},
	{70, 14 * time.Minute},
	{80, 12 * time.Minute},
	{90, 10 * time.Minute},
	{100, 9 * time.Minute},
}

// Three points of a data sheet give the others within 13%, for which docs/FIGURES.md has where that is from.
func TestCurveOfThreePoints(t *testing.T) {
	c := newCurve([]Point{gxt3[9], gxt3[0], gxt3[4]})
	for _, p := range gxt3 {
		require.InEpsilon(t, p.Time.Seconds(), c.lasts(p.Load/100), 0.13, "at %v%%", p.Load)
	}
	for _, p := range []Point{gxt3[0], gxt3[4], gxt3[9]} {
		require.InEpsilon(t, p.Time.Seconds(), c.lasts(p.Load/100), 1e-9, "at %v%%", p.Load)
	}
}

// One point is carried by the power law; rates are relative to full load and rise with load, also outside the points.
func TestCurveRates(t *testing.T) {
	for name, points := range map[string][]Point{
		"none": nil, "one": gxt3[9:], "half": gxt3[4:5], "sheet": gxt3, "useless": {{0, time.Minute}, {50, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCurve(points)
			require.InDelta(t, 1, c.rate(1), 1e-9)
			last := 0.0
			for x := 0.01; x < 1.5; x += 0.01 {
				rate := c.rate(x)
				require.False(t, math.IsNaN(rate) || math.IsInf(rate, 0))
				require.GreaterOrEqual(t, rate, last, "at %v", x)
				last = rate
			}
		})
	}
	require.InDelta(t, 540, newCurve(gxt3[9:]).full, 1e-9)
	require.InEpsilon(t, 105*60, newCurve(gxt3[9:]).lasts(0.1), 0.40)
	require.Zero(t, newCurve(nil).full)
}
