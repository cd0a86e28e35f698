package peertest

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Listen serves connections on loopback, each until serve returns or the test ends, and gives the address.
func Listen(t testing.TB, serve func(net.Conn)) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("cannot listen on loopback: %v", err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return listener.Addr().String()
}

// Flood writes a text over and over, until nobody takes it any more.
func Flood(w io.Writer, text string) {
	block := []byte(strings.Repeat(text, 1+(64<<10)/len(text)))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}
