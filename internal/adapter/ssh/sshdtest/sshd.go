// Package sshdtest starts Debian's OpenSSH server for tests: on a loopback port of its own, with keys and configuration
// of its own, stopped with everything that runs over it by process id.
package sshdtest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"ebbtide/internal/adapter/peertest"
)

const program = "/usr/sbin/sshd"

// Server is a running sshd.
type Server struct {
	Address string // 127.0.0.1:port
	HostKey string // as in a .pub file
	Key     string // the private key that is let in, PEM
	User    string // who is let in
	Dir     string // its configuration

	t   testing.TB
	cmd *exec.Cmd
}

// New starts a server. It skips the test where openssh-server is not installed, and fails it in CI.
func New(t testing.TB) *Server {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("openssh-server is missing: %v", err)
		}
		t.Skipf("openssh-server is missing: %v", err)
	}
	if os.Geteuid() == 0 { // an sshd that runs as root wants its empty folder
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755))
	}
	me, err := user.Current()
	require.NoError(t, err)
	s := &Server{t: t, Dir: t.TempDir(), Address: peertest.FreeAddress(t), User: me.Username}
	var host string
	s.HostKey, host = NewKey(t)
	public, private := NewKey(t)
	s.Key = private
	s.Write("host_key", host)
	s.Write("authorized_keys", public+"\n")
	_, port, err := net.SplitHostPort(s.Address)
	require.NoError(t, err)
	s.Write("config", fmt.Sprintf(`
Port %s
ListenAddress 127.0.0.1
HostKey %s/host_key
AuthorizedKeysFile %s/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
`, port, s.Dir, s.Dir))
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// Write puts a file beside the server's configuration.
func (s *Server) Write(name, text string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600))
}

// Start starts a server that was killed, and waits until it listens.
func (s *Server) Start() {
	s.t.Helper()
	var log bytes.Buffer
	// Not under the test's context: the clean-up stops it, with its children.
	s.cmd = exec.CommandContext(context.Background(), program, "-D", "-e", "-f", filepath.Join(s.Dir, "config"))
	s.cmd.Stderr = &log
	require.NoError(s.t, s.cmd.Start())
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-tick.C {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.Address)
		if err == nil {
			_ = conn.Close()
			return
		}
	}
	s.t.Fatal("sshd does not listen")
}

// family lists the process ids of sshd and all its descendants: each connection's are sessions of their own.
func (s *Server) family() []int {
	pids := []int{s.cmd.Process.Pid}
	for i := 0; i < len(pids); i++ {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pids[i], pids[i]))
		if err != nil {
			continue // it has ended meanwhile
		}
		for child := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(child)
			require.NoError(s.t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// Signal sends a signal to the server and everything that runs over it.
func (s *Server) Signal(sig syscall.Signal) {
	for _, pid := range s.family() {
		_ = syscall.Kill(pid, sig) // one may have ended by the others' end
	}
}

// Kill ends the server, its connections and what runs over them, as a power cut does.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	s.Signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// NewKey makes a key pair: the public half as in a .pub file, the private half as PEM.
func NewKey(t testing.TB) (public, private string) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(priv, "")
	require.NoError(t, err)
	key, err := ssh.NewPublicKey(pub)
	require.NoError(t, err)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), string(pem.EncodeToMemory(block))
}
