package dst_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
	"ebbtide/test/dst"
)

const lawSeeds = 60

func drawn(t *testing.T, seed uint64) sim.Scenario {
	t.Helper()
	sc, _, err := sim.Load("drawn", []byte(dst.Draw(dst.Seeded(seed))), nil, schema)
	require.NoError(t, err)
	return sc
}

// TestClockStepsChangeNothing is rule 16: a run in which the wall clock is set differs from one in which it is not by
// nothing but the times in its records.
func TestClockStepsChangeNothing(t *testing.T) {
	t.Parallel()
	story := func(sc sim.Scenario) string {
		records := sim.Run(sc).Records
		for i := range records {
			records[i].At = time.Time{}
		}
		text, err := json.Marshal(records)
		require.NoError(t, err)
		return string(text)
	}
	set := 0
	for seed := range uint64(lawSeeds) {
		sc := drawn(t, seed)
		with := story(sc)
		before := len(sc.Changes)
		sc.Changes = slices.DeleteFunc(sc.Changes, func(c sim.Change) bool { return c.Clock != nil })
		set += before - len(sc.Changes)
		require.Equal(t, story(sc), with, "seed %d", seed)
	}
	require.Greater(t, set, lawSeeds/4, "clocks were set")
}

// TestMoreBatteryNeverTriggersEarlier is rule 14: with batteries that last longer the first shutdown starts no earlier.
func TestMoreBatteryNeverTriggersEarlier(t *testing.T) {
	t.Parallel()
	first := func(sc sim.Scenario) time.Duration {
		for _, rec := range sim.Run(sc).Records {
			if rec.Kind == engine.Triggered && rec.Stage == power.ShutdownStage {
				return rec.At.Sub(sim.Epoch)
			}
		}
		return time.Duration(1<<63 - 1)
	}
	later := 0
	for seed := range uint64(lawSeeds) {
		sc := drawn(t, seed)
		sc.CrashAt, sc.CrashOn = nil, nil // a crash comes after so many records, whatever they say
		sc.Changes = slices.DeleteFunc(sc.Changes, func(c sim.Change) bool { return c.Clock != nil })
		small := first(sc)
		for id, b := range sc.Batteries {
			b.Runtime += b.Runtime / 2
			sc.Batteries[id] = b
		}
		large := first(sc)
		require.GreaterOrEqual(t, large, small, "seed %d", seed)
		if large > small {
			later++
		}
	}
	require.Greater(t, later, lawSeeds/10, "it made a difference")
}
