package vspheresim

import (
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Server is the estate as one endpoint shows it: vCenter's, or a single host's.
type Server struct {
	*endpoint

	sim   *Sim
	model *simulator.Model
	host  *host // nil: vCenter

	reading sync.RWMutex // held by collectors while they gather, and by a logout alone

	mu       sync.Mutex
	vms      map[types.ManagedObjectReference]*machine
	hosts    map[types.ManagedObjectReference]*host
	calls    map[string]int
	faults   map[string]types.BaseMethodFault
	hangUps  map[string]bool
	breaks   map[string]string // why tasks fail, by their names
	sessions map[string]*simulator.Session
	latency  time.Duration // 0 until it serves
}

// anchor is how the simulator's objects find their server: through the registry that each call carries.
type anchor struct {
	Self   types.ManagedObjectReference
	server *Server
}

var anchorRef = types.ManagedObjectReference{Type: "EbbtideServer", Value: "server"}

func (a *anchor) Reference() types.ManagedObjectReference { return a.Self }

// closing is closed when the simulator of ctx is closed.
func closing(ctx *simulator.Context) <-chan struct{} {
	return ctx.Map.Get(anchorRef).(*anchor).server.sim.done
}

func newServer(s *Sim, model *simulator.Model, h *host) *Server {
	srv := &Server{
		sim: s, model: model, host: h,
		vms:      make(map[types.ManagedObjectReference]*machine),
		hosts:    make(map[types.ManagedObjectReference]*host),
		calls:    make(map[string]int),
		faults:   make(map[string]types.BaseMethodFault),
		hangUps:  make(map[string]bool),
		breaks:   make(map[string]string),
		sessions: make(map[string]*simulator.Session),
	}
	model.Map().Put(&anchor{Self: anchorRef, server: srv})
	collector := new(collector)
	collector.Self = model.ServiceContent.PropertyCollector
	model.Map().Put(collector)
	model.Map().Handler = srv.intercept
	return srv
}

// intercept sees every call before it is carried out: it counts, faults what is to be faulted, and puts our methods
// before the simulator's. Objects in the model's registry can't be replaced, since the simulator asserts their types
// in many places; but a session's registry is asked first.
func (srv *Server) intercept(ctx *simulator.Context, call *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	srv.mu.Lock()
	srv.calls[call.Name]++
	fault, hangUp := srv.faults[call.Name], srv.hangUps[call.Name]
	vm, h := srv.vms[call.This], srv.hosts[call.This]
	if ctx.Session != nil {
		srv.sessions[ctx.Session.Key] = ctx.Session
	}
	srv.mu.Unlock()
	srv.delay()
	srv.tellCommand(call.Name, vm, h)
	if hangUp {
		srv.hangUp()
	}
	if fault != nil || ctx.Session == nil || ctx.Session.Registry.Get(call.This) != nil {
		return nil, fault
	}
	switch o := srv.model.Map().Get(call.This).(type) {
	case *simulator.VirtualMachine:
		if vm != nil {
			ctx.WithLock(o, func() { ctx.Session.Registry.Put(&vmMethods{o, srv, vm}) })
		}
	case *simulator.HostSystem:
		if h != nil {
			ctx.WithLock(o, func() { ctx.Session.Registry.Put(&hostMethods{o, srv, h}) })
		}
	case *simulator.ClusterComputeResource:
		ctx.WithLock(o, func() { ctx.Session.Registry.Put(&clusterMethods{o, srv}) })
	case *simulator.Datacenter:
		if srv.host == nil {
			ctx.WithLock(o, func() { ctx.Session.Registry.Put(&datacenterMethods{o, srv}) })
		}
	case *simulator.SessionManager:
		ctx.WithLock(o, func() { ctx.Session.Registry.Put(&sessionMethods{o, srv}) })
	case *simulator.OptionManager:
		if srv.host == nil {
			ctx.WithLock(o, func() { ctx.Session.Registry.Put(&optionMethods{o, srv}) })
		}
	}
	return nil, nil
}

// delay makes a client's call take its time; what builds the model is no client.
func (srv *Server) delay() {
	srv.mu.Lock()
	latency := srv.latency
	srv.mu.Unlock()
	if latency <= 0 {
		return
	}
	timer := time.NewTimer(latency)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-srv.sim.done:
	}
}

// tellCommand tells of a call that changes power.
func (srv *Server) tellCommand(method string, vm *machine, h *host) {
	tell := srv.sim.options.OnCommand
	if tell == nil {
		return
	}
	switch method {
	case "ShutdownGuest", "PowerOffVM_Task", "PowerOnVM_Task":
		if vm != nil {
			tell(method, vm.Name)
		}
	case "ShutdownHost_Task":
		if h != nil {
			tell(method, h.name)
		}
	}
}

// update changes properties of an object and tells the watchers. No lock of the simulator may be held.
func (srv *Server) update(o mo.Reference, nameValue ...any) {
	var changes []types.PropertyChange
	for i := 0; i < len(nameValue); i += 2 {
		changes = append(changes, types.PropertyChange{Name: nameValue[i].(string), Val: nameValue[i+1]})
	}
	ctx := *srv.model.Service.Context // a context of its own is an owner of locks of its own
	ctx.WithLock(o, func() { ctx.Update(o, changes) })
}

// forget removes an object that was deleted from the sessions' registries.
func (srv *Server) forget(ref types.ManagedObjectReference) {
	srv.mu.Lock()
	delete(srv.vms, ref)
	sessions := maps.Clone(srv.sessions)
	srv.mu.Unlock()
	ctx := *srv.model.Service.Context
	for _, s := range sessions {
		s.Remove(&ctx, ref)
	}
}

// ExpireSessions ends all sessions, as after a long time without a call.
func (srv *Server) ExpireSessions() {
	srv.mu.Lock()
	sessions := srv.sessions
	srv.sessions = make(map[string]*simulator.Session)
	srv.mu.Unlock()
	ctx := *srv.model.Service.Context
	ctx.Session = new(simulator.Session)
	for key := range sessions {
		// A session that was logged out is not found, which is as good.
		srv.model.Map().SessionManager().TerminateSession(&ctx, &types.TerminateSession{SessionId: []string{key}})
	}
}

// Calls counts the SOAP calls by method since the endpoint was made.
func (srv *Server) Calls() map[string]int {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return maps.Clone(srv.calls)
}

// Fail answers every call of a method with a fault, until it is given nil.
func (srv *Server) Fail(method string, fault types.BaseMethodFault) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.faults[method] = fault
}

// Break lets every task of a name, such as "reconfigureCluster", fail for a reason, until that is "".
func (srv *Server) Break(task, reason string) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.breaks[task] = reason
}

func (srv *Server) broken(task string) string {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.breaks[task]
}

// HangUp carries out every call of a method from now on and drops all connections before the answer.
func (srv *Server) HangUp(method string) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.hangUps[method] = true
}
