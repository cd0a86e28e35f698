package plan

import (
	"fmt"
	"time"
)

// State is what a probe says of a node.
type State uint8

// The states. Only Off and Gone prove that a node is down; only On (and healthy, where there are checks) that it is up.
const (
	Unknown     State = iota // could not be told
	On                       //
	Off                      // observed off
	Starting                 // on its way up: no stop is sent before it has settled
	Stopping                 // on its way down: no start is sent before it has settled
	Unreachable              // does not answer: no proof of anything
	Gone                     // no longer exists
)

var stateNames = [...]string{"unknown", "on", "off", "starting", "stopping", "unreachable", "gone"}

func (s State) String() string { return stateNames[s] }

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(b []byte) error {
	for i, name := range stateNames {
		if name == string(b) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("unknown state %q", b)
}

// Fact is a yes, a no, or not known.
type Fact uint8

// The values of a Fact.
const (
	NotKnown Fact = iota
	Yes
	No
)

// FactOf turns a bool into a Fact.
func FactOf(b bool) Fact {
	if b {
		return Yes
	}
	return No
}

func (f Fact) String() string { return [...]string{"unknown", "yes", "no"}[f] }

// Observation is a probe's answer: the only thing that proves anything.
type Observation struct {
	State     State  `json:"state"`
	Protected Fact   `json:"protected,omitempty"` // caches: write-through (or off)
	Clean     Fact   `json:"clean,omitempty"`     // caches: no dirty data left
	Dirty     int64  `json:"dirty,omitempty"`     // caches: bytes not yet on the backing store, where it can be told
	Healthy   Fact   `json:"healthy,omitempty"`   // health checks, where the node has any
	Detail    string `json:"detail,omitempty"`    // for people: "powered off", "Tools not running"; never a secret
	// Caution is what will go wrong with the node when the mains fail, as it is set up now, and how that is mended: for who
	// looks beforehand. It changes nothing in what is done.
	Caution string `json:"caution,omitempty"`
	// Settings is what Protect is about to change, as the adapter writes it and reads it again: printable, short and never a
	// secret. Valid while Protected is No. Unprotect is given it back, also after a crash.
	Settings string `json:"settings,omitempty"`
	// RemainFor says, for a supply whose cut is armed (Stopping), how long its output still lasts.
	RemainFor time.Duration `json:"remain_for,omitempty"`
	// ByBMC says of a node that is Off that its BMC alone says so: its own system did not answer.
	ByBMC bool `json:"by_bmc,omitempty"`
	// Agreed says besides that the two have both said on since this process began: they are of one machine.
	Agreed bool `json:"agreed,omitempty"`
	// Uncut says of a supply that is On that it took our cut and did not make it: nothing has been cycled.
	Uncut bool `json:"uncut,omitempty"`
}
