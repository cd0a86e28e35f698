package contracttest

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// ours marks the goroutines that an adapter is answerable for: its own, and those of its connections.
var ours = []string{"ebbtide/internal/adapter", "golang.org/x/crypto/ssh", "net/http.(*persistConn)"}

func adapterGoroutines() int {
	buf := make([]byte, 4<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		mine := slices.ContainsFunc(ours, func(mark string) bool { return strings.Contains(g, mark) })
		if mine && !strings.Contains(g, "testing.(*T).Run") && !strings.Contains(g, "testing.tRunner") {
			n++
		}
	}
	return n
}

func noneLeft(t *testing.T, after string, before int) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for adapterGoroutines() > before {
		select {
		case <-tick.C:
		case <-deadline.C:
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left after %q:\n%s", after, buf[:runtime.Stack(buf, true)])
		}
	}
}
