package ssh_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"net"
	"os"
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
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/ssh/sshdtest"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// sshd is a real OpenSSH server and how the adapter is opened on it.
type sshd struct {
	*sshdtest.Server
	t *testing.T
}

func newSSHD(t *testing.T) *sshd { return &sshd{Server: sshdtest.New(t), t: t} }

// connSpec is a connection that is let in.
func (s *sshd) connSpec() *ssh.ConnSpec {
	return &ssh.ConnSpec{Address: s.Address, User: s.User, HostKey: s.HostKey, Key: schema.SecretRef{Credential: "key"}}
}

// open opens one node over one connection.
func (s *sshd) open(conn *ssh.ConnSpec, spec *ssh.NodeSpec) (*registry.Registry, adapter.Node) {
	set, err := registry.Open([]adapter.Family{ssh.Family()},
		[]schema.Connection{{Name: "host", Type: "ssh", Spec: conn}},
		[]schema.Node{{ID: "host", Type: "ssh", Via: "host", Spec: spec}},
		vault{"key": s.Key, "sudo": "hunter2", "other": strangersKey(s.t)})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, set.Close()) })
	n, ok := set.Node("host")
	require.True(s.t, ok)
	return set, n
}

// strangersKey is a private key that nobody lets in.
func strangersKey(t *testing.T) string {
	_, private := sshdtest.NewKey(t)
	return private
}

// TestContractOnOpenSSH runs the suite on a host whose service is a file.
func TestContractOnOpenSSH(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{
		Settle:  20 * time.Second,
		Secrets: []string{"hunter2"},
		Make: func(t *testing.T) *contracttest.Thing {
			s := newSSHD(t)
			state := filepath.Join(s.Dir, "state")
			s.Write("state", "active\n")
			spec := &ssh.NodeSpec{Stdin: schema.SecretRef{Credential: "sudo"}}
			spec.Probe = schema.Command{Argv: []string{"cat", state}}
			spec.Stop = schema.Command{Line: "cat >&2; echo inactive > " + state}
			spec.Start = schema.Command{Line: "read password; echo active > " + state + "; echo $password >&2; exit 1"}
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
				Silence: s.Kill,
				Freeze: func() {
					s.Signal(syscall.SIGSTOP)
					t.Cleanup(func() { s.Signal(syscall.SIGCONT) })
				},
				Close: set.Close,
			}
		},
	})
}

func TestArgumentsReachTheHostAsTheyAre(t *testing.T) {
	s := newSSHD(t)
	out := filepath.Join(s.Dir, "out")
	awkward := []string{"a b", "$HOME", "`id`", "'", `'\''`, `"`, "", "*", "-n", "~", "a;b|c&d", "ü\n", "#x", "!1", "{a,b}"}
	spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second}
	spec.Stop = schema.Command{Argv: append([]string{"sh", "-c", `f=$1; shift; printf '<%s>' "$@" >"$f"`, "sh", out}, awkward...)}
	spec.Force = schema.Command{Line: "echo one two > " + out + " && exit 0"}
	_, n := s.open(s.connSpec(), spec)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "<"+strings.Join(awkward, "><")+">", string(got))

	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
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
		{"kill -TERM $$", nil, ""}, // its own shutdown ends it before sshd
		{"ebbtide-no-such-command", adapter.ErrRefused, "no such command there"},
		{"head -c 1000000 /dev/zero; exit 5", adapter.ErrRefused, "exited with 5"},
	} {
		spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second}
		spec.Stop = shell(tt.line)
		_, n := s.open(s.connSpec(), spec)
		err := n.Do(contracttest.Within(t, 20*time.Second), adapter.Command{Verb: plan.Stop})
		require.ErrorIs(t, err, tt.want, tt.line)
		if tt.want != nil {
			require.ErrorContains(t, err, tt.text)
		}
	}
}

func TestWithoutAProbeAHostIsOnWhenItCanBeLoggedInTo(t *testing.T) {
	s := newSSHD(t)
	_, n := s.open(s.connSpec(), &ssh.NodeSpec{})
	seen, err := n.Probe(contracttest.Within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State)

	s.Kill()
	seen, err = n.Probe(contracttest.Within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State, "a machine that refuses connections still runs")
	require.Contains(t, seen.Detail, "something answers at that address, but nothing listens on that port")

	s.Start()
	seen, err = n.Probe(contracttest.Within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State, "a new server is found again")
}

func TestADeadPortCountsAsSilenceWhereTheRunbookSaysSo(t *testing.T) {
	s := &sshd{t: t, Server: &sshdtest.Server{Address: peertest.FreeAddress(t), User: "x"}}
	s.HostKey, s.Key = sshdtest.NewKey(t)
	_, n := s.open(s.connSpec(), &ssh.NodeSpec{OffWhenUnreachable: time.Second, OffWhenRefused: true})
	seen, err := n.Probe(contracttest.Within(t, 20*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.Unreachable, seen.State)
}

// A name server that is off, as its VM may be, is no silence of the machine.
func TestANameThatNobodyKnowsIsNoSilence(t *testing.T) {
	nobody, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	was := net.DefaultResolver
	t.Cleanup(func() {
		net.DefaultResolver = was
		require.NoError(t, nobody.Close())
	})
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", nobody.LocalAddr().String())
	}}
	s := &sshd{t: t, Server: &sshdtest.Server{Address: "nas.example.com:22", User: "x"}}
	s.HostKey, s.Key = sshdtest.NewKey(t)
	_, n := s.open(s.connSpec(), &ssh.NodeSpec{OffWhenUnreachable: time.Second})
	seen, err := n.Probe(contracttest.Within(t, 2*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State, seen.Detail)
	require.Contains(t, seen.Detail, "give its IP address")
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
	s := &sshd{t: t, Server: &sshdtest.Server{Address: deafAddress(t), User: "x"}}
	s.HostKey, s.Key = sshdtest.NewKey(t)
	spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second}
	spec.Stop = shell("poweroff")
	_, n := s.open(s.connSpec(), spec)
	ctx := contracttest.Within(t, time.Second)
	seen, err := n.Probe(ctx)
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	require.Equal(t, plan.Unreachable, seen.State)
	require.ErrorIs(t, n.Do(contracttest.Within(t, time.Second), adapter.Command{Verb: plan.Stop}), adapter.ErrUnreachable)
}

func TestAWrongHostKeyIsRefused(t *testing.T) {
	s := newSSHD(t)
	mark := filepath.Join(s.Dir, "mark")
	spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second}
	spec.Stop = schema.Command{Argv: []string{"touch", mark}}
	other, _ := sshdtest.NewKey(t)
	fingerprint := func(line string) string {
		key, _, _, _, err := xssh.ParseAuthorizedKey([]byte(line))
		require.NoError(t, err)
		return xssh.FingerprintSHA256(key)
	}
	known := func(name, text string) *ssh.ConnSpec {
		s.Write(name, text)
		c := s.connSpec()
		c.HostKey, c.KnownHosts = "", filepath.Join(s.Dir, name)
		return c
	}
	_, port, err := net.SplitHostPort(s.Address)
	require.NoError(t, err)
	at := "[127.0.0.1]:" + port + " "
	pinned := s.connSpec()
	pinned.HostKey = other
	for _, tt := range []struct {
		name string
		conn *ssh.ConnSpec
		want []string
	}{
		{"another key is pinned", pinned, []string{
			fingerprint(other), fingerprint(s.HostKey),
			"compare it with the one on the host's console",
		}},
		{"another key is known", known("changed", at+other+"\n"), []string{fingerprint(other), fingerprint(s.HostKey)}},
		{"no key is known", known("empty", "elsewhere "+other+"\n"), []string{fingerprint(s.HostKey), "knows none for it"}},
		{"the key is revoked", known("revoked", "@revoked * "+s.HostKey+"\n"), []string{"revoked"}},
		{
			"there is no such file", func() *ssh.ConnSpec { c := known("x", ""); c.KnownHosts += "y"; return c }(),
			[]string{"cannot read known_hosts"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, n := s.open(tt.conn, spec)
			err := n.Do(contracttest.Within(t, 20*time.Second), adapter.Command{Verb: plan.Stop})
			require.ErrorIs(t, err, adapter.ErrRefused)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			_, err = n.Probe(contracttest.Within(t, 20*time.Second))
			require.ErrorIs(t, err, adapter.ErrRefused)
			require.NoFileExists(t, mark)
		})
	}
	_, n := s.open(known("good", at+s.HostKey+"\n"), spec)
	require.NoError(t, n.Do(contracttest.Within(t, 20*time.Second), adapter.Command{Verb: plan.Stop}))
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
	_, err = n.Probe(contracttest.Within(t, 20*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused, "the host has no such key")
	require.ErrorContains(t, err, "the host may have no key of the type")

	s.Kill()
	s.Write("rsa_key", string(pem.EncodeToMemory(block)))
	config, err := os.ReadFile(filepath.Join(s.Dir, "config"))
	require.NoError(t, err)
	s.Write("config", string(config)+"HostKey "+s.Dir+"/rsa_key\n")
	s.Start()
	_, port, err := net.SplitHostPort(s.Address)
	require.NoError(t, err)
	s.Write("known", "[127.0.0.1]:"+port+" "+line+"\n")
	byFile := s.connSpec()
	byFile.HostKey, byFile.KnownHosts = "", filepath.Join(s.Dir, "known")
	for _, c := range []*ssh.ConnSpec{conn, byFile} {
		_, n := s.open(c, &ssh.NodeSpec{})
		seen, err := n.Probe(contracttest.Within(t, 20*time.Second))
		require.NoError(t, err)
		require.Equal(t, plan.On, seen.State)
	}
}

func TestAWrongKeyIsRefusedWithAHint(t *testing.T) {
	s := newSSHD(t)
	conn := s.connSpec()
	conn.Key = schema.SecretRef{Credential: "other"}
	_, n := s.open(conn, &ssh.NodeSpec{})
	_, err := n.Probe(contracttest.Within(t, 20*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, fmt.Sprintf("as %q", s.User))
	require.ErrorContains(t, err, "authorized_keys")
	require.NotContains(t, err.Error(), "PRIVATE KEY")
}

func TestAServerThatDiesUnderACommand(t *testing.T) {
	s := newSSHD(t)
	mark := filepath.Join(s.Dir, "mark")
	line := shell("touch " + mark + "; exec sleep 1000")
	spec := &ssh.NodeSpec{OffWhenUnreachable: time.Second, OffWhenRefused: true}
	spec.Stop, spec.Flush = line, line
	_, n := s.open(s.connSpec(), spec)
	for _, v := range []plan.Verb{plan.Stop, plan.Flush} {
		done := make(chan error, 1)
		go func() { done <- n.Do(contracttest.Within(t, 60*time.Second), adapter.Command{Verb: v}) }()
		peertest.Until(t, "the command running", func() bool {
			_, err := os.Stat(mark)
			return err == nil
		})
		s.Kill()
		err := <-done
		if v == plan.Stop {
			require.NoError(t, err, "a stop that takes the machine away is accepted")
			require.NoError(t, os.Remove(mark))
			s.Start()
			continue
		}
		require.ErrorContains(t, err, "the connection was lost")
		require.NotErrorIs(t, err, adapter.ErrUnreachable, "the command was given")
	}
}

func TestAHungCommandEndsByItsDeadlineAndHoldsNobodyUp(t *testing.T) {
	s := newSSHD(t)
	spec := &ssh.NodeSpec{}
	pidFile := filepath.Join(s.Dir, "pid")
	spec.Probe, spec.Stop = shell("echo on"), shell("echo $$ > "+pidFile+"; exec sleep 1000")
	_, n := s.open(s.connSpec(), spec)
	done := make(chan error, 1)
	go func() { done <- n.Do(contracttest.Within(t, 2*time.Second), adapter.Command{Verb: plan.Stop}) }()
	seen, err := n.Probe(contracttest.Within(t, 20*time.Second))
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
			seen, err := n.Probe(contracttest.Within(t, 60*time.Second))
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
