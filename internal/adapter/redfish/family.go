// Package redfish speaks to management controllers by Redfish (DMTF DSP0266): iLO, iDRAC, XClarity, OpenBMC and the
// like. It reads and changes a machine's power, and nothing else.
//
// Each request names the user and the password (HTTP Basic), so that no session is left on a controller that has few.
package redfish

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/bmc"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ConnectionSpec is what a runbook says of a connection of type redfish: the controller of one machine. Without
// thumbprint and ca_file the system's authorities vouch for it.
type ConnectionSpec struct {
	URL        string           `yaml:"url" check:"required"` // https://10.0.0.111
	Username   string           `yaml:"username" check:"required"`
	Password   schema.SecretRef `yaml:"password" check:"required"`
	Thumbprint string           `yaml:"thumbprint"` // of the certificate: SHA-256 or SHA-1 in hex, with or without colons
	CAFile     string           `yaml:"ca_file"`    // PEM certificates of the authorities
	System     string           `yaml:"system"`     // the machine's id below /redfish/v1/Systems; not needed where there is but one
}

// NodeSpec is what a runbook says of a redfish.system: nothing of its own.
type NodeSpec struct{}

// Family is Redfish's part of the runbook language.
func Family() adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnectionSpec]{
			Name:     "redfish",
			Doc:      "the management controller of a machine, by Redfish",
			Check:    check,
			Endpoint: place,
			Powers:   true,
		}.Any()},
		Nodes:   []schema.AnyNodeType{schema.NodeType[NodeSpec]{Traits: bmc.Traits("redfish.system", "redfish"), ByHand: byHand}.Any()},
		Connect: adapter.Connecting(connect),
		Open: func(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
			c, err := adapter.Via[*conn](via, "redfish")
			if err != nil {
				return nil, err
			}
			return bmc.Node(d.ID, c), nil
		},
	}
}

func check(s *ConnectionSpec) []error {
	var errs []error
	if _, err := base(s.URL); err != nil && s.URL != "" {
		errs = append(errs, &schema.KeyError{Key: "url", Err: err})
	}
	if strings.ContainsAny(s.System, "/?#") {
		errs = append(errs, &schema.KeyError{
			Key: "system",
			Err: fmt.Errorf("system %q is not an id: give the last word of the machine's path, such as System.Embedded.1", s.System),
		})
	}
	return append(errs, certificate.Check(s.Thumbprint, s.CAFile)...)
}

// base gives what the paths of the service come after.
func base(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("url %q is not of the form https://host", text[strings.LastIndex(text, "@")+1:])
	case u.User != nil:
		return "", errors.New("url holds a user: give username and password by themselves")
	case strings.Trim(strings.TrimPrefix(u.Path, "/redfish/v1"), "/") != "":
		return "", fmt.Errorf("url has the path %q: give the controller's address alone, and the machine's id by system", u.Path)
	}
	return u.Scheme + "://" + u.Host, nil
}

func place(s *ConnectionSpec) manual.Endpoint {
	address, err := base(s.URL)
	if err != nil {
		return manual.Endpoint{User: s.Username, SecretLocation: s.Password.Location()}
	}
	return manual.Endpoint{
		Address: address, User: s.Username, SecretLocation: s.Password.Location(),
		Proof: certificate.Shown(s.Thumbprint),
	}
}

func byHand(d *schema.Node, _ *NodeSpec, places func(string) manual.Endpoint) manual.Procedure {
	at := places(d.Via)
	where := fmt.Sprintf("At its management controller %s (user %s): ", cmp.Or(at.Address, d.Via), at.User)
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop:  {{Say: where + "Power > Graceful Shutdown (or Momentary Press). Or press its power button once, briefly."}},
			plan.Force: {{Say: where + "Power > Force Off. Or hold its power button for 5 seconds."}},
			plan.Start: {{Say: where + "Power > Power On. Or press its power button."}},
		},
		Off: []manual.Instruction{{Say: where + "it shows the power as off. The machine's power light is dark."}},
		On:  []manual.Instruction{{Say: where + "it shows the power as on, and its console shows the system's login."}},
	}
}
