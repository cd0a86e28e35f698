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

// TestSystemsPages checks the runbook snippet of each page in docs/systems that has one: what stands there is accepted.
func TestSystemsPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/systems/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		_, after, found := strings.Cut(string(text), "```yaml\nconnections:\n")
		if !found {
			continue
		}
		snippet, _, closed := strings.Cut(after, "```")
		require.True(t, closed, page)
		if strings.Contains(snippet, "\nsupplies:") || strings.Contains(snippet, "\npolicy:") {
			continue // a whole runbook of its own
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			whole := "version: 1\nrunbook: page\nsupplies:\n  ups: {nut: ups@127.0.0.1, cut: none}\nconnections:\n" + snippet +
				"policy:\n  shutdown: {when: {low_battery: true}}\n"
			_, problems := runbook.Load(filepath.Base(page), []byte(whole), families.Schema())
			require.False(t, problems.HasErrors(), problems.Text())
		})
	}
}
