package daemon

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/config"
)

// request speaks HTTP by hand and gives the first line of the answer; "" if there is none.
func request(t testing.TB, conn net.Conn, what, token, body string) string {
	t.Helper()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	header := ""
	if token != "" {
		header = "Authorization: " + token + "\r\n"
	}
	_, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: ebbtide\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", what,
		header, len(body), body)
	if err != nil {
		return ""
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func (g *rig) dial() net.Conn {
	g.t.Helper()
	addr := g.alive.Addr()
	conn, err := (&net.Dialer{}).DialContext(g.t.Context(), addr.Network(), addr.String())
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ended waits until the daemon has closed a connection, and gives what it sent before.
func ended(t testing.TB, conn net.Conn, within time.Duration) string {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(within)))
	text, err := io.ReadAll(conn)
	if timeout := net.Error(nil); errors.As(err, &timeout) {
		require.False(t, timeout.Timeout(), "the daemon keeps the connection for more than %s", within)
	}
	return string(text)
}

// TestHostileClients: a client that is slow, or huge, or many at once costs little and keeps nobody else out.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Listen = config.Listen{Network: "tcp", Address: "127.0.0.1:0"}
	g.tokens()
	g.start()
	g.ready2()

	huge := g.dial()
	go func() {
		_, _ = io.WriteString(huge, "GET /healthz HTTP/1.1\r\nHost: x\r\n")
		for { // until the daemon has had enough
			if _, err := io.WriteString(huge, "X-Filler: "+strings.Repeat("y", 8000)+"\r\n"); err != nil {
				return
			}
		}
	}()
	require.Contains(t, ended(t, huge, 10*time.Second), "431 Request Header Fields Too Large")

	long := g.dial()
	_, err := io.WriteString(long, "POST /v1/commands HTTP/1.1\r\nHost: x\r\nAuthorization: "+operating+
		"\r\nContent-Length: 1000000000000\r\n\r\n")
	require.NoError(t, err)
	go func() { _, _ = io.Copy(long, zeros{}) }()
	require.Contains(t, ended(t, long, 10*time.Second), " 400 ", "what is no JSON from its first byte is not read further")

	slow := g.dial() // and says nothing at all
	drips := g.dial()
	_, err = io.WriteString(drips, "GET /v1/status HTTP/1.1\r\nHost:")
	require.NoError(t, err)
	crowd := make([]net.Conn, maxConnections-10)
	for i := range crowd {
		crowd[i] = g.dial()
	}
	require.Equal(t, "HTTP/1.1 200 OK", request(t, g.dial(), "GET /v1/status", reads, ""))
	for range 40 {
		crowd = append(crowd, g.dial()) // more than are served: they wait
	}
	require.Empty(t, ended(t, slow, 15*time.Second))
	require.NotContains(t, ended(t, drips, 15*time.Second), "200 OK")
	require.Equal(t, "HTTP/1.1 200 OK", request(t, g.dial(), "GET /v1/status", reads, ""), "the crowd was sent away for saying nothing")
	for _, conn := range crowd {
		_ = conn.Close()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
