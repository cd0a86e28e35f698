package runbook

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachTriggerIsDescribed: runbooks/README.md has a row for each condition of the language, as it is written.
func TestEachTriggerIsDescribed(t *testing.T) {
	text, err := os.ReadFile("../../runbooks/README.md")
	require.NoError(t, err)
	for _, c := range conditions {
		require.Contains(t, string(text), "| `"+c.like+"` | ")
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") && strings.Contains(line, ": ") && !strings.Contains(line, ".yaml`") {
			rows++
		}
	}
	require.Equal(t, len(conditions), rows, "a row for what is no trigger")
}
