package runbook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ebbtide/internal/runbook"
	"ebbtide/test/golden"

	"github.com/stretchr/testify/require"
)

// TestProblems reads each testdata/*.yaml and holds what is said about it against the .txt beside it. Where a line of
// the runbook ends in a comment "# !" the caret must stand under the word that the comment repeats.
func TestProblems(t *testing.T) {
	golden.Each(t, "testdata/*.yaml", func(t *testing.T, file string) {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		_, problems := runbook.Load(filepath.Base(file), src, testSchema())
		golden.Equal(t, strings.TrimSuffix(file, ".yaml")+".txt", problems.Text())
		marked(t, string(src), problems)
	})
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
