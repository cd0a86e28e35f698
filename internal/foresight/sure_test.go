package foresight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/want"
)

// at is a reading so many seconds in, of a UPS that is polled every second.
func at(seconds int) Word {
	return Word{At: time.Unix(int64(seconds), 0), After: time.Second, Before: time.Unix(int64(seconds-1), 0)}
}

// What stands in two readings, since of two the worse one counts, or in many that come within a moment, is not sure yet.
func TestSure(t *testing.T) {
	for _, every := range []time.Duration{250 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second, 2 * time.Minute} {
		var s Sure
		now := time.Unix(0, 0)
		hear := func(k int, told bool) bool {
			s.Hear(Word{At: now.Add(time.Duration(k) * every), After: every, Before: now.Add(time.Duration(k-1) * every)}, told)
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

// A UPS that hunts between its mains and its battery is on battery for a few seconds at a time, and its readings on line deny nothing. It
// has told something in three such spells. One wrong word that ends a failure, and one that begins the next, are not believed.
func TestSureOverSpells(t *testing.T) {
	var s Sure
	spell := func(from, words int, told bool) {
		for k := range words {
			s.Hear(at(from+k), told)
		}
	}
	spell(0, 2, true)
	spell(60, 2, true)
	require.False(t, s.Is(), "two words in each of two spells")
	spell(120, 1, true)
	require.True(t, s.Is())
	spell(240, 1, true)
	require.True(t, s.Is(), "it stays so")
	spell(430, 1, true)
	require.False(t, s.Is(), "what was believed is of another failure")
	spell(431, 7, true)
	require.True(t, s.Is())
	spell(500, 1, true)
	require.True(t, s.Is(), "what was told in a row stays so as well")

	spell(501, 3, false)
	spell(560, 2, true)
	require.False(t, s.Is(), "what was denied counts no more")

	s = Sure{}
	for k := range 3 {
		spell(300*k, 1, true)
	}
	require.False(t, s.Is(), "one word in each of three failures within a quarter of an hour")
	s = Sure{}
	for k := range 20 {
		spell(170*k, 1, true)
		require.Equal(t, k >= 2, s.Is(), "three in six minutes")
	}
}

// A pressure rises to what was told all the while, and falls at once.
func TestShort(t *testing.T) {
	var s Short
	for k, told := range []want.Pressure{
		want.CutNow, want.CutNow, want.NoPressure, want.CutNow, want.CutNow, want.ReserveReached,
		want.CutNow, want.CutNow,
	} {
		require.Equal(t, want.NoPressure, s.By, "%d", k)
		s.Hear(every2(k), told)
		if k == 5 {
			require.Equal(t, want.NoPressure, s.By, "three readings, and four seconds")
		}
		if k == 6 {
			require.Equal(t, want.ReserveReached, s.By, "that is the least of four readings in a row")
			break
		}
	}
	s.Hear(every2(7), want.ForceVMs)
	require.Equal(t, want.ForceVMs, s.By)
	s.Pass(want.CutNow, false)
	require.Equal(t, want.ForceVMs, s.By, "a missed word is none")
	s.Pass(want.CutNow, true)
	require.Equal(t, want.CutNow, s.By, "a long silence counts as worse")
	s.Hear(at(90), want.NoPressure)
	require.Equal(t, want.NoPressure, s.By)
	s.Hear(at(200), want.ForceVMs)
	for k := range 6 { // in another failure, what was told in that is no bound on it
		require.Equal(t, want.NoPressure, s.By)
		s.Hear(at(260+k), want.CutNow)
	}
	require.Equal(t, want.CutNow, s.By)
}

// Polls that are lost end no spell, and are no words.
func TestSureOverLostPolls(t *testing.T) {
	var s Sure
	word := at(0)
	for k := range 7 {
		isLost := k%3 == 1
		if !isLost {
			s.Hear(word, true)
		}
		require.Equal(t, k >= 5, s.Is(), "%d", k)
		word = word.Next(word.At.Add(time.Second), !isLost)
	}
	require.Equal(t, 5, s.words)
	require.Equal(t, 1, s.spells)
}

// every2 is a reading of a UPS that is polled every two seconds.
func every2(k int) Word { return at(2*k-2).Next(time.Unix(int64(2*k), 0), true) }
