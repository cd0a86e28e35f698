package nut_test

import (
	"bufio"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/nut"
	"ebbtide/internal/power"
)

// hostile is a NUT server that hears a line and then does what it likes.
func hostile(t *testing.T, do func(conn net.Conn, line string)) nut.Options {
	t.Helper()
	address := peertest.Listen(t, func(conn net.Conn) {
		for in := bufio.NewScanner(conn); in.Scan(); {
			do(conn, in.Text())
		}
	})
	return nut.Options{Address: address, Timeout: 300 * time.Millisecond}
}

// TestHostileServers: whatever servers answer, each supply of theirs is reported lost in time, with a text that is safe to
// show; memory stays where it is, and an honest server is polled as if it were alone.
func TestHostileServers(t *testing.T) {
	const escape = "\x1b]0;owned\x07\x1b[2J\u009b31m\x00\xff"
	servers := map[string]nut.Options{
		"a line without end": hostile(t, func(c net.Conn, _ string) { peertest.Flood(c, "x") }),
		"zeros without end":  hostile(t, func(c net.Conn, _ string) { peertest.Flood(c, "\x00") }),
		"empty lines":        hostile(t, func(c net.Conn, _ string) { peertest.Flood(c, "\n") }),
		"a list without end": hostile(t, func(c net.Conn, _ string) {
			_, _ = io.WriteString(c, "BEGIN LIST VAR a\n")
			peertest.Flood(c, "VAR a x \"1\"\n")
		}),
		"errors without end": hostile(t, func(c net.Conn, _ string) { peertest.Flood(c, "ERR DATA-STALE\n") }),
		"nothing":            hostile(t, func(net.Conn, string) {}),
		"control characters": hostile(t, func(c net.Conn, _ string) { _, _ = io.WriteString(c, "ERR "+escape+" "+escape+"\n") }),
		"more of them":       hostile(t, func(c net.Conn, _ string) { _, _ = io.WriteString(c, escape+"\n") }),
		"a value with them": hostile(t, func(c net.Conn, _ string) {
			_, _ = io.WriteString(c, "BEGIN LIST VAR a\nVAR a "+escape+" \"OL\"\nEND\n")
		}),
		"a list for each other": hostile(t, func(c net.Conn, line string) { _, _ = io.WriteString(c, "BEGIN "+line+"\nEND "+line+"\n") }),
	}
	honest := simulate(t)
	honest.Add("a", "").Set("ups.status", "OL", "battery.charge", "100")
	all := []nut.Server{{Options: nut.Options{Address: honest.Addr()}, Supplies: []nut.Supply{{ID: "honest", UPS: "a"}}}}
	for what, o := range servers {
		all = append(all, nut.Server{Options: o, Supplies: []nut.Supply{{ID: what, UPS: "a"}}})
	}
	p := poll(t, nut.PollerOptions{Interval: 50 * time.Millisecond, OnBattery: 50 * time.Millisecond}, all...)

	counts := map[string]int{}
	var most uint64
	var last time.Time
	var longest time.Duration
	end := time.NewTimer(6 * time.Second)
	defer end.Stop()
	for going := true; going; {
		select {
		case <-end.C:
			going = false
		case r := <-p.readings:
			counts[r.Supply]++
			if r.Supply != "honest" {
				require.False(t, strings.ContainsFunc(r.Detail, func(c rune) bool { return !unicode.IsGraphic(c) }), "%s: %q",
					r.Supply, r.Detail)
				require.Less(t, len(r.Detail), 9000)
				require.True(t, r.Link != power.Fresh || r.Status == 0, "%s: a status out of nothing", r.Supply)
				continue
			}
			require.Equal(t, power.Fresh, r.Link)
			if !last.IsZero() {
				longest = max(longest, time.Since(last))
			}
			last = time.Now()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	for what := range servers {
		require.GreaterOrEqual(t, counts[what], 3, "%s: it is not asked again and again", what)
	}
	require.Greater(t, counts["honest"], 40)
	require.Less(t, longest, time.Second)
	require.Less(t, most, uint64(64<<20), "bytes on the heap")
	t.Logf("%d polls of the honest server, the longest pause %s, at most %d MB on the heap", counts["honest"], longest, most>>20)
}
