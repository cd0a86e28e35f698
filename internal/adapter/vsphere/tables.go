package vsphere

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

type ref = types.ManagedObjectReference

// vm is what is known of a VM.
type vm struct {
	ref       ref
	name      string
	uuid      string // instance UUID; "" if its configuration can't be read
	power     types.VirtualMachinePowerState
	reach     types.VirtualMachineConnectionState
	host      ref
	tools     types.VirtualMachineToolsRunningStatus
	question  string
	managedBy string // key of the extension that owns it
	template  bool
	secondary bool // of a fault-tolerant VM
	parent    ref
	stores    []ref
}

// host is what is known of a host.
type host struct {
	ref         ref
	name        string
	reach       types.HostSystemConnectionState
	power       types.HostSystemPowerState
	maintenance bool
	vsan        bool // its disks are part of a vSAN
}

// place is a folder or a datacenter.
type place struct {
	name   string
	parent ref
}

// tables hold the inventory as the watch has told it.
type tables struct {
	vms      map[ref]*vm
	hosts    map[ref]*host
	places   map[ref]*place
	stores   map[ref]string
	clusters map[ref]string   // their names
	byName   map[string][]ref // VMs
	byUUID   map[string][]ref
	weight   int // what weigh gives for all objects together
}

func newTables() *tables {
	return &tables{
		vms: make(map[ref]*vm), hosts: make(map[ref]*host), places: make(map[ref]*place), stores: make(map[ref]string),
		clusters: make(map[ref]string),
		byName:   make(map[string][]ref), byUUID: make(map[string][]ref),
	}
}

// paths are the properties that the watch asks for, by type.
var paths = map[string][]string{
	"VirtualMachine": {
		"name", "parent", "datastore", "runtime.powerState", "runtime.connectionState", "runtime.host", "runtime.question",
		"config.instanceUuid", "config.template", "config.managedBy", "config.ftInfo", "guest.toolsRunningStatus",
	},
	"ClusterComputeResource": {"name"},
	"HostSystem": {
		"name", "runtime.connectionState", "runtime.powerState", "runtime.inMaintenanceMode",
		"config.vsanHostConfig",
	},
	"Folder":     {"name", "parent"},
	"Datacenter": {"name", "parent"},
	"Datastore":  {"name"},
}

// moving are those of them that a probe asks for anew: what a state is made from.
var moving = map[string][]string{
	"VirtualMachine": {
		"runtime.powerState", "runtime.connectionState", "runtime.host", "runtime.question", "config.template",
		"guest.toolsRunningStatus",
	},
	"HostSystem": {"runtime.connectionState", "runtime.powerState", "runtime.inMaintenanceMode", "config.vsanHostConfig"},
}

// unescape undoes how vSphere writes the three characters that its paths can't hold.
var unescape = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%")

// label reads a name as people write it.
func label(v any) string { return unescape.Replace(short(value[string](v))) }

// reference reads a property that refers to another object.
func reference(v any) ref {
	if r := value[ref](v); sane(r) {
		return r
	}
	return ref{}
}

// value reads a property as a T; an unset one is T's zero.
func value[T any](v any) T {
	t, _ := v.(T)
	return t
}

// apply takes in one update and returns the names under which its subscribers know the object.
func (t *tables) apply(u types.ObjectUpdate) []string {
	if !sane(u.Obj) {
		return nil
	}
	t.weight -= t.weigh(u.Obj)
	defer func() { t.weight += t.weigh(u.Obj) }()
	switch u.Obj.Type {
	case "VirtualMachine":
		return t.applyVM(u)
	case "HostSystem":
		h := t.hosts[u.Obj]
		if u.Kind == types.ObjectUpdateKindLeave {
			delete(t.hosts, u.Obj)
			return []string{hostKey}
		}
		if h == nil {
			h = &host{ref: u.Obj}
			t.hosts[u.Obj] = h
		}
		for _, p := range u.ChangeSet {
			h.set(p.Name, p.Val)
		}
		return []string{hostKey}
	case "Datastore":
		for _, p := range u.ChangeSet {
			t.stores[u.Obj] = label(p.Val)
		}
		if u.Kind == types.ObjectUpdateKindLeave {
			delete(t.stores, u.Obj)
		}
	case "ClusterComputeResource":
		for _, p := range u.ChangeSet {
			t.clusters[u.Obj] = label(p.Val)
		}
		if u.Kind == types.ObjectUpdateKindLeave {
			delete(t.clusters, u.Obj)
		}
	case "Folder", "Datacenter":
		f := t.places[u.Obj]
		if f == nil {
			f = new(place)
			t.places[u.Obj] = f
		}
		for _, p := range u.ChangeSet {
			switch p.Name {
			case "name":
				f.name = label(p.Val)
			case "parent":
				f.parent = reference(p.Val)
			}
		}
		if u.Kind == types.ObjectUpdateKindLeave {
			delete(t.places, u.Obj)
		}
	}
	return nil
}

func (t *tables) applyVM(u types.ObjectUpdate) []string {
	m := t.vms[u.Obj]
	if m == nil {
		m = &vm{ref: u.Obj}
		t.vms[u.Obj] = m
	}
	was := *m
	for _, p := range u.ChangeSet {
		m.set(p.Name, p.Val)
	}
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(t.vms, u.Obj)
		m = new(vm)
	}
	index(t.byName, u.Obj, was.name, m.name)
	index(t.byUUID, u.Obj, was.uuid, m.uuid)
	return []string{nameKey(was.name), nameKey(m.name), uuidKey(was.uuid), uuidKey(m.uuid)}
}

func index(to map[string][]ref, r ref, was, now string) {
	if was == now {
		return
	}
	if was != "" {
		to[was] = slices.DeleteFunc(to[was], func(other ref) bool { return other == r })
		if len(to[was]) == 0 {
			delete(to, was)
		}
	}
	if now != "" {
		to[now] = append(to[now], r)
	}
}

func (m *vm) set(name string, val any) {
	switch name {
	case "name":
		m.name = label(val)
	case "parent":
		m.parent = reference(val)
	case "datastore":
		m.stores = value[types.ArrayOfManagedObjectReference](val).ManagedObjectReference
		m.stores = slices.Clone(m.stores[:min(len(m.stores), maxStores)]) // not to keep the rest in memory
		m.stores = slices.DeleteFunc(m.stores, func(r ref) bool { return !sane(r) })
	case "runtime.powerState":
		m.power = value[types.VirtualMachinePowerState](val)
	case "runtime.connectionState":
		m.reach = value[types.VirtualMachineConnectionState](val)
	case "runtime.host":
		m.host = reference(val)
	case "runtime.question":
		m.question = short(value[question](val).Text)
	case "config.instanceUuid":
		if uuid := strings.ToLower(short(value[string](val))); uuid != "" { // its configuration can't be read while its files can't
			m.uuid = uuid
		}
	case "config.template":
		m.template = value[bool](val)
	case "config.managedBy":
		m.managedBy = short(value[types.ManagedByInfo](val).ExtensionKey)
	case "config.ftInfo":
		_, m.secondary = val.(types.FaultToleranceSecondaryConfigInfo)
		m.secondary = m.secondary || value[types.FaultToleranceConfigInfo](val).Role > 1
	case "guest.toolsRunningStatus":
		m.tools = types.VirtualMachineToolsRunningStatus(value[string](val))
	}
}

func (h *host) set(name string, val any) {
	switch name {
	case "name":
		h.name = label(val)
	case "runtime.connectionState":
		h.reach = value[types.HostSystemConnectionState](val)
	case "runtime.powerState":
		h.power = value[types.HostSystemPowerState](val)
	case "runtime.inMaintenanceMode":
		h.maintenance = value[bool](val)
	case "config.vsanHostConfig":
		h.vsan = value[vsanConfig](val).Enabled
	}
}

// path gives the inventory path of a VM, "/DC0/vm/Lab/web01", or just its name where its folder isn't known.
func (t *tables) path(m *vm) string { return strings.Join(append(t.folders(m), m.name), "/") }

// folders lists the names from the root down to the VM's folder; the first is "" if the root was reached.
func (t *tables) folders(m *vm) []string {
	var names []string
	at := m.parent
	for range maxDepth { // a server may say that two folders lie in each other
		p := t.places[at]
		if p == nil { // the root itself is not told
			break
		}
		names = append(names, p.name)
		at = p.parent
	}
	if len(names) > 0 {
		names = append(names, "")
	}
	slices.Reverse(names)
	return names
}

// isVCLS reports whether the VM is one of vSphere's own cluster agents.
func isVCLS(name, managedBy string) bool {
	if !strings.HasPrefix(name, "vCLS") {
		return false
	}
	uuid, _ := path.Match("vCLS-????????-????-????-????-????????????", name)
	number, _ := path.Match("vCLS (*)", name)
	return managedBy != "" || uuid || number
}

// ambiguous lists the paths of VMs that answer to one name.
func (t *tables) ambiguous(what string, refs []ref) error {
	var all []string
	for _, r := range refs {
		all = append(all, t.path(t.vms[r]))
	}
	slices.Sort(all)
	return fmt.Errorf("%d VMs are called %q: give vm as a path or give uuid: %s", len(refs), what, strings.Join(all, ", "))
}
