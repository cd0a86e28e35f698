package fake

import (
	"context"
	"fmt"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// Node is one thing of the estate. It is an adapter.Node and an adapter.Watcher; its other methods break it and tell
// the truth about it.
type Node struct {
	estate  *Estate
	id      string
	can     plan.Verbs
	takes   map[plan.Verb]time.Duration
	latency time.Duration
	cache   bool
	healthy plan.Fact

	// All below is guarded by estate.mu.
	state     plan.State
	until     time.Time // with Starting and Stopping: when it will have settled
	protected bool
	dirty     int64 // bytes, as of the last settle outside a flush
	flushFrom time.Time
	flushTill time.Time // zero: no flush is under way
	faults    map[plan.Verb]Fault
	breakage  Breakage
	changed   chan struct{} // closed and replaced at each change
}

// Fail makes a verb misbehave from now on; None mends it.
func (n *Node) Fail(v plan.Verb, f Fault) {
	n.locked(func() { n.faults[v] = f })
}

// Break breaks the node as a whole; Whole mends it.
func (n *Node) Break(b Breakage) {
	n.locked(func() { n.breakage = b })
}

// Set puts the node into a state, at once, as by a hand from outside: somebody presses its power button.
func (n *Node) Set(s plan.State) {
	n.locked(func() { n.state, n.until = s, time.Time{} })
}

// SetHealthy sets what a probe says of its health while it is on.
func (n *Node) SetHealthy(f plan.Fact) {
	n.locked(func() { n.healthy = f })
}

// State tells the truth.
func (n *Node) State() plan.State { return n.Truth().State }

// Truth tells all of the truth, whatever is broken.
func (n *Node) Truth() plan.Observation {
	n.estate.mu.Lock()
	defer n.estate.mu.Unlock()
	n.settle()
	return n.observe()
}

func (n *Node) locked(change func()) {
	n.estate.mu.Lock()
	defer n.estate.mu.Unlock()
	n.settle()
	change()
	n.tell()
}

// tell wakes the watches. The estate is locked.
func (n *Node) tell() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// settle brings the state up to now. The estate is locked.
func (n *Node) settle() {
	now := n.estate.now()
	if !n.flushTill.IsZero() && !now.Before(n.flushTill) {
		n.dirty, n.flushTill = 0, time.Time{}
	}
	if n.until.IsZero() || now.Before(n.until) {
		return
	}
	n.until = time.Time{}
	switch n.state {
	case plan.Stopping:
		n.state = plan.Off
	case plan.Starting:
		n.state = plan.On
	default: // it has settled
	}
}

// observe tells what a working probe sees. The estate is locked and settled.
func (n *Node) observe() plan.Observation {
	seen := plan.Observation{State: n.state, Detail: "fake " + n.state.String()}
	if n.state == plan.On {
		seen.Healthy = n.healthy
	}
	if n.cache {
		seen.Protected, seen.Dirty = plan.FactOf(n.protected), n.dirty
		if !n.flushTill.IsZero() {
			whole := n.flushTill.Sub(n.flushFrom).Seconds()
			seen.Dirty = max(1, int64(float64(n.dirty)*n.flushTill.Sub(n.estate.now()).Seconds()/whole))
		}
		seen.Clean = plan.FactOf(seen.Dirty == 0)
	}
	return seen
}

// reach waits out the latency and reports whether the node can be asked.
func (n *Node) reach(ctx context.Context, what string) error {
	if err := wait(ctx, n.latency); err != nil {
		return err
	}
	n.estate.mu.Lock()
	b := n.breakage
	n.estate.mu.Unlock()
	switch b {
	case Silent:
		return fmt.Errorf("cannot %s %q: %w", what, n.id, adapter.ErrUnreachable)
	case Vanished:
		return fmt.Errorf("cannot %s %q: %w", what, n.id, adapter.ErrGone)
	case Frozen:
		<-ctx.Done()
		return fmt.Errorf("cannot %s %q: no answer: %w", what, n.id, context.Cause(ctx))
	default:
		return nil
	}
}

// Probe tells the state as a real adapter would.
func (n *Node) Probe(ctx context.Context) (plan.Observation, error) {
	err := n.reach(ctx, "probe")
	n.estate.mu.Lock()
	defer n.estate.mu.Unlock()
	switch {
	case err == nil:
		n.settle()
		return n.observe(), nil
	case n.breakage == Silent && ctx.Err() == nil:
		return plan.Observation{State: plan.Unreachable, Detail: "no answer to the connection"}, nil
	case n.breakage == Vanished && ctx.Err() == nil:
		return plan.Observation{State: plan.Gone, Detail: "it no longer exists"}, nil
	}
	return plan.Observation{}, err
}

// Do carries out a verb, as far as its faults let it.
func (n *Node) Do(ctx context.Context, do adapter.Command) error {
	if err := n.reach(ctx, do.Verb.String()); err != nil {
		return err
	}
	fault, err := n.apply(do.Verb)
	if err != nil {
		return fmt.Errorf("cannot %s %q: %w", do.Verb, n.id, err)
	}
	if fault == Hang || fault == LoseAnswer {
		<-ctx.Done()
		return fmt.Errorf("cannot %s %q: no answer: %w", do.Verb, n.id, context.Cause(ctx))
	}
	return nil
}

func (n *Node) apply(v plan.Verb) (Fault, error) {
	n.estate.mu.Lock()
	defer n.estate.mu.Unlock()
	n.settle()
	n.estate.calls = append(n.estate.calls, Call{At: n.estate.now(), Node: n.id, Verb: v, Was: n.state})
	if !n.can.Has(v) {
		return None, fmt.Errorf("it has no such verb: %w", adapter.ErrRefused)
	}
	switch f := n.faults[v]; f {
	case Refuse:
		return f, adapter.ErrRefused
	case Busy:
		return f, adapter.ErrBusy
	case Hang, Ignore:
		return f, nil
	default: // it is carried out, heard or not
	}
	n.carryOut(v)
	n.settle()
	n.tell()
	return n.faults[v], nil
}

func (n *Node) carryOut(v plan.Verb) {
	now, takes := n.estate.now(), n.takes[v]
	switch v {
	case plan.Stop, plan.Cut:
		if n.state == plan.On || n.state == plan.Starting {
			n.state, n.until = plan.Stopping, now.Add(takes)
		}
	case plan.Force:
		if n.state != plan.Off {
			n.state, n.until = plan.Stopping, now.Add(takes)
		}
	case plan.Start:
		if n.state == plan.Off || n.state == plan.Stopping {
			n.state, n.until = plan.Starting, now.Add(takes)
		}
	case plan.Protect:
		n.protected = true
	case plan.Unprotect:
		n.protected = false
	case plan.Flush:
		if n.dirty > 0 && n.flushTill.IsZero() {
			n.flushFrom, n.flushTill = now, now.Add(takes)
		}
	case plan.Discharge, plan.EndDischarge: // it has no battery
	}
}

// Watch tells each change as it happens. A broken node breaks the watch.
func (n *Node) Watch(ctx context.Context, seen func(plan.Observation)) error {
	var last plan.Observation
	for first := true; ; first = false {
		n.estate.mu.Lock()
		n.settle()
		o, changed, b, next := n.observe(), n.changed, n.breakage, n.next()
		n.estate.mu.Unlock()
		if b != Whole {
			return fmt.Errorf("the watch of %q broke: %w", n.id, adapter.ErrUnreachable)
		}
		if first || o != last {
			seen(o)
			last = o
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// next tells how long nothing will change by itself. The estate is locked.
func (n *Node) next() time.Duration {
	next := time.Hour
	for _, at := range []time.Time{n.until, n.flushTill} {
		if !at.IsZero() {
			next = min(next, max(at.Sub(n.estate.now()), 0))
		}
	}
	return next
}

func wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
