// Package hypervsim is a contract fake of Windows machines with Hyper-V and a failover cluster: windowssim, with the cmdlets
// that our scripts use, as Microsoft documents them.
package hypervsim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/adapter/powershell/windowssim"
)

// VM is a VM of the machine, clustered or not.
type VM struct {
	ID, Name  string
	State     string // as Get-VM has it
	Clustered bool
	Offline   int    // its OfflineAction
	NoGuest   bool   // it has no integration services
	BIOS      string // its BIOSGUID
	Shared    bool   // its disks are on a shared volume of the cluster, also if it is no role of it
}

// Volume is a cluster shared volume.
type Volume struct {
	Name                    string
	State                   string // as Get-ClusterSharedVolume has it; "Online" if not given
	Maintenance, Redirected bool
}

// Windows is a fake machine with Hyper-V.
type Windows struct {
	*windowssim.Machine
	Takes time.Duration // that a guest needs to shut down or start

	mu      sync.Mutex
	vms     []*VM
	volumes []*Volume
	service string   // of the cluster
	lost    []string // VMs that ran when their volume went
}

// New starts a machine.
func New(vms ...*VM) *Windows {
	w := &Windows{Takes: 30 * time.Millisecond, vms: vms, service: "Running"}
	w.Machine = windowssim.New(w.answer)
	return w
}

// Share gives the cluster a volume that its hosts share, or replaces the one of that name.
func (w *Windows) Share(v Volume) {
	v.State = cmp.Or(v.State, online)
	w.with(func() {
		w.volumes = slices.DeleteFunc(w.volumes, func(old *Volume) bool { return old.Name == v.Name })
		w.volumes = append(w.volumes, &v)
	})
}

// Volume tells the state of a shared volume.
func (w *Windows) Volume(name string) (state string) {
	w.with(func() {
		for _, v := range w.volumes {
			if v.Name == name {
				state = v.State
			}
		}
	})
	return state
}

// Lost lists the VMs that ran when the cluster took their volumes away: saved, or broken off.
func (w *Windows) Lost() (lost []string) { w.with(func() { lost = slices.Clone(w.lost) }); return lost }

// SetState changes the state of a VM, as Get-VM has it.
func (w *Windows) SetState(name, state string) {
	w.with(func() {
		for _, vm := range w.vms {
			if vm.Name == name {
				vm.State = state
			}
		}
	})
}

// SetOffline sets what the resource of a clustered VM does when it is taken offline.
func (w *Windows) SetOffline(name string, action int) {
	w.with(func() {
		for _, vm := range w.vms {
			if vm.Name == name {
				vm.Offline = action
			}
		}
	})
}

// Remove deletes a VM.
func (w *Windows) Remove(name string) {
	w.with(func() {
		for i, vm := range w.vms {
			if vm.Name == name {
				w.vms = append(w.vms[:i], w.vms[i+1:]...)
				return
			}
		}
	})
}

// State tells a VM's state.
func (w *Windows) State(name string) (state string) {
	w.with(func() {
		for _, vm := range w.vms {
			if vm.Name == name {
				state = vm.State
			}
		}
	})
	return state
}

// Service tells the state of the cluster's service.
func (w *Windows) Service() (state string) { w.with(func() { state = w.service }); return state }

func (w *Windows) with(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}
