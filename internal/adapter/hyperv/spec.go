// Package hyperv reaches Hyper-V's VMs, hosts and failover clusters by PowerShell: over WinRM, or over the SSH server that
// Windows has, through a connection of type ssh.
//
// # What the account needs
//
// Remote Management Users (WinRM) or the right to log in over SSH; Hyper-V Administrators on the hosts; for a cluster
// Grant-ClusterAccess -Full; for a host's shutdown Administrators on it.
package hyperv

import (
	"cmp"
	"fmt"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// VMSpec are the keys of a hyperv.vm.
type VMSpec struct {
	VM        string `yaml:"vm"`        // its name; the node's id if not given
	UUID      string `yaml:"uuid"`      // its Id ((Get-VM NAME).Id), or its group's in a cluster, instead of vm
	Clustered bool   `yaml:"clustered"` // it is a role of the failover cluster that via leads to
}

// VMsSpec are the keys of a hyperv.vms.
type VMsSpec struct {
	Select    Selection `yaml:"select" check:"required"`
	Exclude   []string  `yaml:"exclude"`   // globs of names
	Clustered bool      `yaml:"clustered"` // the roles of the failover cluster that via leads to
}

// Selection says which VMs are meant.
type Selection struct {
	Name string `yaml:"name"` // a glob
	All  bool   `yaml:"all"`
}

// HostSpec are the keys of a hyperv.host.
type HostSpec struct {
	Host string `yaml:"host"` // its computer name, as the cluster knows it; the node's id if not given
	// OffWhenUnreachable is how long it must be silent after an accepted shutdown to count as proven off; 90 s if not
	// given. Windows goes on writing for a while after its network is gone.
	OffWhenUnreachable time.Duration `yaml:"off_when_unreachable" check:"positive"`
}

// ClusterSpec are the keys of a hyperv.cluster: it has none.
type ClusterSpec struct{}

const offAfter = 90 * time.Second

var (
	vmVerbs      = plan.VerbSet(plan.Stop, plan.Force, plan.Start)
	hostVerbs    = plan.VerbSet(plan.Stop, plan.Force)
	clusterVerbs = plan.VerbSet(plan.Stop, plan.Start)
)

// Family is Hyper-V's part of the runbook language.
func Family() adapter.Family {
	via := powershell.Via()
	vmTimes := map[plan.Verb]plan.Times{
		plan.Stop:  {Nominal: 50 * time.Second, Within: 5 * time.Minute},
		plan.Force: {Nominal: 10 * time.Second, Within: time.Minute},
		plan.Start: {Nominal: 30 * time.Second, Within: 6 * time.Minute},
	}
	return adapter.Family{
		Nodes: []schema.AnyNodeType{
			schema.NodeType[VMSpec]{
				Traits: schema.Traits{
					Name: "hyperv.vm", Doc: "a VM of a Hyper-V host, or a clustered one", Kind: plan.VM, Via: via,
					Can: vmVerbs, Times: vmTimes, Risk: plan.Application,
				},
				Check: checkVM, ByHand: vmByHand,
			}.Any(),
			schema.NodeType[VMsSpec]{
				Traits: schema.Traits{
					Name: "hyperv.vms", Doc: "the VMs of a Hyper-V host or of a failover cluster that a name selects", Kind: plan.VM, Via: via,
					Selects: true, Member: "hyperv.vm", Can: vmVerbs, Times: vmTimes, Risk: plan.Application,
				},
				Check: checkVMs, ByHand: vmsByHand,
			}.Any(),
			schema.NodeType[HostSpec]{
				Traits: schema.Traits{
					Name: "hyperv.host", Doc: "a Windows machine that runs Hyper-V", Kind: plan.Host, Via: via, Can: hostVerbs,
					Times: map[plan.Verb]plan.Times{
						plan.Stop:  {Nominal: 2 * time.Minute, Within: 8 * time.Minute},
						plan.Force: {Nominal: 2 * time.Minute, Within: 8 * time.Minute},
						plan.Start: {Nominal: 5 * time.Minute, Within: 15 * time.Minute},
					},
					Risk: plan.ControlPlane,
				},
				ByHand:   hostByHand,
				OffAfter: func(s *HostSpec) time.Duration { return cmp.Or(s.OffWhenUnreachable, offAfter) },
			}.Any(),
			// Not of the kind of clusters that are only suspended: this one is stopped, after all of its VMs and
			// before its hosts, and takes its shared volumes offline itself.
			schema.NodeType[ClusterSpec]{
				Traits: schema.Traits{
					Name: "hyperv.cluster", Doc: "a failover cluster as a whole: between its VMs and its hosts", Kind: plan.Other, Via: via,
					Can: clusterVerbs,
					Times: map[plan.Verb]plan.Times{
						plan.Stop:  {Nominal: 40 * time.Second, Within: 4 * time.Minute},
						plan.Start: {Nominal: 90 * time.Second, Within: 8 * time.Minute},
					},
					Risk: plan.ControlPlane,
				},
				ByHand: clusterByHand,
			}.Any(),
		},
		Open: open,
		List: func(conn adapter.Conn) adapter.Lister {
			on, _ := conn.(powershell.Shell) // its nodes were opened
			return everything{on}
		},
	}
}

func checkVM(s *VMSpec) []error {
	if s.VM != "" && s.UUID != "" {
		return []error{schema.Mistake("vm", "vm and uuid can't be combined: keep one")}
	}
	return nil
}

func checkVMs(s *VMsSpec) []error {
	var errs []error
	if s.Select == (Selection{}) {
		errs = append(errs, schema.Mistake("select", "select is empty: give a name, or all: true"))
	}
	return append(errs, schema.CheckGlobs("select", append([]string{s.Select.Name}, s.Exclude...)...)...)
}

// open makes a node.
func open(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
	on, err := adapter.Via[powershell.Shell](via, "winrm or ssh")
	if err != nil {
		return nil, err
	}
	switch spec := d.Spec.(type) {
	case *VMSpec:
		n := &vm{on: on, id: spec.UUID, kind: kindOf(spec.Clustered)}
		if n.id == "" {
			n.name = cmp.Or(spec.VM, d.ID)
		}
		return n, nil
	case *VMsSpec:
		return &vms{on: on, spec: spec, kind: kindOf(spec.Clustered)}, nil
	case *HostSpec:
		return &host{on: on, name: cmp.Or(spec.Host, d.ID)}, nil
	case *ClusterSpec:
		return &cluster{on: on, name: d.ID}, nil
	default:
		return nil, fmt.Errorf("no Hyper-V node has a spec of type %T", d.Spec)
	}
}
