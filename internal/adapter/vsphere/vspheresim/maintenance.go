package vspheresim

import (
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// InMaintenance reports whether a host is in maintenance mode. One that is shut down in it boots in it.
func (s *Sim) InMaintenance(name string) bool {
	h := s.host(name)
	return h != nil && s.inMaintenance(h)
}

func (s *Sim) inMaintenance(h *host) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.maintenance
}

// SetMaintenance puts a host into maintenance mode or takes it out, as a person does.
func (s *Sim) SetMaintenance(name string, in bool) error {
	h := s.host(name)
	if h == nil {
		return fmt.Errorf("cannot change host %q: no such host", name)
	}
	s.mu.Lock()
	h.maintenance = in
	direct := h.direct
	s.mu.Unlock()
	s.vcenter.update(h.object, "runtime.inMaintenanceMode", in)
	if direct != nil {
		direct.update(direct.model.Map().Any("HostSystem").(*simulator.HostSystem), "runtime.inMaintenanceMode", in)
	}
	return nil
}

// EnterMaintenanceModeTask is EnterMaintenanceMode_Task: it ends when nothing runs on the host any more.
func (h *hostMethods) EnterMaintenanceModeTask(*simulator.Context, *types.EnterMaintenanceMode_Task) soap.HasFault {
	s := h.server.sim
	task := h.server.task(h.Self, "enterMaintenanceMode", func() (types.BaseMethodFault, string) {
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for s.runsOn(h.truth) {
			select {
			case <-look.C:
			case <-s.done:
				return new(types.RequestCanceled), "The simulator was closed"
			}
		}
		_ = s.SetMaintenance(h.truth.name, true) // the host exists
		return nil, ""
	})
	return &methods.EnterMaintenanceMode_TaskBody{Res: &types.EnterMaintenanceMode_TaskResponse{Returnval: task}}
}

// ExitMaintenanceModeTask is ExitMaintenanceMode_Task.
func (h *hostMethods) ExitMaintenanceModeTask(*simulator.Context, *types.ExitMaintenanceMode_Task) soap.HasFault {
	task := h.server.task(h.Self, "exitMaintenanceMode", func() (types.BaseMethodFault, string) {
		_ = h.server.sim.SetMaintenance(h.truth.name, false) // the host exists
		return nil, ""
	})
	return &methods.ExitMaintenanceMode_TaskBody{Res: &types.ExitMaintenanceMode_TaskResponse{Returnval: task}}
}

func (s *Sim) runsOn(h *host) bool {
	return slices.ContainsFunc(s.all(), func(m *machine) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return m.host == h && m.state == on
	})
}

// SetMounted says whether a host reaches a datastore, as vCenter sees it.
func (s *Sim) SetMounted(hostName, datastore string, mounted bool) error {
	h := s.host(hostName)
	for _, e := range s.vcenter.model.Map().All("Datastore") {
		o := e.(*simulator.Datastore)
		if h == nil || o.Name != datastore {
			continue
		}
		mounts := slices.Clone(o.Host)
		for i := range mounts {
			if mounts[i].Key == h.object.Self {
				mounts[i].MountInfo.Accessible = new(mounted)
			}
		}
		s.vcenter.update(o, "host", mounts)
		return nil
	}
	return fmt.Errorf("cannot mount datastore %q on host %q: no such host or datastore", datastore, hostName)
}

// SetManagement lets all hosts say from which address they are managed.
func (s *Sim) SetManagement(address string) {
	for _, h := range s.hosts {
		s.vcenter.update(h.object, "summary.managementServerIp", address)
	}
}
