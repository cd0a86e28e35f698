package hypervsim

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/adapter/powershell/windowssim"
)

type object = map[string]any

var ok = object{"ok": 1}

// question is a script and the VM that its arguments name.
type question struct{ script, id, name string }

// has reports whether the script has a piece of text in it.
func (q question) has(text string) bool { return strings.Contains(q.script, text) }

// names reports whether a VM is the one that is named: by its id where that is given.
func (q question) names(vm *VM) bool {
	if q.id != "" {
		return vm.ID == q.id
	}
	return vm.Name == q.name
}

// ofMachine says how scripts are answered that name no VM: by the first that it fits of what each of them alone has in it.
var ofMachine = []struct {
	has    string
	answer func(*Windows, question) any
}{
	{"$o+=@(", (*Windows).all},
	{"Msvm_VirtualSystemSettingData", (*Windows).firmware},
	{"Stop-Cluster ", (*Windows).stopCluster},
	{"Start-Cluster ", (*Windows).startCluster},
	{"ClusSvc", (*Windows).cluster},
	{"Stop-Computer", func(w *Windows, _ question) any { w.ShutDown(); return ok }},
	{"notin 'Off'", (*Windows).on},
}

// answer does what a script's cmdlets do.
func (w *Windows) answer(script string, args, _ json.RawMessage) any {
	var a struct{ ID, Name string }
	if err := json.Unmarshal(args, &a); err != nil {
		return windowssim.Failed(err.Error(), "")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	q := question{script: script, id: a.ID, name: a.Name}
	for _, m := range ofMachine {
		if q.has(m.has) {
			return m.answer(w, q)
		}
	}
	seen, named := w.find(q)
	switch {
	case !q.has("throw") && q.has("$a."):
		return q.list(named)
	case !q.has("throw"):
		return q.list(seen)
	case len(named) != 1:
		return windowssim.Failed(strconv.Itoa(len(named))+" VMs of this name", "RuntimeException")
	default:
		return w.command(q, named[0])
	}
}

// find gives the VMs that a script sees, and those of them that it names. The lock is held.
func (w *Windows) find(q question) (seen, named []*VM) {
	for _, vm := range w.vms {
		if q.ofCluster() && !vm.Clustered || q.has("!$_.IsClustered") && vm.Clustered {
			continue
		}
		seen = append(seen, vm)
		if q.names(vm) {
			named = append(named, vm)
		}
	}
	return seen, named
}

// ofCluster reports whether the script asks for the roles of the cluster, and not for the VMs of the machine.
func (q question) ofCluster() bool { return q.has("Get-ClusterGroup") }

func (q question) list(vms []*VM) []object {
	list := []object{}
	for _, vm := range vms {
		list = append(list, vm.object(q.ofCluster()))
	}
	return list
}

// command does to a VM what the script says. The lock is held.
func (w *Windows) command(q question, vm *VM) any {
	switch {
	case q.has("Msvm_ShutdownComponent") && vm.NoGuest:
		return windowssim.Failed("no shutdown integration service", "RuntimeException")
	case q.has("Msvm_ShutdownComponent") && vm.State != "Running":
		return windowssim.Failed("InitiateShutdown: 32775", "RuntimeException")
	case q.has("Msvm_ShutdownComponent"), q.has("Stop-ClusterGroup"):
		w.later(&vm.State, "Stopping", "Off")
	case q.has("-TurnOff"):
		vm.State = "Off"
	case q.has("Start-VM"), q.has("Start-ClusterGroup"):
		w.later(&vm.State, "Starting", "Running")
	}
	return ok
}

const online = "Online"

// stopCluster takes the cluster down: where the script looks first, only if nothing runs in it any more. The lock is held.
func (w *Windows) stopCluster(q question) any {
	over := w.over()
	if len(over) > 0 && q.has("throw") {
		return windowssim.Failed("VMs still run in it: "+strings.Join(over, " "), "RuntimeException")
	}
	w.lost = append(w.lost, over...)
	w.later(&w.service, "StopPending", "Stopped")
	for _, v := range w.volumes {
		w.later(&v.State, "OfflinePending", "Offline")
	}
	return ok
}

// startCluster brings the cluster up. The lock is held.
func (w *Windows) startCluster(question) any {
	w.later(&w.service, "StartPending", "Running")
	for _, v := range w.volumes {
		w.later(&v.State, "OnlinePending", online) // one in maintenance is so still
	}
	return ok
}

// cluster tells how the cluster is, and its volumes while it runs. The lock is held.
func (w *Windows) cluster(question) any {
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
}

// on lists the VMs that have something in memory. The lock is held.
func (w *Windows) on(question) any {
	on := []string{}
	for _, vm := range w.vms {
		if strings.TrimSuffix(vm.State, "Critical") != "Off" && vm.State != "Saved" {
			on = append(on, vm.Name)
		}
	}
	return object{"on": on}
}

// firmware lists what the VMs' firmware says of them. The lock is held.
func (w *Windows) firmware(question) any {
	list := []object{}
	for _, vm := range w.vms {
		list = append(list, object{"id": vm.ID, "state": vm.State, "firmware": vm.BIOS})
	}
	return list
}

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
func (w *Windows) all(question) any {
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
