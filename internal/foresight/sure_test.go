package foresight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/want"
)

// at is a reading so many seconds in, of a UPS that is polled every second.
func at(seconds int) Word {
	return Word{At: time.Unix(int64(seconds), 0), After: time.Second}
}

// What stands in two readings, since of two the worse one counts, or in many that come within a moment, is not sure yet.
func TestSure(t *testing.T) {
	for _, every := range []time.Duration{250 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second, 2 * time.Minute} {
		var s Sure
		now := time.Unix(0, 0)
		hear := func(k int, told bool) bool {
			s.Hear(Word{At: now.Add(time.Duration(k) * every), After: every}, told)
			return s.Is()
		}
		require.False(t, hear(0, true))
		require.False(t, hear(0, true), "another event, and no other reading")
		require.False(t, hear(1, true))
		k := 2
		for ; !hear(k, true); k++ {
			require.Less(t, time.Duration(k)*every, sureAfter+every)
		}
		require.GreaterOrEqual(t, time.Duration(k)*every, sureAfter)
		require.False(t, hear(k+1, false))
		require.False(t, hear(k+2, true), "it begins anew")
	}
}

// A UPS that hunts between its mains and its battery is on battery for a few seconds at a time, and its readings on line deny nothing. What it told in an
// earlier failure is no word on this one.
func TestSureOverSpellsOnLine(t *testing.T) {
	var s Sure
	for spell := range 2 {
		for k := range 3 {
			s.Hear(at(11*spell+k), true)
		}
	}
	require.True(t, s.Is())
	s.Hear(at(120), true)
	require.False(t, s.Is())
}

// A pressure rises to the least that was told all the while, and falls at once.
func TestShort(t *testing.T) {
	var s Short
	for k, told := range []want.Pressure{want.CutNow, want.CutNow, want.NoPressure, want.CutNow, want.CutNow, want.ReserveReached, want.CutNow, want.CutNow} {
		require.Equal(t, want.NoPressure, s.By, "%d", k)
		s.Hear(at(2*k), told)
		if k == 5 {
			require.Equal(t, want.NoPressure, s.By, "three readings, and four seconds")
		}
		if k == 6 {
			require.Equal(t, want.ReserveReached, s.By, "that is the least of four readings in a row")
			break
		}
	}
	s.Hear(at(60), want.ForceVMs)
	require.Equal(t, want.ForceVMs, s.By)
	s.Pass(want.CutNow, false)
	require.Equal(t, want.ForceVMs, s.By, "a missed word is none")
	s.Pass(want.CutNow, true)
	require.Equal(t, want.CutNow, s.By, "a long silence counts as worse")
	s.Hear(at(90), want.NoPressure)
	require.Equal(t, want.NoPressure, s.By)
	s.Hear(at(200), want.CutNow)
	require.Equal(t, want.NoPressure, s.By)
	s.Hear(at(201), want.ForceVMs)
	for k := range 7 { // in another failure, what was told in that is no bound on it
		s.Hear(at(600+k), want.CutNow)
	}
	require.Equal(t, want.CutNow, s.By)
}

// A UPS that is on battery for a few seconds of each minute tells its charge in every spell, and never for five seconds; one that says a wrong word in
// each of three failures within a quarter of an hour is not believed.
func TestSureForgets(t *testing.T) {
	var hunts, slips Sure
	for spell := range 2 {
		for k := range 3 {
			hunts.Hear(at(65*spell+k), true)
		}
	}
	require.True(t, hunts.Is())
	for k := range 3 {
		slips.Hear(at(300*k), true)
	}
	require.False(t, slips.Is())
}
