package vspheresim

import (
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// maxUpdates is how many objects one answer carries, as vCenter does; the rest follows in further answers.
const maxUpdates = 100

// collector replaces the simulator's PropertyCollector, whose WaitForUpdatesEx reads every object of every filter
// again for each change anywhere: quadratic, minutes for a thousand VMs. This one reads what changed.
//
// The simulator makes one per session from the zero value, so it has no constructor.
type collector struct {
	simulator.PropertyCollector

	mu      sync.Mutex
	version int
	known   map[types.ManagedObjectReference]contents // by filter; nil before the first wait
	changed map[types.ManagedObjectReference]bool     // objects to be read again
	removed map[types.ManagedObjectReference]bool     // those among them that may still be found, and are gone
	whole   bool                                      // the filters' selections are to be made again
	pending []types.PropertyFilterUpdate              // one object each, not yet handed out
	wake    chan struct{}
	cancel  chan struct{}
}

// contents is what the client was told of a filter's objects.
type contents map[types.ManagedObjectReference]map[string]any

func (c *collector) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	made := new(collector)
	made.Self.Type = "PropertyCollector"
	return &methods.CreatePropertyCollectorBody{Res: &types.CreatePropertyCollectorResponse{
		Returnval: ctx.Session.Put(made).Reference(),
	}}
}

func (c *collector) DestroyPropertyCollector(ctx *simulator.Context, r *types.DestroyPropertyCollector) soap.HasFault {
	c.stop()
	ctx.Map.RemoveHandler(c)
	return c.PropertyCollector.DestroyPropertyCollector(ctx, r)
}

func (c *collector) CancelWaitForUpdates(*types.CancelWaitForUpdates) soap.HasFault {
	c.stop()
	return &methods.CancelWaitForUpdatesBody{Res: new(types.CancelWaitForUpdatesResponse)}
}

func (c *collector) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		close(c.cancel)
		c.cancel = nil
	}
}

// PutObject, UpdateObject and RemoveObject are called by the simulator with the object's lock held: they only note.
func (c *collector) PutObject(*simulator.Context, mo.Reference) { c.note(nil) }

// UpdateObject notes that o is to be read again.
func (c *collector) UpdateObject(_ *simulator.Context, o mo.Reference, _ []types.PropertyChange) {
	ref := o.Reference()
	c.note(&ref)
}

// RemoveObject notes that the object is gone: it is called before the registry forgets it, so that it may be read once
// more. No reference is given twice.
func (c *collector) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	c.mu.Lock()
	if c.removed != nil {
		c.removed[ref] = true
	}
	c.mu.Unlock()
	c.note(&ref)
}

// note marks an object as changed, or with nil the selections.
func (c *collector) note(ref *types.ManagedObjectReference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return
	}
	if ref == nil {
		c.whole = true
	} else {
		c.changed[*ref] = true
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *collector) WaitForUpdatesEx(ctx *simulator.Context, r *types.WaitForUpdatesEx) soap.HasFault {
	body := new(methods.WaitForUpdatesExBody)
	cancel := make(chan struct{})
	c.mu.Lock()
	first := r.Version == ""
	if first {
		c.known = make(map[types.ManagedObjectReference]contents)
		c.changed = make(map[types.ManagedObjectReference]bool)
		c.removed = make(map[types.ManagedObjectReference]bool)
		c.whole, c.pending = true, nil
		c.wake = make(chan struct{}, 1)
	} else if c.known == nil || r.Version != strconv.Itoa(c.version) {
		c.mu.Unlock()
		body.Fault_ = simulator.Fault("", new(types.InvalidCollectorVersion))
		return body
	}
	c.cancel = cancel
	wake := c.wake
	c.mu.Unlock()
	if first {
		ctx.Map.AddHandler(c)
	}

	var timeout <-chan time.Time
	if r.Options != nil && r.Options.MaxWaitSeconds != nil {
		timer := time.NewTimer(time.Duration(*r.Options.MaxWaitSeconds) * time.Second)
		defer timer.Stop()
		timeout = timer.C
	}
	for {
		if fault := c.gather(ctx); fault != nil {
			body.Fault_ = simulator.Fault("", fault)
			return body
		}
		body.Res = new(types.WaitForUpdatesExResponse)
		if body.Res.Returnval = c.page(first); body.Res.Returnval != nil {
			return body
		}
		select {
		case <-wake:
		case <-timeout:
			return body
		case <-cancel:
			return c.canceled()
		case <-closing(ctx):
			return c.canceled()
		}
	}
}

func (c *collector) canceled() soap.HasFault {
	return &methods.WaitForUpdatesExBody{Fault_: simulator.Fault("", new(types.RequestCanceled))}
}

// gather reads what changed and appends to pending what differs from what the client was told.
func (c *collector) gather(ctx *simulator.Context) types.BaseMethodFault {
	c.mu.Lock()
	changed, whole := c.changed, c.whole
	c.changed, c.whole = make(map[types.ManagedObjectReference]bool), false
	c.mu.Unlock()
	if len(changed) == 0 && !whole {
		return nil
	}
	reading := &ctx.Map.Get(anchorRef).(*anchor).server.reading
	reading.RLock()
	defer reading.RUnlock()
	for _, ref := range c.Filter {
		filter, ok := ctx.Session.Get(ref).(*simulator.PropertyFilter)
		if !ok {
			continue
		}
		again := whole || slices.ContainsFunc(filter.Spec.ObjectSet, func(o types.ObjectSpec) bool {
			return o.SelectSet != nil && changed[o.Obj]
		})
		if err := c.read(ctx, filter, changed, again); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) read(ctx *simulator.Context, filter *simulator.PropertyFilter, changed map[types.ManagedObjectReference]bool,
	again bool,
) types.BaseMethodFault {
	known := c.known[filter.Self]
	if known == nil {
		known = make(contents)
		c.known[filter.Self] = known
	}
	spec := filter.Spec
	spec.ReportMissingObjectsInResults = new(true)
	asked := make(map[types.ManagedObjectReference]bool)
	if again {
		for ref := range known {
			asked[ref] = true
		}
	} else {
		spec.ObjectSet = nil
		for ref := range changed {
			if known[ref] != nil {
				asked[ref] = true
				spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
			}
		}
		if len(asked) == 0 {
			return nil
		}
	}
	res := c.RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{SpecSet: []types.PropertyFilterSpec{spec}})
	if fault := res.Fault(); fault != nil {
		return fault.VimFault().(types.BaseMethodFault)
	}
	emit := func(u types.ObjectUpdate) {
		c.pending = append(c.pending, types.PropertyFilterUpdate{Filter: filter.Self, ObjectSet: []types.ObjectUpdate{u}})
	}
	for _, o := range res.(*methods.RetrievePropertiesExBody).Res.Returnval.Objects {
		if c.isGone(o.Obj) {
			continue
		}
		delete(asked, o.Obj)
		u := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: o.Obj}
		was, ok := known[o.Obj]
		if !ok {
			u.Kind = types.ObjectUpdateKindEnter
		}
		now := make(map[string]any, len(o.PropSet))
		for _, p := range o.PropSet {
			now[p.Name] = p.Val
			if before, ok := was[p.Name]; !ok || !reflect.DeepEqual(before, p.Val) {
				u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
			}
		}
		for name := range was {
			if _, ok := now[name]; !ok {
				u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: name, Op: types.PropertyChangeOpAssign})
			}
		}
		known[o.Obj] = now
		if !ok || len(u.ChangeSet) > 0 {
			emit(u)
		}
	}
	for ref := range asked {
		delete(known, ref)
		emit(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
	}
	return nil
}

func (c *collector) isGone(ref types.ManagedObjectReference) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removed[ref]
}

// page hands out the next part of what is pending. The first answer may be empty, others are nil then.
func (c *collector) page(first bool) *types.UpdateSet {
	n := min(len(c.pending), maxUpdates)
	if n == 0 && !first {
		return nil
	}
	c.mu.Lock()
	c.version++
	set := &types.UpdateSet{Version: strconv.Itoa(c.version), FilterSet: c.pending[:n:n]}
	c.mu.Unlock()
	c.pending = c.pending[n:]
	if len(c.pending) > 0 {
		set.Truncated = new(true)
	}
	return set
}
