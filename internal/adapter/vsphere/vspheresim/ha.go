package vspheresim

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// HA is what the hosts of a cluster do among themselves, whether vCenter runs or not: VMs that went with their host, and did
// not shut down by themselves, are started on another one, or as soon as one of them is there again.

// AwaitHA returns when HA has looked at all that anybody can have seen so far, and done what it does about it.
func (s *Sim) AwaitHA() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.failing > 0 && !s.closed {
		s.settled.Wait()
	}
}

// clusterOf is the cluster that a host belongs to; nil if it belongs to none.
func (s *Sim) clusterOf(h *host) *simulator.ClusterComputeResource {
	for _, e := range s.vcenter.model.Map().All("ClusterComputeResource") {
		o := e.(*simulator.ClusterComputeResource)
		if h.object.Parent != nil && o.Self == *h.object.Parent {
			return o
		}
	}
	return nil
}

// protects reports whether HA looks after the VMs of a host.
func (s *Sim) protects(h *host) bool {
	o := s.clusterOf(h)
	if o == nil {
		return false
	}
	protected := false
	ctx := *s.vcenter.model.Service.Context
	ctx.WithLock(o, func() { protected = featuresOf(o).HA })
	return protected
}

// forgive lets HA forget what it has still to start, wherever it was turned off.
func (s *Sim) forgive() {
	for _, m := range s.all() {
		if s.protects(s.hostOf(m)) {
			continue
		}
		s.mu.Lock()
		m.lost = false
		s.mu.Unlock()
	}
}

// failOver lets HA look, after its while, at what is lost. Who calls it has counted that in failing, before anybody could see
// why.
func (s *Sim) failOver() {
	s.after(s.options.Failover, func() {
		for _, m := range s.all() {
			for _, h := range s.hosts {
				if s.restart(m, h) {
					break
				}
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failing--; s.failing == 0 {
			s.settled.Broadcast()
		}
	})
}

// restart starts a lost VM on a host of its cluster, and reports whether it did.
func (s *Sim) restart(m *machine, to *host) bool {
	from := s.hostOf(m)
	if s.clusterOf(from) != s.clusterOf(to) {
		return false
	}
	to.move.Lock()
	defer to.move.Unlock()
	m.move.Lock()
	defer m.move.Unlock()
	s.mu.Lock()
	if !m.lost || m.gone || m.host != from || !to.on || to.maintenance {
		s.mu.Unlock()
		return false
	}
	m.host, m.state, m.lost = to, on, false
	tools, before, after := m.tools(), from.direct, to.direct
	old := m.shown[before]
	if from != to && before != nil {
		delete(m.shown, before)
	}
	shown := maps.Clone(m.shown)
	s.mu.Unlock()
	s.tell("vm", m.Name, true)
	if from != to && old != nil {
		_ = before.unregister(old) // that host is down, and what it shows when it is back no longer runs there
	}
	if from != to && after != nil {
		_ = after.populate([]*machine{m}) // a test that needs it there says so
	}
	for server, o := range shown {
		server.showPower(o, on, tools)
	}
	if o := shown[s.vcenter]; o != nil {
		s.vcenter.relist(from, to, o.Self)
		s.vcenter.update(o, "runtime.host", &to.object.Self, "summary.runtime.host", &to.object.Self,
			"runtime.connectionState", types.VirtualMachineConnectionStateConnected)
	}
	return true
}

// relist moves a VM from the list of one host to that of another.
func (srv *Server) relist(from, to *host, vm types.ManagedObjectReference) {
	for _, h := range []*host{from, to} {
		var list []types.ManagedObjectReference
		ctx := *srv.model.Service.Context
		ctx.WithLock(h.object, func() { list = slices.Clone(h.object.Vm) })
		list = slices.DeleteFunc(list, func(r types.ManagedObjectReference) bool { return r == vm })
		if h == to {
			list = append(list, vm)
		}
		srv.update(h.object, "vm", list)
	}
}

// unregister removes a VM from what a server shows.
func (srv *Server) unregister(o *simulator.VirtualMachine) *soap.Fault {
	ctx := *srv.model.Service.Context
	var fault *soap.Fault
	ctx.WithLock(o, func() { fault = o.UnregisterVM(&ctx, &types.UnregisterVM{This: o.Self}).Fault() })
	if fault == nil {
		srv.forget(o.Self)
	}
	return fault
}
