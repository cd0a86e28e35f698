package peertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BlackHole gives a loopback address from which nothing comes back, by TCP or UDP: the queue of a listener that accepts
// nothing is full, and the kernel drops what comes further; what comes by UDP is never read.
func BlackHole(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { must(t, syscall.Close(fd)) })
	must(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must(t, syscall.Listen(fd, 0))
	bound, err := syscall.Getsockname(fd)
	must(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
	deaf, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", address)
	must(t, err)
	t.Cleanup(func() { must(t, deaf.Close()) })
	for range 16 {
		conn, err := (&net.Dialer{Timeout: 200 * time.Millisecond}).DialContext(t.Context(), "tcp", address)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return address
		}
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the kernel takes every connection: no silence can be made here")
	return ""
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
