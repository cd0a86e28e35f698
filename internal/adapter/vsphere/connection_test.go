package vsphere

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"

	"github.com/stretchr/testify/require"
)

// via opens a VM's node on a connection of its own.
func via(t *testing.T, c *Conn, vm string) adapter.Node {
	t.Helper()
	n, err := Family().Open(schema.Node{ID: vm, Via: c.name, Spec: &VMSpec{}}, c, nil)
	require.NoError(t, err)
	return n
}

func TestServerIsKnownByThumbprintOrAuthority(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, e.VCenter().CertificatePEM(), 0o600))
	for name, change := range map[string]func(*ConnectionSpec){
		"SHA-256":              func(*ConnectionSpec) {},
		"SHA-1, as vCenter":    func(s *ConnectionSpec) { s.Thumbprint = e.VCenter().ThumbprintSHA1() },
		"authority":            func(s *ConnectionSpec) { s.Thumbprint, s.CAFile = "", ca },
		"scheme and path left": func(s *ConnectionSpec) { s.URL = strings.TrimSuffix(strings.TrimPrefix(s.URL, "https://"), "/sdk") },
	} {
		s := spec(e.VCenter())
		change(s)
		require.Equal(t, plan.On, contracttest.Probe(t, via(t, dial(t, "vcenter", s), "web01")).State, name)
	}

	for name, change := range map[string]func(*ConnectionSpec){
		"wrong thumbprint":  func(s *ConnectionSpec) { s.Thumbprint = strings.Repeat("00", 32) },
		"unknown authority": func(s *ConnectionSpec) { s.Thumbprint = "" },
	} {
		s := spec(e.VCenter())
		change(s)
		logins := e.VCenter().Calls()["Login"]
		n := via(t, dial(t, "vcenter", s), "web01")
		_, err := n.Probe(contracttest.Within(t, 5*time.Second))
		require.ErrorIs(t, err, adapter.ErrRefused, name)
		require.ErrorContains(t, err, "if it was renewed, check it and put its SHA-256 into thumbprint", name)
		require.Equal(t, logins, e.VCenter().Calls()["Login"], "the password is not sent to a stranger")
	}
}

func TestMistakesInAConnection(t *testing.T) {
	for want, s := range map[string]ConnectionSpec{
		`url "http://a" is not of the form`:                 {URL: "http://a"},
		`url "" is not of the form`:                         {},
		`thumbprint "1234" is not the SHA-256`:              {URL: "https://a", Thumbprint: "1234"},
		`thumbprint and ca_file can't be combined`:          {URL: "https://a", Thumbprint: "1234", CAFile: "/x"},
		`cannot read ca_file: open /nonexistent: no such f`: {URL: "https://a", CAFile: "/nonexistent"},
		`ca_file "/dev/null" holds no PEM certificate`:      {URL: "https://a", CAFile: "/dev/null"},
	} {
		_, err := Family().Connect(schema.Connection{Name: "vc", Spec: &s}, secrets{})
		require.ErrorContains(t, err, want)
	}
}

// A directory locks an account that fails to log in a few times; so a refused login is not repeated.
func TestWrongPasswordIsTriedOnce(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	s := spec(e.VCenter())
	s.Password.Env = "hunter2"
	n := via(t, dial(t, "vcenter", s), "web01")
	deadline := time.Now().Add(time.Second)
	for time.Now().Before(deadline) { // several retries of the watch fall into this
		_, err := n.Probe(contracttest.Within(t, 5*time.Second))
		require.Error(t, err)
		require.ErrorContains(t, err, `"ebbtide@vsphere.local" may not log in`)
		require.NotContains(t, err.Error(), "hunter2")
		require.Error(t, contracttest.Do(t, n, plan.Stop))
	}
	require.Equal(t, 1, e.VCenter().Calls()["Login"])
	require.True(t, e.VMOn("web01"))
}

func TestMissingSecretIsRefused(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	s := spec(e.VCenter())
	s.Password = schema.SecretRef{}
	_, err := via(t, dial(t, "vcenter", s), "web01").Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, `cannot read the password of connection "vcenter": no such secret`)
}

func TestCloseEndsEverything(t *testing.T) {
	s := simulate(t, vspheresim.Options{VMs: vms("web01")})
	before := runtime.NumGoroutine()
	c, err := connect("vcenter", spec(s.VCenter()), secrets{}, quick)
	require.NoError(t, err)
	n := via(t, c, "web01")
	require.Equal(t, plan.On, contracttest.Probe(t, n).State)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	seen := make(chan plan.Observation, 10)
	go func() { done <- n.(adapter.Watcher).Watch(ctx, func(o plan.Observation) { seen <- o }) }()
	require.Equal(t, plan.On, next(t, seen, 5*time.Second).State)

	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "twice")
	require.Equal(t, plan.Unknown, next(t, seen, 5*time.Second).State)
	require.Equal(t, 1, s.VCenter().Calls()["Logout"])
	_, err = n.Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	require.ErrorContains(t, err, "the connection is closed")
	require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrUnreachable)
	require.True(t, s.VMOn("web01"))
	cancel()
	require.NoError(t, <-done)
	gone(t, before)
}

func TestCloseOfAConnectionThatWasNeverUsed(t *testing.T) {
	before := runtime.NumGoroutine()
	c, err := connect("x", &ConnectionSpec{URL: "https://127.0.0.1:1"}, secrets{}, quick)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	gone(t, before)
}

// gone waits until no more goroutines are left than before. Those of the server's side end a little later.
func gone(t *testing.T, before int) {
	t.Helper()
	peertest.Until(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before }, func() string {
		buf := make([]byte, 1<<20)
		return string(buf[:runtime.Stack(buf, true)])
	})
}
