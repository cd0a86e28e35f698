// Package decorate has what lies around a node whatever its system is: bounds on what it says and on how much is asked of it at
// once, a log of its calls, and the rehearsal, which sends nothing.
package decorate

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// The receivers here are pointers: a survey has thousands of these calls wait at once, and each wrapper that Go makes of a value's
// method stands on the stack of each.

// Watched is a decorated node that can still tell of changes.
type Watched struct {
	adapter.Node
	adapter.Watcher
}

// WithWatch gives outer the Watch of the node that it decorates, if that has one.
func WithWatch(outer, inner adapter.Node) adapter.Node {
	if w, ok := inner.(adapter.Watcher); ok {
		return Watched{outer, w}
	}
	return outer
}

type limited struct {
	inner adapter.Node
	slots chan struct{}
}

// Limit lets no more calls through at a time than slots has room for; nodes that share a connection share its slots.
// A call that gets no slot until its context ends was not made and is ErrBusy. Watches take no slot.
func Limit(n adapter.Node, slots chan struct{}) adapter.Node {
	return WithWatch(&limited{n, slots}, n)
}

func (l *limited) Probe(ctx context.Context) (plan.Observation, error) {
	if err := l.take(ctx); err != nil {
		return plan.Observation{}, err
	}
	defer l.give()
	return l.inner.Probe(ctx)
}

func (l *limited) Do(ctx context.Context, do adapter.Command) error {
	if err := l.take(ctx); err != nil {
		return err
	}
	defer l.give()
	return l.inner.Do(ctx, do)
}

func (l *limited) take(ctx context.Context) error {
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no call was made: %d others were under way on the same connection: %w", cap(l.slots), adapter.ErrBusy)
	}
}

func (l *limited) give() { <-l.slots }

type logged struct {
	inner adapter.Node
	log   *slog.Logger
}

// Log tells of every call at debug level, by verb, result and time. The logger names the node.
func Log(n adapter.Node, log *slog.Logger) adapter.Node {
	return WithWatch(&logged{n, log}, n)
}

func (l *logged) Probe(ctx context.Context) (plan.Observation, error) {
	start := time.Now()
	seen, err := l.inner.Probe(ctx)
	if err != nil {
		l.log.DebugContext(ctx, "probe failed", "took", time.Since(start), "error", err)
		return seen, err
	}
	l.log.DebugContext(ctx, "probed", "took", time.Since(start), "state", seen.State.String(), "detail", seen.Detail)
	return seen, nil
}

func (l *logged) Do(ctx context.Context, do adapter.Command) error {
	start := time.Now()
	err := l.inner.Do(ctx, do)
	if err != nil {
		l.log.DebugContext(ctx, "command failed", "verb", do.Verb.String(), "took", time.Since(start), "error", err)
		return err
	}
	l.log.DebugContext(ctx, "command accepted", "verb", do.Verb.String(), "took", time.Since(start))
	return nil
}
