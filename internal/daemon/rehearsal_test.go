package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// TestRehearsedReading: an output whose cut was rehearsed says OFF, and that only this is so; one that is off says so itself.
func TestRehearsedReading(t *testing.T) {
	t.Parallel()
	var rs rehearsals
	n := rs.ofOutput("ups", nil, func() bool { return false }, func() error { return nil })
	says := func(st power.Status) power.Reading {
		return rs.reading(power.Reading{Supply: "ups", Link: power.Fresh, Status: st})
	}
	require.Equal(t, power.OB, says(power.OB).Status)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	require.Eventually(t, func() bool { return says(power.OB).Status == power.OB|power.OFF }, time.Minute, 10*time.Millisecond)
	require.True(t, says(power.OB).Rehearsed, "the battery goes on")
	require.False(t, says(power.OB|power.OFF).Rehearsed, "somebody has cut it: the battery rests")
}

// TestAnImpossibleCutIsNotRehearsed: observing is there to find that out.
func TestAnImpossibleCutIsNotRehearsed(t *testing.T) {
	t.Parallel()
	var d Daemon
	var rs rehearsals
	n := rs.ofOutput("ups", nil, func() bool { return false }, func() error { return d.cantCut("ups") })
	d.uncut.Store("ups", "the UPS lacks the command shutdown.return")
	err := n.Do(t.Context(), adapter.Command{Verb: plan.Cut})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "cannot cut ups: the UPS lacks the command shutdown.return")
	require.Equal(t, power.OB, rs.reading(power.Reading{Supply: "ups", Link: power.Fresh, Status: power.OB}).Status)
	d.uncut.Delete("ups")
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
}
