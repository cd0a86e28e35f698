package daemon

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"ebbtide/internal/config"
	"ebbtide/internal/ledger"
)

// known are the statuses that the API answers with.
var known = []int{
	http.StatusOK, http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest, http.StatusUnauthorized,
	http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusRequestEntityTooLarge,
}

// FuzzAPI sends any request to the API of a daemon with an open outage. It never panics; every error is a Fault in JSON;
// the status is one of the known; and nothing but a valid command by who has the token changes the outage.
func FuzzAPI(f *testing.F) {
	const token = "correct horse battery"
	for _, target := range []string{
		"/healthz", "/readyz", "/metrics", "/v1/status", "/v1/outages", "/v1/outages/x", "/v1/outages/..%2f",
		"//v1/status", "/", "*", "http://x/v1/status",
	} {
		f.Add("GET", target, "", "")
	}
	for _, body := range []string{
		hold, `{"verb":"resume"}`, `{"verb":"abort"}`, `{"verb":"go","by":"kim"}`, `{"verb":"confirm","node":"nas"}`,
		`{"verb":"skip","node":"x"}`, `{"verb":"hold"}{}`,
		`{"VERB":"hold"}`, `{"verb":"hold","verb":"go"}`, "null", "[]", "", strings.Repeat(" ", maxCommand+1),
		`{"verb":"hold","by":"` + "\xff" + `"}`,
	} {
		f.Add("POST", "/v1/commands", "Authorization: Bearer "+token, body)
		f.Add("POST", "/v1/commands", "Authorization: Bearer wrong", body)
	}
	f.Add("PUT", "/v1/commands", "Authorization: Bearer "+token, hold)
	f.Add("CONNECT", "x:1", "", "")

	g := newRig(f)
	g.config.Listen = config.Listen{Network: "tcp", Address: "127.0.0.1:0"}
	g.config.Token = config.Reference{File: filepath.Join(g.dir, "token")}
	require.NoError(f, os.WriteFile(g.config.Token.File, []byte(token), 0o600))
	g.write(strings.Replace(book, "on_battery: 1s", "low_battery: true", 1))
	d := g.start()
	g.ready2()
	g.mains(false)
	g.until("an outage", func() bool { return d.history.isOpen() })
	handler := d.server().Handler
	d.access.commands, d.access.strangers = rate.NewLimiter(rate.Inf, 0), rate.NewLimiter(rate.Inf, 0) // a fuzzer is in a hurry
	asked := 0

	f.Fuzz(func(t *testing.T, method, target, header, body string) {
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n", method, target, len(body))
		if header != "" {
			head += header + "\r\n"
		}
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n" + body)))
		if err != nil {
			return // answered by net/http
		}
		asked++
		r.RemoteAddr = fmt.Sprintf("stranger %d", asked) // else the wrong tokens of one keep the right one of the next out
		before, err := d.view(t.Context())
		require.NoError(t, err)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r.WithContext(t.Context()))
		after, err := d.view(t.Context())
		require.NoError(t, err)

		require.Contains(t, known, w.Code)
		if w.Code >= 400 {
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			var fault Fault
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &fault))
			require.NotEmpty(t, fault.Error)
		}
		require.NotContains(t, w.Body.String(), token)
		command := r.Method == http.MethodPost && r.URL.Path == "/v1/commands"
		allowed := command && r.Header.Get("Authorization") == "Bearer "+token && isOrder(body)
		if !allowed {
			require.Equal(t, []any{before.Outage, before.Goal, before.Hold, before.Aborted},
				[]any{after.Outage, after.Goal, after.Hold, after.Aborted})
			require.False(t, command && (w.Code == http.StatusOK || w.Code == http.StatusConflict), "it was taken for an order")
		}
	})
}

// isOrder tells, by other means than the daemon's, whether a body names an order.
func isOrder(body string) bool {
	var c map[string]any
	if json.Unmarshal([]byte(body), &c) != nil {
		return false
	}
	for name, v := range c {
		if verb, ok := v.(string); ok && strings.EqualFold(name, "verb") && slices.Contains(orders, ledger.OrderVerb(verb)) {
			return true
		}
	}
	return false
}
