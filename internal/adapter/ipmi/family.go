// Package ipmi speaks to management controllers by IPMI 2.0 over the LAN (RMCP+). It reads and changes the power of a
// chassis, and nothing else. Each call opens a session and closes it: controllers have few of them.
package ipmi

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/bmc"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ConnectionSpec is what a runbook says of a connection of type ipmi: the controller of one machine.
type ConnectionSpec struct {
	Address     string           `yaml:"address" check:"required"` // host or host:port; port 623 if not given
	Username    string           `yaml:"username" check:"required"`
	Password    schema.SecretRef `yaml:"password" check:"required"`
	CipherSuite int              `yaml:"cipher_suite"` // 17 or 3; 17, and 3 where a controller has no 17, if not given
}

// NodeSpec is what a runbook says of an ipmi.chassis: nothing of its own.
type NodeSpec struct{}

// Family is IPMI's part of the runbook language.
func Family() adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnectionSpec]{
			Name:     "ipmi",
			Doc:      "the management controller of a machine, by IPMI 2.0",
			Check:    check,
			Endpoint: place,
			Powers:   true,
		}.Any()},
		Nodes:   []schema.AnyNodeType{schema.NodeType[NodeSpec]{Traits: bmc.Traits("ipmi.chassis", "ipmi"), ByHand: byHand}.Any()},
		Connect: adapter.Connecting(connect),
		Open: func(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
			c, err := adapter.Via[*conn](via, "ipmi")
			if err != nil {
				return nil, err
			}
			return bmc.Node(d.ID, c), nil
		},
	}
}

func check(s *ConnectionSpec) []error {
	var errs []error
	if _, _, err := split(s.Address); err != nil && s.Address != "" {
		errs = append(errs, &schema.KeyError{Key: "address", Err: err})
	}
	if len(s.Username) > 16 {
		errs = append(errs, &schema.KeyError{Key: "username", Err: errors.New("a user name has at most 16 characters in IPMI")})
	}
	// 17 is SHA-256 and AES, 3 is SHA-1 and AES. The others leave out a part of what protects the password; 0 needs none.
	if s.CipherSuite != 0 && s.CipherSuite != 3 && s.CipherSuite != 17 {
		errs = append(errs, &schema.KeyError{
			Key: "cipher_suite",
			Err: errors.New("cipher_suite is 17 or 3: the others protect too little"),
		})
	}
	return errs
}

// split gives host and port of an address.
func split(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		host, text = address, "623"
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 || host == "" {
		return "", 0, fmt.Errorf("%q is not host or host:port", address)
	}
	return host, port, nil
}

func place(s *ConnectionSpec) manual.Endpoint {
	return manual.Endpoint{Address: s.Address, User: s.Username, SecretLocation: s.Password.Location()}
}

func byHand(d *schema.Node, _ *NodeSpec, places func(string) manual.Endpoint) manual.Procedure {
	at := places(d.Via)
	host, port, err := split(at.Address)
	tool := "ipmitool -I lanplus -L OPERATOR -a"
	if err == nil {
		tool += " -H " + schema.Quote(host)
		if port != 623 {
			tool += " -p " + strconv.Itoa(port)
		}
	}
	tool += " -U " + schema.Quote(at.User) + " chassis power "
	does := func(command, button string) []manual.Instruction {
		return []manual.Instruction{{Say: "It asks for the password:", Type: tool + command}, {Say: button}}
	}
	state := []manual.Instruction{{Type: tool + "status"}}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop:  does("soft", "Or press its power button once, briefly."),
			plan.Force: does("off", "Or hold its power button for 5 seconds."),
			plan.Start: does("on", "Or press its power button."),
		},
		Off: append([]manual.Instruction{{Say: "Its power light is dark; this says off:"}}, state...),
		On:  append([]manual.Instruction{{Say: "Its console shows the system's login; this says on:"}}, state...),
	}
}

// How a controller is asked. Some of them take more than a second for a login.
const (
	tryWithin   = 2 * time.Second // for one packet to be answered
	retries     = 3               // of a packet that was not
	closeWithin = time.Second     // for the end of a session
)
