package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/belief"
	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// TestABatteryThatRestsIsNotEmptied: two cuts count down, the one due in 60 s, the other in 30 s for 60 s. Whether both outputs are off at
// once hangs on what the battery of the second has left while it carries the load, and on nothing where its mains are back.
func TestABatteryThatRestsIsNotEmptied(t *testing.T) {
	for mains, want := range map[power.Mains]bool{power.MainsOnline: true, power.MainsOnBattery: false} {
		e := twoFeeds(t)
		e.Supplies[0].CutDue = e.Now.Add(60 * time.Second)
		second := &e.Supplies[1]
		second.CutDue, second.OffDelay, second.OnDelay = e.Now.Add(30*time.Second), 30*time.Second, 90*time.Second
		second.State.Mains, second.State.Left = mains, power.Known(-40) // it may have given out already, and be back in 50 s
		for k := range e.Supplies {
			e.Supplies[k].Condition = belief.CutArmed
		}
		require.Equal(t, want, e.areOffAtOnce([]int{0, 1}), mains)
	}
}

// twoFeeds gives the works of two UPSes.
func twoFeeds(t *testing.T) *Works {
	t.Helper()
	estate, err := plan.NewEstate([]plan.Node{{ID: "a", Kind: plan.Supply}, {ID: "b", Kind: plan.Supply}}, nil)
	require.NoError(t, err)
	works := New()
	works.Load(foresight.New(want.New(belief.New(estate, &power.Policy{}, []power.Supply{{ID: "a"}, {ID: "b"}}, "")), 0))
	works.Begin(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	return &works
}
