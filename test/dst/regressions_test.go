package dst_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/sim"
)

// TestRegressions plays the scenarios that once broke a rule: testdata has them by what was wrong.
func TestRegressions(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/*.yaml")
}

// TestFoundWorlds plays worlds in which the engine broke a rule before it was made anew (docs/adr/0016), by the seed that drew
// them.
func TestFoundWorlds(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/found/*.yaml")
}

// TestAllIsBack plays scenarios in which no rule was broken, and something was left off for good that nothing was wrong with: readers found them.
func TestAllIsBack(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/back/*.yaml", func(t *testing.T, r *sim.Result) { require.Empty(t, r.Missing) })
}

// replay plays scenarios, of which each keeps every rule, and what else is asked.
func replay(t *testing.T, pattern string, ask ...func(*testing.T, *sim.Result)) {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			r, err := play(string(text))
			require.NoError(t, err)
			require.Empty(t, r.Violations)
			for _, one := range ask {
				one(t, r)
			}
		})
	}
}
