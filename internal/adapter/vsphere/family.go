package vsphere

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"

	"github.com/google/uuid"
)

// VMSpec is what a runbook says of a vsphere.vm.
type VMSpec struct {
	VM       string `yaml:"vm"`                          // name, or path: "Lab/web01" or "/DC0/vm/Lab/web01"; the node's id if not given
	UUID     string `yaml:"uuid"`                        // instance UUID, instead of vm
	Fallback string `yaml:"fallback" check:"connection"` // connection of a host that runs it, asked when via can't answer
}

// VMsSpec is what a runbook says of a vsphere.vms.
type VMsSpec struct {
	Select   Selection `yaml:"select" check:"required"`
	Exclude  []string  `yaml:"exclude"`                     // globs of names
	Fallback []string  `yaml:"fallback" check:"connection"` // connections of the hosts that run them, asked when via can't answer
}

// Selection says which VMs are meant: those to which everything given applies.
type Selection struct {
	Tag    string `yaml:"tag"`    // category/name, attached to the VM itself
	Folder string `yaml:"folder"` // a folder's name or path; those below it count
	Name   string `yaml:"name"`   // a glob
}

// HostSpec is what a runbook says of a vsphere.host.
type HostSpec struct {
	// name as vCenter knows it; the node's id if not given; not used on the host's own connection
	Host     string `yaml:"host"`
	Fallback string `yaml:"fallback" check:"connection"` // the host's own connection, asked when via can't answer
	// OffWhenUnreachable is how long a host must be silent after an accepted shutdown to count as proven off; 30 s if
	// not given. Its agent ends some time before the host itself does.
	OffWhenUnreachable time.Duration `yaml:"off_when_unreachable" check:"positive"`
	// Maintenance shuts it down in maintenance mode, and takes it out again once it is up, unless it was in before.
	Maintenance bool     `yaml:"maintenance"`
	Datastores  []string `yaml:"datastores"` // names: those that it must have mounted to be well when it is up
}

// ClusterSpec is what a runbook says of a vsphere.cluster.
type ClusterSpec struct {
	Cluster string `yaml:"cluster"` // name as vCenter knows it; the node's id if not given
}

// Family is vSphere's part of the runbook language.
func Family() adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnectionSpec]{
			Name:     "vsphere",
			Doc:      "a vCenter, or an ESXi host's own agent",
			Check:    checkConnection,
			Endpoint: placeOf,
			ByHand: []manual.Instruction{
				{Say: "govc is VMware's command line; a copy of it is kept here: ______________________ An export line tells it which " +
					"system to use. For each system, first compare what this prints with what the system should show (“Is it the right one?”):", Type: "govc about.cert -k -thumbprint | tee -a known"},
				{
					Say:  "Then, and again for each system with a different password (type it after this line, then press Enter):",
					Type: "export GOVC_TLS_KNOWN_HOSTS=known; read -rs GOVC_PASSWORD; export GOVC_PASSWORD",
				},
			},
		}.Any()},
		Nodes: []schema.AnyNodeType{
			schema.NodeType[VMSpec]{
				Traits: schema.Traits{
					Name: "vsphere.vm", Doc: "a VM", Kind: plan.VM, Via: []string{"vsphere"},
					Can: vmVerbs, Times: vmTimes(), Risk: plan.Application,
				},
				Check: checkVM, ByHand: vmByHand,
			}.Any(),
			schema.NodeType[VMsSpec]{
				Traits: schema.Traits{
					Name: "vsphere.vms", Doc: "the VMs that a tag, a folder or a glob selects; templates and vCLS VMs are left out",
					Kind: plan.VM, Via: []string{"vsphere"}, Selects: true, Member: "vsphere.vm",
					Can: vmVerbs, Times: vmTimes(), Risk: plan.Application,
				},
				Check: checkVMs, ByHand: vmsByHand,
			}.Any(),
			schema.NodeType[HostSpec]{
				Traits: schema.Traits{
					Name: "vsphere.host", Doc: "an ESXi host, through vCenter or directly", Kind: plan.Host, Via: []string{"vsphere"},
					Times: map[plan.Verb]plan.Times{
						plan.Stop:  {Nominal: 90 * time.Second, Within: 5 * time.Minute},
						plan.Force: {Nominal: 90 * time.Second, Within: 3 * time.Minute},
						plan.Start: {Nominal: 6 * time.Minute, Within: 15 * time.Minute},
					},
					Risk: plan.ControlPlane,
				},
				Verbs:    hostVerbs,
				Healthy:  func(s *HostSpec) bool { return len(s.Datastores) > 0 },
				OffAfter: func(s *HostSpec) time.Duration { return cmp.Or(s.OffWhenUnreachable, offAfter) },
				ByHand:   hostByHand,
			}.Any(),
			schema.NodeType[ClusterSpec]{
				Traits: schema.Traits{
					Name: "vsphere.cluster", Doc: "a cluster's HA, DRS, DPM and vCLS, turned off for an outage and put back as they were",
					Kind: plan.Cluster, Via: []string{"vsphere"}, Can: clusterVerbs,
					Times: map[plan.Verb]plan.Times{
						plan.Protect:   {Nominal: 20 * time.Second, Within: 2 * time.Minute},
						plan.Unprotect: {Nominal: time.Minute, Within: 10 * time.Minute},
					},
					Risk: plan.ControlPlane,
				},
				ByHand: clusterByHand,
			}.Any(),
		},
		Open: open,
		Connect: adapter.Connecting(func(name string, spec *ConnectionSpec, secrets adapter.Secrets) (*Conn, error) {
			return connect(name, spec, secrets, defaultPace)
		}),
	}
}

// offAfter is how long a host must not answer after it took its shutdown, where the runbook does not say.
const offAfter = 30 * time.Second

// hostVerbs are what a host can be told. Unprotect takes it out of the maintenance mode that its stop put it into.
func hostVerbs(s *HostSpec) plan.Verbs {
	if s.Maintenance {
		return plan.VerbSet(plan.Stop, plan.Force, plan.Unprotect)
	}
	return plan.VerbSet(plan.Stop, plan.Force)
}

var clusterVerbs = plan.VerbSet(plan.Protect, plan.Unprotect)

var vmVerbs = plan.VerbSet(plan.Stop, plan.Force, plan.Start)

func vmTimes() map[plan.Verb]plan.Times {
	return map[plan.Verb]plan.Times{
		plan.Stop:  {Nominal: 35 * time.Second, Within: 3 * time.Minute},
		plan.Force: {Nominal: 5 * time.Second, Within: 30 * time.Second},
		plan.Start: {Nominal: 10 * time.Second, Within: 5 * time.Minute},
	}
}

func checkConnection(s *ConnectionSpec) []error {
	var errs []error
	if _, err := parseURL(s.URL); err != nil && s.URL != "" {
		errs = append(errs, &schema.KeyError{Key: "url", Err: err})
	}
	return append(errs, certificate.Check(s.Thumbprint, s.CAFile)...)
}

func checkVM(s *VMSpec) []error {
	if s.UUID == "" {
		return nil
	}
	var errs []error
	if _, err := uuid.Parse(s.UUID); err != nil {
		errs = append(errs, schema.Mistake("uuid",
			"uuid %q is not a UUID: give the VM's instance UUID, as in 503c2f5d-7a3b-0d1e-9a4b-1c2d3e4f5a6b", s.UUID))
	}
	if s.VM != "" {
		errs = append(errs, schema.Mistake("vm", "vm and uuid can't be combined: keep one"))
	}
	return errs
}

func checkVMs(s *VMsSpec) []error {
	var errs []error
	if s.Select == (Selection{}) {
		errs = append(errs, schema.Mistake("select", "select is empty: give at least one of tag, folder and name"))
	}
	if category, name, _ := strings.Cut(s.Select.Tag, "/"); s.Select.Tag != "" && (category == "" || name == "") {
		errs = append(errs, schema.Mistake("select", "tag %q is not of the form category/name", s.Select.Tag))
	}
	return slices.Concat(errs, schema.CheckGlobs("select", s.Select.Name), schema.CheckGlobs("exclude", s.Exclude...))
}

// open makes a node.
func open(d schema.Node, conn adapter.Conn, others func(string) (adapter.Conn, error)) (adapter.Node, error) {
	via, err := adapter.Via[*Conn](conn, "vsphere")
	if err != nil {
		return nil, err
	}
	reach := func(fallbacks ...string) ([]*Conn, error) {
		conns := []*Conn{via}
		for _, name := range fallbacks {
			if name == "" {
				continue
			}
			other, err := others(name)
			if err != nil {
				return nil, fmt.Errorf("fallback %q: %w", name, err)
			}
			c, ok := other.(*Conn)
			if !ok {
				return nil, fmt.Errorf("fallback %q is not a connection of type vsphere", name)
			}
			conns = append(conns, c)
		}
		return conns, nil
	}
	switch spec := d.Spec.(type) {
	case *VMSpec:
		conns, err := reach(spec.Fallback)
		if err != nil {
			return nil, err
		}
		if spec.UUID != "" {
			return newVM(conns, "", spec.UUID), nil
		}
		if spec.VM != "" {
			return newVM(conns, spec.VM, ""), nil
		}
		return newVM(conns, d.ID, ""), nil
	case *VMsSpec:
		conns, err := reach(spec.Fallback...)
		if err != nil {
			return nil, err
		}
		return &vmsNode{conns: conns, spec: spec}, nil
	case *HostSpec:
		conns, err := reach(spec.Fallback)
		if err != nil {
			return nil, err
		}
		name := spec.Host
		if name == "" {
			name = d.ID
		}
		via.hosts.Add(1)
		return &hostNode{conns: conns, name: name, spec: spec, checked: len(d.Healthy) > 0}, nil
	case *ClusterSpec:
		return &clusterNode{conn: via, name: cmp.Or(spec.Cluster, d.ID)}, nil
	default:
		return nil, fmt.Errorf("no vSphere node has a spec of type %T", d.Spec)
	}
}
