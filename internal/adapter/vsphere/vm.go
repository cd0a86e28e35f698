package vsphere

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// vmNode is a vsphere.vm, or a member of a vsphere.vms.
type vmNode struct {
	conns []*Conn // via, then fallbacks
	name  string  // or path; "" if uuid is given
	uuid  string

	mu    sync.Mutex
	known string // instance UUID that name last stood for
	task  *power // the last one given
}

// power is a power operation under way.
type power struct {
	conn  *Conn
	task  ref
	vm    ref
	with  *starts // all that the task powers on; nil: this VM alone
	verb  plan.Verb
	asked time.Time // when it was last looked at
	err   error     // how it failed
}

func newVM(conns []*Conn, name, uuid string) *vmNode {
	return &vmNode{conns: conns, name: name, uuid: strings.ToLower(uuid)}
}

func (n *vmNode) String() string {
	if n.name != "" {
		return fmt.Sprintf("VM %q", n.name)
	}
	return fmt.Sprintf("VM with instance UUID %s", n.uuid)
}

// Probe tells the VM's power state, with the state of its Tools and a pending question as detail.
func (n *vmNode) Probe(ctx context.Context) (plan.Observation, error) {
	return n.look(ctx, n.ask)
}

// look says what find gives of the VM.
func (n *vmNode) look(ctx context.Context, find func(context.Context, *Conn) (*sight, error)) (plan.Observation, error) {
	var seen plan.Observation
	err := byWays(ctx, n.conns, func(ctx context.Context, c *Conn) error {
		m, err := find(ctx, c)
		if err != nil {
			return err
		}
		if m.gone {
			seen = plan.Observation{State: plan.Gone, Detail: "no longer in the inventory"}
			return errLeft
		}
		now := m.observation(m.host)
		if now.State == plan.Unreachable && c == n.conns[0] && len(n.conns) > 1 {
			seen = now
			return fmt.Errorf("%w: %s", adapter.ErrUnreachable, now.Detail) // the next way may know more
		}
		if c != n.conns[0] {
			now.Detail += "; asked through " + c.name
		}
		if failure := n.followUp(ctx, now.State); failure != "" {
			now.Detail += "; " + failure
		}
		seen = now
		return nil
	})
	if seen.State == plan.Unreachable || seen.State == plan.Gone {
		return seen, nil // so vCenter says, and no other way knew more
	}
	if err != nil {
		return plan.Observation{}, fmt.Errorf("cannot probe %s: %w", n, err)
	}
	return seen, nil
}

// observation says what a VM's properties mean.
func (m *vm) observation(host string) plan.Observation {
	detail := ""
	switch m.reach {
	case types.VirtualMachineConnectionStateConnected, "":
	case types.VirtualMachineConnectionStateDisconnected:
		detail = fmt.Sprintf("host %q is not responding to vCenter", host)
	default:
		detail = "the VM is " + string(m.reach) + " to its host"
	}
	var o plan.Observation
	switch m.power {
	case types.VirtualMachinePowerStatePoweredOn:
		o = plan.Observation{State: plan.On, Detail: "powered on"}
		if m.tools != types.VirtualMachineToolsRunningStatusGuestToolsRunning {
			o.Detail += ", VMware Tools not running"
			o.Caution = "VMware Tools are not running: it can't be shut down, only powered off"
		}
		if detail != "" {
			o.State = plan.Unreachable
		}
	case types.VirtualMachinePowerStatePoweredOff:
		o = plan.Observation{State: plan.Off, Detail: "powered off"}
	case types.VirtualMachinePowerStateSuspended:
		o = plan.Observation{State: plan.Off, Detail: "suspended"}
	default:
		o = plan.Observation{State: plan.Unknown, Detail: "its power state may not be read by the account"}
	}
	if m.template {
		o.Detail = "a template"
	}
	if detail != "" {
		o.Detail += " when last heard of: " + detail
	}
	if m.question != "" {
		o.Caution = "it is waiting for an answer, and does nothing else until it gets one"
		o.Detail += ", waiting for an answer: " + strings.Join(strings.Fields(m.question), " ")
	}
	return o
}

// Do shuts the guest down, powers the VM off or powers it on.
func (n *vmNode) Do(ctx context.Context, do adapter.Command) error {
	if !vmVerbs.Has(do.Verb) {
		return fmt.Errorf("cannot %s %s: %w: a VM has no such verb", do.Verb, n, adapter.ErrRefused)
	}
	err := byWays(ctx, n.conns, func(ctx context.Context, c *Conn) error {
		m, err := n.find(ctx, c)
		if err == nil && !m.gone && (m.holds(do.Verb) || do.Verb == plan.Force) {
			// Nothing would be sent that shows whether it still holds; and one that was suspended a moment ago would lose
			// its memory.
			m, err = n.ask(ctx, c)
		}
		if err != nil {
			return err
		}
		if m.gone {
			return errLeft
		}
		return n.give(ctx, c, m, do.Verb)
	})
	if err != nil {
		return fmt.Errorf("cannot %s %s: %w", do.Verb, n, err)
	}
	return nil
}

// give sends the command for a verb, unless it holds already.
func (n *vmNode) give(ctx context.Context, c *Conn, m *sight, v plan.Verb) error {
	switch o := m.observation(m.host); {
	case o.State == plan.Unreachable:
		return fmt.Errorf("%w: %s", adapter.ErrUnreachable, o.Detail)
	case m.holds(v):
		return nil
	case m.secondary:
		return fmt.Errorf("%w: it is the secondary of a fault-tolerant VM: it goes and comes with its primary", adapter.ErrRefused)
	case v == plan.Start && m.template:
		return fmt.Errorf("%w: it is a template", adapter.ErrRefused)
	case v == plan.Start && m.power == types.VirtualMachinePowerStateSuspended:
		return fmt.Errorf("%w: it is suspended, not by Ebbtide: resume it by hand", adapter.ErrRefused)
	case v == plan.Start && m.closed:
		return fmt.Errorf("%w: its host %q is in maintenance mode", adapter.ErrBusy, m.host)
	}
	given, err := c.order(ctx, m.ref, v)
	if held(err, v) {
		return nil
	}
	if err = explain(err); err != nil {
		if errors.Is(err, adapter.ErrBusy) && m.question != "" {
			err = fmt.Errorf("%w; the VM asks: %q", err, m.question)
		}
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.task = given
	return nil
}

// order sends the command for a verb and gives the operation that it begins, if there is one to be asked after. The
// error is not yet explained.
func (c *Conn) order(ctx context.Context, vm ref, v plan.Verb) (*power, error) {
	given := &power{conn: c, vm: vm, verb: v, asked: time.Now()}
	var err error
	if v == plan.Start {
		given.task, given.with, err = c.powerOn(ctx, vm)
		return given, err
	}
	err = c.do(ctx, func(ctx context.Context, s *session) error {
		if v == plan.Stop {
			given = nil
			_, err := methods.ShutdownGuest(ctx, s.Client, &types.ShutdownGuest{This: vm})
			return err
		}
		res, err := methods.PowerOffVM_Task(ctx, s.Client, &types.PowerOffVM_Task{This: vm})
		if err == nil {
			given.task = res.Returnval
		}
		return err
	})
	return given, err
}

// failure tells how an operation failed, as far as that is known.
func (p *power) failure(ctx context.Context) error {
	if p.with != nil {
		return p.with.failureOf(ctx, p.conn, p.vm)
	}
	return p.conn.failure(ctx, p.task)
}

// holds reports whether a VM is where a verb leads.
func (m *vm) holds(v plan.Verb) bool {
	switch m.power {
	case types.VirtualMachinePowerStatePoweredOn:
		return v == plan.Start
	case types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended:
		return v != plan.Start
	default:
		return false
	}
}

// held reports whether the server refused a verb because it holds already.
func held(err error, v plan.Verb) bool {
	var f *types.InvalidPowerState
	_, ok := fault.As(err, &f)
	return ok && (&vm{power: f.ExistingState}).holds(v)
}

// followUp says how the last power operation failed, if the VM isn't where that was to lead. vSphere accepts an
// operation and tells only its task what was wrong.
func (n *vmNode) followUp(ctx context.Context, state plan.State) string {
	n.mu.Lock()
	p := n.task
	if p != nil && (p.verb == plan.Start && state == plan.On || p.verb == plan.Force && state == plan.Off) {
		p, n.task = nil, nil
	}
	look := p != nil && p.err == nil && time.Since(p.asked) > p.conn.pace.retry
	if look {
		p.asked = time.Now()
	}
	n.mu.Unlock()
	if p == nil {
		return ""
	}
	if look {
		err := p.failure(ctx)
		n.mu.Lock()
		p.err = err
		n.mu.Unlock()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.err == nil {
		return ""
	}
	return fmt.Sprintf("%s failed: %s", p.verb, oneLine(p.err))
}

// Watch tells of changes as vCenter tells of them.
func (n *vmNode) Watch(ctx context.Context, seen func(plan.Observation)) error {
	key := uuidKey(n.uuid)
	if n.name != "" {
		key = nameKey(baseName(n.name))
	}
	return watchNode(ctx, n.conns, []string{key}, func(ctx context.Context) (plan.Observation, error) {
		return n.look(ctx, n.find)
	}, seen)
}
