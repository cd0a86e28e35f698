// Package hole makes addresses from which nothing comes back, as from a machine without power.
package hole

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// Hole is a loopback address that answers nothing: the queue of a listener that accepts nothing is full, and the kernel drops what comes
// further.
type Hole struct {
	Address string
	fd      int
	queue   []io.Closer
}

// mostQueued is how many connections are tried until the queue of a listener that asks for none is full.
const mostQueued = 16

// Open makes the hole at a loopback address, "127.0.0.1:443"; with port 0 at any.
func Open(address string) (*Hole, error) {
	at, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil || !at.IP.IsLoopback() {
		return nil, fmt.Errorf("cannot make silence at %q: it is no loopback address", address)
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make silence at %q: %w", address, err)
	}
	h := &Hole{fd: fd}
	if err := h.open(at); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make silence at %q: %w", address, err), h.Close())
	}
	return h, nil
}

func (h *Hole) open(at *net.TCPAddr) error {
	syscall.CloseOnExec(h.fd)
	if err := syscall.SetsockoptInt(h.fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := syscall.Bind(h.fd, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}); err != nil {
		return err
	}
	if err := syscall.Listen(h.fd, 0); err != nil {
		return err
	}
	bound, err := syscall.Getsockname(h.fd)
	if err != nil {
		return err
	}
	in, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return fmt.Errorf("it is bound to %v", bound)
	}
	h.Address = fmt.Sprintf("%s:%d", at.IP, in.Port)
	for range mostQueued {
		conn, err := (&net.Dialer{Timeout: 200 * time.Millisecond}).DialContext(context.Background(), "tcp4", h.Address)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return nil
		}
		if err != nil {
			return err
		}
		h.queue = append(h.queue, conn)
	}
	return errors.New("the kernel takes every connection")
}

// Close ends the silence: the address refuses connections.
func (h *Hole) Close() error {
	for _, conn := range h.queue {
		_ = conn.Close() // nobody ever sent anything over it
	}
	return syscall.Close(h.fd)
}
