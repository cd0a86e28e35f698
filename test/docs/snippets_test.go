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

// TestSystemsAreDeclaredAsTheirPagesSay: every runbook on a page of docs/systems passes check.
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
			if rb != nil {
				problems = append(problems, rb.Check()...)
			}
			for _, p := range problems {
				require.NotEqual(t, runbook.Error, p.Severity, "%s: %v", page, p)
			}
		}
	}
}
