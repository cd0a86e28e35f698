package snmp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/plan"
)

// profile is how a PDU's outlets are switched and read. In an OID the number of the outlet stands for N.
type profile struct {
	on, off set
	status  string
	reads   map[int]plan.State
}

// set is one SET of an integer.
type set struct {
	oid   string
	value int
}

// profiles are the PDUs whose objects are known, by the words of the runbook.
var profiles = map[string]profile{
	// PowerNet-MIB rPDU2OutletSwitchedControlCommand: AP84xx, AP86xx, AP88xx, AP89xx. A read gives the state; the table of
	// states beside it counts the other way round in some firmware.
	"apc-rpdu2": sameForBoth("1.3.6.1.4.1.318.1.1.26.9.2.4.1.5.N", 1, 2),
	// PowerNet-MIB rPDUOutletControlOutletCommand and rPDUOutletStatusOutletState: AP79xx.
	"apc-rpdu": {
		on: set{"1.3.6.1.4.1.318.1.1.12.3.3.1.1.4.N", 1}, off: set{"1.3.6.1.4.1.318.1.1.12.3.3.1.1.4.N", 2},
		status: "1.3.6.1.4.1.318.1.1.12.3.5.1.1.4.N", reads: map[int]plan.State{1: plan.On, 2: plan.Off},
	},
	// PDU2-MIB switchingOperation and outletSwitchingState of the first unit: PX2, PX3.
	"raritan-px2": {
		on: set{"1.3.6.1.4.1.13742.6.4.1.2.1.2.1.N", 1}, off: set{"1.3.6.1.4.1.13742.6.4.1.2.1.2.1.N", 0},
		status: "1.3.6.1.4.1.13742.6.4.1.2.1.3.1.N", reads: map[int]plan.State{7: plan.On, 8: plan.Off},
	},
	// EATON-EPDU-MIB outletControlOnCmd, outletControlOffCmd (seconds from now) and outletControlStatus of the first
	// unit: G3 and G4.
	"eaton-epdu": {
		on: set{"1.3.6.1.4.1.534.6.6.7.6.6.1.4.0.N", 0}, off: set{"1.3.6.1.4.1.534.6.6.7.6.6.1.3.0.N", 0},
		status: "1.3.6.1.4.1.534.6.6.7.6.6.1.2.0.N", reads: map[int]plan.State{0: plan.Off, 1: plan.On, 2: plan.Stopping, 3: plan.Starting},
	},
}

func sameForBoth(oid string, on, off int) profile {
	return profile{set{oid, on}, set{oid, off}, oid, map[int]plan.State{on: plan.On, off: plan.Off}}
}

// Custom describes a PDU that is not among the profiles. N stands for the outlet's number.
type Custom struct {
	Switch   string `yaml:"switch" check:"required"` // OID that is set, such as 1.3.6.1.4.1.99999.1.2.N
	On       int    `yaml:"on" check:"required"`     // what it is set to
	Off      int    `yaml:"off" check:"required"`    // what it is set to
	Status   string `yaml:"status"`                  // OID that is read; switch if not given
	ReadsOn  *int   `yaml:"reads_on"`                // what it reads then; on if not given
	ReadsOff *int   `yaml:"reads_off"`               // what it reads then; off if not given
}

// profile gives what a connection's keys pdu and custom mean.
func (s *ConnectionSpec) profile() (profile, error) {
	if s.PDU != "custom" {
		p, ok := profiles[s.PDU]
		switch {
		case !ok:
			return profile{}, fmt.Errorf("pdu %q is not known: it is one of %s, or custom", s.PDU,
				strings.Join(slices.Sorted(maps.Keys(profiles)), ", "))
		case s.Custom != nil:
			return profile{}, errors.New("custom needs pdu: custom")
		}
		return p, nil
	}
	c := s.Custom
	if c == nil {
		return profile{}, errors.New("pdu: custom needs custom: {switch: OID, on: NUMBER, off: NUMBER}")
	}
	p := sameForBoth(c.Switch, c.On, c.Off)
	if c.Status != "" {
		p.status = c.Status
	}
	on, off := c.On, c.Off
	if c.ReadsOn != nil {
		on = *c.ReadsOn
	}
	if c.ReadsOff != nil {
		off = *c.ReadsOff
	}
	p.reads = map[int]plan.State{on: plan.On, off: plan.Off}
	if on == off || c.Switch == p.status && c.On == c.Off {
		return profile{}, errors.New("custom: on and off must differ")
	}
	for _, oid := range []string{c.Switch, p.status} {
		if err := checkOID(oid); err != nil {
			return profile{}, err
		}
	}
	return p, nil
}

// checkOID wants numbers, and N once.
func checkOID(oid string) error {
	seen := 0
	for part := range strings.SplitSeq(oid, ".") {
		if part == "N" {
			seen++
		} else if _, err := strconv.ParseUint(part, 10, 32); err != nil {
			return fmt.Errorf("%q is not an OID: write numbers with dots between them, and N for the outlet", oid)
		}
	}
	if seen != 1 {
		return fmt.Errorf("OID %q must hold N once, where the outlet's number belongs", oid)
	}
	return nil
}

// of puts an outlet's number into an OID.
func of(oid string, outlet int) string {
	parts := strings.Split(oid, ".")
	for i, part := range parts {
		if part == "N" {
			parts[i] = strconv.Itoa(outlet)
		}
	}
	return "." + strings.Join(parts, ".")
}
