package cli

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/daemon"
	"ebbtide/internal/engine"
	"ebbtide/internal/power"
	"ebbtide/internal/timeline"
)

func TestSafeStream(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\tb\nGrüße …\ufffd": "a\tb\nGrüße …\ufffd",
		"\x1b[2J\x07":         `\u001b[2J\u0007`,
		"\u009b31m\r":         `\u009b31m\u000d`,
		"a\u202eb":            `a\u202eb`,
		"\x9b31m":             "\ufffd31m",
	} {
		var out bytes.Buffer
		n, err := safe{&out}.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
		require.Equal(t, want, out.String(), "%q", text)
	}
}

// hostile is a daemon that answers every question with what a terminal would obey.
func hostile(t *testing.T) (socket, escape string) {
	t.Helper()
	escape = "\x1b]0;owned\x07\x1b[2J\u009b1m\u202e"
	socket = filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	require.NoError(t, err)
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body any = daemon.Fault{Error: escape, Hint: escape}
		if r.URL.Path == "/v1/status" {
			body = daemon.Status{
				Runbook: escape, Text: escape, Blind: []string{escape},
				View: engine.View{
					Outage: "x", Waiting: escape,
					Supplies: []engine.SupplyView{{ID: escape, Text: escape, State: power.State{}}},
				},
				Outage: &timeline.Timeline{Outage: escape, Steps: []timeline.Step{{Node: escape, Reason: escape}}},
			}
		} else {
			w.WriteHeader(http.StatusConflict)
		}
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	})}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return "unix:" + socket, escape
}

// TestTheTerminalObeysNobody: whatever a daemon or a name in it says, no control character reaches the terminal; in JSON
// it is still what it was.
func TestTheTerminalObeysNobody(t *testing.T) {
	t.Parallel()
	socket, escape := hostile(t)
	for _, args := range [][]string{{"status"}, {"hold"}, {"skip", "\x1b[2J"}, {"check", "/\x1b[2J"}, {"\x1b[2J"}} {
		for _, format := range []string{"text", "json"} {
			var out, errs bytes.Buffer
			all := append(append([]string{}, args...), "--format", format)
			if client := args[0] == "status" || args[0] == "hold" || args[0] == "skip"; client {
				all = append(all, "--listen", socket)
			}
			Main(t.Context(), World{Args: all, Stdout: &out, Stderr: &errs})
			text := out.String() + errs.String()
			require.NotEmpty(t, text)
			require.False(t, strings.ContainsFunc(text, func(r rune) bool {
				return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
			}), "%q: %q", all, text)
			if args[0] == "status" && format == "json" {
				var s daemon.Status
				require.NoError(t, json.Unmarshal(out.Bytes(), &s))
				require.Equal(t, escape, s.Runbook)
			}
		}
	}
}
