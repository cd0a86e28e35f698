package daemon

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/config"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

type answer struct {
	code   int
	body   string
	header http.Header
}

func (g *rig) get(path string) answer { return g.ask(http.MethodGet, path, "", "") }

func (g *rig) ask(method, path, body, token string) answer {
	g.t.Helper()
	client := http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			addr := g.alive.Addr()
			return new(net.Dialer).DialContext(ctx, addr.Network(), addr.String())
		}},
	}
	host := "ebbtide"
	if addr := g.alive.Addr(); addr.Network() == "tcp" {
		host = addr.String()
	}
	req, err := http.NewRequestWithContext(g.t.Context(), method, "http://"+host+path, strings.NewReader(body))
	require.NoError(g.t, err)
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	resp, err := client.Do(req)
	require.NoError(g.t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(g.t, err)
	require.NoError(g.t, resp.Body.Close())
	return answer{resp.StatusCode, string(text), resp.Header}
}

const hold = `{"verb":"hold","by":"kim"}`

func TestCommandsOverTheSocket(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.start()
	g.ready()
	info, err := os.Stat(g.config.Listen.Address)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(socketMode), info.Mode().Perm())

	var refused *APIError
	_, err = g.client().Command(t.Context(), Command{Verb: ledger.Hold, By: "kim"})
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 409, refused.Code)
	require.Equal(t, "cannot hold: no outage is under way: all supplies are on line", refused.Error())

	g.outage(ledger.Snapshot, "", 0)
	_, err = g.client().Command(t.Context(), Command{Verb: ledger.Hold, By: "kim"})
	require.NoError(t, err)
	require.True(t, g.status().View.Hold)
	_, err = g.client().Command(t.Context(), Command{Verb: ledger.Resume})
	require.NoError(t, err)
	g.until("the cut", func() bool { return g.recorded(ledger.Proven, "ups", plan.Cut) })
	by := map[ledger.OrderVerb]string{}
	for _, r := range g.records() {
		by[r.Order] = r.By
	}
	me := peerAddr(os.Geteuid()).userName() //nolint:gosec // a uid is never negative here
	require.Equal(t, "kim ("+me+")", by[ledger.Hold])
	require.Equal(t, me, by[ledger.Resume], "the user of the socket's other end")
	_, err = g.client().Command(t.Context(), Command{Verb: ledger.Abort})
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Hint(), "use hold")
}

func TestCommandsOverTCP(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Listen = config.Listen{Network: "tcp", Address: "127.0.0.1:0"}
	g.start()
	require.Equal(t, 403, g.ask("POST", "/v1/commands", hold, "").code, "without a token TCP takes no commands")
	g.stop()

	file := filepath.Join(g.dir, "token")
	require.NoError(t, os.WriteFile(file, []byte("correct horse battery\n"), 0o600))
	g.config.Token = config.Reference{File: file}
	g.start()
	g.ready2()
	const token = "Bearer correct horse battery"
	missing := g.ask("POST", "/v1/commands", hold, "")
	require.Equal(t, 401, missing.code)
	require.Contains(t, missing.header.Get("WWW-Authenticate"), "Bearer")
	require.Equal(t, 401, g.ask("POST", "/v1/commands", hold, "Bearer wrong").code)
	require.Equal(t, 401, g.ask("POST", "/v1/commands", hold, "Basic correct horse battery").code)
	require.Equal(t, 401, g.ask("POST", "/v1/commands", hold, "Bearer ").code)
	require.Contains(t, g.log.String(), "a request had a wrong token")
	require.Equal(t, 409, g.ask("POST", "/v1/commands", hold, token).code)
	for _, bad := range []string{
		"", "{", `{"verb":"explode"}`, `{"verb":"hold","node":"nas"}`, `{"verb":"confirm"}`,
		`{"verb":"hold","force":true}`, hold + hold, `{"verb":"hold","by":"a\u0007b"}`,
	} {
		require.Equal(t, 400, g.ask("POST", "/v1/commands", bad, token).code, bad)
	}
	require.Equal(t, 413, g.ask("POST", "/v1/commands", `{"verb":"hold","by":"`+strings.Repeat("x", 5000)+`"}`, token).code)
	require.Equal(t, 405, g.ask("GET", "/v1/commands", "", token).code)
	require.Equal(t, 405, g.ask("POST", "/v1/status", "", "").code)
	require.Equal(t, 404, g.get("/v1/nothing").code)
	require.Empty(t, g.get("/v1/status").header.Get("Access-Control-Allow-Origin"))
	require.NotContains(t, g.log.String(), "correct horse")

	g.stop()
	g.config.Token = config.Reference{File: filepath.Join(g.dir, "nowhere")}
	_, err := Open(t.Context(), g.options())
	require.ErrorContains(t, err, "cannot use the setting token")
}

// ready2 waits for readiness over whatever the daemon listens on.
func (g *rig) ready2() {
	g.t.Helper()
	g.until("ready", func() bool { return g.get("/readyz").code == 200 })
}

func TestAClientWithoutADaemon(t *testing.T) {
	t.Parallel()
	c := NewClient(config.Listen{Network: "unix", Address: filepath.Join(t.TempDir(), "none")}, "", nil)
	_, err := c.Status(t.Context())
	require.ErrorIs(t, err, ErrNotRunning)
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	addr := &net.UnixAddr{Net: "unix", Name: g.config.Listen.Address}
	dead, err := net.ListenUnix("unix", addr)
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	g.start()
	g.ready()
	g.stop()

	require.NoError(t, os.WriteFile(g.config.Listen.Address, nil, 0o600))
	_, err = Open(t.Context(), g.options())
	require.ErrorContains(t, err, "a file that is not a socket")
}
