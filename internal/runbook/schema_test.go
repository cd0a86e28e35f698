package runbook_test

import (
	"errors"
	"time"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// The schema of these tests has the shapes that the adapters' own have: connections with secrets, a selector and its
// member type, inlined commands, a name key, a type without keys.

type vsphereConn struct {
	URL        string           `yaml:"url" check:"required"`
	Username   string           `yaml:"username" check:"required"`
	Password   schema.SecretRef `yaml:"password" check:"required"`
	Thumbprint string           `yaml:"thumbprint"`
	CAFile     string           `yaml:"ca_file"`
}

type sshConn struct {
	Address string           `yaml:"address" check:"required"`
	User    string           `yaml:"user" check:"required"`
	Key     schema.SecretRef `yaml:"key"`
	HostKey string           `yaml:"host_key"`
}

type bmcConn struct {
	Address string `yaml:"address" check:"required"`
}

type vmSpec struct {
	VM       string `yaml:"vm"`
	UUID     string `yaml:"uuid"`
	Fallback string `yaml:"fallback" check:"connection"`
}

type vmsSpec struct {
	Select struct {
		Tag    string `yaml:"tag"`
		Folder string `yaml:"folder"`
		Name   string `yaml:"name"`
	} `yaml:"select" check:"required"`
	Exclude  []string `yaml:"exclude"`
	Fallback []string `yaml:"fallback" check:"connection"`
}

type hostSpec struct {
	Host     string `yaml:"host"`
	Fallback string `yaml:"fallback" check:"connection"`
}

type commands struct {
	Probe     schema.Command `yaml:"probe"`
	Protect   schema.Command `yaml:"protect"`
	Flush     schema.Command `yaml:"flush"`
	Stop      schema.Command `yaml:"stop"`
	Force     schema.Command `yaml:"force"`
	Start     schema.Command `yaml:"start"`
	Unprotect schema.Command `yaml:"unprotect"`
}

type sshSpec struct {
	commands           `yaml:",inline"`
	OffWhenUnreachable time.Duration `yaml:"off_when_unreachable" check:"positive"`
}

func (c *commands) verbs() plan.Verbs {
	var set plan.Verbs
	for _, k := range []struct {
		verb plan.Verb
		by   schema.Command
	}{
		{plan.Protect, c.Protect},
		{plan.Flush, c.Flush},
		{plan.Stop, c.Stop},
		{plan.Force, c.Force},
		{plan.Start, c.Start},
		{plan.Unprotect, c.Unprotect},
	} {
		if !k.by.IsZero() {
			set |= plan.VerbSet(k.verb)
		}
	}
	return set
}

var (
	vmVerbs = plan.VerbSet(plan.Stop, plan.Force, plan.Start)
	vmTimes = map[plan.Verb]plan.Times{plan.Stop: {Nominal: 35 * time.Second, Within: 3 * time.Minute}}
)

func testSchema() schema.Types {
	return schema.Types{
		Connections: []schema.AnyConnectionType{
			schema.ConnectionType[vsphereConn]{Name: "vsphere"}.Any(),
			schema.ConnectionType[sshConn]{
				Name:     "ssh",
				Endpoint: func(s *sshConn) manual.Endpoint { return manual.Endpoint{Address: s.Address} },
				Check: func(s *sshConn) []error {
					if s.HostKey == "" {
						return []error{errors.New("an ssh connection needs host_key")}
					}
					return nil
				},
			}.Any(),
			schema.ConnectionType[bmcConn]{Name: "redfish", Powers: true}.Any(),
		},
		Nodes: []schema.AnyNodeType{
			schema.NodeType[vmSpec]{
				Traits: schema.Traits{
					Name: "vsphere.vm", Kind: plan.VM, Via: []string{"vsphere"}, Risk: plan.Application, Times: vmTimes, Can: vmVerbs,
				},
				Check: func(s *vmSpec) []error {
					if s.VM != "" && s.UUID != "" {
						return []error{&schema.KeyError{Key: "uuid", Err: errors.New("vm and uuid can't be combined: keep one")}}
					}
					return nil
				},
			}.Any(),
			schema.NodeType[vmsSpec]{Traits: schema.Traits{
				Name: "vsphere.vms", Kind: plan.VM, Via: []string{"vsphere"}, Selects: true, Member: "vsphere.vm", Risk: plan.Application,
			}}.Any(),
			schema.NodeType[hostSpec]{Traits: schema.Traits{
				Name: "vsphere.host", Kind: plan.Host, Via: []string{"vsphere"}, Risk: plan.ControlPlane,
				Can: plan.VerbSet(plan.Stop, plan.Force),
			}}.Any(),
			schema.NodeType[sshSpec]{
				Traits:   schema.Traits{Name: "ssh", Kind: plan.Other, Anything: true, Via: []string{"ssh"}, Risk: plan.Storage},
				Verbs:    func(s *sshSpec) plan.Verbs { return s.verbs() },
				OffAfter: func(s *sshSpec) time.Duration { return s.OffWhenUnreachable },
			}.Any(),
			schema.NodeType[commands]{Traits: schema.Traits{Name: "command", Kind: plan.Other}, Verbs: (*commands).verbs}.Any(),
			keyless(schema.Traits{Name: "passive", Kind: plan.Passive}),
			keyless(schema.Traits{Name: "manual", Kind: plan.Manual, Can: plan.VerbSet(plan.Stop, plan.Start)}),
			keyless(schema.Traits{Name: "self", Kind: plan.Self, Can: plan.VerbSet(plan.Stop)}),
		},
	}
}

func keyless(t schema.Traits) schema.AnyNodeType {
	return schema.NodeType[schema.NoKeys]{Traits: t}.Any()
}
