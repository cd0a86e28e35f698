// Package golden compares what a test gives with a file that says what it should, and writes that file anew on -rewrite.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the files that tests compare with anew")

// Rewrites reports whether the files are to be written anew.
func Rewrites() bool { return *rewrite }

// Each runs a test for each file that a pattern names, under the name of the file without its ending. There has to be one.
func Each(t *testing.T, pattern string, test func(t *testing.T, file string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) { test(t, file) })
	}
}

// Equal requires that a file holds what was got, or has it written there.
func Equal(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644)) //nolint:gosec // a file of the project, for everybody
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test -rewrite writes it; read what it wrote")
	require.Equal(t, string(want), got, "if it is right, go test -rewrite writes it anew")
}
