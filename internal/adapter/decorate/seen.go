package decorate

import (
	"context"
	"errors"
	"sync/atomic"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// OnceSeen makes nothing gone that was never there: what a system does not list may be misspelt, or hidden from its account, and
// what is gone counts as off. Of that nobody knows its state, and a command is refused. Met says that it is on record as having been there.
func OnceSeen(n adapter.Node, met bool) adapter.Node {
	s := &onceSeen{inner: n}
	s.seen.Store(met)
	if w, ok := n.(adapter.Watcher); ok {
		return Watched{s, &seenWatch{s, w}}
	}
	return s
}

type onceSeen struct {
	inner adapter.Node
	seen  atomic.Bool
}

const neverSeen = "; it was never seen: check its name, and that the account may see it"

func (s *onceSeen) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := s.inner.Probe(ctx)
	if err != nil {
		return seen, s.doubt(err)
	}
	return s.follow(seen), nil
}

func (s *onceSeen) Do(ctx context.Context, do adapter.Command) error {
	return s.doubt(s.inner.Do(ctx, do))
}

// follow notes what was seen.
func (s *onceSeen) follow(seen plan.Observation) plan.Observation {
	switch seen.State {
	case plan.Unknown, plan.Unreachable:
	case plan.Gone:
		if !s.seen.Load() {
			seen.State, seen.Detail = plan.Unknown, seen.Detail+neverSeen
		}
	default:
		s.seen.Store(true)
	}
	return seen
}

func (s *onceSeen) doubt(err error) error {
	if errors.Is(err, adapter.ErrGone) && !s.seen.Load() {
		return adapter.As(err, adapter.ErrRefused)
	}
	return err
}

type seenWatch struct {
	*onceSeen

	watched adapter.Watcher
}

func (w *seenWatch) Watch(ctx context.Context, seen func(plan.Observation)) error {
	return w.doubt(w.watched.Watch(ctx, func(o plan.Observation) { seen(w.follow(o)) }))
}
