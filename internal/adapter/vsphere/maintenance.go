package vsphere

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ebbtide/internal/adapter"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// enterMaintenance lets a host enter maintenance mode, which ends only when nothing runs on it. It always gives an
// error: what was to be done is to be tried again then.
func (c *Conn) enterMaintenance(ctx context.Context, h *host) error {
	err := c.do(ctx, func(ctx context.Context, s *session) error {
		_, err := methods.EnterMaintenanceMode_Task(ctx, s.Client,
			&types.EnterMaintenanceMode_Task{This: h.ref, EvacuatePoweredOffVms: new(false)})
		return err
	})
	return cmp.Or(explain(err), fmt.Errorf("%w: it is entering maintenance mode", adapter.ErrBusy))
}

// exitMaintenance takes a host out of maintenance mode.
func (c *Conn) exitMaintenance(ctx context.Context, h *host) error {
	if !h.maintenance {
		return nil
	}
	return explain(c.do(ctx, func(ctx context.Context, s *session) error {
		_, err := methods.ExitMaintenanceMode_Task(ctx, s.Client, &types.ExitMaintenanceMode_Task{This: h.ref})
		return err
	}))
}

// mounted looks whether a host that is on has mounted all datastores that the runbook names.
func (n *hostNode) mounted(ctx context.Context, seen *plan.Observation) {
	var missing []string
	err := byWays(ctx, n.conns, func(ctx context.Context, c *Conn) error {
		h, err := n.find(ctx, c)
		if err != nil {
			return err
		}
		has, err := c.datastoresOf(ctx, h.ref)
		if err != nil {
			return err
		}
		missing = slices.DeleteFunc(slices.Clone(n.spec.Datastores), func(name string) bool { return has[name] })
		return nil
	})
	switch {
	case err != nil:
		seen.Detail += "; its datastores can't be queried: " + oneLine(err)
	case len(missing) > 0:
		seen.Healthy = plan.No
		seen.Detail += "; not mounted: " + english.List(missing, 6)
	case !n.checked:
		seen.Healthy = plan.Yes
	}
}

// datastoresOf tells which datastores a host has mounted and reaches, by their names.
func (c *Conn) datastoresOf(ctx context.Context, h ref) (map[string]bool, error) {
	objects, err := c.read(ctx, types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj:       h,
			Skip:      new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "HostSystem", Path: "datastore"}},
		}},
		PropSet: []types.PropertySpec{{Type: "Datastore", PathSet: []string{"name", "host"}}},
	})
	has := make(map[string]bool)
	for _, o := range objects {
		name, reached := "", false
		for _, p := range o.PropSet {
			switch v := p.Val.(type) {
			case string:
				name = label(v)
			case mounts:
				for _, m := range v.DatastoreHostMount {
					reached = reached || m.Key == h && (m.MountInfo.Accessible == nil || *m.MountInfo.Accessible)
				}
			}
		}
		has[name] = has[name] || reached
	}
	return has, err
}
