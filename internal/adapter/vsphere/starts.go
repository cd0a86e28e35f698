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
)

// mostStarts is how many VMs one call powers on: so that one that fails as a whole does not hold up many.
const mostStarts = 100

// starts are VMs of one datacenter that are to be powered on by one call.
type starts struct {
	vms      []ref
	done     chan struct{} // closed when what follows is there
	task     ref
	err      error
	together bool // the task is that of several

	mu     sync.Mutex
	asked  time.Time // when the task was last looked at
	failed map[ref]error
}

// errAlone says that a VM is to be powered on by a call of its own.
var errAlone = errors.New("the call for several VMs was refused as a whole")

// powerOn powers a VM on together with all others of its datacenter that are waiting. Where the task is that of several,
// with has them; a server that takes no such call is given one for each.
func (c *Conn) powerOn(ctx context.Context, vm ref) (task ref, with *starts, err error) {
	if dc := c.datacenterOf(vm); dc != (ref{}) {
		b, err := c.join(ctx, dc, vm)
		switch {
		case err == nil && b.together:
			return b.task, b, nil
		case !errors.Is(err, errAlone):
			return b.task, nil, err
		}
	}
	task, err = c.powerOnAlone(ctx, vm)
	return task, nil, err
}

func (c *Conn) powerOnAlone(ctx context.Context, vm ref) (task ref, err error) {
	err = c.do(ctx, func(ctx context.Context, s *session) error {
		res, err := methods.PowerOnVM_Task(ctx, s.Client, &types.PowerOnVM_Task{This: vm})
		if err == nil {
			task = res.Returnval
		}
		return err
	})
	return task, err
}

// datacenterOf finds the datacenter that a VM is in; the zero ref if it can't be told, and on a host, which takes no
// call for several VMs.
func (c *Conn) datacenterOf(vm ref) ref {
	inv := c.inventory
	inv.mu.Lock()
	defer inv.mu.Unlock()
	m := inv.tables.vms[vm]
	if m == nil || inv.agent {
		return ref{}
	}
	at := m.parent
	for range maxDepth {
		p := inv.tables.places[at]
		if p == nil || at.Type == "Datacenter" {
			break
		}
		at = p.parent
	}
	if at.Type != "Datacenter" {
		return ref{}
	}
	return at
}

// join puts a VM among those that are to be powered on next, and waits until the call for them was made; what it gives with
// an error of ctx is empty. Who gives up before that is taken out again.
func (c *Conn) join(ctx context.Context, dc, vm ref) (*starts, error) {
	inv := c.inventory
	inv.mu.Lock()
	if inv.ended {
		inv.mu.Unlock()
		return new(starts), errClosed
	}
	all := inv.starts[dc]
	if len(all) == 0 || len(all[len(all)-1].vms) >= mostStarts {
		all = append(all, &starts{done: make(chan struct{})})
		inv.starts[dc] = all
	}
	b := all[len(all)-1]
	b.vms = append(b.vms, vm)
	poke(inv.toStart)
	inv.mu.Unlock()
	select {
	case <-b.done:
		return b, b.err
	case <-ctx.Done():
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if i := slices.Index(b.vms, vm); i >= 0 && slices.Contains(inv.starts[dc], b) {
		b.vms = slices.Delete(b.vms, i, i+1)
		return new(starts), unreachable(ctx)
	}
	return new(starts), ctx.Err() // it is being sent
}

// sendStarts sends one call after the other, until ctx ends: while one is under way those that come gather for the next.
func (c *Conn) sendStarts(ctx context.Context) {
	inv := c.inventory
	for {
		select {
		case <-inv.toStart:
		case <-ctx.Done():
		}
		for dc, b := c.nextStarts(); b != nil; dc, b = c.nextStarts() {
			switch {
			case ctx.Err() != nil:
				b.err = errClosed
			case len(b.vms) == 1:
				b.task, b.err = c.powerOnAlone(ctx, b.vms[0])
			case len(b.vms) > 1:
				b.err = c.send(ctx, dc, b)
			}
			close(b.done)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// nextStarts takes what is to be sent next; nil if there is nothing.
func (c *Conn) nextStarts() (dc ref, b *starts) {
	inv := c.inventory
	inv.mu.Lock()
	defer inv.mu.Unlock()
	for dc, all := range inv.starts {
		if inv.starts[dc] = all[1:]; len(all) == 1 {
			delete(inv.starts, dc)
		}
		return dc, all[0]
	}
	return ref{}, nil
}

// send makes the call. The automation level is given with it: DRS that is manual, as it is in an outage, would only
// recommend, and its task would call that a success.
func (c *Conn) send(ctx context.Context, dc ref, b *starts) error {
	err := c.do(ctx, func(ctx context.Context, s *session) error {
		res, err := methods.PowerOnMultiVM_Task(ctx, s.Client,
			&types.PowerOnMultiVM_Task{This: dc, Vm: b.vms, Option: []types.BaseOptionValue{
				&types.OptionValue{
					Key:   string(types.ClusterPowerOnVmOptionOverrideAutomationLevel),
					Value: string(types.DrsBehaviorFullyAutomated),
				},
			}})
		if err == nil {
			b.task = res.Returnval
		}
		return err
	})
	b.together, b.asked = err == nil, time.Now()
	if isFault(err) && !expired(err) && !isKind(err, &types.NoPermission{}) {
		return fmt.Errorf("%w: %w", errAlone, err) // one VM that is gone spoils it for the others
	}
	return err
}

// failureOf tells how one of the VMs fared; nil if it runs, has succeeded or can't be asked. It is asked for all of them at
// once, and not again before a while has passed.
func (b *starts) failureOf(ctx context.Context, c *Conn, vm ref) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.asked) > c.pace.retry {
		b.asked = time.Now()
		if failed := c.failures(ctx, b); failed != nil {
			b.failed = failed
		}
	}
	return b.failed[vm]
}

// failures reads the task of several VMs, and then their own tasks.
func (c *Conn) failures(ctx context.Context, b *starts) map[ref]error {
	failed := make(map[ref]error)
	result, err := c.result(ctx, b.task)
	if err != nil {
		for _, vm := range b.vms {
			failed[vm] = err
		}
		return failed
	}
	all, ok := result.(powerOns)
	if !ok {
		return nil // it still runs
	}
	if len(all.Recommendations) > 0 {
		for _, vm := range b.vms {
			failed[vm] = errors.New("DRS only recommends powering it on: apply the recommendation in the client")
		}
	}
	for _, n := range all.NotAttempted {
		failed[n.VM] = errors.New(n.Fault.LocalizedMessage)
	}
	tasks, of := []ref(nil), make(map[ref]ref)
	for _, a := range all.Attempted {
		if delete(failed, a.VM); a.Task != nil {
			tasks, of[*a.Task] = append(tasks, *a.Task), a.VM
		}
	}
	err = c.readAll(ctx, "Task", tasks, []string{"info.error"}, func(o types.ObjectContent) {
		for _, p := range o.PropSet {
			if f, ok := p.Val.(types.LocalizedMethodFault); ok {
				failed[of[o.Obj]] = errors.New(f.LocalizedMessage)
			}
		}
	})
	if err != nil {
		return nil
	}
	return failed
}
