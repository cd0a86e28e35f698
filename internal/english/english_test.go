package english_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/english"
)

func TestNumbersAndNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 node", english.Count(1, "node"))
	require.Equal(t, "0 nodes", english.Count(0, "node"))
	require.Equal(t, "2 boxes", english.Count(2, "box", "boxes"))
	for want, names := range map[string][]string{
		"nothing":         nil,
		"a":               {"a"},
		"a and b":         {"a", "b"},
		"a, b and c":      {"a", "b", "c"},
		"a, b and 2 more": {"a", "b", "c", "d"},
	} {
		require.Equal(t, want, english.Series(names, 3))
	}
	for want, names := range map[string][]string{
		"":                nil,
		"a, b, c":         {"a", "b", "c"},
		"a, b and 2 more": {"a", "b", "c", "d"},
	} {
		require.Equal(t, want, english.List(names, 3))
	}
}

func TestFalls(t *testing.T) {
	t.Parallel()
	require.Equal(t, "from 97% to 60%", english.Fall(97.2, 60))
	require.Equal(t, "at about 97%", english.Fall(97.2, 96.8))
}
