package wake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// dischargeTime is how long an outlet rests between off and on, so that a power supply has lost its charge and what it
// feeds begins anew.
const dischargeTime = 10 * time.Second

// backWithin is how long a cycle that was broken off may still take to turn its outlets on again.
const backWithin = 5 * time.Second

// fed is a node that only its power brings back, fed by outlets of a PDU. A Start turns on the outlets that are off.
// Where they are on and the node is off, it turns them off, lets them rest, and turns them on again: then a machine that
// was shut down starts with its power.
//
// A node that does not answer may be booting, and a boot is not to be cut: with its outlets on it is left alone by the
// first Start, and cycled by the next one, which comes when it was not up in its time.
type fed struct {
	inner   adapter.Node
	id      string // of the node
	name    string // of the PDU's connection
	pdu     adapter.PDU
	outlets []int
	rest    time.Duration

	mu     sync.Mutex
	waited bool // a Start has given it its time since it was last seen to be on
}

func (f *fed) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := f.inner.Probe(ctx)
	if err == nil && seen.State == plan.On {
		f.wait(false)
	}
	return seen, err
}

func (f *fed) Do(ctx context.Context, do adapter.Command) error {
	if do.Verb != plan.Start {
		return f.inner.Do(ctx, do)
	}
	if err := f.start(ctx); err != nil {
		return fmt.Errorf("cannot wake %q by its outlets of %q: %w", f.id, f.name, err)
	}
	return nil
}

func (f *fed) start(ctx context.Context) error {
	dark := false
	for _, outlet := range f.outlets {
		seen, err := f.pdu.Outlet(ctx, outlet)
		if err != nil {
			return err
		}
		dark = dark || seen.State != plan.On
	}
	if dark {
		f.wait(true)
		return f.turn(ctx, true)
	}
	own, cancel := reach.Share(ctx, firstShare)
	seen, err := f.inner.Probe(own)
	cancel()
	switch {
	case err == nil && (seen.State == plan.On || seen.State == plan.Starting):
		return nil
	case err == nil && seen.State == plan.Stopping: // when it is silent next, it may be unmounting: its time begins then
		return fmt.Errorf("it is still on its way down: %w", adapter.ErrBusy)
	case f.wait(true) && err == nil && seen.State == plan.Unreachable, err == nil && seen.State == plan.Off:
		return f.cycle(ctx)
	}
	return nil // what refuses a connection, or a login, runs: it may be replaying its log
}

// wait notes whether a Start has given the node its time, and tells what was noted before.
func (f *fed) wait(now bool) (before bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.waited = f.waited, now
	return before
}

// cycle takes the node's power away and gives it back. Once the outlets are off they are turned on again, whatever
// becomes of ctx.
func (f *fed) cycle(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < f.rest {
		return fmt.Errorf("turning its outlets off and on takes %s, longer than there is time for: %w",
			english.Span(f.rest), adapter.ErrBusy)
	}
	off := f.turn(ctx, false)
	if off == nil {
		timer := time.NewTimer(f.rest)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	back := ctx
	if ctx.Err() != nil || off != nil {
		var cancel context.CancelFunc
		back, cancel = context.WithTimeout(context.WithoutCancel(ctx), backWithin)
		defer cancel()
	}
	return errors.Join(off, f.turn(back, true))
}

// turn switches all outlets and reads them back.
func (f *fed) turn(ctx context.Context, on bool) error {
	for _, outlet := range f.outlets {
		if err := f.pdu.Switch(ctx, outlet, on); err != nil {
			return err
		}
	}
	want := plan.Off
	if on {
		want = plan.On
	}
	for _, outlet := range f.outlets {
		if err := f.await(ctx, outlet, want); err != nil {
			return err
		}
	}
	return nil
}

// await reads an outlet back until it is as it should be: a relay takes its time.
func (f *fed) await(ctx context.Context, outlet int, want plan.State) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		seen, err := f.pdu.Outlet(ctx, outlet)
		if err != nil || seen.State == want {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("outlet %d was switched %s but reads %s: %w", outlet, want, seen.State, context.Cause(ctx))
		}
	}
}
