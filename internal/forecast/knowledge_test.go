package forecast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/forecast"
	"ebbtide/internal/plan"
)

var now = time.Date(2027, 3, 1, 3, 0, 0, 0, time.UTC)

func vm(id string, nominal time.Duration) *plan.Node {
	n := &plan.Node{ID: id, Type: "vm", Kind: plan.VM, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start)}
	for v := range n.Times {
		n.Times[v] = plan.Times{Nominal: nominal, Within: 100 * nominal}
	}
	return n
}

func runs(node string, took time.Duration, count int) []forecast.Sample {
	var seen []forecast.Sample
	for i := range count {
		seen = append(seen, forecast.Sample{
			Node: node, Type: "vm", Verb: plan.Stop, At: now.Add(-time.Duration(i) * time.Hour), Took: took,
			Nominal: time.Minute,
		})
	}
	return seen
}

func TestWithoutEvidenceTheRunbookSpeaks(t *testing.T) {
	n := vm("a", time.Minute)
	d := forecast.Prior(n, plan.Stop)
	require.Equal(t, d, (*forecast.Knowledge)(nil).Of(n, plan.Stop))
	require.InDelta(t, 60, d.Median.Seconds(), 0.001)
	require.InDelta(t, 0.02, d.Hang, 1e-9)
	require.Zero(t, forecast.Prior(n, plan.Start).Hang, "nothing but evidence makes anything else hang")
	require.Zero(t, d.Samples)
	require.False(t, d.Pooled)
}

// A node is as its own runs show; another of its type as those of its type, in proportion to what is expected of each.
func TestANodeLearnsFromItselfAndThenFromItsType(t *testing.T) {
	k := forecast.Learn(runs("a", 2*time.Minute, 6), now)
	own := k.Of(vm("a", time.Minute), plan.Stop)
	require.InEpsilon(t, 120, own.Median.Seconds(), 0.15)
	require.InDelta(t, 6, own.Samples, 0.1)
	require.False(t, own.Pooled)
	other := k.Of(vm("b", 30*time.Second), plan.Stop)
	require.InEpsilon(t, 60, other.Median.Seconds(), 0.15)
	require.True(t, other.Pooled)
	require.Equal(t, forecast.Prior(vm("a", time.Minute), plan.Start), k.Of(vm("a", time.Minute), plan.Start),
		"of another verb nothing was learned")
	stranger := vm("c", time.Minute)
	stranger.Type = "other"
	require.Equal(t, forecast.Prior(stranger, plan.Stop), k.Of(stranger, plan.Stop))
}

func TestMoreOfTheSameIsNarrower(t *testing.T) {
	n, before := vm("a", time.Minute), time.Duration(math.MaxInt64)
	for _, count := range []int{0, 1, 2, 4, 8, 16, 64} {
		d := forecast.Learn(runs("a", time.Minute, count), now).Of(n, plan.Stop)
		width := d.Quantile(0.9) - d.Quantile(0.1)
		require.Less(t, width, before, "after %d runs", count)
		before = width
	}
}

func TestHangsAreEvidenceOfHanging(t *testing.T) {
	n := vm("a", time.Minute)
	hung := func(k int) float64 {
		seen := runs("a", time.Minute, 10)
		for i := range k {
			seen[i].Hung = true
		}
		return forecast.Learn(seen, now).Of(n, plan.Stop).Hang
	}
	require.Less(t, hung(0), 0.02, "ten runs ended")
	for k := range 10 {
		require.Greater(t, hung(k+1), hung(k))
	}
	starts := forecast.Learn([]forecast.Sample{{Node: "a", Type: "vm", Verb: plan.Start, At: now, Hung: true}}, now)
	require.Greater(t, starts.Of(n, plan.Start).Hang, 0.02)
	require.Greater(t, starts.Of(vm("b", time.Minute), plan.Start).Hang, 0.02, "so may others of its type")
}

func TestEvidenceAges(t *testing.T) {
	weight := func(age time.Duration, drill bool) float64 {
		s := forecast.Sample{
			Node: "a", Type: "vm", Verb: plan.Stop, At: now.Add(-age), Took: time.Minute,
			Nominal: time.Minute, Drill: drill,
		}
		d := forecast.Learn([]forecast.Sample{s}, now).Of(vm("a", time.Minute), plan.Stop)
		require.Equal(t, s.At, d.Newest)
		return d.Samples
	}
	require.InDelta(t, 1, weight(0, false), 1e-9)
	require.InDelta(t, 0.7, weight(0, true), 1e-9)
	require.InDelta(t, 0.5, weight(180*24*time.Hour, false), 1e-9)
	require.InDelta(t, 1, weight(-time.Hour, false), 1e-9, "a clock that was wrong makes no evidence stronger")
}

func TestWhatIsLearnedIsSane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seen []forecast.Sample
		for range rapid.IntRange(0, 30).Draw(t, "samples") {
			seen = append(seen, forecast.Sample{
				Node: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node"), Type: "vm",
				Verb:    rapid.SampledFrom([]plan.Verb{plan.Stop, plan.Start}).Draw(t, "verb"),
				At:      now.Add(-time.Duration(rapid.IntRange(-10, 30_000).Draw(t, "hours")) * time.Hour),
				Took:    time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "took")),
				Nominal: time.Duration(rapid.IntRange(0, 300).Draw(t, "nominal")) * time.Second, Hung: rapid.Bool().Draw(t, "hung"),
				Drill: rapid.Bool().Draw(t, "drill"),
			})
		}
		k := forecast.Learn(seen, now)
		for _, id := range []string{"a", "b", "stranger"} {
			d := k.Of(vm(id, time.Minute), plan.Stop)
			require.Positive(t, d.Median)
			require.Positive(t, d.Sigma)
			require.GreaterOrEqual(t, d.Freedom, 4.0)
			require.True(t, d.Hang >= 0 && d.Hang < 1, d.Hang)
			require.LessOrEqual(t, d.Quantile(0.999), d.Within)
			require.LessOrEqual(t, d.Quantile(0.5), d.Quantile(0.95))
		}
	})
}

// The world is not what the runbook says: each type is off by some factor, each of its nodes by another, and each run
// by a third. Of many predictions of the next run, a share of 0.95 must hold.
func TestPredictionsHoldAsOftenAsTheySay(t *testing.T) {
	luck := rand.New(rand.NewPCG(20270301, 4))
	held, all := 0, 0
	for range 300 {
		typeOff := math.Exp(0.4 * luck.NormFloat64())
		var seen []forecast.Sample
		var off [12]float64
		next := func(node int) time.Duration {
			return time.Duration(60 * typeOff * off[node] * math.Exp(0.5*luck.NormFloat64()) * float64(time.Second))
		}
		for i := range off {
			off[i] = math.Exp(0.3 * luck.NormFloat64())
			for range i % 6 {
				seen = append(seen, forecast.Sample{
					Node: fmt.Sprint("n", i), Type: "vm", Verb: plan.Stop, Took: next(i), Nominal: time.Minute,
					At: now.Add(-time.Duration(luck.IntN(400*24)) * time.Hour), Drill: luck.IntN(3) == 0,
				})
			}
		}
		k := forecast.Learn(seen, now)
		for i := range off {
			d := k.Of(vm(fmt.Sprint("n", i), time.Minute), plan.Stop)
			d.Hang = 0 // runs that hang are a matter of their own
			if next(i) <= d.Quantile(0.95) {
				held++
			}
			all++
		}
	}
	share := float64(held) / float64(all)
	t.Logf("%.3f of %d", share, all)
	require.True(t, share >= 0.93 && share <= 0.97, "%.3f of %d", share, all)
}
