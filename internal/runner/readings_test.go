package runner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/power"
)

func TestOnlyTheNewestReadingOfASupplyCounts(t *testing.T) {
	rs := newReadings()
	read := func(supply string, charge float64) power.Reading {
		return power.Reading{Supply: supply, Charge: power.Known(charge)}
	}
	require.Empty(t, rs.take())
	rs.put(read("a", 1))
	rs.put(read("b", 2))
	rs.put(read("a", 3))
	require.Len(t, rs.come, 1)
	require.Equal(t, []engine.Event{engine.Read{Reading: read("a", 3)}, engine.Read{Reading: read("b", 2)}}, rs.take())
	require.Empty(t, rs.take())
}
