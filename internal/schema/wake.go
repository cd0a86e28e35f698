package schema

import (
	"errors"
	"slices"
	"strconv"

	"ebbtide/internal/english"
)

// Wake says how a machine that is off is started.
type Wake struct {
	MAC       string  `yaml:"mac" json:"mac,omitempty"`             // Wake-on-LAN: the network card's address
	Broadcast string  `yaml:"broadcast" json:"broadcast,omitempty"` // where the packet goes, host:port; 255.255.255.255:9 if not given
	Redfish   string  `yaml:"redfish" json:"redfish,omitempty"`     // connection name of its BMC
	IPMI      string  `yaml:"ipmi" json:"ipmi,omitempty"`           // connection name of its BMC
	PDU       string  `yaml:"pdu" json:"pdu,omitempty"`             // connection name of the PDU that feeds it
	Outlets   Outlets `yaml:"outlet" json:"outlet,omitempty"`       // of the PDU: all that feed it
	Power     bool    `yaml:"power" json:"power,omitempty"`         // starts by itself when its power comes back
}

// Outlets are the numbers of one or several outlets of a PDU, as they are printed on it.
type Outlets []int

// UnmarshalYAML reads a number, or a list of them.
func (o *Outlets) UnmarshalYAML(decode func(any) error) error {
	var one int
	if decode(&one) == nil {
		*o = Outlets{one}
	} else if err := decode((*[]int)(o)); err != nil {
		return errors.New("an outlet is a number, or a list of numbers")
	}
	return o.Check()
}

// Check finds numbers that no outlet has.
func (o Outlets) Check() error {
	for i, n := range o {
		switch {
		case n < 1:
			return errors.New("outlets are numbered from 1")
		case slices.Contains(o[:i], n):
			return errors.New("outlet " + strconv.Itoa(n) + " is named twice")
		}
	}
	return nil
}

func (o Outlets) String() string {
	words := make([]string, len(o))
	for i, n := range o {
		words[i] = strconv.Itoa(n)
	}
	return english.Series(words, len(words))
}

// WakeWay is one way to wake a machine through a connection.
type WakeWay struct {
	Key        string // of up.wake
	Connection string // its name
	Type       string // that the connection must have
}

// Ways lists the connections that a wake names, with the types that they must have.
func (w *Wake) Ways() []WakeWay {
	var ways []WakeWay
	for _, way := range []WakeWay{{"redfish", w.Redfish, "redfish"}, {"ipmi", w.IPMI, "ipmi"}, {"pdu", w.PDU, "snmp"}} {
		if way.Connection != "" {
			ways = append(ways, way)
		}
	}
	return ways
}

// Connection names the connection that wakes the machine, "" if none does.
func (w *Wake) Connection() string { return w.Redfish + w.IPMI + w.PDU }

// Starts reports whether the wake starts the machine by a command.
func (w *Wake) Starts() bool { return w.MAC+w.Connection() != "" }

// OnlyPower reports whether nothing but the return of its power starts a node, as its runbook says.
func (w *Wake) OnlyPower() bool { return w != nil && w.Power && !w.Starts() && w.PDU == "" }

// ErrManyWays is the mistake of a wake that names more than one way.
var ErrManyWays = errors.New("a node has only one way to wake: mac, redfish, ipmi or pdu")

// Check finds what contradicts itself.
func (w *Wake) Check() error {
	ways := len(w.Ways())
	if w.MAC != "" {
		ways++
	}
	switch {
	case ways > 1:
		return ErrManyWays
	case w.PDU != "" && len(w.Outlets) == 0:
		return errors.New("pdu needs outlet: the number of the outlet that feeds it, or a list of them")
	case w.PDU == "" && len(w.Outlets) > 0:
		return errors.New("outlet needs pdu")
	}
	return w.Outlets.Check()
}

// Powers reports whether what wakes the machine can power it off, too.
func (w *Wake) Powers(types *Types) bool {
	for _, way := range w.Ways() {
		if t, ok := types.Connection(way.Type); ok && t.Powers {
			return true
		}
	}
	return false
}
