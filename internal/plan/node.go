// Package plan holds the plan as a value: the graph of an estate, the steps that take it down and up, their order,
// limits and critical chain, its digest and its drawings. It is the only description of what will be done; no mode of
// running changes it.
package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind says what a node is to the rules of safety, whatever system it belongs to.
type Kind uint8

// The kinds of node. Other is the strict default: like storage, it is stopped only when everything that uses it is
// proven off, or was given up and the battery is nearly empty.
const (
	Other   Kind = iota // storage, services, appliances: stopped under a user only if that was given up and nothing but the reserve is left
	VM                  // runs on a host; its host's shutdown takes it along
	Host                // may be stopped with a VM on it only by a recorded, forced decision
	Supply              // a UPS's output: cut last, returns first
	Self                // the machine that runs Ebbtide
	Manual              // a step that a person does and confirms
	Passive             // needs no shutdown; drops when its feeds are cut
	Cluster             // what would work against a shutdown and is suspended for it: HA, DRS, rebalancing; never stopped itself
	Outlet              // a switched part of a supply's output: off for what that saves, so that no cut waits for it
)

var kindNames = [...]string{"other", "vm", "host", "supply", "self", "person", "passive", "cluster", "outlet"}

func (k Kind) String() string { return kindNames[k] }

// Verb is a command that an adapter can carry out on a node.
type Verb uint8

// The verbs. Each is idempotent or guarded by a probe.
const (
	Protect   Verb = iota // write-back cache to write-through; of a cluster: suspended
	Flush                 // make a cache clean
	Stop                  // graceful stop
	Force                 // power off without asking
	Cut                   // cut a supply's output, with return when the mains are back
	Start                 // start, wake or power on
	Unprotect             // back to what it was before Protect
	verbs
)

// The verbs of a supply's battery. They stand in no plan and in no set: a drill alone gives them.
const (
	Discharge    Verb = iota + verbs // run the battery down under its load, on purpose
	EndDischarge                     // back to the mains
)

var verbNames = [...]string{"protect", "flush", "stop", "force", "cut", "start", "unprotect", "discharge", "end-discharge"}

func (v Verb) String() string { return verbNames[v] }

// TakesDown reports whether a verb stops a node, asked or not. A cut is of an output.
func (v Verb) TakesDown() bool { return v == Stop || v == Force }

// BringsUp reports whether a verb is of the way up.
func (v Verb) BringsUp() bool { return v == Start || v == Unprotect }

// MarshalText writes the verb's name.
func (v Verb) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verb's name.
func (v *Verb) UnmarshalText(b []byte) error {
	for i, name := range verbNames {
		if name == string(b) {
			*v = Verb(i)
			return nil
		}
	}
	return fmt.Errorf("unknown verb %q", b)
}

// Verbs is a set of verbs.
type Verbs uint8

// VerbSet makes a set.
func VerbSet(vs ...Verb) Verbs {
	var set Verbs
	for _, v := range vs {
		set |= 1 << v
	}
	return set
}

// Has reports whether v is in the set.
func (s Verbs) Has(v Verb) bool { return s&(1<<v) != 0 }

// Risk orders nodes by what a forced power-off may cost. When time runs out, the lowest is forced first.
type Risk uint8

// The data risks, lowest first (docs/FIGURES.md).
const (
	Expendable Risk = iota
	Application
	Files
	Directory
	Database
	Storage
	ControlPlane
)

var riskNames = [...]string{"expendable", "application", "files", "directory", "database", "storage", "control-plane"}

func (r Risk) String() string { return riskNames[r] }

// RiskNames lists the risks as a runbook spells them, lowest first.
func RiskNames() []string { return slices.Clone(riskNames[:]) }

// ParseRisk reads a risk's name.
func ParseRisk(s string) (Risk, error) {
	for i, name := range riskNames {
		if name == s {
			return Risk(i), nil
		}
	}
	return 0, fmt.Errorf("unknown risk %q: one of %s", s, strings.Join(riskNames[:], ", "))
}

// Times says how long a verb is expected to take and how long it may take before the next rung of the ladder.
type Times struct {
	Nominal time.Duration `json:"nominal"`
	Within  time.Duration `json:"within"`
}

// Node is one thing that goes down and comes up.
type Node struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`                 // "vsphere.vm": also the class of its limits
	Kind      Kind          `json:"kind"`                 //
	Group     string        `json:"group,omitempty"`      // the selector node it was expanded from
	DependsOn []string      `json:"depends_on,omitempty"` //
	FedBy     []string      `json:"fed_by,omitempty"`     // ids of supply nodes
	Host      string        `json:"host,omitempty"`       // the host node of a VM, or of another guest: the lane of per_host limits
	Bound     bool          `json:"bound,omitempty"`      // a guest that runs on its host and nowhere else, which alone answers for it
	Risk      Risk          `json:"risk"`                 //
	Stage     Stage         `json:"stage"`                // the shed stage that takes it, or "shutdown"
	Can       Verbs         `json:"can"`                  //
	Times     [verbs]Times  `json:"times"`                // by Verb
	Attempts  int           `json:"attempts"`             // how often a start is tried before it is reported as failed; at least 1
	Forces    int           `json:"forces,omitempty"`     // how often Force is tried before it is reported as failed; below 2: once
	ByPower   bool          `json:"by_power"`             // nothing but the return of its power starts it again
	Switches  bool          `json:"switches,omitempty"`   // its stop takes the power of what uses it
	OffAfter  time.Duration `json:"off_after,omitempty"`  // unreachable for so long after an accepted stop counts as proven off; 0: never
	Healthy   bool          `json:"healthy"`              // has health checks: "up" is proven by them, not by "on" alone
	Watts     float64       `json:"watts,omitempty"`      // what it draws while it is on, beside the nodes on it; 0: not said
	Rack      string        `json:"rack,omitempty"`       //
	Notes     string        `json:"notes,omitempty"`      //
	Labels    []Label       `json:"labels,omitempty"`     // sorted by key
}

// Label is a key and value for grouping nodes.
type Label struct{ Key, Value string }

// SuspendsItself reports whether a stop changes more of a node than its power, which Unprotect takes back once it is up: a host that
// goes down in maintenance mode comes up in it.
func (n *Node) SuspendsItself() bool {
	return n.Can.Has(Stop) && n.Can.Has(Unprotect) && !n.Can.Has(Protect)
}

// Time gives the times of a verb; one that stands in no plan has none.
func (n *Node) Time(v Verb) Times {
	if v >= verbs {
		return Times{}
	}
	return n.Times[v]
}
