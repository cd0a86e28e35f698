// Package proxmox reaches the VMs, containers and nodes of a Proxmox VE cluster by its REST API, and sets its high
// availability and Ceph's healing aside for a shutdown.
//
// # What the account needs
//
// An API token of its own. On /vms VM.Audit to see guests and VM.PowerMgmt to stop and start them: with a pool alone the other guests of a
// node can't be seen, and go with it. On /nodes Sys.Audit and Sys.PowerMgmt for nodes; on / Sys.Audit, Sys.Console (HA) and Sys.Modify
// (Ceph) for the cluster.
package proxmox

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ConnSpec are the keys of a connection of type "proxmox".
type ConnSpec struct {
	URL string `yaml:"url" check:"required"` // https://pve1:8006
	// the same of further nodes of the cluster, asked when url does not answer
	Others     []string         `yaml:"others"`
	Token      string           `yaml:"token" check:"required"`  // user@realm!name
	Secret     schema.SecretRef `yaml:"secret" check:"required"` // the token's value
	Thumbprint string           `yaml:"thumbprint"`              // of the certificate, where there is one url
	CAFile     string           `yaml:"ca_file"`                 // PEM certificates of the authorities: /etc/pve/pve-root-ca.pem
}

// GuestSpec are the keys of a proxmox.guest.
type GuestSpec struct {
	Guest string `yaml:"guest"`                  // its name; the node's id if not given
	VMID  int    `yaml:"vmid" check:"positive"`  // its number: what it is known by if given
	Grace int    `yaml:"grace" check:"positive"` // seconds that Proxmox itself waits for the guest; 600 if not given
}

// GuestsSpec are the keys of a proxmox.guests.
type GuestsSpec struct {
	Select  Selection `yaml:"select" check:"required"`
	Exclude []string  `yaml:"exclude"`                // globs of names
	Grace   int       `yaml:"grace" check:"positive"` // as of a proxmox.guest
}

// Selection says which guests are meant: those to which everything given applies.
type Selection struct {
	Tag  string `yaml:"tag"`
	Pool string `yaml:"pool"`
	Node string `yaml:"node"` // those that are on it now
	Name string `yaml:"name"` // a glob
	All  bool   `yaml:"all"`
}

// NodeSpec are the keys of a proxmox.node.
type NodeSpec struct {
	Node string `yaml:"node"` // its name in the cluster; the node's id if not given
	// OffWhenUnreachable is how long it must be silent after an accepted shutdown to count as proven off; 60 s if not
	// given. Its network ends some time before its disks do.
	OffWhenUnreachable time.Duration `yaml:"off_when_unreachable" check:"positive"`
}

// ClusterSpec are the keys of a proxmox.cluster.
type ClusterSpec struct {
	HA    *bool    `yaml:"ha"`   // set HA resources to "ignored" for the shutdown; true if not given
	Ceph  bool     `yaml:"ceph"` // set Ceph's flags for the shutdown
	Flags []string `yaml:"flags"`
}

const (
	defaultGrace = 600
	offAfter     = time.Minute
)

var (
	guestVerbs   = plan.VerbSet(plan.Stop, plan.Force, plan.Start)
	nodeVerbs    = plan.VerbSet(plan.Stop, plan.Force)
	clusterVerbs = plan.VerbSet(plan.Protect, plan.Unprotect)
)

// Family is Proxmox's part of the runbook language.
func Family() adapter.Family {
	guestTimes := map[plan.Verb]plan.Times{
		plan.Stop:  {Nominal: 35 * time.Second, Within: 3 * time.Minute},
		plan.Force: {Nominal: 10 * time.Second, Within: time.Minute},
		plan.Start: {Nominal: 15 * time.Second, Within: 5 * time.Minute},
	}
	via := []string{"proxmox"}
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnSpec]{
			Name: "proxmox", Doc: "a Proxmox VE cluster or a single host, by API token",
			Check:    checkConn,
			Endpoint: placeOf,
		}.Any()},
		Nodes: []schema.AnyNodeType{
			schema.NodeType[GuestSpec]{
				Traits: schema.Traits{
					Name: "proxmox.guest", Doc: "a VM or a container", Kind: plan.VM, Via: via, IDKey: "vmid",
					Can: guestVerbs, Times: guestTimes, Risk: plan.Application,
				},
				ByHand: guestByHand,
			}.Any(),
			schema.NodeType[GuestsSpec]{
				Traits: schema.Traits{
					Name: "proxmox.guests", Doc: "the VMs and containers that a tag, a pool, a node or a name selects; templates are left out",
					Kind: plan.VM, Via: via, Selects: true, Member: "proxmox.guest",
					Can: guestVerbs, Times: guestTimes, Risk: plan.Application,
				},
				Check: checkGuests, ByHand: guestsByHand,
			}.Any(),
			schema.NodeType[NodeSpec]{
				Traits: schema.Traits{
					Name: "proxmox.node", Doc: "a Proxmox VE host", Kind: plan.Host, Via: via, Can: nodeVerbs,
					Times: map[plan.Verb]plan.Times{
						plan.Stop:  {Nominal: time.Minute, Within: 5 * time.Minute},
						plan.Force: {Nominal: time.Minute, Within: 5 * time.Minute},
						plan.Start: {Nominal: 4 * time.Minute, Within: 15 * time.Minute},
					},
					Risk: plan.ControlPlane,
				},
				ByHand:   nodeByHand,
				OffAfter: func(s *NodeSpec) time.Duration { return cmp.Or(s.OffWhenUnreachable, offAfter) },
			}.Any(),
			schema.NodeType[ClusterSpec]{
				Traits: schema.Traits{
					Name: "proxmox.cluster", Doc: "the cluster's HA and Ceph's recovery, suspended for the shutdown and put back as they were",
					Kind: plan.Cluster, Via: via, Can: clusterVerbs,
					Times: map[plan.Verb]plan.Times{
						plan.Protect:   {Nominal: 5 * time.Second, Within: 2 * time.Minute},
						plan.Unprotect: {Nominal: 5 * time.Second, Within: lackAtMost + 5*time.Minute},
					},
					Risk: plan.ControlPlane,
				},
				Check: checkCluster, ByHand: clusterByHand,
			}.Any(),
		},
		Connect: adapter.Connecting(connect),
		Open:    open,
	}
}

func checkConn(s *ConnSpec) []error {
	errs := certificate.Check(s.Thumbprint, s.CAFile)
	for key, urls := range map[string][]string{"url": {s.URL}, "others": s.Others} {
		for _, text := range urls {
			if _, err := parseURL(text); err != nil && text != "" {
				errs = append(errs, &schema.KeyError{Key: key, Err: err})
			}
		}
	}
	user, name, found := strings.Cut(s.Token, "!")
	if s.Token != "" && (!found || name == "" || !strings.Contains(user, "@")) {
		errs = append(errs, schema.Mistake("token", "token %q is not of the form user@realm!name, as in ebbtide@pve!ups", s.Token))
	}
	if s.Thumbprint != "" && len(s.Others) > 0 {
		errs = append(errs, schema.Mistake("thumbprint",
			"each node of a cluster has a certificate of its own: with others give ca_file, a copy of /etc/pve/pve-root-ca.pem"))
	}
	return errs
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("url %q is not of the form https://host:8006", text[strings.LastIndex(text, "@")+1:])
	}
	return u, nil
}

func checkGuests(s *GuestsSpec) []error {
	var errs []error
	if s.Select == (Selection{}) {
		errs = append(errs, schema.Mistake("select", "select is empty: give at least one of tag, pool, node and name, or all: true"))
	}
	return append(errs, schema.CheckGlobs("select", append([]string{s.Select.Name}, s.Exclude...)...)...)
}

func checkCluster(s *ClusterSpec) []error {
	var errs []error
	if !s.ha() && !s.Ceph {
		errs = append(errs, errors.New("nothing is suspended: leave ha on, or give ceph: true"))
	}
	if len(s.Flags) > 0 && !s.Ceph {
		errs = append(errs, schema.Mistake("flags", "flags are Ceph's: give ceph: true too"))
	}
	for _, f := range s.Flags {
		switch {
		case f == "pause" || f == "nodown":
			errs = append(errs, schema.Mistake("flags",
				"flag %s stops the guests' own writes, or lets them hang, while they are to shut down: leave it out", f))
		case !slices.Contains(knownFlags, f):
			errs = append(errs, schema.Mistake("flags", "flag %q is none of %s", f, strings.Join(knownFlags, ", ")))
		}
	}
	return errs
}

// open makes a node.
func open(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
	c, err := adapter.Via[*conn](via, "proxmox")
	if err != nil {
		return nil, err
	}
	switch spec := d.Spec.(type) {
	case *GuestSpec:
		return &guest{conn: c, name: cmp.Or(spec.Guest, d.ID), vmid: spec.VMID, grace: cmp.Or(spec.Grace, defaultGrace)}, nil
	case *GuestsSpec:
		return &guests{conn: c, spec: spec}, nil
	case *NodeSpec:
		return &host{conn: c, name: cmp.Or(spec.Node, d.ID)}, nil
	case *ClusterSpec:
		return &cluster{conn: c, ha: spec.ha(), flags: spec.flags()}, nil
	default:
		return nil, fmt.Errorf("no Proxmox node has a spec of type %T", d.Spec)
	}
}
