// Package runbook reads runbooks: strictly, with the position of every mistake, and compiled to the estate and the
// rules that the engine works by. It is the only package that knows YAML.
package runbook

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
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
	schema   Schema
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
	ID       string
	UPS      string // its name in NUT
	Address  string // host:port of its NUT server
	Curve    []power.Point
	Watts    float64       // nominal output power; 0: not said
	Recharge time.Duration // from empty to full; 0: not said
	Username string        // for commands; "" reads only
	Password SecretRef     // of Username
	TLS      *TLS          // nil: plain text
	Cut      Cut
	OffDelay time.Duration // from the command to the cut (NUT's offdelay); 0: as the UPS is set
	OnDelay  time.Duration // from mains back to output on (NUT's ondelay); 0: as the UPS is set
	Rack     string
	Notes    string

	at pair
}

// NUT gives the supply's name as NUT's own tools take it: ups@host:port.
func (s *SupplyDecl) NUT() string { return s.UPS + "@" + s.Address }

// TLS says that a NUT server is spoken to with STARTTLS, and how it is trusted.
type TLS struct {
	CAFile     string `yaml:"ca_file" json:"ca_file,omitempty"`         // PEM; "": the system's
	ServerName string `yaml:"server_name" json:"server_name,omitempty"` // in its certificate; "": the host of nut
}

// Cut says how a supply's output is cut when all is down.
type Cut string

// The ways to cut.
const (
	CutShutdownReturn Cut = "shutdown.return"  // NUT's command: off after its delay, on again with the mains
	CutLoadOff        Cut = "load.off.delay"   // off after its delay; with load.on.delay, where the UPS has it, on again with the mains
	CutStayOff        Cut = "shutdown.stayoff" // off after its delay, until a person switches it on
	CutNone           Cut = "none"             // left on: it drops when the battery is empty
)

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
