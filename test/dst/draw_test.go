package dst_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/sim"
	"ebbtide/test/dst"
)

// TestADrawIsItsSeedAndItsFactor holds that the same seed and factor give the same text, and nothing else does.
func TestADrawIsItsSeedAndItsFactor(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		once := dst.Draw(dst.Seeded(seed))
		require.Equal(t, once, dst.DrawWith(dst.Seeded(seed), 1))
		twice := dst.DrawWith(dst.Seeded(seed), 2)
		require.Equal(t, twice, dst.DrawWith(dst.Seeded(seed), 2))
		require.NotEqual(t, once, twice)
	}
}

// TestTheFactorMakesFaultsMoreLikely counts what goes wrong for each node and supply that is drawn, at the usual rate and at
// twice that: all of it is about twice as frequent.
func TestTheFactorMakesFaultsMoreLikely(t *testing.T) {
	t.Parallel()
	once, twice := share(t, 1), share(t, 2)
	for what, often := range once {
		require.Positive(t, often, what)
		require.InDelta(t, 2, twice[what]/often, 0.5, what)
	}
}

// share counts what goes wrong in some hundred scenarios, against how many nodes or scenarios it could go wrong with.
func share(t *testing.T, faults int) map[string]float64 {
	t.Helper()
	const scenarios = 300
	counts, nodes := map[string]float64{}, 0.0
	for seed := range uint64(scenarios) {
		sc, problems, err := sim.Load("drawn", []byte(dst.DrawWith(dst.Seeded(seed), faults)), nil, schema)
		require.NoError(t, err, problems.Text())
		nodes += float64(sc.Settings.Estate.Len())
		counts["faults"] += float64(len(sc.Faults))
		counts["lies"] += float64(len(sc.LiesAt))
		for _, h := range sc.Habits {
			for what, has := range map[string]bool{"fails": h.Fails, "refuses": h.Refuses, "lags": h.Lags > 0, "way": h.Way > 0, "boots after": h.BootsAfter > 0, "self-test": h.SelfTest != 0} {
				if has {
					counts[what]++
				}
			}
		}
		for _, c := range sc.Changes {
			if c.Silent != nil && *c.Silent {
				counts["silences"]++
			}
		}
		counts["crashes"] += float64(len(sc.CrashAt) + len(sc.CrashOn))
	}
	for what := range counts {
		counts[what] /= nodes
	}
	return counts
}
