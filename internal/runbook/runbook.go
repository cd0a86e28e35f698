// Package runbook reads runbooks: strictly, with the position of every mistake, and compiled to the estate and the
// rules that the engine works by. No other package knows that a runbook is YAML.
package runbook

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/schema"
)

// Version is the version of the language that this package reads.
const Version = 1

// Runbook is what a runbook file says. It may have mistakes: check Problems before anything else.
type Runbook struct {
	Version     int
	Name        string
	Contacts    []Contact
	Supplies    []SupplyDecl
	Connections []ConnectionDecl
	Nodes       []NodeDecl
	Policy      Policy

	reporter *reporter
	schema   schema.Types
	top      *value
	refs     []reference
	parsed   Problems // what Parse found
}

// Contact is a person or duty to tell. It is for the printed run book.
type Contact struct {
	Name  string `yaml:"name" check:"required" json:"name"`
	Phone string `yaml:"phone" json:"phone,omitempty"`
	Email string `yaml:"email" json:"email,omitempty"`
	Role  string `yaml:"role" json:"role,omitempty"`
	Notes string `yaml:"notes" json:"notes,omitempty"`
}

// SupplyDecl is one entry of supplies: a UPS as NUT knows it.
type SupplyDecl struct {
	schema.Supply // what its adapter needs

	Curve    []power.Point
	Watts    float64       // nominal output power; 0: not said
	Recharge time.Duration // from empty to full; 0: not said
	Rack     string
	Notes    string

	at pair
}

// Declared gives what the adapters open.
func (rb *Runbook) Declared() (connections []schema.Connection, nodes []schema.Node) {
	for i := range rb.Connections {
		connections = append(connections, rb.Connections[i].Connection)
	}
	for i := range rb.Nodes {
		nodes = append(nodes, rb.Nodes[i].Node)
	}
	return connections, nodes
}

// ConnectionDecl is one entry of connections.
type ConnectionDecl struct {
	schema.Connection

	at pair // where it stands
}

// NodeDecl is one entry of nodes.
type NodeDecl struct {
	schema.Node // what its adapter needs

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

// Down is a node's down key. Zero durations were not said: its type's hold.
type Down struct {
	Within        time.Duration `yaml:"within" check:"positive"`         // a graceful stop may take so long; then it is forced
	Nominal       time.Duration `yaml:"nominal" check:"positive"`        // a graceful stop is expected to take so long
	Force         Force         `yaml:"force"`                           // whether and how long
	ProtectWithin time.Duration `yaml:"protect_within" check:"positive"` // turning a cache to write-through
	FlushWithin   time.Duration `yaml:"flush_within" check:"positive"`   // making a cache clean
	FlushNominal  time.Duration `yaml:"flush_nominal" check:"positive"`
}

// Force is the down.force key: never, or how long a forced power-off may take.
type Force struct {
	Never  bool
	Within time.Duration
}

func (f *Force) read(d *decoder, v *value) {
	if v.kind == scalar && v.text == "never" {
		f.Never = true
		return
	}
	if v.kind == scalar {
		if _, err := time.ParseDuration(v.text); err != nil {
			d.fail(v, durationHint(v.text, "write never, or a duration such as 30s"),
				"force is never, or how long a forced power-off may take; found %s", v.what())
			return
		}
	}
	within, ok := d.duration(v)
	if ok && within == 0 {
		d.fail(v, "write never if it must not be forced", "force must be more than 0")
	}
	f.Within = within
}

// Up is a node's up key, but for wake and healthy, which its adapter needs.
type Up struct {
	Within  time.Duration `yaml:"within" check:"positive"`  // a start may take so long until it is proven (and healthy)
	Nominal time.Duration `yaml:"nominal" check:"positive"` // a start is expected to take so long
	Retries *int          `yaml:"retries"`                  // after the first try; nil: DefaultRetries
}

// DefaultRetries is how often a failed start is tried again where the runbook does not say.
const DefaultRetries = 2

// Policy is the policy section.
type Policy struct {
	Protect  power.Condition
	Shed     []Shed
	Shutdown power.Condition
	Restore  power.Condition
	Limits   []plan.Limit
	Reserve  time.Duration
	Odds     float64 // that slack accepts, 0..1; 0: not said

	at       pair
	shutdown *value // its trigger; nil: none was given
}

// Uses reports whether any trigger is, or is made of, a condition of a kind.
func (p *Policy) Uses(kind power.Kind) bool {
	all := []power.Condition{p.Protect, p.Shutdown, p.Restore}
	for i := range p.Shed {
		all = append(all, p.Shed[i].When)
	}
	return uses(all, kind)
}

func uses(conditions []power.Condition, kind power.Kind) bool {
	return slices.ContainsFunc(conditions, func(c power.Condition) bool { return c.Kind == kind || uses(c.Of, kind) })
}

// Shed is a stage that is taken down before the shutdown: the nodes that can be done without.
type Shed struct {
	Name  string
	Nodes []string // node ids and label selectors
	When  power.Condition

	at *value
}

// What holds where a policy does not say.
const (
	DefaultReserve   = 3 * time.Minute
	defaultOnBattery = 10 * time.Second // of protect
	defaultOnline    = 10 * time.Minute // of restore
)
