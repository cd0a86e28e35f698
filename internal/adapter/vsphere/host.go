package vsphere

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// hostNode is a vsphere.host.
type hostNode struct {
	conns   []*Conn // via, then the host's own
	name    string
	spec    *HostSpec
	checked bool // the runbook has health checks beside the datastores

	mu      sync.Mutex
	wasOn   bool      // it was seen on, or was told to stop: what is called powered off after that may be on its way down
	saidOff time.Time // since when vCenter has been heard to say that it is powered off; zero: it does not
}

// goesDown is how long a host may take from when vCenter calls it powered off until it is. vCenter sets that for what it
// has told to shut down, as soon as the host's agents are gone: "not a certain state", as the API has it
// (HostSystemPowerState), since it may hang and be on.
const goesDown = 3 * time.Minute

// find looks the host up in what the watch of c knows. A host's own agent knows one host, by a name of its own.
func (n *hostNode) find(_ context.Context, c *Conn) (host, error) {
	inv := c.inventory
	inv.mu.Lock()
	defer inv.mu.Unlock()
	var found []host
	for _, h := range inv.tables.hosts {
		if inv.agent || h.name == n.name {
			found = append(found, *h)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0: // nor is one that was removed known to be off
		return host{}, n.unlisted(c, fmt.Sprintf("no host of this name is visible to %q: check the name, and that the account may see it",
			c.spec.Username))
	default:
		return host{}, fmt.Errorf("%w: vCenter has %d hosts of this name", adapter.ErrRefused, len(found))
	}
}

// ask finds the host and asks for its state anew.
func (n *hostNode) ask(ctx context.Context, c *Conn) (host, error) {
	known, err := n.find(ctx, c)
	if err != nil {
		return host{}, err
	}
	b, err := c.fresh(ctx, known.ref)
	if err != nil {
		return host{}, err
	}
	h, ok := b.hosts[known.ref]
	if !ok {
		return host{}, n.unlisted(c, "it was removed from vCenter, and may run on")
	}
	return h, nil
}

// unlisted says why c does not know the host: the next way to it may, if there is one.
func (n *hostNode) unlisted(c *Conn, why string) error {
	if c != n.conns[len(n.conns)-1] {
		return fmt.Errorf("%w: %s", adapter.ErrUnreachable, why)
	}
	return fmt.Errorf("%w: %s", adapter.ErrRefused, why)
}

// direct reports whether c leads to the host itself. Where that was never seen, since nothing has answered yet, more
// than one host through one connection shows that it doesn't.
func (c *Conn) direct() bool {
	c.inventory.mu.Lock()
	defer c.inventory.mu.Unlock()
	return c.inventory.agent || c.inventory.heard.IsZero() && c.hosts.Load() <= 1
}

// Probe reports whether the host answers. No answer is no proof that it is off, except where vCenter says that it was
// put off or into standby.
func (n *hostNode) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := n.look(ctx, n.ask)
	if err == nil && seen.State == plan.On && len(n.spec.Datastores) > 0 {
		n.mounted(ctx, &seen)
	}
	return seen, err
}

// look says what find gives of the host.
func (n *hostNode) look(ctx context.Context, find func(context.Context, *Conn) (host, error)) (plan.Observation, error) {
	var seen plan.Observation
	err := byWays(ctx, n.conns, func(ctx context.Context, c *Conn) error {
		h, err := find(ctx, c)
		if err != nil {
			return err
		}
		now := h.observation(c.direct())
		if n.spec.Maintenance && now.State == plan.On {
			now.Protected = plan.FactOf(h.maintenance)
		}
		if now.State != plan.On && c == n.conns[0] && len(n.conns) > 1 {
			seen = now
			return fmt.Errorf("%w: %s", adapter.ErrUnreachable, now.Detail) // unless it answers itself
		}
		if c != n.conns[0] {
			now.Detail += "; asked through " + c.name
		}
		seen = now
		return nil
	})
	own := ofLastWay(err)
	seen = n.doubt(seen, time.Now())
	switch {
	case err == nil:
		return seen, nil
	case (seen.State == plan.Unreachable || seen.State == plan.Off) && !isSilence(own):
		// Its agents end long before its datastores are unmounted.
		return plan.Observation{State: plan.Unknown, Detail: seen.Detail + "; " + oneLine(own)}, nil
	case seen.Detail != "":
		return seen, nil
	}
	if !errors.Is(err, context.Canceled) && n.conns[len(n.conns)-1].direct() { // it is the host itself that is asked
		if none, ok := reach.Seen(own, false); ok {
			return none, nil
		}
	}
	return plan.Observation{}, fmt.Errorf("cannot probe host %q: %w", n.name, err)
}

// doubt takes a host that was on, and is called powered off, for a silent one until that has been said for long enough.
func (n *hostNode) doubt(seen plan.Observation, now time.Time) plan.Observation {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case seen.State == plan.On:
		n.wasOn, n.saidOff = true, time.Time{}
		return seen
	case seen.State != plan.Off || !n.wasOn:
		return seen
	case n.saidOff.IsZero():
		n.saidOff = now
	}
	if now.Sub(n.saidOff) < max(goesDown, n.spec.OffWhenUnreachable) {
		seen.State = plan.Unreachable
		seen.Detail += ", which it also does of a host that is still on its way down"
	}
	return seen
}

// isSilence reports whether a host that was asked itself said nothing at all: whatever it answers, it runs.
func isSilence(err error) bool {
	seen, ok := reach.Seen(err, false)
	return ok && seen.State == plan.Unreachable
}

// observation says what a host's properties mean.
func (h *host) observation(direct bool) plan.Observation {
	o := plan.Observation{State: plan.On, Detail: "answers"}
	if h.maintenance {
		o.Detail += ", in maintenance mode"
	}
	if h.vsan {
		o.Detail += ", part of a vSAN cluster: not shut down by Ebbtide"
	}
	switch {
	case direct:
	case h.power == types.HostSystemPowerStatePoweredOff:
		o = plan.Observation{State: plan.Off, Detail: "vCenter reports it powered off"}
	case h.power == types.HostSystemPowerStateStandBy:
		o = plan.Observation{State: plan.Off, Detail: "vCenter reports it in standby mode"}
	case h.reach == types.HostSystemConnectionStateConnected:
	case h.reach == types.HostSystemConnectionStateDisconnected:
		o = plan.Observation{State: plan.Unknown, Detail: "someone has disconnected it from vCenter"}
	case h.reach == types.HostSystemConnectionStateNotResponding:
		o = plan.Observation{State: plan.Unreachable, Detail: "not responding, according to vCenter"}
	default:
		o = plan.Observation{State: plan.Unknown, Detail: "its state may not be read by the account"}
	}
	return o
}

// Do shuts the host down: with Stop only when no VM runs on it, with Force whatever runs on it. It enters maintenance
// mode before only if the runbook says so: a host that was shut down in it boots in it, and no VM starts on it until it is
// taken out, which is what Unprotect does.
func (n *hostNode) Do(ctx context.Context, do adapter.Command) error {
	if !hostVerbs(n.spec).Has(do.Verb) {
		return fmt.Errorf("cannot %s host %q: %w: vSphere can only shut a host down", do.Verb, n.name, adapter.ErrRefused)
	}
	off := false // vCenter says so
	err := byWays(ctx, n.conns, func(ctx context.Context, c *Conn) error {
		h, err := n.ask(ctx, c)
		if err != nil {
			return err
		}
		switch o := n.doubt(h.observation(c.direct()), time.Now()); {
		case o.State != plan.On && c == n.conns[0] && len(n.conns) > 1: // vCenter's word may be old: it is asked itself, as for a look
			off = o.State == plan.Off
			return fmt.Errorf("%w: %s", adapter.ErrUnreachable, o.Detail)
		case o.State == plan.Off:
			return nil
		case o.State == plan.Unreachable, h.isDisconnected(c):
			return fmt.Errorf("%w: %s", adapter.ErrUnreachable, o.Detail)
		}
		switch {
		case do.Verb == plan.Unprotect:
			return c.exitMaintenance(ctx, &h)
		case h.vsan:
			return errVSAN
		case do.Verb == plan.Stop:
			running, err := c.runningOn(ctx, h.ref)
			if err != nil {
				return err
			}
			if len(running) > 0 {
				return fmt.Errorf("%w: %s still running on it: %s", adapter.ErrBusy, english.CountAre(len(running), "VM"), english.List(running, 6))
			}
			if n.spec.Maintenance && !h.maintenance {
				return c.enterMaintenance(ctx, &h)
			}
		}
		err = c.do(ctx, func(ctx context.Context, s *session) error {
			_, err := methods.ShutdownHost_Task(ctx, s.Client, &types.ShutdownHost_Task{This: h.ref, Force: true})
			return err
		})
		if c.direct() && lost(ctx, err) { // not vCenter, which may have gone in the middle of it
			return nil // it went down before it could say so
		}
		return explain(err)
	})
	if err == nil || off && isSilence(ofLastWay(err)) {
		return nil
	}
	return fmt.Errorf("cannot %s host %q: %w", do.Verb, n.name, err)
}

// isDisconnected reports whether c leads to a vCenter that has let go of the host: it neither hears of it nor commands it.
func (h *host) isDisconnected(c *Conn) bool {
	return !c.direct() && h.reach == types.HostSystemConnectionStateDisconnected
}

// lost reports whether a connection broke after the request was sent.
func lost(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) &&
		errors.Is(explain(err), errUnanswered)
}

// runningOn lists the VMs that run on a host, asked anew: a shutdown takes them with it. vCLS VMs don't count.
func (c *Conn) runningOn(ctx context.Context, h ref) ([]string, error) {
	objects, err := c.read(ctx, types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj:       h,
			Skip:      new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "HostSystem", Path: "vm"}},
		}},
		PropSet: []types.PropertySpec{{
			Type:    "VirtualMachine",
			PathSet: []string{"name", "runtime.powerState", "config.managedBy", "config.template"},
		}},
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range objects {
		var m vm
		for _, p := range o.PropSet {
			m.set(p.Name, p.Val)
		}
		switch {
		case isVCLS(m.name, m.managedBy), m.power == types.VirtualMachinePowerStatePoweredOff,
			m.power == types.VirtualMachinePowerStateSuspended:
		case m.power == types.VirtualMachinePowerStatePoweredOn:
			names = append(names, m.name)
		default:
			names = append(names, m.name+" (power state not readable)")
		}
	}
	slices.Sort(names)
	return names, nil
}

// Watch tells of changes as vCenter tells of them.
func (n *hostNode) Watch(ctx context.Context, seen func(plan.Observation)) error {
	return watchNode(ctx, n.conns, []string{hostKey}, func(ctx context.Context) (plan.Observation, error) {
		return n.look(ctx, n.find)
	}, seen)
}
