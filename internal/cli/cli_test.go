package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExitCodesAndErrors: each way to end has its code, people read an error and a hint on stderr, machines a document.
func TestExitCodesAndErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("version: 1\nrunbook: x\nsupplies:\n  ups: {nutt: \"a@b\"}\n"), 0o600))
	socket := "unix:" + filepath.Join(dir, "nobody.sock")
	for _, c := range []struct {
		name     string
		args     []string
		code     int
		out, err string
	}{
		{"mistakes", []string{"check", broken}, exitMistakes, "broken.yaml:4:9: error:", ""},
		{"mistakes stop a plan", []string{"plan", broken}, exitMistakes, "nut", ""},
		{"no such file", []string{"check", filepath.Join(dir, "none.yaml")}, exitFailed, "", "ebbtide: hint: "},
		{"no argument", []string{"check"}, exitUsage, "", "ebbtide: error: check takes at least one runbook"},
		{"unknown flag", []string{"plan", "--gaol", "up"}, exitUsage, "", "ebbtide: hint: "},
		{"unknown goal", []string{"plan", "../../runbooks/home-lab.yaml", "--goal", "sideways"}, exitUsage, "", "--goal down or --goal up"},
		{"unknown format", []string{"status", "--format", "xml"}, exitUsage, "", "unknown format"},
		{"no daemon", []string{"status", "--listen", socket}, exitUnreachable, "", "cannot reach the daemon"},
		{"no daemon to hold", []string{"hold", "--listen", socket}, exitUnreachable, "", "cannot reach the daemon"},
		{"a demo of nobody", []string{"demo", "--fail", "nobody=hang"}, exitUsage, "", "the demo has no node"},
		{"no journal", []string{"journal", "verify", filepath.Join(dir, "none.db")}, exitFailed, "", "none.db"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := Main(t.Context(), World{Args: c.args, Stdout: &out, Stderr: &errs, Version: "test"})
			require.Equal(t, c.code, code, "%s%s", out.String(), errs.String())
			require.Contains(t, out.String(), c.out)
			require.Contains(t, errs.String(), c.err)
		})
	}
}

// TestErrorsForMachines: with --format json stdout is one document, also when something is wrong.
func TestErrorsForMachines(t *testing.T) {
	t.Parallel()
	out := runCLI(t, exitUnreachable, "status", "--format", "json", "--listen", "unix:"+filepath.Join(t.TempDir(), "s"))
	var doc struct{ Error, Hint string }
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.NotEmpty(t, doc.Error)
	require.NotEmpty(t, doc.Hint)
}

// TestHelpListsTheExitCodes: the codes are part of what people script against.
func TestHelpListsTheExitCodes(t *testing.T) {
	t.Parallel()
	help := runCLI(t, exitDone, "--help")
	require.Contains(t, help, "6 refused for safety")
	for _, command := range []string{"check", "plan", "daemon", "status", "hold", "demo"} {
		require.Contains(t, help, "\n  "+command)
	}
}
