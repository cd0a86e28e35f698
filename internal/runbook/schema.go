package runbook

import (
	"fmt"
	"path"
	"time"

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
	Endpoint func(spec any) Endpoint
	// Powers: it belongs to one machine and can power it off whatever runs on it, as a BMC. A node that it wakes can be
	// forced by it too.
	Powers bool
	// ByHand is what a person does before the first line that is typed at such a connection (nil: nothing).
	ByHand []Instruction
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
	ByHand func(d *NodeDecl, places func(connection string) Endpoint) ManualProcedure
}

// Schema is the part of the language that the adapters give.
type Schema struct {
	Connections []ConnectionType
	Nodes       []NodeType
}

// Node gives a node type by its name.
func (s *Schema) Node(name string) (*NodeType, bool) {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i], true
		}
	}
	return nil, false
}

// Connection gives a connection type by its name.
func (s *Schema) Connection(name string) (*ConnectionType, bool) {
	for i := range s.Connections {
		if s.Connections[i].Name == name {
			return &s.Connections[i], true
		}
	}
	return nil, false
}

// KeyError is a mistake in one key of a spec, so that it can be shown there.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return e.Err.Error() }

// Unwrap gives the mistake itself.
func (e *KeyError) Unwrap() error { return e.Err }

// Mistake is a mistake in one key of a spec.
func Mistake(key, format string, args ...any) error {
	return &KeyError{Key: key, Err: fmt.Errorf(format, args...)}
}

// CheckGlobs finds those globs of a key that are malformed.
func CheckGlobs(key string, globs ...string) []error {
	var errs []error
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			errs = append(errs, Mistake(key, "glob %q is malformed: * stands for any characters, ? for one, [a-z] for a range", glob))
		}
	}
	return errs
}

// SecretRef is a reference to a secret: exactly one field is set. A secret itself never stands in a runbook.
type SecretRef struct {
	// a systemd credential, or a file in the daemon's credentials directory
	Credential string `yaml:"credential" json:"credential,omitempty"`
	File       string `yaml:"file" json:"file,omitempty"` // a file's absolute path
	Env        string `yaml:"env" json:"env,omitempty"`   // an environment variable
}

// IsZero reports whether no secret is named.
func (s SecretRef) IsZero() bool { return s == SecretRef{} }

// Location names where the secret is, and never the secret.
func (s SecretRef) Location() string {
	switch {
	case s.Credential != "":
		return "the credential " + s.Credential
	case s.File != "":
		return "the file " + s.File
	case s.Env != "":
		return "the environment variable " + s.Env
	}
	return ""
}

// ConnectionDecl is one entry of connections.
type ConnectionDecl struct {
	Name string
	Type string
	Spec any // as made by ConnectionType.Spec, filled in

	at pair // where it stands
}

// NodeDecl is one entry of nodes. Its adapter needs the first group of fields.
type NodeDecl struct {
	ID      string
	Type    string
	Via     string        // connection name, "" if none
	Spec    any           // as made by NodeType.Spec, filled in
	Wake    *Wake         // up.wake: how it is started when its own system can't
	Healthy []HealthCheck // up.healthy

	FedBy     []string     // supply ids
	Outlet    string       // the outlet of its one supply that it hangs on, an id of Outlets; "": none
	DependsOn []string     // node ids and label selectors ("tier=lab")
	Labels    []plan.Label // sorted by key
	Serves    []string     // of storage: names of datastores and addresses that an inventory knows it by, beside its own
	Watts     float64      // what it draws while it is on, a selector's each member; 0: not said
	Rack      string
	Notes     string
	Risk      *plan.Risk // nil: its type's
	Expect    int        // of a selector: how many members stand in while there is no inventory; 0: not said
	Down      Down
	Up        Up

	at pair // where it stands
}
