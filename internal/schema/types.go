// Package schema is what the runbook language and the adapters share. A family declares here which types of connections and nodes
// it serves, with their own keys; the language reads these keys, and gives them back as what a runbook declares. Neither side
// knows the other.
package schema

import (
	"time"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
)

// ConnectionType is a connection type of the language, as the family that serves it declares it. Its own keys are the fields of S,
// a struct with yaml tags. A field tagged `check:"required"` must be given; the decoder's comment (runbook) has the other words
// and the types that fields may have. Secrets are fields of type SecretRef.
type ConnectionType[S any] struct {
	Name string // "vsphere"
	Doc  string // one line for help and documentation
	// Powers: it belongs to one machine and can power it off whatever runs on it, as a BMC. A node that it wakes can be
	// forced by it too.
	Powers bool
	// ByHand is what a person does before the first line that is typed at such a connection (nil: nothing).
	ByHand []manual.Instruction
	// Check finds further mistakes in what is declared (nil: none). One about a certain key is a *KeyError.
	Check func(spec *S) []error
	// Endpoint tells where a person reaches the system, for the printed run book (nil: nowhere).
	Endpoint func(spec *S) manual.Endpoint
}

// AnyConnectionType is a ConnectionType without the Go type of its keys, as a list has it. Each spec is one that Spec made.
type AnyConnectionType struct {
	Name     string
	Doc      string
	Powers   bool
	ByHand   []manual.Instruction
	Spec     func() any                     // makes an empty *S
	Check    func(spec any) []error         // nil: there is nothing more to find
	Endpoint func(spec any) manual.Endpoint // nil: nowhere
}

// Any gives the type as a list has it.
func (t ConnectionType[S]) Any() AnyConnectionType {
	return AnyConnectionType{
		Name: t.Name, Doc: t.Doc, Powers: t.Powers, ByHand: t.ByHand,
		Spec: func() any { return new(S) }, Check: erased(t.Check), Endpoint: erased(t.Endpoint),
	}
}

// Traits are what all nodes of a type have in common, whatever their keys say.
type Traits struct {
	Name string // "vsphere.vm": also the name of its class in policy.limits
	Doc  string // one line
	Kind plan.Kind
	// Via lists the connection types that via may name; empty means the type takes no via.
	Via []string
	// Selects: stands for many nodes of type Member, found in the live inventory ("vsphere.vms" of "vsphere.vm").
	Selects bool
	Member  string
	// IDKey is the key that holds the ID that the live inventory knows one by ("" stands for "uuid").
	IDKey string
	// Can are the verbs that such a node can do. Of a selector that says nothing: those of its members.
	Can plan.Verbs
	// Times are the expected and longest times of its verbs where the runbook does not say.
	Times map[plan.Verb]plan.Times
	// Risk where the runbook does not say.
	Risk plan.Risk
	// Anything: what such a node is only the runbook says. Without feeds of its own, on a host or on the machine that it is commanded
	// through, it is a guest: to the rules of safety a VM, where nothing depends on it and its risk is not storage.
	Anything bool
	// OnlyPower: once stopped, nothing starts it again but that its power goes away and comes back.
	OnlyPower bool
	// Switches: its stop takes the power of what uses it.
	Switches bool
	// MaySwitch: it may, unless the runbook says that its risk is storage, or it runs on a host.
	MaySwitch bool
}

// NodeType is a node type of the language, as the family that serves it declares it. Its own keys are the fields of S, as in a
// ConnectionType; one without keys of its own has NoKeys.
type NodeType[S any] struct {
	Traits
	// Verbs tells which verbs a node can do where that depends on its keys (nil: Can).
	Verbs func(spec *S) plan.Verbs
	// Healthy reports whether the probe of a node says by itself if the node is well, so that being on is not enough to be
	// up (nil: it does not).
	Healthy func(spec *S) bool
	// OffAfter tells how long a node must be unreachable after an accepted stop to count as proven off; 0: it never does
	// (nil: what is usual for its kind).
	OffAfter func(spec *S) time.Duration
	// Check finds further mistakes in what is declared, e.g. two keys that exclude each other (nil: none). One about a
	// certain key is a *KeyError.
	Check func(spec *S) []error
	// ByHand tells what a person does without Ebbtide, for the printed run book (nil: nothing is known). places finds
	// the places of connections by their names.
	ByHand func(d *Node, spec *S, places func(connection string) manual.Endpoint) manual.Procedure
}

// NoKeys are the keys of what has none of its own.
type NoKeys struct{}

// AnyNodeType is a NodeType without the Go type of its keys, as a list has it. Each spec, and that of d, is one that Spec made.
type AnyNodeType struct {
	Traits
	Spec     func() any                                                                     // makes an empty *S
	Verbs    func(spec any) plan.Verbs                                                      // nil: it tells none
	Healthy  func(spec any) bool                                                            // nil: it does not
	OffAfter func(spec any) time.Duration                                                   // nil: what is usual for its kind
	Check    func(spec any) []error                                                         // nil: there is nothing more to find
	ByHand   func(d *Node, places func(connection string) manual.Endpoint) manual.Procedure // nil: nothing is known
}

// Any gives the type as a list has it.
func (t NodeType[S]) Any() AnyNodeType {
	out := AnyNodeType{
		Traits: t.Traits, Spec: func() any { return new(S) },
		Verbs: erased(t.Verbs), Healthy: erased(t.Healthy), OffAfter: erased(t.OffAfter), Check: erased(t.Check),
	}
	if t.Verbs == nil && t.Can != 0 {
		out.Verbs = func(any) plan.Verbs { return t.Can }
	}
	if t.ByHand != nil {
		out.ByHand = func(d *Node, places func(string) manual.Endpoint) manual.Procedure {
			return t.ByHand(d, d.Spec.(*S), places)
		}
	}
	return out
}

// erased gives what f tells of keys whose Go type is not known; nil for nil.
func erased[S, R any](f func(*S) R) func(any) R {
	if f == nil {
		return nil
	}
	return func(spec any) R { return f(spec.(*S)) }
}

// Types is the part of the language that the adapters give.
type Types struct {
	Connections []AnyConnectionType
	Nodes       []AnyNodeType
}

// Node gives a node type by its name.
func (t *Types) Node(name string) (*AnyNodeType, bool) {
	for i := range t.Nodes {
		if t.Nodes[i].Name == name {
			return &t.Nodes[i], true
		}
	}
	return nil, false
}

// Connection gives a connection type by its name.
func (t *Types) Connection(name string) (*AnyConnectionType, bool) {
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
