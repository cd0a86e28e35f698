package nut

import (
	"net"
	"syscall"
)

// promptConn asks for each incoming segment to be acknowledged at once. upsd writes line by line without TCP_NODELAY,
// so that with delayed acknowledgement a LIST takes 40 ms more. Linux forgets the option, hence before each read.
type promptConn struct {
	*net.TCPConn
	raw syscall.RawConn
}

func promptly(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	return &promptConn{TCPConn: tcp, raw: raw}
}

func quickAck(fd uintptr) {
	// Where it is refused, reading is slower and nothing else.
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
}

func (c *promptConn) Read(b []byte) (int, error) {
	if err := c.raw.Control(quickAck); err != nil {
		return 0, err
	}
	return c.TCPConn.Read(b)
}
