package healthcheck

import (
	"context"
	"errors"
	"net"
	"time"
)

// datagrams is a socket for questions to one server that may get lost.
type datagrams interface {
	Read(b []byte) (int, error)
	Write(b []byte) (int, error)
	SetReadDeadline(at time.Time) error
}

// exchange sends a question, each second anew, until an answer is the right one.
func exchange(ctx context.Context, conn datagrams, query []byte, right func([]byte) bool) ([]byte, error) {
	answer := make([]byte, 4096)
	for ctx.Err() == nil {
		if _, err := conn.Write(query); err != nil {
			return nil, err
		}
		again := time.Now().Add(time.Second)
		for {
			if err := conn.SetReadDeadline(again); err != nil {
				return nil, err
			}
			n, err := conn.Read(answer)
			if isTimeout(err) {
				break
			}
			if err != nil {
				return nil, err
			}
			if right(answer[:n]) {
				return answer[:n], nil
			}
		}
	}
	return nil, context.Cause(ctx)
}

// isTimeout reports whether err says that a deadline of a socket is over.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
