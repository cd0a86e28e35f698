// Package peertest starts real programs for tests, on loopback ports of their own, and stops them by process id.
package peertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Need gives the path of a program that must be there: one of the names or paths that is found first. Where none is, it
// skips the test, and fails it in CI.
func Need(t testing.TB, pkg string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if filepath.IsAbs(name) {
			if _, err := os.Stat(name); err == nil {
				return name
			}
		} else if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: run make setup", pkg)
	}
	t.Skipf("%s is missing: run make setup", pkg)
	return ""
}

// Process is a program that runs.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// Write takes the program's output.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

// Log gives what the program has said.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Start runs a program in a folder until the test ends, and waits until it is ready.
func Start(t testing.TB, dir string, ready func(context.Context) bool, env []string, program string, args ...string) *Process {
	t.Helper()
	// Not under the test's context: the clean-up stops it, with its children.
	p := &Process{cmd: exec.CommandContext(context.Background(), program, args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, p, p
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // it is killed
		close(p.ended)
	}()
	t.Cleanup(p.Kill)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		ok := ready(ctx)
		cancel()
		if ok {
			return p
		}
		select {
		case <-p.ended:
			t.Fatalf("%s has ended:\n%s", program, p.Log())
		case <-tick.C:
		}
	}
	t.Fatalf("%s is not ready:\n%s", program, p.Log())
	return nil
}

// Kill ends the program and its children at once.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	<-p.ended
}

// Signal sends a signal to the program and its children.
func (p *Process) Signal(sig syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, sig) }

// Listens reports whether a TCP port is there.
func Listens(address string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
}

// FreePort gives a loopback port that nobody listens on. network is tcp or udp. It is none that the kernel gives to a
// connection of somebody else before the program that is to listen there has begun to: those begin at 32768
// (net.ipv4.ip_local_port_range).
func FreePort(t testing.TB, network string) int {
	t.Helper()
	const lowest, highest, tries = 10000, 32767, 100
	for range tries {
		port := lowest + rand.IntN(highest-lowest+1)
		if isFree(network, fmt.Sprintf("127.0.0.1:%d", port)) {
			return port
		}
	}
	t.Fatalf("none of %d %s ports is free", tries, network)
	return 0
}

func isFree(network, address string) bool {
	var listens io.Closer
	var err error
	if network == "udp" {
		listens, err = (&net.ListenConfig{}).ListenPacket(context.Background(), network, address)
	} else {
		listens, err = (&net.ListenConfig{}).Listen(context.Background(), network, address)
	}
	if err != nil {
		return false
	}
	return listens.Close() == nil
}

// FreeAddress gives a loopback address, with a TCP port, that nobody listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", FreePort(t, "tcp"))
}
