package dst_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// TestTheFactorMakesFaultsMoreLikely counts what goes wrong at the usual rate and at twice that, in the same estates: all of
// it is about twice as frequent.
func TestTheFactorMakesFaultsMoreLikely(t *testing.T) {
	t.Parallel()
	drawn := func(faults int) string {
		var all strings.Builder
		for seed := range uint64(1000) {
			all.WriteString(dst.DrawWith(dst.Seeded(seed), faults))
		}
		return all.String()
	}
	once, twice := drawn(1), drawn(2)
	for _, what := range []string{
		"fault: ", "lies_at: ", "gone_at: ", "fails: ", "self_test: ", "lags: ", "way: ", "boots_after: ", ", silent: true", "journal: lost", "dies_at: ", "says: ",
	} {
		require.InDelta(t, 2, float64(strings.Count(twice, what))/float64(strings.Count(once, what)), 0.4, what)
	}
}
