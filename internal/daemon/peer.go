package daemon

import (
	"context"
	"net"
)

type peerKey struct{}

// withPeer keeps the user at the other end of a Unix socket with each of its requests: net/http has no other way.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if conn, ok := c.(*net.UnixConn); ok {
		if uid, err := peerUID(conn); err == nil {
			return context.WithValue(ctx, peerKey{}, uid)
		}
	}
	return ctx
}

func peerOf(ctx context.Context) (uid uint32, known bool) {
	uid, known = ctx.Value(peerKey{}).(uint32)
	return uid, known
}
