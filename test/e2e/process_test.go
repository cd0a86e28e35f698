package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/daemon"
)

// process is a running daemon.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	log   safeBuffer
	ended chan error
}

// start runs the daemon; the test's end stops it.
func start(t *testing.T, settings string, more ...string) *process {
	t.Helper()
	return startWith(t, nil, settings, more...)
}

// startWith starts it with more in its environment.
func startWith(t *testing.T, env []string, settings string, more ...string) *process {
	t.Helper()
	p := &process{t: t, ended: make(chan error, 1)}
	p.cmd = exec.CommandContext(context.Background(), binary, append([]string{"daemon", "--config", settings}, more...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.Env = append(os.Environ(), env...)
	require.NoError(t, p.cmd.Start())
	go func() { p.ended <- p.cmd.Wait(); close(p.ended) }()
	t.Cleanup(func() {
		p.signal(syscall.SIGTERM)
		select {
		case err := <-p.ended:
			if err != nil && !t.Failed() {
				t.Logf("the daemon: %v", err)
			}
		case <-time.After(20 * time.Second):
			p.signal(syscall.SIGKILL)
			t.Errorf("the daemon does not stop")
		}
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	return p
}

func (p *process) signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }

// kill ends the daemon with SIGKILL.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	if err := <-p.ended; err == nil {
		p.t.Error("the daemon ended well although it was killed")
	}
}

// run runs one command to its end.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// status asks the daemon of a site; false while it does not answer.
func (s *site) status() (daemon.Status, bool) {
	out, _, code := run(s.t, "status", "--listen", "unix:"+filepath.Join(s.dir, "api.sock"), "--format", "json")
	if code != 0 {
		return daemon.Status{}, false
	}
	var st daemon.Status
	require.NoError(s.t, json.Unmarshal([]byte(out), &st))
	return st, true
}

// ready waits until the daemon knows its supply and everything on it.
func (s *site) ready() {
	s.t.Helper()
	s.until("daemon that knows its estate", 30*time.Second, func() bool {
		st, ok := s.status()
		if !ok || len(st.Blind) > 0 || len(st.View.Supplies) == 0 || st.View.Supplies[0].Text != "on line" {
			return false
		}
		for _, n := range st.View.Nodes {
			if n.ID == "app1" && n.Seen.State.String() == "on" {
				return true
			}
		}
		return false
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

var _ io.Writer = (*safeBuffer)(nil)
