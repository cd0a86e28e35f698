package decorate

import (
	"context"
	"fmt"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// rehearsed answers as if the verbs that it was given had worked.
type rehearsed struct {
	inner adapter.Node

	mu        sync.Mutex
	state     plan.State // as the last stop or start would have left it; Unknown: none was given
	protected plan.Fact  // as the last protect or unprotect would have left it
	flushed   bool       // since the last unprotect or start
}

// Rehearse makes a node read-only. Do sends nothing and is always accepted. Probe really asks, and then answers as if
// the verbs given so far had worked:
//
//   - after Stop, Force or Cut a node that is really on, starting or stopping is told as Off;
//   - after Start a node that is really off or stopping is told as On, and healthy;
//   - after Protect it is told as protected, after Flush as clean, after Unprotect as not protected;
//   - an error stays that error, and Unreachable, Gone and Unknown stay what they are: a rehearsal finds out what a
//     real run could not have proven.
//
// Where an answer was changed, its Detail begins with "rehearsed" and gives the real state.
func Rehearse(n adapter.Node) adapter.Node {
	r := &rehearsed{inner: n}
	if w, ok := n.(adapter.Watcher); ok {
		return Watched{r, rehearsedWatch{r, w}}
	}
	return r
}

func (r *rehearsed) Do(ctx context.Context, do adapter.Command) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch do.Verb {
	case plan.Stop, plan.Force, plan.Cut:
		r.state = plan.Off
	case plan.Start:
		r.state, r.flushed = plan.On, false
	case plan.Protect:
		r.protected = plan.Yes
	case plan.Flush:
		r.flushed = true
	case plan.Unprotect:
		r.protected, r.flushed = plan.No, false
	case plan.Discharge, plan.EndDischarge: // a test leaves no state behind
	}
	return nil
}

func (r *rehearsed) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := r.inner.Probe(ctx)
	if err != nil {
		return seen, err
	}
	return r.change(seen), nil
}

// change turns what is really so into what would be so.
func (r *rehearsed) change(was plan.Observation) plan.Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := was
	switch was.State {
	case plan.Unreachable, plan.Gone, plan.Unknown:
		return was
	case plan.On, plan.Starting:
		if r.state == plan.Off {
			told.State, told.Healthy = plan.Off, plan.NotKnown
		}
	case plan.Off:
		if r.state == plan.On {
			told.State, told.Healthy = plan.On, plan.Yes
		}
	case plan.Stopping:
		if r.state != plan.Unknown {
			told.State = r.state
		}
		if r.state == plan.On {
			told.Healthy = plan.Yes
		}
	}
	if r.protected != plan.NotKnown {
		told.Protected = r.protected
	}
	if r.flushed {
		told.Clean, told.Dirty = plan.Yes, 0
	}
	if told != was {
		told.RemainFor = 0
		told.Detail = fmt.Sprintf("rehearsed; really %s", was.State)
		if was.Detail != "" {
			told.Detail += ": " + was.Detail
		}
	}
	return told
}

type rehearsedWatch struct {
	r     *rehearsed
	inner adapter.Watcher
}

// Watch tells of real changes as Probe would.
func (w rehearsedWatch) Watch(ctx context.Context, seen func(plan.Observation)) error {
	return w.inner.Watch(ctx, func(o plan.Observation) { seen(w.r.change(o)) })
}
