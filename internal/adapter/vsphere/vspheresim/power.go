package vspheresim

import (
	"fmt"
	"maps"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	on        = types.VirtualMachinePowerStatePoweredOn
	off       = types.VirtualMachinePowerStatePoweredOff
	suspended = types.VirtualMachinePowerStateSuspended
)

// tools is the state of a VM's Tools. Sim.mu is held.
func (m *machine) tools() string {
	if m.state == on && !m.guest.NoTools {
		return string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	}
	return string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
}

// setPower changes the truth about a VM, then what the servers show. No lock of the simulator may be held.
func (s *Sim) setPower(m *machine, to types.VirtualMachinePowerState) {
	m.move.Lock()
	defer m.move.Unlock()
	s.mu.Lock()
	was := m.state
	if m.gone || was == to || !m.host.on {
		s.mu.Unlock()
		return
	}
	m.state, m.lost = to, false
	tools, shown := m.tools(), maps.Clone(m.shown)
	s.mu.Unlock()
	if (was == on) != (to == on) {
		s.tell("vm", m.Name, to == on)
	}
	for server, o := range shown {
		server.showPower(o, to, tools)
	}
}

func (srv *Server) showPower(o *simulator.VirtualMachine, state types.VirtualMachinePowerState, tools string) {
	srv.update(o, "runtime.powerState", state, "summary.runtime.powerState", state, "guest.toolsRunningStatus", tools)
}

// SuspendVM suspends a VM.
func (s *Sim) SuspendVM(name string) error {
	m := s.machine(name)
	if m == nil {
		return fmt.Errorf("cannot suspend VM %q: no such VM", name)
	}
	s.setPower(m, suspended)
	return nil
}

// DeleteVM turns a VM off and deletes it.
func (s *Sim) DeleteVM(name string) error {
	m := s.machine(name)
	if m == nil {
		return fmt.Errorf("cannot delete VM %q: no such VM", name)
	}
	s.setPower(m, off)
	m.move.Lock()
	defer m.move.Unlock()
	s.mu.Lock()
	m.gone = true
	shown := m.shown
	m.shown = nil
	s.mu.Unlock()
	for server, o := range shown {
		if fault := server.unregister(o); fault != nil {
			return fmt.Errorf("cannot delete VM %q: %s", name, fault.String)
		}
	}
	return nil
}

// CutHost takes the power from a host and all that runs on it, at once.
func (s *Sim) CutHost(name string) error {
	h := s.host(name)
	if h == nil {
		return fmt.Errorf("cannot cut the power of host %q: no such host", name)
	}
	h.move.Lock()
	defer h.move.Unlock()
	s.mu.Lock()
	if !h.on {
		s.mu.Unlock()
		return nil
	}
	h.on = false
	s.failing++
	defer s.failOver()
	direct := h.direct
	s.mu.Unlock()
	var err error
	if direct != nil {
		err = direct.Vanish()
	}
	s.tell("host", h.name, false) // before its VMs: they go because it goes
	protected := s.protects(h)
	for _, m := range s.all() {
		if s.hostOf(m) == h {
			s.lose(m, protected)
		}
	}
	s.vcenter.showHost(h.object, types.HostSystemConnectionStateNotResponding, types.HostSystemPowerStateUnknown)
	return err
}

// endAgents ends what answers for a host that shuts down, long before it is off: it refuses connections, and vCenter hears nothing of it.
func (s *Sim) endAgents(h *host) {
	h.move.Lock()
	defer h.move.Unlock()
	s.mu.Lock()
	direct, on := h.direct, h.on
	s.mu.Unlock()
	if !on {
		return
	}
	if direct != nil {
		direct.Stop()
	}
	s.vcenter.showHost(h.object, types.HostSystemConnectionStateNotResponding, types.HostSystemPowerStateUnknown)
}

func (s *Sim) hostOf(m *machine) *host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.host
}

// lose takes a VM down with its host. vCenter only sees that it lost it.
func (s *Sim) lose(m *machine, protected bool) {
	m.move.Lock()
	defer m.move.Unlock()
	s.mu.Lock()
	was := m.state
	if was == on {
		m.state = off
		m.lost = protected && m.ManagedBy == "" && !m.Secondary
	}
	state, tools, shown := m.state, m.tools(), maps.Clone(m.shown)
	s.mu.Unlock()
	if was == on {
		s.tell("vm", m.Name, false)
	}
	for server, o := range shown {
		if server == s.vcenter {
			server.update(o, "runtime.connectionState", types.VirtualMachineConnectionStateDisconnected)
		} else {
			server.showPower(o, state, tools)
		}
	}
}

// PowerOnHost presses the power button, as a BMC or a Wake-on-LAN packet does. It returns before the host has booted.
func (s *Sim) PowerOnHost(name string) error {
	h := s.host(name)
	if h == nil {
		return fmt.Errorf("cannot power on host %q: no such host", name)
	}
	s.mu.Lock()
	booting := h.on || h.booting
	h.booting = !h.on
	s.mu.Unlock()
	if !booting {
		s.after(s.options.HostBoot, func() { s.boot(h) })
	}
	return nil
}

func (s *Sim) boot(h *host) {
	h.move.Lock()
	defer h.move.Unlock()
	s.mu.Lock()
	h.on, h.booting = true, false
	s.failing++
	defer s.failOver()
	direct := h.direct
	s.mu.Unlock()
	s.tell("host", h.name, true)
	if direct != nil {
		// Somebody else may have taken the port. Then the host stays silent, and a test that needs it says so.
		_ = direct.Start()
	}
	s.vcenter.showHost(h.object, types.HostSystemConnectionStateConnected, types.HostSystemPowerStatePoweredOn)
	for _, m := range s.all() {
		if s.hostOf(m) != h {
			continue
		}
		m.move.Lock()
		s.mu.Lock()
		state, tools, o := m.state, m.tools(), m.shown[s.vcenter]
		s.mu.Unlock()
		if o != nil {
			s.vcenter.showPower(o, state, tools)
			s.vcenter.update(o, "runtime.connectionState", types.VirtualMachineConnectionStateConnected)
		}
		m.move.Unlock()
	}
}

func (srv *Server) showHost(o *simulator.HostSystem, c types.HostSystemConnectionState, p types.HostSystemPowerState) {
	srv.update(o, "runtime.connectionState", c, "summary.runtime.connectionState", c,
		"runtime.powerState", p, "summary.runtime.powerState", p)
}

// hostMethods go before the simulator's own methods of a host.
type hostMethods struct {
	*simulator.HostSystem
	server *Server
	truth  *host
}

// ShutdownHostTask is ShutdownHost_Task: it needs force unless the host is in maintenance mode, and takes VMs along.
func (h *hostMethods) ShutdownHostTask(_ *simulator.Context, r *types.ShutdownHost_Task) soap.HasFault {
	body := new(methods.ShutdownHost_TaskBody)
	if !r.Force && !h.Runtime.InMaintenanceMode {
		body.Fault_ = simulator.Fault("", new(types.InvalidState))
		return body
	}
	s := h.server.sim
	if !s.HostOn(h.truth.name) {
		body.Fault_ = simulator.Fault("", new(types.HostNotConnected))
		return body
	}
	s.mu.Lock()
	behaves := h.truth.behaves
	s.mu.Unlock()
	if behaves.Refuse {
		body.Fault_ = simulator.Fault("", new(types.NoPermission))
		return body
	}
	task := h.server.task(h.Self, "shutdownHost", func() (types.BaseMethodFault, string) { return nil, "" })
	body.Res = &types.ShutdownHost_TaskResponse{Returnval: task}
	if behaves.Hang {
		return body
	}
	s.after(s.options.HostOff/2, func() {
		s.endAgents(h.truth)
		s.after(s.options.HostOff-s.options.HostOff/2, func() { _ = s.CutHost(h.truth.name) }) // the host exists
	})
	return body
}

// vmMethods go before the simulator's own methods of a VM.
type vmMethods struct {
	*simulator.VirtualMachine
	server *Server
	truth  *machine
}

// ask reads the truth about the VM, or says why it can't be had.
func (m *vmMethods) ask() (state types.VirtualMachinePowerState, g GuestBehaviour, fault types.BaseMethodFault) {
	s := m.server.sim
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.truth.host.on {
		fault = new(types.HostNotConnected)
	}
	return m.truth.state, m.truth.guest, fault
}

// ShutdownGuest asks the guest to shut down and returns at once.
func (m *vmMethods) ShutdownGuest(*simulator.Context, *types.ShutdownGuest) soap.HasFault {
	body := new(methods.ShutdownGuestBody)
	state, guest, fault := m.ask()
	switch {
	case fault != nil:
	case state != on:
		fault = &types.InvalidPowerState{RequestedState: on, ExistingState: state}
	case guest.NoTools:
		fault = new(types.ToolsUnavailable)
	case m.Runtime.Question != nil:
		fault = new(types.InvalidState)
	}
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = new(types.ShutdownGuestResponse)
	if !guest.Hang {
		s := m.server.sim
		s.after(guest.Delay, func() { s.setPower(m.truth, off) })
	}
	return body
}

// PowerOffVMTask is PowerOffVM_Task.
func (m *vmMethods) PowerOffVMTask(*simulator.Context, *types.PowerOffVM_Task) soap.HasFault {
	body := new(methods.PowerOffVM_TaskBody)
	state, guest, fault := m.ask()
	if fault == nil && state == off {
		fault = &types.InvalidPowerState{RequestedState: off, ExistingState: state}
	}
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.PowerOffVM_TaskResponse{Returnval: m.server.task(m.Self, "powerOff", func() (types.BaseMethodFault, string) {
		if guest.Sticky {
			<-m.server.sim.done
			return new(types.RequestCanceled), "The simulator was closed"
		}
		m.server.sim.setPower(m.truth, off)
		return nil, ""
	})}
	return body
}

// PowerOnVMTask is PowerOnVM_Task. As with the real one, what is wrong with the VM's state is told by the task.
func (m *vmMethods) PowerOnVMTask(*simulator.Context, *types.PowerOnVM_Task) soap.HasFault {
	body := new(methods.PowerOnVM_TaskBody)
	state, guest, fault := m.ask()
	if fault == nil && (m.Config.Template || m.server.sim.inMaintenance(m.server.sim.hostOf(m.truth))) {
		fault = new(types.InvalidState)
	}
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.PowerOnVM_TaskResponse{Returnval: m.server.task(m.Self, "powerOn", func() (types.BaseMethodFault, string) {
		switch {
		case state == on:
			return &types.InvalidPowerState{RequestedState: on, ExistingState: state}, "It is powered on"
		case guest.Broken != "":
			return new(types.FileLocked), guest.Broken
		}
		m.server.sim.setPower(m.truth, on)
		return nil, ""
	})}
	return body
}

// task makes a task that runs f without holding the entity's lock, so that everybody can look at it meanwhile.
func (srv *Server) task(entity types.ManagedObjectReference, name string,
	f func() (fault types.BaseMethodFault, message string),
) types.ManagedObjectReference {
	return srv.taskOf(entity, name, func() (any, types.BaseMethodFault, string) {
		fault, message := f()
		return nil, fault, message
	})
}

// taskOf is task for one that has a result.
func (srv *Server) taskOf(entity types.ManagedObjectReference, name string,
	f func() (result any, fault types.BaseMethodFault, message string),
) types.ManagedObjectReference {
	t := simulator.CreateTask(entity, name, nil)
	t.Info.State = types.TaskInfoStateRunning
	srv.model.Map().Put(t)
	ref := t.Self
	srv.sim.after(0, func() {
		srv.update(t, "info.key", ref.Value, "info.task", ref)
		result, fault, message := f()
		if fault != nil {
			srv.update(t, "info.state", types.TaskInfoStateError,
				"info.error", &types.LocalizedMethodFault{Fault: fault, LocalizedMessage: message})
			return
		}
		if result != nil {
			srv.update(t, "info.result", result)
		}
		srv.update(t, "info.state", types.TaskInfoStateSuccess)
	})
	return ref
}
