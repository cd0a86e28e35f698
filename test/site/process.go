package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/daemon"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// build builds the program as it ships into a folder and gives its path.
func build(dir string) (binary string, err error) {
	binary = filepath.Join(dir, "ebbtide")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "ebbtide/cmd/ebbtide")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	return binary, build.Run()
}

// Main builds the program into a folder that lasts as long as the tests, and runs them.
func Main(m *testing.M, binary *string) {
	dir, err := os.MkdirTemp("", "ebbtide-site")
	if err != nil {
		panic(err)
	}
	code := 1
	if *binary, err = build(dir); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// Process is a running daemon.
type Process struct {
	t     testing.TB
	cmd   *exec.Cmd
	log   safeBuffer
	ended chan struct{}
	err   error // valid once ended is closed
}

// Start starts a command that is, or becomes, the daemon; the test's end stops it.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	require.NoError(t, cmd.Start())
	go func() { p.err = cmd.Wait(); close(p.ended) }()
	t.Cleanup(func() {
		running := p.Running()
		p.Signal(syscall.SIGTERM)
		select {
		case <-p.ended:
			if running && p.err != nil && !t.Failed() {
				t.Logf("the daemon: %v", p.err)
			}
		case <-time.After(20 * time.Second):
			p.Signal(syscall.SIGKILL)
			t.Errorf("the daemon does not stop")
		}
		if t.Failed() {
			t.Log(p.Log())
		}
	})
	return p
}

// Daemon is the command that runs the daemon.
func Daemon(binary, settings string, more ...string) *exec.Cmd {
	return exec.CommandContext(context.Background(), binary, append([]string{"daemon", "--config", settings}, more...)...)
}

// Signal sends a signal to the daemon, unless it has ended.
func (p *Process) Signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }

// Kill ends the daemon with SIGKILL.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.ended
	if p.err == nil {
		p.t.Error("the daemon ended well although it was killed")
	}
}

// PID is the daemon's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended gives a channel that is closed when the daemon has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Running reports whether the daemon has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Log is what the daemon has said so far.
func (p *Process) Log() string { return p.log.String() }

// Command is one command line.
func Command(ctx context.Context, binary string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, binary, args...)
}

// Run runs one command line to its end.
func Run(t testing.TB, binary string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := Command(ctx, binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Ready waits until the daemon knows its supply and everything on it.
func (s *Site) Ready() {
	s.t.Helper()
	var last *daemon.Status
	defer func() {
		if s.t.Failed() {
			said, _ := json.Marshal(last) // nil too
			s.t.Logf("the last that it said: %s", said)
		}
	}()
	s.Until("daemon that knows its estate", time.Minute, func() bool {
		st, ok := s.Status()
		last = st
		if !ok || len(st.Blind) > 0 || len(st.View.Supplies) == 0 || st.View.Supplies[0].Text != "on line" {
			return false
		}
		return !slices.ContainsFunc(st.View.Nodes, func(n engine.NodeView) bool {
			return n.ID != Spare && n.Type != "passive" && n.Seen.State != plan.On
		})
	})
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
