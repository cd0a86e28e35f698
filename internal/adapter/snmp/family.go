// Package snmp switches the outlets of rack PDUs by SNMP (v2c, or v3 with authentication and privacy), and reads back
// what became of it.
package snmp

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ConnectionSpec is what a runbook says of a connection of type snmp: a PDU.
type ConnectionSpec struct {
	Address string `yaml:"address" check:"required"` // host or host:port; port 161 if not given
	Version string `yaml:"version" check:"required"` // 2c or 3
	// Of version 2c. It goes over the network in the clear.
	Community schema.SecretRef `yaml:"community"`
	// Of version 3: its user, with authentication and privacy.
	User            string           `yaml:"user"`
	Auth            string           `yaml:"auth"` // sha, sha256 or sha512; sha256 if not given
	AuthPassword    schema.SecretRef `yaml:"auth_password"`
	Privacy         string           `yaml:"privacy"` // aes or aes256; aes (128 bits) if not given
	PrivacyPassword schema.SecretRef `yaml:"privacy_password"`

	PDU    string  `yaml:"pdu" check:"required"` // what it is: a name of Profiles, or custom
	Custom *Custom `yaml:"custom"`               // with pdu: custom
}

// NodeSpec is what a runbook says of a pdu.outlet.
type NodeSpec struct {
	Outlets schema.Outlets `yaml:"outlet" check:"required"` // one, or all that belong to the same thing
}

// Family is the part of PDUs in the runbook language.
func Family() adapter.Family {
	times := plan.Times{Nominal: 5 * time.Second, Within: time.Minute}
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnectionSpec]{
			Name:  "snmp",
			Doc:   "a rack PDU, by SNMP",
			Check: check,
			Endpoint: func(s *ConnectionSpec) manual.Endpoint {
				host, _, err := split(s.Address)
				if err != nil {
					return manual.Endpoint{}
				}
				return manual.Endpoint{Address: "http://" + host, User: "its administrator"}
			},
		}.Any()},
		Nodes: []schema.AnyNodeType{schema.NodeType[NodeSpec]{
			Traits: schema.Traits{
				Name:  "pdu.outlet",
				Doc:   "outlets of a rack PDU: off takes the power of what they feed",
				Kind:  plan.Other,
				Via:   []string{"snmp"},
				Can:   plan.VerbSet(plan.Stop, plan.Force, plan.Start),
				Times: map[plan.Verb]plan.Times{plan.Stop: times, plan.Force: times, plan.Start: times},
				Risk:  plan.Storage,

				Switches: true,
			},
			ByHand: byHand,
		}.Any()},
		Connect: adapter.Connecting(connect),
		Open: func(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
			c, err := adapter.Via[*conn](via, "snmp")
			if err != nil {
				return nil, err
			}
			return &node{d.ID, d.Spec.(*NodeSpec).Outlets, c}, nil
		},
	}
}

func check(s *ConnectionSpec) []error {
	var errs []error
	mistake := func(key, format string, args ...any) {
		errs = append(errs, &schema.KeyError{Key: key, Err: fmt.Errorf(format, args...)})
	}
	if _, _, err := split(s.Address); err != nil && s.Address != "" {
		mistake("address", "%w", err)
	}
	v3 := s.User != "" || !s.AuthPassword.IsZero() || !s.PrivacyPassword.IsZero() || s.Auth != "" || s.Privacy != ""
	switch s.Version {
	case "2c":
		if s.Community.IsZero() {
			mistake("version", "version 2c needs community, one that may write: {credential: …}")
		}
		if v3 {
			mistake("version", "user, auth, auth_password, privacy and privacy_password need version 3")
		}
	case "3":
		if s.User == "" || s.AuthPassword.IsZero() || s.PrivacyPassword.IsZero() {
			mistake("version", "version 3 needs user, auth_password and privacy_password")
		}
		if !s.Community.IsZero() {
			mistake("community", "community needs version 2c")
		}
	case "":
	default:
		mistake("version", "version is 2c or 3, not %q", s.Version)
	}
	if _, ok := auths[cmp.Or(s.Auth, "sha256")]; !ok {
		mistake("auth", "auth is sha, sha256 or sha512, not %q", s.Auth)
	}
	if _, ok := privacies[cmp.Or(s.Privacy, "aes")]; !ok {
		mistake("privacy", "privacy is aes or aes256, not %q", s.Privacy)
	}
	if _, err := s.profile(); err != nil && s.PDU != "" {
		mistake("pdu", "%w", err)
	}
	return errs
}

// split gives host and port of an address.
func split(address string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		host, text = address, "161"
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, fmt.Errorf("%q is not host or host:port", address)
	}
	return host, uint16(n), nil
}

func byHand(d *schema.Node, s *NodeSpec, places func(string) manual.Endpoint) manual.Procedure {
	at, outlets := places(d.Via), s.Outlets.String()
	where := fmt.Sprintf("At the PDU %s (%s): ", d.Via, at.Address)
	off := []manual.Instruction{{Say: where + "turn outlet " + outlets +
		" off, or pull what is plugged in there. What it feeds must be down before that."}}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop: off, plan.Force: off,
			plan.Start: {{Say: where + "turn outlet " + outlets + " on, or plug in again what belongs there."}},
		},
		Off: []manual.Instruction{{Say: where + "outlet " + outlets + " is shown as off, and its light is dark."}},
		On:  []manual.Instruction{{Say: where + "outlet " + outlets + " is shown as on."}},
	}
}

// node is one outlet, or several that belong together.
type node struct {
	id      string
	outlets schema.Outlets
	conn    *conn
}

// Probe reads the outlets back: on if one of them is, off if all are.
func (n *node) Probe(ctx context.Context) (plan.Observation, error) {
	told := plan.Observation{State: plan.Off, Detail: "outlet " + n.outlets.String() + " reads off"}
	for _, outlet := range n.outlets {
		seen, err := n.conn.Outlet(ctx, outlet)
		switch {
		case err != nil:
			return plan.Observation{}, fmt.Errorf("cannot probe %q: %w", n.id, err)
		case seen.State == plan.On:
			return seen, nil
		case seen.State != plan.Off:
			told = seen
		}
	}
	return told, nil
}

// Do turns the outlets on or off.
func (n *node) Do(ctx context.Context, do adapter.Command) error {
	if do.Verb != plan.Stop && do.Verb != plan.Force && do.Verb != plan.Start {
		return fmt.Errorf("cannot %s %q: %w: an outlet can only be turned on and off", do.Verb, n.id, adapter.ErrRefused)
	}
	for _, outlet := range n.outlets {
		if err := n.conn.Switch(ctx, outlet, do.Verb == plan.Start); err != nil {
			return fmt.Errorf("cannot %s %q: %w", do.Verb, n.id, err)
		}
	}
	return nil
}
