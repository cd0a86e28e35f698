// Package schema is what the runbook language and the adapters share. A family declares here which types of connections and nodes
// it serves, with their own keys; the language reads these keys, and gives them back as what a runbook declares. Neither side
// knows the other.
package schema

import (
	"time"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
)

// ConnectionType is a connection type of the language, given by the adapter family that serves it.
type ConnectionType struct {
	Name string // "vsphere"
	Doc  string // one line for help and documentation
	// Spec makes a pointer to an empty struct with yaml tags: the type's own keys. A field tagged `check:"required"`
	// must be given; the decoder's comment has the other words and the types that fields may have. Secrets are fields of
	// type SecretRef.
	Spec func() any
	// Check finds further mistakes in a spec (nil: none). One about a certain key is a *KeyError.
	Check func(spec any) []error
	// Endpoint tells where a person reaches the system, for the printed run book (nil: nowhere).
	Endpoint func(spec any) manual.Endpoint
	// Powers: it belongs to one machine and can power it off whatever runs on it, as a BMC. A node that it wakes can be
	// forced by it too.
	Powers bool
	// ByHand is what a person does before the first line that is typed at such a connection (nil: nothing).
	ByHand []manual.Instruction
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
	// IDKey is the key of its spec that holds the ID that the live inventory knows one by ("" stands for "uuid").
	IDKey string
	// Spec makes a pointer to an empty struct with yaml tags: the type's own keys (nil: it has none).
	Spec func() any
	// Verbs tells which verbs a node with this spec can do.
	Verbs func(spec any) plan.Verbs
	// Times are the expected and longest times of its verbs where the runbook does not say.
	Times map[plan.Verb]plan.Times
	// Risk where the runbook does not say.
	Risk plan.Risk
	// Starts reports whether a Start verb really starts it, as against waiting for its power to come back (nil: by
	// whether Verbs has Start).
	Starts func(spec any) bool
	// Healthy reports whether the probe of a node with this spec says by itself if the node is well, so that being on is not
	// enough to be up (nil: it does not).
	Healthy func(spec any) bool
	// Anything: what such a node is only the runbook says. Without feeds of its own, on a host or on the machine that it is commanded
	// through, it is a guest: to the rules of safety a VM, where nothing depends on it and its risk is not storage.
	Anything bool
	// OnlyPower: once stopped, nothing starts it again but that its power goes away and comes back.
	OnlyPower bool
	// OffAfter tells how long a node with this spec must be unreachable after an accepted stop to count as proven
	// off; 0: it never does (nil: 0 for all).
	OffAfter func(spec any) time.Duration
	// Check finds further mistakes in a spec, e.g. two keys that exclude each other (nil: none). One about a certain key
	// is a *KeyError.
	Check func(spec any) []error
	// ByHand tells what a person does without Ebbtide, for the printed run book (nil: nothing is known). places finds
	// the places of connections by their names.
	ByHand func(d *Node, places func(connection string) manual.Endpoint) manual.Procedure
}

// Types is the part of the language that the adapters give.
type Types struct {
	Connections []ConnectionType
	Nodes       []NodeType
}

// Node gives a node type by its name.
func (t *Types) Node(name string) (*NodeType, bool) {
	for i := range t.Nodes {
		if t.Nodes[i].Name == name {
			return &t.Nodes[i], true
		}
	}
	return nil, false
}

// Connection gives a connection type by its name.
func (t *Types) Connection(name string) (*ConnectionType, bool) {
	for i := range t.Connections {
		if t.Connections[i].Name == name {
			return &t.Connections[i], true
		}
	}
	return nil, false
}

// IDKey is the key of a node type's specs that holds the ID that the live inventory knows one by.
func (t *Types) IDKey(typ string) string {
	if of, ok := t.Node(typ); ok && of.IDKey != "" {
		return of.IDKey
	}
	return "uuid"
}
