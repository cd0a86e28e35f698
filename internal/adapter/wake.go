package adapter

import (
	"context"
	"errors"
	"fmt"

	"ebbtide/internal/adapter/wol"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

type woken struct {
	inner Node
	wake  func(context.Context) error
}

// Wake makes a node start as its up.wake says: by its BMC or by Wake-on-LAN. All other verbs, and the probe, are its
// own adapter's. A node that has no wake, or starts when its power comes back, stays as it is.
func Wake(n Node, d runbook.NodeDecl, conns func(name string) (Conn, error)) (Node, error) {
	if d.Wake == nil {
		return n, nil
	}
	wake, err := waking(d, conns)
	if wake == nil || err != nil {
		return n, err
	}
	return keepWatch(woken{n, wake}, n), nil
}

func waking(d runbook.NodeDecl, conns func(name string) (Conn, error)) (func(context.Context) error, error) {
	w := d.Wake
	bmc := w.Redfish + w.IPMI
	switch {
	case w.Redfish != "" && w.IPMI != "", w.MAC != "" && bmc != "":
		return nil, errors.New("up.wake is one of mac, redfish, ipmi")
	case w.MAC != "":
		if _, err := wol.Packet(w.MAC); err != nil {
			return nil, fmt.Errorf("cannot use up.wake: %w", err)
		}
		return func(ctx context.Context) error {
			if err := wol.Send(ctx, w.MAC, w.Broadcast); err != nil {
				return fmt.Errorf("cannot wake %q: %w: %w", d.ID, ErrUnreachable, err)
			}
			return nil
		}, nil
	case bmc != "":
		conn, err := conns(bmc)
		if err != nil {
			return nil, fmt.Errorf("cannot use up.wake: %w", err)
		}
		waker, ok := conn.(Waker)
		if !ok {
			return nil, fmt.Errorf("cannot use up.wake: connection %q cannot power on a machine", bmc)
		}
		return func(ctx context.Context) error {
			if err := waker.PowerOn(ctx); err != nil {
				return fmt.Errorf("cannot wake %q through %q: %w", d.ID, bmc, err)
			}
			return nil
		}, nil
	}
	return nil, nil
}

func (w woken) Probe(ctx context.Context) (plan.Observation, error) { return w.inner.Probe(ctx) }

func (w woken) Do(ctx context.Context, v plan.Verb) error {
	if v == plan.Start {
		return w.wake(ctx)
	}
	return w.inner.Do(ctx, v)
}
