// Package vspheresim is govmomi's vCenter simulator with what a shutdown needs and it lacks: hosts that shut down and
// boot, guests that are slow, hang or have no Tools, an endpoint of each host's own, a vCenter that stops, freezes and
// ends sessions, HA that starts the VMs of a lost host elsewhere, and the truth about what is on, told in order.
//
// Like the real thing, vCenter goes on showing the VMs of a host that it has lost as they were when it last heard.
package vspheresim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// User and Password are what every endpoint asks for.
const (
	User     = "ebbtide@vsphere.local"
	Password = "low water"
)

// Options describe an estate.
type Options struct {
	Clusters        int // 1 if not given
	HostsPerCluster int // 1 if not given; the hosts are called esx01, esx02, …
	// HostPrefix stands before the hosts' numbers instead of "esx", where several vCenters are in one estate.
	HostPrefix string
	APIVersion string    // of vCenter, as "8.0.2.0"; the simulator's own, before 7.0, if not given
	Features   *Features // of every cluster; nil: DRS is on and says no level, all else is off
	VMs        []VM
	Guest      func(name string) GuestBehaviour // nil: every guest shuts down at once
	HostOff    time.Duration                    // from the accepted shutdown of a host until it is off
	HostBoot   time.Duration                    // from power on until its agent answers
	Failover   time.Duration                    // from the loss of a host until HA starts its VMs elsewhere
	Latency    time.Duration                    // of each call, before anything is done
	// OnChange is told each real change of power, kind "vm" or "host", before any client can see it; of a host that
	// loses its power before the VMs that go with it. It must not call the simulator.
	OnChange func(kind, name string, on bool)
	// OnCommand is told each command that changes the power of a VM or a host as it arrives, by its SOAP method, before
	// it is judged; a PowerOnMultiVM_Task as one PowerOnVM_Task for each of its VMs. It must not call the simulator.
	OnCommand func(method, name string)
}

// VM is one machine of an estate.
type VM struct {
	Name      string
	Host      int      // index into the hosts
	Folder    string   // below the datacenter's VM folder, "Lab/web"; "" is the top
	Tags      []string // category/name
	Off       bool
	Template  bool   // also means Off
	Secondary bool   // of a fault-tolerant VM
	ManagedBy string // key of the extension that owns it, as with vCLS
	Firmware  string // the UUID that its firmware has; one of the simulator's own if not given
	// What its Tools say of the guest, where they are given: its name, and the addresses of its cards, the first one's first.
	GuestName string
	Addresses []string
}

// GuestBehaviour says how a guest answers.
type GuestBehaviour struct {
	Delay   time.Duration // from ShutdownGuest to powered off
	Hang    bool          // never shuts down by itself
	NoTools bool          // VMware Tools don't run
	Sticky  bool          // not even PowerOff ends it
	Broken  string        // why its PowerOn task fails; "": it doesn't
}

// HostBehaviour says how a host answers when it is to shut down.
type HostBehaviour struct {
	Hang   bool // accepts it and stays on
	Refuse bool // the account may not do it
}

// Sim is a running estate.
type Sim struct {
	options  Options
	vcenter  *Server
	hosts    []*host
	machines []*machine    // Sim.mu
	done     chan struct{} // closed by Close

	mu      sync.Mutex
	closed  bool
	timers  map[*time.Timer]struct{}
	running sync.WaitGroup // timers set or firing
	failing int            // what HA has still to look at
	settled *sync.Cond     // of mu: failing is 0
}

// host is the truth about a host. What Sim.mu guards is marked.
type host struct {
	name    string
	object  *simulator.HostSystem // vCenter's
	move    sync.Mutex            // orders its power changes
	making  sync.Mutex            // held while direct is made
	direct  *Server               // Sim.mu
	behaves HostBehaviour         // Sim.mu
	on      bool                  // Sim.mu
	booting bool                  // Sim.mu

	maintenance bool // Sim.mu
}

// machine is the truth about a VM.
type machine struct {
	VM
	uuid  string     // instance UUID
	host  *host      // Sim.mu
	lost  bool       // Sim.mu: it went with its host, and HA is to start it again
	move  sync.Mutex // orders its power changes, as seen by everyone
	state types.VirtualMachinePowerState
	guest GuestBehaviour                        // Sim.mu, as state, gone and shown
	gone  bool                                  // deleted
	shown map[*Server]*simulator.VirtualMachine // how each server knows it
}

// New starts an estate.
func New(options Options) (*Sim, error) {
	options.Clusters, options.HostsPerCluster = max(options.Clusters, 1), max(options.HostsPerCluster, 1)
	s := &Sim{options: options, done: make(chan struct{}), timers: make(map[*time.Timer]struct{})}
	s.settled = sync.NewCond(&s.mu)
	if err := s.build(); err != nil {
		s.Close()
		return nil, fmt.Errorf("cannot build the vSphere simulator: %w", err)
	}
	return s, nil
}

// Close stops everything and removes what was written to disk.
func (s *Sim) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.settled.Broadcast()
	for t := range s.timers {
		if t.Stop() {
			s.running.Done()
		}
	}
	s.mu.Unlock()
	close(s.done)
	s.running.Wait()
	for _, h := range s.hosts {
		s.mu.Lock()
		direct := h.direct
		s.mu.Unlock()
		if direct != nil {
			direct.Stop()
			direct.model.Remove()
		}
	}
	if s.vcenter != nil {
		if s.vcenter.endpoint != nil {
			s.vcenter.Stop()
		}
		s.vcenter.model.Remove()
	}
}

// VCenter is the vCenter of the estate.
func (s *Sim) VCenter() *Server { return s.vcenter }

// Hosts lists the hosts' names in order.
func (s *Sim) Hosts() []string {
	var names []string
	for _, h := range s.hosts {
		names = append(names, h.name)
	}
	return names
}

// HostOn reports whether a host is really on. A host that shuts down is on until it is off.
func (s *Sim) HostOn(name string) bool {
	h := s.host(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return h != nil && h.on
}

// VMOn reports whether a VM really runs. Where two share a name, "Folder/name" says which.
func (s *Sim) VMOn(name string) bool {
	m := s.machine(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return m != nil && m.state == on
}

// InstanceUUID is how every endpoint knows a VM; "" if there is none.
func (s *Sim) InstanceUUID(name string) string {
	if m := s.machine(name); m != nil {
		return m.uuid
	}
	return ""
}

// SetGuest changes how a VM's guest answers from now on.
func (s *Sim) SetGuest(name string, g GuestBehaviour) error {
	m := s.machine(name)
	if m == nil {
		return fmt.Errorf("cannot change the guest of VM %q: no such VM", name)
	}
	m.move.Lock()
	defer m.move.Unlock()
	s.mu.Lock()
	m.guest = g
	tools, shown := m.tools(), maps.Clone(m.shown)
	s.mu.Unlock()
	for server, o := range shown {
		server.update(o, "guest.toolsRunningStatus", tools)
	}
	return nil
}

// SetHost changes how a host answers from now on.
func (s *Sim) SetHost(name string, b HostBehaviour) error {
	h := s.host(name)
	if h == nil {
		return fmt.Errorf("cannot change host %q: no such host", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.behaves = b
	return nil
}

// Ask makes a VM wait for an answer, as when its disk is full; "" ends that.
func (s *Sim) Ask(name, question string) error {
	m := s.machine(name)
	if m == nil {
		return fmt.Errorf("cannot ask on VM %q: no such VM", name)
	}
	var q any // a typed nil is no nil to the simulator
	if question != "" {
		q = &types.VirtualMachineQuestionInfo{Id: "1", Text: question}
	}
	s.mu.Lock()
	shown := maps.Clone(m.shown)
	s.mu.Unlock()
	for server, o := range shown {
		server.update(o, "runtime.question", q)
	}
	return nil
}

func (s *Sim) host(name string) *host {
	for _, h := range s.hosts {
		if h.name == name {
			return h
		}
	}
	return nil
}

func (s *Sim) machine(name string) *machine {
	all := s.all()
	i := slices.IndexFunc(all, func(m *machine) bool {
		return name == cmp.Or(m.Folder, "/")+"/"+m.Name || name == m.Name
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

func (s *Sim) all() []*machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.machines)
}

// after runs f once d has passed, in a goroutine of its own, unless the simulator is closed first.
func (s *Sim) after(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.running.Add(1)
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		defer s.running.Done()
		s.mu.Lock() // also waits until t is set
		delete(s.timers, t)
		s.mu.Unlock()
		f()
	})
	s.timers[t] = struct{}{}
}

func (s *Sim) tell(kind, name string, on bool) {
	if s.options.OnChange != nil {
		s.options.OnChange(kind, name, on)
	}
}
