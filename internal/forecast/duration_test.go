package forecast_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/forecast"
)

func drawDuration(t *rapid.T) forecast.Duration {
	floor := time.Duration(rapid.IntRange(0, 20).Draw(t, "floor")) * time.Second
	return forecast.Duration{
		Floor: floor, Median: floor + time.Duration(rapid.IntRange(1, 300).Draw(t, "median"))*time.Second,
		Sigma:   rapid.Float64Range(0, 1.5).Draw(t, "sigma"),
		Freedom: rapid.SampledFrom([]float64{0, 1, 4, 5.3, 12, 60, 500}).Draw(t, "freedom"),
		Hang:    rapid.Float64Range(0, 1).Draw(t, "hang"), Within: time.Duration(rapid.IntRange(0, 3600).Draw(t, "within")) * time.Second,
	}
}

func TestQuantilesAndDrawsAscend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDuration(t)
		below := rapid.Float64Range(0.0001, 0.9999).Draw(t, "p")
		above := rapid.Float64Range(below, 0.9999).Draw(t, "greater p")
		require.LessOrEqual(t, d.Quantile(below), d.Quantile(above))
		shorter, hungBelow := d.Draw(below)
		longer, hungAbove := d.Draw(above)
		require.LessOrEqual(t, shorter, longer)
		require.False(t, hungBelow && !hungAbove)
		if d.Within > 0 {
			require.LessOrEqual(t, longer, d.Within)
			require.Equal(t, longer == d.Within, hungAbove, "it hangs if it is not over by then")
		}
	})
}

func TestDrawsHaveTheSharesOfQuantile(t *testing.T) {
	for _, freedom := range []float64{0, 4, 5.3, 7.9, 20, 100} {
		d := forecast.Duration{
			Floor: time.Second, Median: 40 * time.Second, Sigma: 0.5, Freedom: freedom, Hang: 0.02,
			Within: 10 * time.Minute,
		}
		for _, p := range []float64{0.05, 0.3, 0.5, 0.9, 0.95, 0.97} {
			took, hung := d.Draw(p)
			require.False(t, hung)
			require.InEpsilon(t, d.Quantile(p).Seconds(), took.Seconds(), 0.015, "freedom %v, p %v", freedom, p)
		}
		took, hung := d.Draw(0.981)
		require.True(t, hung)
		require.Equal(t, d.Within, took)
	}
}
