// Package wake starts a node by something else than its own system: a BMC, the outlets of a PDU, or Wake-on-LAN.
package wake

import (
	"context"
	"fmt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/wol"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// With makes a node start as its up.wake says:
//
//   - by its BMC, which also forces it off where the node's own system does not, and is asked for a second proof of what
//     the node's own system says of its being off (see powered);
//   - by the outlets of a PDU (see fed);
//   - by Wake-on-LAN: all other verbs, and the probe, are its own adapter's.
//
// A node that has no wake, or starts when its power comes back, stays as it is.
func With(n adapter.Node, d schema.Node, conns func(name string) (adapter.Conn, error)) (adapter.Node, error) {
	w := d.Wake
	if w == nil {
		return n, nil
	}
	if err := w.Check(); err != nil {
		return nil, fmt.Errorf("cannot use up.wake: %w", err)
	}
	switch {
	case w.MAC != "":
		if _, err := wol.Packet(w.MAC); err != nil {
			return nil, fmt.Errorf("cannot use up.wake: %w", err)
		}
		return decorate.WithWatch(woken{n, func(ctx context.Context) error {
			if err := wol.Send(ctx, w.MAC, w.Broadcast); err != nil {
				return fmt.Errorf("cannot wake %q: %w: %w", d.ID, adapter.ErrUnreachable, err)
			}
			return nil
		}}, n), nil
	case w.Connection() != "":
		conn, err := conns(w.Connection())
		if err != nil {
			return nil, fmt.Errorf("cannot use up.wake: %w", err)
		}
		return wakeBy(n, d, conn)
	}
	return n, nil
}

// wakeBy makes a node start by what a connection can do.
func wakeBy(n adapter.Node, d schema.Node, conn adapter.Conn) (adapter.Node, error) {
	name := d.Wake.Connection()
	switch c := conn.(type) {
	case adapter.Powered:
		p := &powered{inner: n, id: d.ID, name: name, bmc: c}
		if w, ok := n.(adapter.Watcher); ok {
			return decorate.Watched{Node: p, Watcher: poweredWatch{p, w}}, nil
		}
		return p, nil
	case adapter.PDU:
		return decorate.WithWatch(&fed{inner: n, id: d.ID, name: name, pdu: c, outlets: d.Wake.Outlets, rest: dischargeTime}, n), nil
	case adapter.Waker:
		return decorate.WithWatch(woken{n, func(ctx context.Context) error {
			if err := c.PowerOn(ctx); err != nil {
				return fmt.Errorf("cannot wake %q through %q: %w", d.ID, name, err)
			}
			return nil
		}}, n), nil
	}
	return nil, fmt.Errorf("cannot use up.wake: connection %q cannot power on a machine", name)
}

// woken is a node with another way to start.
type woken struct {
	inner adapter.Node
	wake  func(context.Context) error
}

func (w woken) Probe(ctx context.Context) (plan.Observation, error) { return w.inner.Probe(ctx) }

func (w woken) Do(ctx context.Context, do adapter.Command) error {
	if do.Verb == plan.Start {
		return w.wake(ctx)
	}
	return w.inner.Do(ctx, do)
}

// firstShare of the time is for the first of two questions.
const firstShare = 0.6
