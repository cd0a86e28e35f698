package dst_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var found = flag.Bool("dst.found", false, "play the worlds of testdata/found too, in which the engine still breaks rules")

// TestRegressions plays the scenarios that once broke a rule: testdata has them by what was wrong.
func TestRegressions(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/*.yaml")
}

// TestFoundWorlds plays the worlds of which the cause is known and not yet mended, by the seed that drew them when they
// were found. With the engine that mends them they are regressions.
func TestFoundWorlds(t *testing.T) {
	t.Parallel()
	if !*found {
		t.Skip("-dst.found plays them")
	}
	replay(t, "testdata/found/*.yaml")
}

// replay plays scenarios, of which each keeps every rule.
func replay(t *testing.T, pattern string) {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			r, err := play(string(text))
			require.NoError(t, err)
			require.Empty(t, r.Violations)
		})
	}
}
