package families_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
)

// around makes a whole runbook of what a page shows from its connections on.
const around = "version: 1\nrunbook: page\nsupplies:\n  ups: {nut: ups@127.0.0.1, cut: none}\n%spolicy:\n  shutdown: {when: {low_battery: true}}\n"

// TestSystemsPages checks what docs/systems shows: whole runbooks, and those parts that begin with their connections.
func TestSystemsPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/systems/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		checked := 0
		for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
			source, _, closed := strings.Cut(block, "```")
			require.True(t, closed, page)
			switch {
			case strings.HasPrefix(source, "version:"):
			case strings.HasPrefix(source, "connections:"):
				source = fmt.Sprintf(around, source)
			default:
				continue // a line or two of one
			}
			checked++
			_, problems := runbook.Load(filepath.Base(page), []byte(source), families.Schema())
			require.False(t, problems.HasErrors(), problems.Text())
		}
		require.NotZero(t, checked, "%s shows no runbook", page)
	}
}
