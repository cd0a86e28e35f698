package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/adapter/selector"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// kind is how VMs are driven: as those of a host, or as roles of a failover cluster.
type kind struct {
	look, list, stop, force, start script
	observe                        func(known) plan.Observation
}

func kindOf(clustered bool) kind {
	if clustered {
		return kind{lookRole, listRoles, stopRole, forceRole, startRole, known.role}
	}
	return kind{lookVM, listVMs, stopVM, forceVM, startVM, known.vm}
}

// known is a VM as Windows tells of it.
type known struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Host    string `json:"host"`
	Offline int    `json:"offline"` // roles: what is done when it is taken offline; 1: it is saved
	// Clustered: it is a role of a failover cluster.
	Clustered bool `json:"clustered"`
}

// wanted are the arguments of the scripts of one VM.
type wanted struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// vm is a hyperv.vm, or a member of a hyperv.vms.
type vm struct {
	on   powershell.Shell
	id   string // "": known by its name
	name string
	kind kind
}

func (n *vm) String() string {
	if n.name != "" {
		return fmt.Sprintf("VM %q", n.name)
	}
	return "VM with Id " + n.id
}

func (n *vm) find(ctx context.Context) (known, error) {
	var found []known
	if err := n.kind.look.run(ctx, n.on, wanted{n.id, n.name}, &found); err != nil {
		return known{}, powershell.Asked(err)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return known{}, fmt.Errorf("%w: there is no such VM, or the account may not see it", adapter.ErrGone)
	default:
		return known{}, fmt.Errorf("%w: %d VMs have this name: give the uuid of the one that is meant", adapter.ErrRefused, len(found))
	}
}

// Probe tells the VM's state.
func (n *vm) Probe(ctx context.Context) (plan.Observation, error) {
	m, err := n.find(ctx)
	switch {
	case errors.Is(err, adapter.ErrGone):
		return plan.Observation{State: plan.Gone, Detail: "the VM no longer exists"}, nil
	case err != nil:
		return plan.Observation{}, fmt.Errorf("cannot probe %s: %w", n, err)
	}
	return n.kind.observe(m), nil
}

// vm says what the state of a host's VM means. A state that ends in Critical is the same one, with its storage lost.
func (m known) vm() plan.Observation {
	o := plan.Observation{Detail: strings.ToLower(m.State)}
	switch strings.TrimSuffix(m.State, "Critical") {
	case "Running", "Paused", "Pausing", "Resuming":
		o.State = plan.On
	case "Off", "Saved", "FastSaved":
		o.State = plan.Off
	case "Starting", "Reset":
		o.State = plan.Starting
	case "Stopping", "Saving", "FastSaving":
		o.State = plan.Stopping
	}
	switch {
	case m.Clustered:
		o.Caution = "it is a role of a cluster, which starts it again: write clustered: true"
	case strings.HasPrefix(m.State, "Paus"):
		o.Caution = "it is paused and cannot shut down: run Resume-VM on it"
	}
	return o
}

// offlineActions are those that do not ask the guest to shut down, as 2 and 3 do (VirtualMachines OfflineAction: 0 turns it off, 1 saves
// it; -1: it could not be read).
var offlineActions = map[int]string{
	-1: "whether it is shut down as its cluster stops it can't be read: look at Get-ClusterParameter OfflineAction, which is to be 2",
	0:  "it will be turned off as if its plug were pulled, not shut down: set its OfflineAction to 2",
	1:  "it will be saved, not shut down: set its OfflineAction to 2",
}

// role says what the state of a clustered VM's resource means.
func (m known) role() plan.Observation {
	o := plan.Observation{Detail: strings.ToLower(m.State) + " on " + m.Host}
	switch m.State {
	case "Online":
		o.State = plan.On
		o.Caution = offlineActions[m.Offline]
	case "Offline":
		o.State = plan.Off
	case "OnlinePending", "Initializing":
		o.State = plan.Starting
	case "OfflinePending":
		o.State = plan.Stopping
	}
	return o
}

// Do shuts the guest down, powers the VM off or starts it.
func (n *vm) Do(ctx context.Context, do adapter.Command) error {
	if !vmVerbs.Has(do.Verb) {
		return fmt.Errorf("cannot %s %s: %w: a VM has no such verb", do.Verb, n, adapter.ErrRefused)
	}
	m, err := n.find(ctx)
	if err == nil && !n.holds(m, do.Verb) {
		err = n.give(ctx, m, do.Verb)
	}
	if err != nil {
		return fmt.Errorf("cannot %s %s: %w", do.Verb, n, err)
	}
	return nil
}

func (n *vm) holds(m known, v plan.Verb) bool {
	switch n.kind.observe(m).State {
	case plan.On:
		return v == plan.Start
	case plan.Off:
		return v != plan.Start
	case plan.Starting:
		return v == plan.Start
	case plan.Stopping:
		return v == plan.Stop
	default:
		return false
	}
}

func (n *vm) give(ctx context.Context, m known, v plan.Verb) error {
	command := map[plan.Verb]script{plan.Stop: n.kind.stop, plan.Force: n.kind.force, plan.Start: n.kind.start}[v]
	if v == plan.Stop && strings.HasPrefix(m.State, "Paus") {
		return fmt.Errorf("%w: it is paused and cannot shut down: run Resume-VM on it, or let down.force power it off",
			adapter.ErrRefused)
	}
	err := command.run(ctx, n.on, wanted{n.id, n.name}, nil)
	if errors.Is(err, adapter.ErrBusy) || errors.Is(err, adapter.ErrRefused) {
		if now, lookErr := n.find(ctx); lookErr == nil && n.holds(now, v) {
			return nil // it has got there meanwhile
		}
	}
	return err
}

// vms is a hyperv.vms.
type vms struct {
	on   powershell.Shell
	spec *VMsSpec
	kind kind
}

// Members lists the VMs that the selection covers now, by name.
func (n *vms) Members(ctx context.Context) ([]plan.Member, error) {
	var list []known
	if err := n.kind.list.run(ctx, n.on, wanted{}, &list); err != nil {
		return nil, fmt.Errorf("cannot list the VMs: %w", powershell.Asked(err))
	}
	var members []plan.Member
	for _, m := range list {
		if selector.Covers(m.Name, n.spec.Select.Name, n.spec.Exclude) {
			members = append(members, plan.Member{ID: m.ID, Name: m.Name, Host: m.Host, On: n.kind.observe(m).State == plan.On})
		}
	}
	selector.Sort(members)
	return members, nil
}

// Member gives the node of one member.
func (n *vms) Member(id string) (adapter.Node, error) {
	return &vm{on: n.on, id: id, kind: n.kind}, nil
}

// Probe counts: on while any member is.
func (n *vms) Probe(ctx context.Context) (plan.Observation, error) {
	return selector.Probe(ctx, n, "VMs")
}

// Do is refused: commands go to the members.
func (n *vms) Do(_ context.Context, do adapter.Command) error {
	return selector.Refuse(do.Verb, "VMs")
}

// everything lists what runs on the machine that a connection leads to, and in its cluster.
type everything struct{ on powershell.Shell }

// Everything lists the VMs that are on, whether a node covers them or not.
func (e everything) Everything(ctx context.Context) ([]schema.Running, error) {
	var list []known
	if err := listAll.run(ctx, e.on, wanted{}, &list); err != nil {
		return nil, fmt.Errorf("cannot list the VMs: %w", powershell.Asked(err))
	}
	var running []schema.Running
	for _, m := range list {
		one := schema.Running{Member: plan.Member{ID: m.ID, Name: m.Name, Host: m.Host, On: true}}
		off := m.vm().State == plan.Off
		if m.Clustered {
			one.Keys, one.Under = "clustered: true", "hyperv.cluster"
			off = m.State == "Offline" // the state of the role, which has more of them than its VM
		}
		if !off {
			running = append(running, one)
		}
	}
	selector.SortRunning(running)
	return running, nil
}

// Find tells the VM of the host itself that is on and whose firmware says a UUID.
func (e everything) Find(ctx context.Context, firmware string) (id string, err error) {
	var list []struct {
		known
		Firmware string `json:"firmware"`
	}
	if err := listFirmware.run(ctx, e.on, wanted{}, &list); err != nil {
		return "", fmt.Errorf("cannot read the firmware of the VMs: %w", powershell.Asked(err))
	}
	for _, m := range list {
		if m.vm().State != plan.Off && selector.SameFirmware(m.Firmware, firmware) {
			return m.ID, nil
		}
	}
	return "", nil
}
