package runbook

import (
	"time"

	"ebbtide/internal/plan"
)

// ConnectionType is a connection type of the language, given by the adapter family that serves it.
type ConnectionType struct {
	Name string // "vsphere"
	Doc  string // one line for help and documentation
	// Spec makes a pointer to an empty struct with yaml tags: the type's own keys. A field tagged `check:"required"`
	// must be given. Secrets are fields of type SecretRef.
	Spec func() any
	// Check finds further mistakes in a spec (nil: none).
	Check func(spec any) []error
}

// NodeType is a node type of the language, given by the adapter family that serves it.
type NodeType struct {
	Name string    // "vsphere.vm": also the name of its class in policy.limits
	Doc  string    // one line
	Kind plan.Kind //
	// Via lists the connection types that via may name; empty means the type takes no via.
	Via []string
	// Selects: stands for many nodes of type Member, found in the live inventory ("vsphere.vms" of "vsphere.vm").
	Selects bool
	Member  string
	// Spec makes a pointer to an empty struct with yaml tags: the type's own keys (nil: it has none).
	Spec func() any
	// Verbs tells which verbs a node with this spec can do.
	Verbs func(spec any) plan.Verbs
	// Times are the expected and longest times of its verbs where the runbook does not say.
	Times map[plan.Verb]plan.Times
	// Risk where the runbook does not say.
	Risk plan.Risk
	// Starts tells whether a Start verb really starts it, as against waiting for its power to come back (nil: by
	// whether Verbs has Start).
	Starts func(spec any) bool
	// OffAfter tells how long a node with this spec must be unreachable after an accepted stop to count as proven
	// off; 0: it never does (nil: 0 for all).
	OffAfter func(spec any) time.Duration
	// Check finds further mistakes in a spec, e.g. two keys that exclude each other (nil: none).
	Check func(spec any) []error
}

// SecretRef is a reference to a secret: exactly one field is set. A secret itself never stands in a runbook.
type SecretRef struct {
	Credential string `yaml:"credential" json:"credential,omitempty"` // a systemd credential, or a file in the daemon's credentials directory
	File       string `yaml:"file" json:"file,omitempty"`             // a file's absolute path
	Env        string `yaml:"env" json:"env,omitempty"`               // an environment variable
}

// IsZero tells whether no secret is named.
func (s SecretRef) IsZero() bool { return s == SecretRef{} }

// ConnectionDecl is one entry of connections.
type ConnectionDecl struct {
	Name string
	Type string
	Spec any // as made by ConnectionType.Spec, filled in
}

// NodeDecl is one entry of nodes, as far as its adapter needs it.
type NodeDecl struct {
	ID      string
	Type    string
	Via     string        // connection name, "" if none
	Spec    any           // as made by NodeType.Spec, filled in
	Wake    *Wake         // up.wake: how it is started when its own system can't
	Healthy []HealthCheck // up.healthy
}

// Wake says how a machine that is off is started.
type Wake struct {
	MAC       string `yaml:"mac" json:"mac,omitempty"`             // Wake-on-LAN: the network card's address
	Broadcast string `yaml:"broadcast" json:"broadcast,omitempty"` // where the packet goes, host:port; 255.255.255.255:9 if not given
	Redfish   string `yaml:"redfish" json:"redfish,omitempty"`     // connection name of its BMC
	IPMI      string `yaml:"ipmi" json:"ipmi,omitempty"`           // connection name of its BMC
	Power     bool   `yaml:"power" json:"power,omitempty"`         // starts by itself when its power comes back
}
