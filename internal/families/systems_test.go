package families_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
)

// TestTheRunbooksOfTheSystemsPagesAreGood: what docs/systems shows as a whole runbook has no mistake.
func TestTheRunbooksOfTheSystemsPagesAreGood(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/systems/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
			src, _, closed := strings.Cut(block, "```")
			require.True(t, closed, page)
			if !strings.HasPrefix(src, "version:") {
				continue // a part of one
			}
			found++
			_, problems := runbook.Load(page, []byte(src), families.Schema())
			for _, p := range problems {
				require.NotEqual(t, runbook.Error, p.Severity, "%s: %+v", page, p)
			}
		}
	}
	require.NotZero(t, found)
}
