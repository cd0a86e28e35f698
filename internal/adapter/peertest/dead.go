package peertest

import (
	"context"
	"maps"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"ebbtide/internal/adapter/peertest/hole"
)

// BlackHole gives a loopback address from which nothing comes back, by TCP or UDP; what comes by UDP is never read.
func BlackHole(t testing.TB) string {
	t.Helper()
	silent, err := hole.Open("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, silent.Close()) })
	deaf, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", silent.Address)
	must(t, err)
	t.Cleanup(func() { must(t, deaf.Close()) })
	return silent.Address
}

// NoGoroutineLeft notes the goroutines that there are. What it gives waits until there are no others any more, and fails
// the test where some stay.
func NoGoroutineLeft(t testing.TB) (check func()) {
	before := goroutines()
	return func() {
		t.Helper()
		deadline := time.NewTimer(5 * time.Second) // less than a dial into silence may take by itself
		defer deadline.Stop()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			left := goroutines()
			maps.DeleteFunc(left, func(id, _ string) bool { _, was := before[id]; return was })
			if len(left) == 0 {
				return
			}
			select {
			case <-tick.C:
			case <-deadline.C:
				for _, stack := range left {
					t.Error("a goroutine is left:\n" + stack)
				}
				return
			}
		}
	}
}

// goroutines gives the stacks of all goroutines but the caller's, by their numbers.
func goroutines() map[string]string {
	buf := make([]byte, 4<<20)
	stacks := map[string]string{}
	for i, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		id, _, _ := strings.Cut(stack, " [")
		if i > 0 { // the first is the caller's
			stacks[id] = stack
		}
	}
	return stacks
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
