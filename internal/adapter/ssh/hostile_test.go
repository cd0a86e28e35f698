package ssh

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/adapter/script"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// babbler is an SSH server that lets everybody in and whose every command prints without end.
func babbler(t *testing.T, text string) (address, hostKey string) {
	t.Helper()
	config := &ssh.ServerConfig{
		PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, nil },
		BannerCallback:   func(ssh.ConnMetadata) string { return strings.Repeat("\x1b[2J", 1000) },
	}
	return serve(t, config, func(session ssh.Channel, requests <-chan *ssh.Request) {
		for r := range requests {
			_ = r.Reply(true, nil)
			if r.Type == "exec" {
				go peertest.Flood(session, text)
				go peertest.Flood(session.Stderr(), text)
			}
		}
	})
}

func arrive(t *testing.T, address, hostKey string) adapter.Node {
	t.Helper()
	spec := &ConnSpec{Address: address, User: "root", Password: schema.SecretRef{Credential: "p"}, HostKey: hostKey}
	c, err := connect("nas", spec, vault{"p": "hunter2"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	command := schema.Command{Argv: []string{"state"}}
	n, err := open(schema.Node{ID: "nas", Spec: &NodeSpec{Spec: script.Spec{Probe: command, Stop: command}}}, c, nil)
	require.NoError(t, err)
	return n
}

// TestHostsThatBabble: output without end costs no more than is kept of it, and a command that does not come to an end is
// given up in time.
func TestHostsThatBabble(t *testing.T) {
	t.Parallel()
	address, hostKey := babbler(t, "state=on\n\x1b[2J")
	n := decorate.Clean(arrive(t, address, hostKey))
	var most uint64
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		began := time.Now()
		_, err := n.Probe(ctx)
		require.Error(t, err)
		require.ErrorIs(t, n.Do(ctx, adapter.Command{Verb: plan.Stop}), context.DeadlineExceeded, "nobody knows what became of it")
		cancel()
		require.Less(t, time.Since(began), 2*time.Second)
		require.NotContains(t, err.Error(), "\x1b")
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	require.Less(t, most, uint64(128<<20), "bytes on the heap")
	var kept process.Output
	_, err := io.CopyN(&kept, zeros{}, 10<<20)
	require.NoError(t, err)
	require.Len(t, kept.String(), process.MaxOutput)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestHostsThatAreNoSSHServer: one that says anything else, without end or not at all, is given up in time.
func TestHostsThatAreNoSSHServer(t *testing.T) {
	t.Parallel()
	for what, serve := range map[string]func(net.Conn){
		"lines":   func(c net.Conn) { peertest.Flood(c, "Welcome!\x1b[2J\r\n") },
		"a line":  func(c net.Conn) { peertest.Flood(c, "x") },
		"nothing": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"a version, then noise": func(c net.Conn) {
			_, _ = io.WriteString(c, "SSH-2.0-x\r\n")
			peertest.Flood(c, "\xff\x00")
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, hostKey := babbler(t, "x")
			n := decorate.Clean(arrive(t, peertest.Listen(t, serve), hostKey))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			seen, err := n.Probe(ctx)
			require.Less(t, time.Since(began), 3*time.Second)
			require.True(t, err != nil || seen.State == plan.Unknown, "%v: it proves nothing", seen)
			require.NotContains(t, seen.Detail, "\x1b")
			require.Less(t, len(seen.Detail), 1100)
		})
	}
}
