package runbook_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ebbtide/internal/runbook"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the expected problems in testdata")

// TestProblems reads each testdata/*.yaml and holds what is said about it against the .txt beside it. Where a line of
// the runbook ends in a comment "# !" the caret must stand under the word that the comment repeats.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			_, problems := runbook.Load(filepath.Base(file), src, testSchema())
			got := problems.Text()
			want := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
			}
			expected, err := os.ReadFile(want)
			require.NoError(t, err, "run go test -update and read what it wrote")
			require.Equal(t, string(expected), got)
			marked(t, string(src), problems)
		})
	}
}

var mark = regexp.MustCompile(`# !(.+)$`)

// marked checks positions by eye-independent means: "# !word" at the end of a line says that a problem is on that line
// at that word.
func marked(t *testing.T, src string, problems runbook.Problems) {
	t.Helper()
	for i, line := range strings.Split(src, "\n") {
		m := mark.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found := false
		for _, p := range problems {
			if p.Line == i+1 && strings.HasPrefix(string([]rune(line)[p.Column-1:]), m[1]) {
				found = true
			}
		}
		require.True(t, found, "line %d: no problem at %q in %v", i+1, m[1], problems)
	}
}
