package reach

import (
	"context"
	"time"
)

// Share gives a question a part of the time that is left to ctx, a fraction of it, so that another one can follow. A call that spends all
// of its time on a host that is silent could not tell any more that it was.
func Share(ctx context.Context, part float64) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(float64(time.Until(deadline))*part))
}

// Bound gives a question a context that ends with ctx and, because of closed, with the connection that it goes through: at once, where that
// has ended already.
func Bound(ctx, connection context.Context, closed error) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(connection, func() { cancel(closed) })
	if connection.Err() != nil {
		cancel(closed)
	}
	return ctx, func(cause error) {
		stop()
		cancel(cause)
	}
}
