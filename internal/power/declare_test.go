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

// A curve that is declared meanwhile counts at once, at the load that was heard before.
func TestACurveIsDeclaredMeanwhile(t *testing.T) {
	t.Parallel()
	curved := Supply{ID: "ups", Curve: []Point{{Load: 10, Time: 2 * time.Hour}, {Load: 100, Time: 10 * time.Minute}}}
	reading := Reading{Supply: "ups", Link: Fresh, Status: ParseStatus("OL"), Charge: Known(100), Load: Known(30)}
	late, early := NewTracker(Supply{ID: "ups"}), NewTracker(curved)
	late.Observe(epoch, reading)
	early.Observe(epoch, reading)
	late.Declare(curved)
	require.NotEqual(t, powerLaw(0.3), late.State(epoch).Outlook.Rate)
	require.InDelta(t, early.State(epoch).Outlook.Rate, late.State(epoch).Outlook.Rate, 0)
}

// What was told long ago is forgotten with the reading that says that the mains are back, and not with the one after it.
func TestWhatWasToldLongAgoIsForgottenAtOnce(t *testing.T) {
	t.Parallel()
	tracker := NewTracker(Supply{ID: "ups"})
	tracker.Observe(epoch, Reading{Status: OB, Runtime: Known(3600), Load: Known(50)})
	back := epoch.Add(10 * time.Minute)
	tracker.Observe(back, Reading{Status: OL, Load: Known(50)})
	require.False(t, tracker.State(back).Left.Known)
	require.Equal(t, tracker.State(back).Left, tracker.State(back.Add(time.Nanosecond)).Left)
}
