package hypervsim

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"ebbtide/internal/adapter/powershell/windowssim"
)

type object = map[string]any

var ok = object{"ok": 1}

// answer does what a script's cmdlets do.
func (w *Windows) answer(script string, args, _ json.RawMessage) any {
	var a struct{ ID, Name string }
	if err := json.Unmarshal(args, &a); err != nil {
		return windowssim.Failed(err.Error(), "")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id, name := a.ID, a.Name
	has := func(cmdlet string) bool { return strings.Contains(script, cmdlet) }
	roles := has("Get-ClusterGroup")
	if has("$o+=@(") {
		return w.all()
	}
	if has("Msvm_VirtualSystemSettingData") {
		list := []object{}
		for _, vm := range w.vms {
			list = append(list, object{"id": vm.ID, "state": vm.State, "firmware": vm.BIOS})
		}
		return list
	}
	switch {
	case has("Stop-Cluster ") && len(w.over()) > 0 && has("throw"):
		return windowssim.Failed("VMs still run in it: "+strings.Join(w.over(), " "), "RuntimeException")
	case has("Stop-Cluster "):
		w.lost = append(w.lost, w.over()...)
		w.later(&w.service, "StopPending", "Stopped")
		for _, v := range w.volumes {
			w.later(&v.State, "OfflinePending", "Offline")
		}
		return ok
	case has("Start-Cluster "):
		w.later(&w.service, "StartPending", "Running")
		for _, v := range w.volumes {
			w.later(&v.State, "OnlinePending", online) // one in maintenance is so still
		}
		return ok
	case has("ClusSvc"):
		if w.service != "Running" {
			return object{"service": w.service, "on": []string{}, "volumes": []object{}}
		}
		volumes := []object{}
		for _, v := range w.volumes {
			volumes = append(volumes, object{
				"name": v.Name, "state": v.State, "host": "HV1", "maintenance": v.Maintenance,
				"redirected": v.Redirected,
			})
		}
		return object{"service": w.service, "on": append([]string{}, w.over()...), "volumes": volumes}
	case has("Stop-Computer"):
		w.ShutDown()
		return ok
	case has("notin 'Off'"):
		on := []string{}
		for _, vm := range w.vms {
			if strings.TrimSuffix(vm.State, "Critical") != "Off" && vm.State != "Saved" {
				on = append(on, vm.Name)
			}
		}
		return object{"on": on}
	}
	list := []object{}
	var found []*VM
	for _, vm := range w.vms {
		if roles && !vm.Clustered || has("!$_.IsClustered") && vm.Clustered {
			continue
		}
		list = append(list, vm.object(roles))
		if id != "" && vm.ID == id || id == "" && vm.Name == name {
			found = append(found, vm)
		}
	}
	switch {
	case !has("throw") && has("$a."):
		list = list[:0]
		for _, vm := range found {
			list = append(list, vm.object(roles))
		}
		return list
	case !has("throw"):
		return list
	case len(found) != 1:
		return windowssim.Failed(string(rune('0'+len(found)))+" VMs of this name", "RuntimeException")
	}
	vm := found[0]
	switch {
	case has("Msvm_ShutdownComponent") && vm.NoGuest:
		return windowssim.Failed("no shutdown integration service", "RuntimeException")
	case has("Msvm_ShutdownComponent") && vm.State != "Running":
		return windowssim.Failed("InitiateShutdown: 32775", "RuntimeException")
	case has("Msvm_ShutdownComponent"), has("Stop-ClusterGroup"):
		w.later(&vm.State, "Stopping", "Off")
	case has("-TurnOff"):
		vm.State = "Off"
	case has("Start-VM"), has("Start-ClusterGroup"):
		w.later(&vm.State, "Starting", "Running")
	}
	return ok
}

const online = "Online"

// over lists what the cluster stands under: its roles, and other VMs on its volumes. The lock is held.
func (w *Windows) over() (names []string) {
	for _, vm := range w.vms {
		if (vm.Clustered || vm.Shared) && vm.State != "Off" {
			names = append(names, vm.Name)
		}
	}
	return names
}

// all lists the machine's own VMs and, while it has a part in one, those of its cluster. The lock is held.
func (w *Windows) all() []object {
	list := []object{}
	for _, vm := range w.vms {
		if !vm.Clustered || w.service == "Running" {
			one := vm.object(vm.Clustered)
			one["clustered"] = vm.Clustered
			list = append(list, one)
		}
	}
	return list
}

// later changes a state now, and again after a while. The lock is held.
func (w *Windows) later(state *string, now, then string) {
	*state = now
	time.AfterFunc(w.Takes, func() {
		w.with(func() {
			if *state == now {
				*state = then
			}
		})
	})
}

func (vm *VM) object(role bool) object {
	if !role {
		return object{"id": vm.ID, "name": vm.Name, "state": vm.State, "host": "HV1", "clustered": vm.Clustered}
	}
	state := cmp.Or(map[string]string{
		"Running": "Online", "Off": "Offline", "Starting": "OnlinePending",
		"Stopping": "OfflinePending",
	}[vm.State], vm.State)
	return object{"id": vm.ID, "name": vm.Name, "state": state, "host": "HV1", "offline": vm.Offline}
}
