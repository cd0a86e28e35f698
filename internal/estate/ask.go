package estate

import (
	"context"
	"fmt"
	"time"

	"ebbtide/internal/english"
)

// overtime is how long after its deadline an adapter may take to say how it ended.
const overtime = time.Second

// ask puts one question to an adapter, for so long at most, also if it does not come back or breaks.
func ask[T any](ctx context.Context, within time.Duration, question func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %s", english.Span(within)))
	defer cancel()
	answered := make(chan answer, 1)
	go func() { // may outlive the question where the adapter does not heed its context
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("the adapter crashed: %v", p)
			}
			answered <- a
		}()
		a.value, a.err = question(ctx)
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
	}
	late := time.NewTimer(overtime)
	defer late.Stop()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-late.C:
		var none T
		return none, context.Cause(ctx)
	}
}
