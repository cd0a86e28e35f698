package array

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/rest"
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
