package ssh_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
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
	xssh "golang.org/x/crypto/ssh"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// sshd is Debian's OpenSSH server on a loopback port of its own, with keys and configuration of its own.
type sshd struct {
	t       *testing.T
	dir     string
	address string
	hostKey string // as in a .pub file
	key     string // the private key that is let in, PEM
	user    string
	cmd     *exec.Cmd
}

func newSSHD(t *testing.T) *sshd {
	path := "/usr/sbin/sshd"
	if _, err := os.Stat(path); err != nil {
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
	s := &sshd{t: t, dir: t.TempDir(), address: freeAddress(t), user: me.Username}
	var host string
	s.hostKey, host = newKey(t)
	public, private := newKey(t)
	s.key = private
	s.write("host_key", host)
	s.write("authorized_keys", public+"\n")
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	s.write("config", fmt.Sprintf(`
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
`, port, s.dir, s.dir))
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *sshd) write(name, text string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

func (s *sshd) start() {
	var log bytes.Buffer
	// Not under the test's context: the clean-up stops it, with its children.
	s.cmd = exec.CommandContext(context.Background(), "/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(s.dir, "config"))
	s.cmd.Stderr = &log
	require.NoError(s.t, s.cmd.Start())
	until(s.t, "sshd listening", func() bool {
		conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// family lists the process ids of sshd and all its descendants: each connection's are sessions of their own.
func (s *sshd) family() []int {
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

func (s *sshd) signal(sig syscall.Signal) {
	for _, pid := range s.family() {
		_ = syscall.Kill(pid, sig) // one may have ended by the others' end
	}
}

// kill ends the server, its connections and what runs over them, as a power cut does.
func (s *sshd) kill() {
	if s.cmd == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// connSpec is a connection that is let in.
func (s *sshd) connSpec() *ssh.ConnSpec {
	return &ssh.ConnSpec{Address: s.address, User: s.user, HostKey: s.hostKey, Key: runbook.SecretRef{Credential: "key"}}
}

// open opens one node over one connection.
func (s *sshd) open(conn *ssh.ConnSpec, spec *ssh.NodeSpec) (*adapter.Set, adapter.Node) {
	set, err := adapter.Open([]adapter.Family{ssh.Family()},
		[]runbook.ConnectionDecl{{Name: "host", Type: "ssh", Spec: conn}},
		[]runbook.NodeDecl{{ID: "host", Type: "ssh", Via: "host", Spec: spec}},
		vault{"key": s.key, "sudo": "hunter2", "other": strangersKey(s.t)})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, set.Close()) })
	n, ok := set.Node("host")
	require.True(s.t, ok)
	return set, n
}

// strangersKey is a private key that nobody lets in.
func strangersKey(t *testing.T) string {
	_, private := newKey(t)
	return private
}

// newKey makes a key pair: the public key as a line of a .pub file, the private one as PEM.
func newKey(t *testing.T) (public, private string) {
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := xssh.MarshalPrivateKey(priv, "")
	require.NoError(t, err)
	line, err := xssh.NewPublicKey(pub)
	require.NoError(t, err)
	return strings.TrimSpace(string(xssh.MarshalAuthorizedKey(line))), string(pem.EncodeToMemory(block))
}

func freeAddress(t *testing.T) string {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func until(t *testing.T, what string, good func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !good() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("no %s in time", what)
		}
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestContractOnOpenSSH runs the suite on a host whose service is a file.
func TestContractOnOpenSSH(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{
		Settle:  20 * time.Second,
		Secrets: []string{"hunter2"},
		Make: func(t *testing.T) *contracttest.Thing {
			s := newSSHD(t)
			state := filepath.Join(s.dir, "state")
			s.write("state", "active\n")
			spec := &ssh.NodeSpec{Stdin: runbook.SecretRef{Credential: "sudo"}}
			spec.Probe = runbook.Command{Argv: []string{"cat", state}}
			spec.Stop = runbook.Command{Line: "cat >&2; echo inactive > " + state}
			spec.Start = runbook.Command{Line: "read password; echo active > " + state + "; echo $password >&2; exit 1"}
			set, n := s.open(s.connSpec(), spec)
			return &contracttest.Thing{
				Node: n, Can: spec.Verbs(),
				Truth: func() plan.State {
					text, err := os.ReadFile(state)
					require.NoError(t, err)
					if string(text) == "active\n" {
						return plan.On
					}
					return plan.Off
				},
				Silence: s.kill,
				Freeze: func() {
					s.signal(syscall.SIGSTOP)
					t.Cleanup(func() { s.signal(syscall.SIGCONT) })
				},
				Close: set.Close,
			}
		},
	})
}

func TestArgumentsReachTheHostAsTheyAre(t *testing.T) {
	s := newSSHD(t)
	out := filepath.Join(s.dir, "out")
	awkward := []string{"a b", "$HOME", "`id`", "'", `'\''`, `"`, "", "*", "-n", "~", "a;b|c&d", "ü\n", "#x", "!1", "{a,b}"}
	spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second}
	spec.Stop = runbook.Command{Argv: append([]string{"sh", "-c", `f=$1; shift; printf '<%s>' "$@" >"$f"`, "sh", out}, awkward...)}
	spec.Force = runbook.Command{Line: "echo one two > " + out + " && exit 0"}
	_, n := s.open(s.connSpec(), spec)
	require.NoError(t, n.Do(t.Context(), plan.Stop))
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "<"+strings.Join(awkward, "><")+">", string(got))

	require.NoError(t, n.Do(t.Context(), plan.Force))
	got, err = os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "one two\n", string(got), "a text is for the remote shell")
}

func TestWhatACommandSaysInTheEnd(t *testing.T) {
	s := newSSHD(t)
	for _, tt := range []struct {
		line string
		want error
		text string
	}{
		{"exit 0", nil, ""},
		{"echo 'not now' >&2; exit 75", adapter.ErrBusy, `exited with 75 and said "not now"`},
		{"exit 7", adapter.ErrRefused, "exited with 7"},
		{"kill -9 $$", adapter.ErrRefused, "exited with 137"},
		{"ebbtide-no-such-command", adapter.ErrRefused, "no such command there"},
		{"head -c 1000000 /dev/zero; exit 5", adapter.ErrRefused, "exited with 5"},
	} {
		spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second}
		spec.Stop = shell(tt.line)
		_, n := s.open(s.connSpec(), spec)
		err := n.Do(within(t, 20*time.Second), plan.Stop)
		require.ErrorIs(t, err, tt.want, tt.line)
		if tt.want != nil {
			require.ErrorContains(t, err, tt.text)
		}
	}
}

func TestWithoutAProbeAHostIsOnWhenItCanBeLoggedInTo(t *testing.T) {
	s := newSSHD(t)
	_, n := s.open(s.connSpec(), &ssh.NodeSpec{})
	seen, err := n.Probe(within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State)

	s.kill()
	seen, err = n.Probe(within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State, "a machine that refuses connections still runs")
	require.Contains(t, seen.Detail, "the machine runs, its SSH server does not")

	s.start()
	seen, err = n.Probe(within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State, "a new server is found again")
}

func TestADeadPortCountsAsSilenceWhereTheRunbookSaysSo(t *testing.T) {
	s := &sshd{t: t, address: freeAddress(t), user: "x"}
	s.hostKey, s.key = newKey(t)
	_, n := s.open(s.connSpec(), &ssh.NodeSpec{OffWhenUnreachable: time.Second, OffWhenRefused: true})
	seen, err := n.Probe(within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.Unreachable, seen.State)
}

// deafAddress is an address that drops all connections without an answer, as a machine does that is off: a listener
// that nobody accepts from, its queue full.
func deafAddress(t *testing.T) string {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for {
		conn, err := (&net.Dialer{Timeout: 200 * time.Millisecond}).Dial("tcp", address)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func TestSilenceIsToldBeforeTheDeadline(t *testing.T) {
	s := &sshd{t: t, address: deafAddress(t), user: "x"}
	s.hostKey, s.key = newKey(t)
	spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second}
	spec.Stop = shell("poweroff")
	_, n := s.open(s.connSpec(), spec)
	ctx := within(t, time.Second)
	seen, err := n.Probe(ctx)
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	require.Equal(t, plan.Unreachable, seen.State)
	require.ErrorIs(t, n.Do(within(t, time.Second), plan.Stop), adapter.ErrUnreachable)
}

func TestAWrongHostKeyIsRefused(t *testing.T) {
	s := newSSHD(t)
	mark := filepath.Join(s.dir, "mark")
	spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second}
	spec.Stop = runbook.Command{Argv: []string{"touch", mark}}
	other, _ := newKey(t)
	fingerprint := func(line string) string {
		key, _, _, _, err := xssh.ParseAuthorizedKey([]byte(line))
		require.NoError(t, err)
		return xssh.FingerprintSHA256(key)
	}
	known := func(name, text string) *ssh.ConnSpec {
		s.write(name, text)
		c := s.connSpec()
		c.HostKey, c.KnownHosts = "", filepath.Join(s.dir, name)
		return c
	}
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	at := "[127.0.0.1]:" + port + " "
	pinned := s.connSpec()
	pinned.HostKey = other
	for _, tt := range []struct {
		name string
		conn *ssh.ConnSpec
		want []string
	}{
		{"another key is pinned", pinned, []string{fingerprint(other), fingerprint(s.hostKey), "compare it with the one on the host's console"}},
		{"another key is known", known("changed", at+other+"\n"), []string{fingerprint(other), fingerprint(s.hostKey)}},
		{"no key is known", known("empty", "elsewhere "+other+"\n"), []string{fingerprint(s.hostKey), "knows none for it"}},
		{"the key is revoked", known("revoked", "@revoked * "+s.hostKey+"\n"), []string{"revoked"}},
		{"there is no such file", func() *ssh.ConnSpec { c := known("x", ""); c.KnownHosts += "y"; return c }(), []string{"cannot read known_hosts"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, n := s.open(tt.conn, spec)
			err := n.Do(within(t, 20*time.Second), plan.Stop)
			require.ErrorIs(t, err, adapter.ErrRefused)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			_, err = n.Probe(within(t, 20*time.Second))
			require.ErrorIs(t, err, adapter.ErrRefused)
			require.NoFileExists(t, mark)
		})
	}
	_, n := s.open(known("good", at+s.hostKey+"\n"), spec)
	require.NoError(t, n.Do(within(t, 20*time.Second), plan.Stop))
	require.FileExists(t, mark)
}

func TestTheKeyThatIsKnownIsAskedForAmongSeveral(t *testing.T) {
	s := newSSHD(t)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	block, err := xssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	signer, err := xssh.NewSignerFromKey(private)
	require.NoError(t, err)
	line := strings.TrimSpace(string(xssh.MarshalAuthorizedKey(signer.PublicKey())))

	conn := s.connSpec()
	conn.HostKey = line
	_, n := s.open(conn, &ssh.NodeSpec{})
	_, err = n.Probe(within(t, 20*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused, "the host has no such key")
	require.ErrorContains(t, err, "the host may have no key of the type")

	s.kill()
	s.write("rsa_key", string(pem.EncodeToMemory(block)))
	config, err := os.ReadFile(filepath.Join(s.dir, "config"))
	require.NoError(t, err)
	s.write("config", string(config)+"HostKey "+s.dir+"/rsa_key\n")
	s.start()
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	s.write("known", "[127.0.0.1]:"+port+" "+line+"\n")
	byFile := s.connSpec()
	byFile.HostKey, byFile.KnownHosts = "", filepath.Join(s.dir, "known")
	for _, c := range []*ssh.ConnSpec{conn, byFile} {
		_, n := s.open(c, &ssh.NodeSpec{})
		seen, err := n.Probe(within(t, 20*time.Second))
		require.NoError(t, err)
		require.Equal(t, plan.On, seen.State)
	}
}

func TestAWrongKeyIsRefusedWithAHint(t *testing.T) {
	s := newSSHD(t)
	conn := s.connSpec()
	conn.Key = runbook.SecretRef{Credential: "other"}
	_, n := s.open(conn, &ssh.NodeSpec{})
	_, err := n.Probe(within(t, 20*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, fmt.Sprintf("as %q", s.user))
	require.ErrorContains(t, err, "authorized_keys")
	require.NotContains(t, err.Error(), "PRIVATE KEY")
}

func TestAServerThatDiesUnderACommand(t *testing.T) {
	s := newSSHD(t)
	mark := filepath.Join(s.dir, "mark")
	line := shell("touch " + mark + "; exec sleep 1000")
	spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second, OffWhenRefused: true}
	spec.Stop, spec.Flush = line, line
	_, n := s.open(s.connSpec(), spec)
	for _, v := range []plan.Verb{plan.Stop, plan.Flush} {
		done := make(chan error, 1)
		go func() { done <- n.Do(within(t, 60*time.Second), v) }()
		until(t, "the command running", func() bool {
			_, err := os.Stat(mark)
			return err == nil
		})
		s.kill()
		err := <-done
		if v == plan.Stop {
			require.NoError(t, err, "a stop that takes the machine away is accepted")
			require.NoError(t, os.Remove(mark))
			s.start()
			continue
		}
		require.ErrorContains(t, err, "the connection broke off")
		require.NotErrorIs(t, err, adapter.ErrUnreachable, "the command was given")
	}
}

func TestAHungCommandEndsByItsDeadlineAndHoldsNobodyUp(t *testing.T) {
	s := newSSHD(t)
	spec := &ssh.NodeSpec{}
	pidFile := filepath.Join(s.dir, "pid")
	spec.Probe, spec.Stop = shell("echo on"), shell("echo $$ > "+pidFile+"; exec sleep 1000")
	_, n := s.open(s.connSpec(), spec)
	done := make(chan error, 1)
	go func() { done <- n.Do(within(t, 2*time.Second), plan.Stop) }()
	seen, err := n.Probe(within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State)
	err = <-done
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, adapter.ErrUnreachable)
	// OpenSSH lets what runs for root live on: nobody but us ends it.
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestOneConnectionServesManyCommands(t *testing.T) {
	s := newSSHD(t)
	spec := &ssh.NodeSpec{}
	spec.Probe = shell("echo on; echo detail=$SSH_CONNECTION")
	_, n := s.open(s.connSpec(), spec)
	details := make(chan string, 20)
	for range cap(details) {
		go func() {
			seen, err := n.Probe(within(t, 60*time.Second))
			if err != nil {
				details <- err.Error()
				return
			}
			details <- seen.Detail
		}()
	}
	first := <-details
	require.Contains(t, first, "127.0.0.1")
	for range cap(details) - 1 {
		require.Equal(t, first, <-details)
	}
}
