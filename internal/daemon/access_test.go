package daemon

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/secrets"
	"ebbtide/internal/config"
)

const (
	operating = "Bearer the token that operates"
	reads     = "Bearer the token that reads"
)

// tokens writes both tokens and sets them.
func (g *rig) tokens() {
	g.t.Helper()
	for name, header := range map[string]string{"operate": operating, "read": reads} {
		require.NoError(g.t, os.WriteFile(filepath.Join(g.dir, name), []byte(strings.TrimPrefix(header, "Bearer ")), 0o600))
	}
	g.config.Token = config.Reference{File: filepath.Join(g.dir, "operate")}
	g.config.ReadToken = config.Reference{File: filepath.Join(g.dir, "read")}
}

// TestRoles: what each role may do on TCP, with and without a read token.
func TestRoles(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Listen = config.Listen{Network: "tcp", Address: "127.0.0.1:0"}
	g.tokens()
	open := []string{"/healthz", "/readyz"}
	guarded := []string{"/v1/status", "/v1/outages", "/v1/outages/none", "/metrics"}
	ok := func(a answer) bool { return a.code == 200 || a.code == 404 }

	g.start()
	g.ready2()
	for _, path := range open {
		require.Equal(t, 200, g.get(path).code, path)
	}
	for _, path := range guarded {
		require.Equal(t, 401, g.get(path).code, path)
		require.Equal(t, 401, g.ask("GET", path, "", "Bearer a token that nobody has").code, path)
		require.True(t, ok(g.ask("GET", path, "", reads)), path)
		require.True(t, ok(g.ask("GET", path, "", operating)), "who may operate may read %s", path)
	}
	require.Equal(t, 401, g.ask("POST", "/v1/commands", hold, "").code)
	refused := g.ask("POST", "/v1/commands", hold, reads)
	require.Equal(t, 403, refused.code)
	require.Contains(t, refused.body, "may only read")
	require.Equal(t, 409, g.ask("POST", "/v1/commands", hold, operating).code)
	g.stop()

	g.config.ReadToken = config.Reference{}
	g.start()
	g.ready2()
	for _, path := range guarded {
		require.True(t, ok(g.get(path)), "without a read token loopback answers everybody: %s", path)
	}
	require.Equal(t, 401, g.ask("POST", "/v1/commands", hold, reads).code)
	for host, want := range map[string]string{
		"localhost": "200 OK", "127.0.0.1:8417": "200 OK", "[::1]": "200 OK",
		"evil.example": "401 Unauthorized", "evil.example:8417": "401 Unauthorized",
	} {
		conn := g.dial()
		_, err := fmt.Fprintf(conn, "GET /v1/status HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
		require.NoError(t, err)
		require.Contains(t, ended(t, conn, 10*time.Second), "HTTP/1.1 "+want,
			"a page that has given its name our address reads nothing: %s", host)
	}
	g.stop()
}

// TestReadinessKeepsItsReasons: who may not read is not told which supply is silent.
func TestReadinessKeepsItsReasons(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Listen = config.Listen{Network: "tcp", Address: "127.0.0.1:0"}
	g.tokens()
	g.write(strings.ReplaceAll(book, "main@", "nosuch@"))
	g.start()
	require.NotContains(t, g.get("/readyz").body, "ups")
	require.Contains(t, g.ask("GET", "/readyz", "", reads).body, `\"ups\" has not been heard`)
}

// TestAFloodOfStrangers: what everybody may ask is answered so often and no more.
func TestAFloodOfStrangers(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.start()
	g.ready()
	codes := map[int]int{}
	for began := time.Now(); codes[429] == 0; {
		codes[g.get("/healthz").code]++
		require.Less(t, time.Since(began), 30*time.Second, "nobody is slowed down: %v", codes)
		g.alive.access.strangers.AllowN(time.Now(), strangersAtOnce/2) // others ask too
	}
	require.Equal(t, 200, g.get("/v1/status").code)
}

// TestAStrangerOnTheSocket: who may open the socket and is neither root nor the daemon's user reads, and no more.
func TestAStrangerOnTheSocket(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	g := newRig(t)
	dir, err := os.MkdirTemp("", "ebbtide") //nolint:usetesting // others can't reach into t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	g.config.Listen.Address = filepath.Join(dir, "s")
	g.tokens()
	g.start()
	g.ready()
	require.NoError(t, os.Chmod(g.config.Listen.Address, 0o666)) // as the socket's group
	require.Equal(t, "HTTP/1.1 200 OK", g.stranger("GET /v1/status", ""))
	require.Equal(t, "HTTP/1.1 401 Unauthorized", g.stranger("POST /v1/commands", ""))
	require.Equal(t, "HTTP/1.1 403 Forbidden", g.stranger("POST /v1/commands", reads))
	require.Equal(t, "HTTP/1.1 409 Conflict", g.stranger("POST /v1/commands", operating))
	require.Contains(t, g.log.String(), `by="kim (token holder)"`)
	for range failuresAtOnce {
		g.stranger("GET /v1/status", "Bearer wrong")
	}
	require.Equal(t, "HTTP/1.1 429 Too Many Requests", g.stranger("GET /v1/status", "Bearer wrong"))
	require.Equal(t, 200, g.get("/v1/status").code, "others are not kept out")
}

// stranger asks over the socket as nobody, and gives the first line of the answer.
func (g *rig) stranger(what, token string) string {
	g.t.Helper()
	dialled := make(chan net.Conn, 1)
	go func() {
		defer close(dialled)
		runtime.LockOSThread() // and never unlocked: the thread ends with its user
		const nobody, same = 65534, ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, nobody, same); errno != 0 {
			return
		}
		if c, err := (&net.Dialer{}).DialContext(g.t.Context(), "unix", g.config.Listen.Address); err == nil {
			dialled <- c
		}
	}()
	conn, ok := <-dialled
	require.True(g.t, ok, "nobody can't dial")
	defer func() { _ = conn.Close() }()
	body := ""
	if strings.HasPrefix(what, "POST") {
		body = hold
	}
	return request(g.t, conn, what, token, body)
}

// TestWrongTokensAreSlowedDown: after some of them an address is not looked at, even with the right one, and a moment
// later it is again. Other addresses are not touched, and those that are remembered are bounded.
func TestWrongTokensAreSlowedDown(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(strings.TrimPrefix(operating, "Bearer ")), 0o600))
	synctest.Test(t, func(t *testing.T) {
		c := config.Config{
			Listen: config.Listen{Network: "tcp", Address: "10.0.0.1:1", TLS: true},
			Token:  config.Reference{File: filepath.Join(dir, "token")},
		}
		log := (&rig{log: &lines{}}).options().Log
		a, err := newAccess(c, secrets.New(""), log)
		require.NoError(t, err)
		ask := func(address, token string) int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/status", nil)
			require.NoError(t, err)
			r.RemoteAddr = address
			r.Header.Set("Authorization", token)
			if _, err = a.admit(r, read); err == nil {
				return 200
			}
			var no *denial
			require.ErrorAs(t, err, &no)
			return no.code
		}
		for range failuresAtOnce {
			require.Equal(t, 401, ask("10.0.0.9:1", "Bearer wrong"))
		}
		require.Equal(t, 429, ask("10.0.0.9:2", operating), "the port makes no other address")
		require.Equal(t, 200, ask("10.0.0.8:1", operating))
		<-time.After(failuresEvery)
		require.Equal(t, 200, ask("10.0.0.9:1", operating))
		for i := range 5 * maxFailing {
			ask(net.IPv4(172, 16, byte(i>>8), byte(i)).String()+":1", "Bearer wrong")
		}
		require.LessOrEqual(t, len(a.failing), maxFailing)

		for range commandsAtOnce {
			require.NoError(t, a.pace())
		}
		require.Error(t, a.pace())
		<-time.After(commandsEvery)
		require.NoError(t, a.pace())
	})
}

func TestTokensThatGuardNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) config.Reference {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return config.Reference{File: filepath.Join(dir, name)}
	}
	good, short := file("good", "0123456789abcdef"), file("short", "0123456789abcde")
	for says, c := range map[string]config.Config{
		"setting token: it has fewer than 16":      {Token: short},
		"setting read_token: it has fewer than 16": {Token: good, ReadToken: short},
		"the same as token":                        {Token: good, ReadToken: good},
	} {
		_, err := newAccess(c, secrets.New(""), nil)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "0123456789")
	}
	_, err := newAccess(config.Config{ReadToken: good}, secrets.New(""), nil)
	require.NoError(t, err)
	require.False(t, sameSecret("", ""), "no token is set: nothing is like it")
}
