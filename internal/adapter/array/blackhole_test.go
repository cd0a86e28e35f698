package array

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/plan"
)

func serverAt(url string) rest.Server { return rest.Server{URL: url} }

// blackHole gives a loopback address from which nothing comes back: the queue of a listener that accepts nothing is full,
// and the kernel drops what comes further.
func blackHole(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Close(fd)) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	bound, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: bound.(*syscall.SockaddrInet4).Port}).String()
	for range 16 {
		conn, err := (&net.Dialer{Timeout: 200 * time.Millisecond}).DialContext(t.Context(), "tcp", address)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return address
		}
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the kernel takes every connection: no silence can be made here")
	return ""
}

// Probe and stop of an address from which nothing comes back end in their time and leave nothing behind.
func TestASilentApplianceIsUnreachableInTime(t *testing.T) {
	address := blackHole(t)
	base := "https://" + address
	for connType, c := range map[string]struct {
		conn any
		node string
		spec declared
	}{
		"truenas":  {&TrueNASConn{Server: serverAt(base), Username: "ebbtide", APIKey: secretRef}, "truenas", &TrueNASSpec{}},
		"synology": {&SynologyConn{serverAt(base), account}, "synology", &SynologySpec{}},
		"ontap":    {&ONTAPConn{serverAt(base), account}, "ontap.cluster", &ONTAPSpec{Nodes: []string{address}}},
		"unity":    {&UnityConn{serverAt(base), account}, "unity", &UnitySpec{}},
		"nimble":   {&NimbleConn{serverAt(base), account}, "nimble.group", &NimbleSpec{}},
	} {
		t.Run(connType, func(t *testing.T) {
			n, end := opened(t, connType, c.conn, c.node, c.spec, vault{})
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			seen, err := n.Probe(ctx)
			require.NoError(t, err)
			require.NoError(t, ctx.Err(), "there is time left to say so")
			require.Equal(t, plan.Unreachable, seen.State)
			require.ErrorIs(t, n.Do(ctx, plan.Stop), adapter.ErrUnreachable)
			require.NoError(t, end())
			nothingLeft(t)
		})
	}
}

// nothingLeft waits until no goroutine of a client is left.
func nothingLeft(t *testing.T) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Second) // less than a dial may take by itself
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	buf := make([]byte, 1<<20)
	for {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "net/http.(*Transport)") && !strings.Contains(stacks, "ebbtide/internal/adapter/rest.") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("goroutines are left:\n%s", stacks)
		}
	}
}
