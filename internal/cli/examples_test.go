package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/sim"
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
				require.NoError(t, json.Unmarshal([]byte(runCLI(t, exitDone, "simulate", file, "--outage", outage, "--format", "json")),
					&came))
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

// TestExampleOdds plays drawn nights in every runbook that is shipped, from the same seeds each time: no rule is broken in
// any, and few of them end badly.
func TestExampleOdds(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../runbooks/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			trials := "10"
			if filepath.Base(file) == "vdi-pod.yaml" {
				trials = "3" // of a thousand machines
			}
			runCLI(t, exitDone, "simulate", file, "--trials", trials, "--assert", "crash<=10%", "--assert", "violations<=0")
		})
	}
}

// requireCuts holds that the outage went all the way.
func requireCuts(t *testing.T, records []ledger.Record) {
	t.Helper()
	proven := map[plan.Verb]int{}
	for _, rec := range records {
		if rec.Kind == ledger.Proven {
			proven[*rec.Verb]++
		}
	}
	require.Positive(t, proven[plan.Stop])
	require.Positive(t, proven[plan.Cut])
	require.Positive(t, proven[plan.Start])
}

// TestExampleScenarioInTheReadme holds that the scenario which runbooks/README.md explains every key by can be read.
func TestExampleScenarioInTheReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../runbooks/README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	require.True(t, found)
	block, _, found := strings.Cut(rest, "```\n")
	require.True(t, found)
	var doc sim.Document
	require.Empty(t, runbook.ReadDocument("README", []byte(block), "a scenario", &doc).Text())
	keys := reflect.ValueOf(doc)
	for i := range keys.NumField() {
		name := keys.Type().Field(i).Tag.Get("yaml")
		// for those who write tests
		explained := name == "runbook" || name == "poll" || name == "poll_quiet" || name == "estimate_trials" || name == "watched"
		require.Equal(t, explained, keys.Field(i).IsZero(), "%s", name)
	}
}
