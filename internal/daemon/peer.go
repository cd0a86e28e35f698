package daemon

import (
	"context"
	"net"
	"net/http"
	"strconv"
)

// peerAddr is the address of who is at the other end of a Unix socket: his uid.
type peerAddr uint32

// Network and String make it a net.Addr.
func (peerAddr) Network() string  { return "unix" }
func (p peerAddr) String() string { return "uid " + strconv.FormatUint(uint64(p), 10) }

// peers gives connections over a Unix socket the address of their peer. Whatever wraps a connection later passes its
// address on, and nothing else.
type peers struct{ net.Listener }

// Accept waits for the next connection.
func (l peers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if conn, ok := c.(*net.UnixConn); ok && err == nil {
		if uid, err := peerUID(conn); err == nil {
			return peerConn{c, peerAddr(uid)}, nil
		}
	}
	return c, err
}

type peerConn struct {
	net.Conn
	peer peerAddr
}

// RemoteAddr gives the peer.
func (c peerConn) RemoteAddr() net.Addr { return c.peer }

type peerKey struct{}

// withPeer keeps the peer with each of its requests: net/http has no other way.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if peer, ok := c.RemoteAddr().(peerAddr); ok {
		return context.WithValue(ctx, peerKey{}, peer)
	}
	return ctx
}

func peerOf(r *http.Request) (peer peerAddr, known bool) {
	peer, known = r.Context().Value(peerKey{}).(peerAddr)
	return peer, known
}
