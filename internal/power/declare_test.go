package power

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A capacity that was learned counts from the next reading on, and what was heard before stays.
func TestACapacityIsLearnedMeanwhile(t *testing.T) {
	t.Parallel()
	proven := Supply{ID: "ups", Capacity: Capacity{Burn: 600, Sigma: sigmaProven, Discharges: 1}}
	reading := Reading{Supply: "ups", Link: Fresh, Status: ParseStatus("OL"), Charge: Known(100), Load: Known(100)}
	late, early := NewTracker(Supply{ID: "ups"}), NewTracker(proven)
	late.Observe(epoch, reading)
	early.Observe(epoch, reading)
	require.False(t, late.State(epoch).Left.Known)
	late.Declare(proven)
	require.Equal(t, MainsOnline, late.State(epoch).Mains)
	at := epoch.Add(time.Second)
	late.Observe(at, reading)
	early.Observe(at, reading)
	require.Equal(t, early.State(at).Left, late.State(at).Left)
	require.True(t, late.State(at).Left.Known)
}
