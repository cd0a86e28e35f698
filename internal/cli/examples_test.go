package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExampleRunbooks checks and plans every runbook that is shipped, in both directions and all formats.
func TestExampleRunbooks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../runbooks/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 2)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "no mistakes in 1 runbook\n", runCLI(t, exitDone, "check", file), "an example has no warnings either")
			for _, goal := range []string{"down", "up"} {
				text := runCLI(t, exitDone, "plan", file, "--goal", goal)
				require.Contains(t, text, "Critical chain")
				for line := range bytes.SplitSeq([]byte(text), []byte("\n")) {
					require.LessOrEqual(t, len([]rune(string(line))), 200)
				}
				var doc planDoc
				require.NoError(t, json.Unmarshal([]byte(runCLI(t, exitDone, "plan", file, "--goal", goal, "--format", "json")), &doc))
				require.NotEmpty(t, doc.Steps)
				require.NotEmpty(t, doc.Chain)
				require.Positive(t, doc.Seconds)
			}
			require.Contains(t, runCLI(t, exitDone, "plan", file, "--format", "dot"), "digraph")
			require.Contains(t, runCLI(t, exitDone, "plan", file, "--format", "mermaid"), "flowchart")
		})
	}
}
