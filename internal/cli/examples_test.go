package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// TestExampleRunbooks checks and plans every runbook that is shipped, in both directions and all formats, and plays two
// outages in each: nothing loses its power while it is on, and everything is on again in the end.
func TestExampleRunbooks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../runbooks/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 7)
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
			for _, outage := range []string{"45m", "3h"} {
				var came simulated
				require.NoError(t, json.Unmarshal([]byte(runCLI(t, exitDone, "simulate", file, "--outage", outage, "--format", "json")), &came))
				require.Empty(t, came.Violations, outage)
				require.Empty(t, came.Crashed, outage)
				require.Empty(t, came.Off, outage)
				require.Positive(t, came.EndedSeconds, outage)
				if outage == "3h" {
					requireCuts(t, came.Records)
				}
			}
			require.Contains(t, runCLI(t, exitDone, "plan", file, "--format", "dot"), "digraph")
			require.Contains(t, runCLI(t, exitDone, "plan", file, "--format", "mermaid"), "flowchart")
		})
	}
}

// requireCuts holds that the outage went all the way.
func requireCuts(t *testing.T, records []engine.Record) {
	t.Helper()
	proven := map[plan.Verb]int{}
	for _, rec := range records {
		if rec.Kind == engine.Proven {
			proven[*rec.Verb]++
		}
	}
	require.Positive(t, proven[plan.Stop])
	require.Positive(t, proven[plan.Cut])
	require.Positive(t, proven[plan.Start])
}
