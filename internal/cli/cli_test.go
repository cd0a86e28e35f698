package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInterrupted: Ctrl-C has an exit code of its own, and no error is told.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"demo"}, {"simulate", "../../runbooks/home-lab.yaml", "--trials", "1000000"}} {
		var out, errs bytes.Buffer
		code := Main(ctx, World{Args: args, Stdout: &out, Stderr: &errs, Version: "test"})
		require.Equal(t, exitInterrupted, code)
		require.Empty(t, errs.String())
	}
}

// runCLI runs one command line, asserts its exit code, and gives its stdout.
func runCLI(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	got := Main(t.Context(), World{Args: args, Stdout: &out, Stderr: &errs, Version: "test"})
	require.Equal(t, code, got, "%s%s", out.String(), errs.String())
	return out.String()
}
