package vsphere

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"
)

// largestBatch is how many objects are asked after in one question: so many are answered within a second.
const largestBatch = 1000

// batch is one question about the VMs and hosts that several probes want to know of at the same time. A probe does not
// answer from the watch: what that was told may be a moment old, and no news and no server look the same to it for
// its whole interval.
type batch struct {
	refs  map[ref]struct{}
	done  chan struct{} // closed when what follows is there
	vms   map[ref]vm    // what is moving of them
	hosts map[ref]host
	err   error
}

// fresh asks for an object anew, together with all others that are asked for until the question is sent.
func (c *Conn) fresh(ctx context.Context, r ref) (*batch, error) {
	inv := c.inventory
	inv.mu.Lock()
	if inv.ended {
		inv.mu.Unlock()
		return nil, c.about(errClosed)
	}
	if inv.batch == nil {
		inv.batch = &batch{refs: make(map[ref]struct{}), done: make(chan struct{})}
	}
	b := inv.batch
	b.refs[r] = struct{}{}
	poke(inv.asked)
	inv.mu.Unlock()
	select {
	case <-b.done:
		if b.err != nil {
			return nil, c.about(b.err)
		}
		return b, nil
	case <-ctx.Done():
		return nil, c.about(fmt.Errorf("no answer yet: %w", unreachable(ctx)))
	}
}

// readBatches sends one batch after the other, until ctx ends.
func (c *Conn) readBatches(ctx context.Context) {
	inv := c.inventory
	for {
		select {
		case <-inv.asked:
		case <-ctx.Done():
		}
		inv.mu.Lock()
		b := inv.batch
		inv.batch = nil
		inv.ended = ctx.Err() != nil
		inv.mu.Unlock()
		if b != nil {
			b.err = c.readBatch(ctx, b)
			close(b.done)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (c *Conn) readBatch(ctx context.Context, b *batch) error {
	if ctx.Err() != nil {
		return errClosed
	}
	limited, cancel := context.WithTimeout(ctx, c.pace.wait+c.pace.grace)
	defer cancel()
	spec := types.PropertyFilterSpec{ReportMissingObjectsInResults: new(true)}
	for _, kind := range []string{"VirtualMachine", "HostSystem"} {
		spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: kind, PathSet: moving[kind]})
	}
	for r := range b.refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: r})
	}
	var objects []types.ObjectContent
	err := c.withSession(limited, func(ctx context.Context, s *session) error {
		res, err := property.DefaultCollector(s.Client).RetrieveProperties(within(ctx, largeRoom),
			types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{spec}})
		if err == nil {
			objects = res.Returnval
		}
		return err
	})
	inv := c.inventory
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if err != nil {
		if inv.interrupt != nil && !isFault(err) && ctx.Err() == nil {
			inv.interrupt() // the watch waits on the same server: it is to be mended
		}
		return explainRead(err)
	}
	inv.heard = time.Now()
	b.vms, b.hosts = make(map[ref]vm), make(map[ref]host)
	for _, o := range objects {
		m, h := vm{ref: o.Obj}, host{ref: o.Obj}
		for _, p := range o.PropSet {
			m.set(p.Name, p.Val)
			h.set(p.Name, p.Val)
		}
		if o.Obj.Type == "HostSystem" {
			b.hosts[o.Obj] = h
		} else {
			b.vms[o.Obj] = m
		}
	}
	return nil
}
