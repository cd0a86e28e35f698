package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
)

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		argv  []string
		stdin string
		want  Result
	}{
		{"arguments are kept apart", []string{"printf", "%s|", "a b", "$HOME", "'\"", ""}, "", Result{Stdout: "a b|$HOME|'\"||"}},
		{"stdin", []string{"cat"}, "hunter2", Result{Stdout: "hunter2"}},
		{"stdin that nobody reads", []string{"true"}, strings.Repeat("x", 1<<20), Result{}},
		{"exit status", []string{"sh", "-c", "echo no >&2; exit 7"}, "", Result{Code: 7, Stderr: "no\n"}},
		{"signal", []string{"sh", "-c", "kill -9 $$"}, "", Result{Code: 137}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Run(t.Context(), tt.argv, tt.stdin)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
	_, err := Run(t.Context(), []string{"/nowhere/stop"}, "")
	require.ErrorContains(t, err, `cannot run "/nowhere/stop"`)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Run(t.Context(), nil, "")
	require.ErrorContains(t, err, "none is named")
}

func TestOutputIsBounded(t *testing.T) {
	got, err := Run(t.Context(), []string{"head", "-c", "1000000", "/dev/zero"}, "")
	require.NoError(t, err)
	require.Len(t, got.Stdout, MaxOutput)
}

func TestAllOfItIsKilledAtTheDeadline(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("time is up")
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, []string{"sh", "-c", "sleep 1000 & echo $! >" + pids + ".new; mv " + pids + ".new " + pids + "; wait"}, "")
		done <- err
	}()
	child := 0
	peertest.Until(t, "the child's pid", func() bool {
		text, err := os.ReadFile(pids)
		if err == nil {
			child, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	})
	cancel(why)
	require.ErrorIs(t, <-done, why)
	peertest.Until(t, "the child's end", func() bool { return dead(child) })
}

// dead reports whether a process has ended, also if nobody has waited for it yet.
func dead(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestWhatIsLeftBehindHoldsNobodyUp(t *testing.T) {
	start := time.Now()
	got, err := Run(t.Context(), []string{"sh", "-c", "sleep 1000 & echo $!"}, "")
	require.NoError(t, err)
	require.Less(t, time.Since(start), 30*time.Second)
	pid, err := strconv.Atoi(strings.TrimSpace(got.Stdout))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

// TestTheEnvironmentIsKept: what our environment holds beyond the few variables that programs need may be secret.
func TestTheEnvironmentIsKept(t *testing.T) {
	t.Setenv("PLANTED_TOKEN", "hunter2")
	t.Setenv("LC_TIME", "C")
	res, err := Run(t.Context(), []string{"env"}, "")
	require.NoError(t, err)
	require.NotContains(t, res.Stdout, "hunter2")
	require.Contains(t, res.Stdout, "LC_TIME=C")
	require.Contains(t, res.Stdout, "PATH=")
	require.Equal(t, []string{"PATH=/bin", "LC_ALL=C"},
		environment([]string{"PATH=/bin", "PATHX=1", "LC_ALL=C", "XLC_=1", "NOTIFY_SOCKET=/run/x"}))
	require.NotNil(t, environment(nil))
}
