package cli

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestMemoryIsKeptSecret: in a process of its own, since it can't be undone for its children.
func TestMemoryIsKeptSecret(t *testing.T) {
	const child = "EBBTIDE_TEST_SECRECY"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryIsKeptSecret$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.True(t, bytes.Contains(out, []byte("--- PASS: TestMemoryIsKeptSecret")), string(out))
		return
	}
	require.NoError(t, keepMemorySecret())
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	require.NoError(t, err)
	require.Zero(t, dumpable)
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_CORE, &limit))
	require.Equal(t, unix.Rlimit{}, limit)
	require.NoError(t, keepMemorySecret(), "once more")
}
