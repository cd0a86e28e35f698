package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/want"
)

// heardWaits are what is told of views, a second after the other each, down to a level.
type heardWaits struct {
	w    *waits
	text bytes.Buffer
	now  time.Time
}

func newHeardWaits(level slog.Level, prefix string) *heardWaits {
	h := &heardWaits{now: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)}
	h.w = newWaits(slog.New(slog.NewTextHandler(&h.text,
		&slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})), prefix)
	return h
}

// tell gives the lines that follow from a view.
func (h *heardWaits) tell(after time.Duration, nodes ...engine.NodeView) []string {
	h.now = h.now.Add(after)
	h.text.Reset()
	h.w.tell(h.now, nodes)
	return strings.Split(strings.TrimSuffix(h.text.String(), "\n"), "\n")
}

func waitsFor(id string, code want.WhyCode, why string) engine.NodeView {
	return engine.NodeView{ID: id, Waits: code, Why: why}
}

// TestWhatNodesWaitForIsLogged: a change once, what many wait for once, a person's wait and a long one to all.
func TestWhatNodesWaitForIsLogged(t *testing.T) {
	t.Parallel()
	h := newHeardWaits(slog.LevelDebug, "")
	nothing := []string{""}
	web, db := waitsFor("web", want.OthersFirst, "waiting for app"), waitsFor("db", want.OthersFirst, "waiting for app")
	require.Equal(t, []string{`level=DEBUG msg="web, db: waiting for app" nodes=2`}, h.tell(time.Second, web, db))
	require.Equal(t, nothing, h.tell(time.Second, web, db), "nothing has changed")
	require.Equal(t, []string{`level=DEBUG msg="db: no longer waiting" nodes=1`}, h.tell(time.Second, web, engine.NodeView{ID: "db"}))
	require.Equal(t, nothing, h.tell(50*time.Second, web, engine.NodeView{ID: "db"}))
	require.Equal(t, []string{`level=INFO msg="web: waiting for app (for 1m)" nodes=1`}, h.tell(8*time.Second, web))
	require.Equal(t, nothing, h.tell(time.Hour, web), "it was told")
	require.Equal(t, []string{`level=INFO msg="web: no longer waiting" nodes=1`}, h.tell(time.Second, engine.NodeView{ID: "web"}))

	require.Equal(t, []string{`level=INFO msg="nas: held by an operator" nodes=1`},
		h.tell(time.Second, waitsFor("nas", want.OnHold, "held by an operator")))
	require.Equal(t, []string{`level=INFO msg="nas: waiting for web" nodes=1`},
		h.tell(time.Second, waitsFor("nas", want.OthersFirst, "waiting for web")), "what all were told is not left as it was")

	pausing := func(seconds int) engine.NodeView {
		return waitsFor("esx", want.Pausing, fmt.Sprintf("trying again in %ds", seconds))
	}
	require.Equal(t, []string{`level=DEBUG msg="esx: trying again in 15s" nodes=1`},
		h.tell(time.Second, pausing(15), waitsFor("nas", want.OthersFirst, "waiting for web")))
	require.Equal(t, nothing, h.tell(time.Second, pausing(14)), "the time that passes is no change")
	rising := func(minutes int) engine.NodeView {
		return waitsFor("box", want.MaybeRising, fmt.Sprintf("it may be starting up: no commands are sent to it for up to %dm more", minutes))
	}
	require.Len(t, h.tell(time.Second, pausing(14), rising(9)), 1)
	require.Equal(t, nothing, h.tell(time.Second, pausing(13), rising(8)), "nor that of its start")
	h.w.forget()
	require.Equal(t, []string{`level=DEBUG msg="esx: trying again in 13s" nodes=1`}, h.tell(time.Second, pausing(13)), "of another outage")
}

// TestWhatNodesWaitForDoesNotFlood: a thousand nodes that wait for a thousand things, and for others each second.
func TestWhatNodesWaitForDoesNotFlood(t *testing.T) {
	t.Parallel()
	h := newHeardWaits(slog.LevelDebug, effect.Observing)
	lines, told := 0, ""
	for second := range 600 {
		var nodes []engine.NodeView
		for i := range 1000 {
			nodes = append(nodes, waitsFor(fmt.Sprintf("vm%d", i), want.OthersFirst, fmt.Sprintf("waiting for vm%d", (i+second)%1000)))
		}
		if second == 300 {
			nodes[999] = waitsFor("nas", want.GivenUp, "given up: stop nas was not proven; manual action needed")
		}
		for _, line := range h.tell(time.Second, nodes...) {
			if line == "" {
				continue
			}
			lines++
			told += line + "\n"
			require.Contains(t, line, `msg="(observing) `, "nothing reads as if it had happened")
		}
	}
	require.LessOrEqual(t, lines, 2*waitsBurst+2*600)
	require.Equal(t, 1, strings.Count(told, `level=INFO msg="(observing) nas: given up`),
		"what a person is to do is not lost among the others")
	require.Positive(t, strings.Count(told, "now waiting for something else: see `ebbtide status`"))

	h = newHeardWaits(slog.LevelInfo, "")
	var same []engine.NodeView
	for i := range 1000 {
		same = append(same, waitsFor(fmt.Sprintf("vm%d", i), want.StageNotBegun, "waiting for stage shutdown"))
	}
	require.Equal(t, []string{""}, h.tell(time.Second, same...))
	require.Equal(t, []string{`level=INFO msg="vm0, vm1, vm2, vm3, vm4 and 995 more: waiting for stage shutdown (for 1m)" nodes=1000`},
		h.tell(time.Minute, same...))
}
