// Package docs_test holds the documentation to what the program does.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
)

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestSystemsAreDeclaredAsTheirPagesSay: every runbook on a page of docs/systems passes check, without a warning.
func TestSystemsAreDeclaredAsTheirPagesSay(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/systems/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		src, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range block.FindAllStringSubmatch(string(src), -1) {
			if !strings.Contains(m[1], "version: 1") {
				continue
			}
			rb, problems := runbook.Load(filepath.Base(page), []byte(m[1]), families.Schema())
			require.Empty(t, problems, "%s: %v", page, problems)
			require.Empty(t, rb.Check(), "%s: %v", page, rb.Check())
		}
	}
}
