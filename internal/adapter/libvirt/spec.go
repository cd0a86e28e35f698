// Package libvirt reaches the domains of a KVM host, or of any other hypervisor that libvirt drives, through the host's
// libvirt daemon: over its Unix socket on the same machine, through an SSH connection, or over TLS.
//
// The host itself is a node of type ssh: libvirt has no call that powers a host off.
//
// # What the account needs
//
// Read and write access to the daemon's socket: on the host, membership in the group libvirt; over TLS, a client
// certificate that the daemon's own authority has signed.
package libvirt

import (
	"errors"
	"fmt"
	"net"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"

	"github.com/google/uuid"
)

// ConnSpec are the keys of a connection of type "libvirt".
type ConnSpec struct {
	URI    string `yaml:"uri"`                    // the driver as the daemon knows it; qemu:///system if not given
	Socket string `yaml:"socket"`                 // of the daemon; /run/libvirt/libvirt-sock if not given
	SSH    string `yaml:"ssh" check:"connection"` // an ssh connection to the host that has the socket; this machine if not given
	// host or host:port of a daemon that listens for TLS, instead of a socket; port 16514
	TLS    string           `yaml:"tls"`
	CAFile string           `yaml:"ca_file"`   // with tls: PEM certificates of the daemon's authority
	Cert   string           `yaml:"cert_file"` // with tls: our certificate, PEM
	Key    schema.SecretRef `yaml:"key"`       // with tls: its private key, PEM
}

// DomainSpec are the keys of a libvirt.domain.
type DomainSpec struct {
	Domain string `yaml:"domain"` // its name; the node's id if not given
	UUID   string `yaml:"uuid"`   // instead of domain
	Agent  bool   `yaml:"agent"`  // ask the guest's agent to shut down before the ACPI power button is pressed
}

// DomainsSpec are the keys of a libvirt.domains.
type DomainsSpec struct {
	Select  Selection `yaml:"select" check:"required"`
	Exclude []string  `yaml:"exclude"` // globs of names
	Agent   bool      `yaml:"agent"`   // as of a libvirt.domain
}

// Selection says which domains are meant: those to which everything given applies.
type Selection struct {
	Name      string `yaml:"name"`      // a glob
	Title     string `yaml:"title"`     // a glob of the title in the domain's definition
	Autostart bool   `yaml:"autostart"` // those that start with the host
	All       bool   `yaml:"all"`       // every domain of the daemon
}

const (
	defaultURI    = "qemu:///system"
	defaultSocket = "/run/libvirt/libvirt-sock"
	tlsPort       = "16514"
)

var domainVerbs = plan.VerbSet(plan.Stop, plan.Force, plan.Start)

// Family is libvirt's part of the runbook language.
func Family() adapter.Family {
	times := map[plan.Verb]plan.Times{
		plan.Stop:  {Nominal: 30 * time.Second, Within: 3 * time.Minute},
		plan.Force: {Nominal: 5 * time.Second, Within: time.Minute}, // libvirt itself takes up to half a minute over a process that hangs
		plan.Start: {Nominal: 10 * time.Second, Within: 5 * time.Minute},
	}
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnSpec]{
			Name:     "libvirt",
			Doc:      "a host's libvirt daemon: its socket here, through SSH, or over TLS",
			Check:    checkConn,
			Endpoint: func(s *ConnSpec) manual.Endpoint { return manual.Endpoint{Address: s.virshURI()} },
		}.Any()},
		Nodes: []schema.AnyNodeType{
			schema.NodeType[DomainSpec]{
				Traits: schema.Traits{
					Name: "libvirt.domain", Doc: "a VM that libvirt runs", Kind: plan.VM, Via: []string{"libvirt"},
					Can: domainVerbs, Times: times, Risk: plan.Application,
				},
				Check: checkDomain, ByHand: domainByHand,
			}.Any(),
			schema.NodeType[DomainsSpec]{
				Traits: schema.Traits{
					Name: "libvirt.domains", Doc: "the VMs of a libvirt daemon that a name, a title or autostart selects", Kind: plan.VM,
					Via: []string{"libvirt"}, Selects: true, Member: "libvirt.domain",
					Can: domainVerbs, Times: times, Risk: plan.Application,
				},
				Check: checkDomains, ByHand: domainsByHand,
			}.Any(),
		},
		Connect: adapter.Connecting(connect),
		Open:    open,
	}
}

func checkConn(s *ConnSpec) []error {
	var errs []error
	if s.TLS == "" {
		if s.CAFile != "" || s.Cert != "" || !s.Key.IsZero() {
			errs = append(errs, errors.New("ca_file, cert_file and key need tls: name the daemon's host there"))
		}
		return errs
	}
	if s.Socket != "" || s.SSH != "" {
		errs = append(errs, schema.Mistake("tls", "tls excludes socket and ssh: keep one way"))
	}
	if s.CAFile == "" || s.Cert == "" || s.Key.IsZero() {
		errs = append(errs, schema.Mistake("tls",
			"tls needs ca_file, cert_file and key: libvirt lets in who has a certificate of its authority"))
	}
	return errs
}

func checkDomain(s *DomainSpec) []error {
	if s.UUID == "" {
		return nil
	}
	var errs []error
	if _, err := uuid.Parse(s.UUID); err != nil {
		errs = append(errs, schema.Mistake("uuid", `uuid %q is not a UUID: "virsh domuuid NAME" prints it`, s.UUID))
	}
	if s.Domain != "" {
		errs = append(errs, schema.Mistake("domain", "domain and uuid can't be combined: keep one"))
	}
	return errs
}

func checkDomains(s *DomainsSpec) []error {
	var errs []error
	if s.Select == (Selection{}) {
		errs = append(errs, schema.Mistake("select", "select is empty: give at least one of name, title and autostart, or all: true"))
	}
	return append(errs, schema.CheckGlobs("select", append([]string{s.Select.Name, s.Select.Title}, s.Exclude...)...)...)
}

// open makes a node.
func open(d schema.Node, via adapter.Conn, others func(string) (adapter.Conn, error)) (adapter.Node, error) {
	c, err := adapter.Via[*conn](via, "libvirt")
	if err != nil {
		return nil, err
	}
	if err := c.through(others); err != nil {
		return nil, err
	}
	switch spec := d.Spec.(type) {
	case *DomainSpec:
		n := &domain{conn: c, name: spec.Domain, agent: spec.Agent}
		switch {
		case spec.UUID != "":
			id, err := uuid.Parse(spec.UUID)
			if err != nil {
				return nil, fmt.Errorf("cannot read uuid %q: %w", spec.UUID, err)
			}
			n.uuid = id
		case n.name == "":
			n.name = d.ID
		}
		return n, nil
	case *DomainsSpec:
		return &domains{conn: c, spec: spec}, nil
	default:
		return nil, fmt.Errorf("no libvirt node has a spec of type %T", d.Spec)
	}
}

// withPort gives the address of a TLS daemon its port.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, tlsPort)
}
