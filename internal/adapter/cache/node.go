package cache

import (
	"context"
	"fmt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/plan"
)

// system is one cache on a host.
type system interface {
	// look asks for its state, and for what Protect would change; that is valid while Protected is No.
	look(ctx context.Context, at host) (plan.Observation, settings, error)
	// do carries out one of its verbs. was is what an Unprotect is to put back, nil if nothing is known.
	do(ctx context.Context, at host, v plan.Verb, was settings) error
}

// node is a declared cache.
type node struct {
	id     string
	can    plan.Verbs
	at     host
	system system
}

// Probe asks the cache. Of a host that does not answer nothing is known, and a cache that can't be found there is Unknown
// and not Off: what it held may be anywhere.
func (n *node) Probe(ctx context.Context) (plan.Observation, error) {
	return reach.Probe(ctx, n.id, false, func(ctx context.Context) (plan.Observation, error) {
		seen, was, err := n.system.look(ctx, n.at)
		if err == nil && seen.Protected == plan.No {
			seen.Settings = was.String()
		}
		return seen, err
	})
}

// Do carries out a verb.
func (n *node) Do(ctx context.Context, do adapter.Command) error {
	var err error
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !n.can.Has(do.Verb):
		err = fmt.Errorf("%w: it is a cache and has no such verb", adapter.ErrRefused)
	default:
		err = n.system.do(ctx, n.at, do.Verb, parseSettings(do.Settings))
	}
	if err != nil {
		return fmt.Errorf("cannot %s %q: %w", do.Verb, n.id, err)
	}
	return nil
}

// unknown is the observation of a cache that can't be told.
func unknown(format string, args ...any) plan.Observation {
	return plan.Observation{State: plan.Unknown, Detail: printable.Text(fmt.Sprintf(format, args...), 200)}
}
