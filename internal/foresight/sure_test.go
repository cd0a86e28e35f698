package foresight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/want"
)

// What stands in two readings, since of two the worse one counts, or in many that come within a moment, is not sure yet.
func TestSure(t *testing.T) {
	for _, every := range []time.Duration{250 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second} {
		var s Sure
		now := time.Unix(0, 0)
		require.False(t, s.Hear(now, true))
		require.False(t, s.Hear(now, true), "another event, and no other reading")
		require.False(t, s.Hear(now.Add(every), true))
		for k := 2; ; k++ {
			read := now.Add(time.Duration(k) * every)
			if s.Hear(read, true) {
				require.GreaterOrEqual(t, read.Sub(now), sureAfter)
				require.Less(t, read.Sub(now), sureAfter+2*every+1)
				break
			}
		}
		require.False(t, s.Hear(now.Add(time.Hour), false))
		require.False(t, s.Hear(now.Add(time.Hour+every), true), "it begins anew")
	}
}

// A pressure rises to the least that was told all the while, and falls at once.
func TestShort(t *testing.T) {
	var s Short
	now := time.Unix(0, 0)
	for k, told := range []want.Pressure{want.CutNow, want.CutNow, want.NoPressure, want.CutNow, want.CutNow, want.ReserveReached, want.CutNow, want.CutNow} {
		s.Hear(now.Add(time.Duration(k)*2*time.Second), told)
		if k < 6 {
			require.Equal(t, want.NoPressure, s.By, "%d", k)
		}
	}
	require.Equal(t, want.ReserveReached, s.By, "that is the least of four readings in a row")
	s.Hear(now.Add(time.Minute), want.ForceVMs)
	require.Equal(t, want.ForceVMs, s.By)
	s.Hear(now.Add(time.Minute), want.NoPressure)
	require.Equal(t, want.NoPressure, s.By)
}
