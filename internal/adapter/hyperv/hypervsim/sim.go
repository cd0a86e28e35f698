// Package hypervsim is a contract fake of Windows machines with Hyper-V and a failover cluster: windowssim, with the cmdlets
// that our scripts use, as Microsoft documents them.
package hypervsim

import (
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
}

// Windows is a fake machine with Hyper-V.
type Windows struct {
	*windowssim.Machine
	Takes time.Duration // that a guest needs to shut down or start

	mu      sync.Mutex
	vms     []*VM
	service string // of the cluster
}

// New starts a machine.
func New(vms ...*VM) *Windows {
	w := &Windows{Takes: 30 * time.Millisecond, vms: vms, service: "Running"}
	w.Machine = windowssim.New(w.answer)
	return w
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
