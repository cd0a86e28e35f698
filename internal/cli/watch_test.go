package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/daemon"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/timeline"
)

// serveStatus answers a watch with these documents and then ends, as a daemon that stops does.
func serveStatus(t *testing.T, documents ...daemon.Status) (listen string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/v1/status?watch=1" {
			http.NotFound(w, r)
			return
		}
		for _, d := range documents {
			_ = json.NewEncoder(w).Encode(d) // a client that has gone misses nothing
		}
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return "unix:" + path
}

func TestWatchWritesADocumentALine(t *testing.T) {
	t.Parallel()
	listen := serveStatus(t, daemon.Status{Text: "ups on line"}, daemon.Status{Text: "ups on battery"})
	out := runCLI(t, exitUnreachable, "status", "--watch", "--format", "json", "--listen", listen)
	lines := strings.SplitN(out, "\n", 3)
	for i, text := range []string{"ups on line", "ups on battery"} {
		var s daemon.Status
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &s))
		require.Equal(t, text, s.Text)
	}
	require.Contains(t, lines[2], "lost the connection to the daemon", "a daemon that is lost is told")
}

func TestWatchWritesALineAChange(t *testing.T) {
	t.Parallel()
	listen := serveStatus(t, daemon.Status{Text: "ups on line"}, daemon.Status{Text: "ups on line"}, daemon.Status{Text: "ups on battery"})
	var out, errs bytes.Buffer
	code := Main(t.Context(), World{Args: []string{"status", "-w", "--listen", listen}, Stdout: &out, Stderr: &errs})
	require.Equal(t, exitUnreachable, code)
	require.Regexp(t, `^\d\d:\d\d:\d\d ups on line\n\d\d:\d\d:\d\d ups on battery\n$`, out.String())
	require.Contains(t, errs.String(), "lost the connection to the daemon")
}

// TestAScreenShowsWhatMatters: a large outage on a small terminal.
func TestAScreenShowsWhatMatters(t *testing.T) {
	t.Parallel()
	s := &daemon.Status{
		Runbook: "large", Armed: true, Text: "outage", Outage: &timeline.Timeline{Outage: "o"},
		View: engine.View{Outage: "o", Goal: plan.Down},
	}
	for i := range 200 {
		v := engine.SupplyView{ID: fmt.Sprintf("ups%03d", i), Text: "on line", State: power.State{Mains: power.MainsOnline}}
		if i == 150 {
			v.Text, v.State.Mains = "on battery", power.MainsOnBattery
		}
		s.View.Supplies = append(s.View.Supplies, v)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 5000 {
		st := timeline.Step{
			Node: fmt.Sprintf("vm%04d", i), Verb: plan.Stop, State: timeline.Proven, Started: at,
			Ended: at.Add(time.Duration(i) * time.Second),
		}
		if i == 17 {
			st.State, st.Reason = timeline.Failed, "it does not answer"
		}
		s.Outage.Steps = append(s.Outage.Steps, st)
	}
	lines := screenful(s, 60, 24)
	require.LessOrEqual(t, len(lines), 23)
	text := strings.Join(lines, "\n")
	for _, want := range []string{"ups150", "vm0017", "vm4999", "large, armed"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "ups000")
	for _, line := range lines {
		require.LessOrEqual(t, len([]rune(line)), 60)
	}
	require.Len(t, s.View.Supplies, 200, "what was given is left alone")
	tiny := screenful(s, 20, 3)
	require.Len(t, tiny, 2)
	require.Contains(t, tiny[1], "more lines")
}
