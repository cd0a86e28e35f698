// Package ssh drives nodes by commands over SSH: a NAS, a Linux host, a cache, an appliance with a command line.
package ssh

import (
	"errors"
	"net"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/script"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ConnSpec are the keys of a connection of type "ssh".
type ConnSpec struct {
	Address string `yaml:"address" check:"required" json:"address"` // host or host:port; port 22 if not given
	User    string `yaml:"user" check:"required" json:"user"`
	// private key in PEM or OpenSSH form, without a passphrase
	Key      schema.SecretRef `yaml:"key" json:"key,omitzero"`
	Password schema.SecretRef `yaml:"password" json:"password,omitzero"` // if there is no key
	// "ssh-ed25519 AAAA…": the one key that the host may show
	HostKey    string `yaml:"host_key" json:"host_key,omitempty"`
	KnownHosts string `yaml:"known_hosts" json:"known_hosts,omitempty"` // or a file of such keys, as OpenSSH keeps them
}

// NodeSpec are the keys of a node of type "ssh": its commands, which run on the host of its connection, and what may
// count as off.
//
// A command that is a list is quoted for a POSIX shell, so that each argument arrives as it is; a text is given to the
// remote shell as it is. A secret can't stand in either: Stdin is the way to give one.
type NodeSpec struct {
	script.Spec `yaml:",inline"`
	// Stdin is a secret that each of the commands gets on its standard input, with a newline: "sudo -S" reads it.
	Stdin schema.SecretRef `yaml:"stdin" json:"stdin,omitzero"`
	// OffWhenUnreachable is how long the host must be silent after an accepted stop to count as proven off: no answer
	// at all to a connection, not even a refusal. For nodes that are the host itself, whose probe can't answer when it
	// is off.
	OffWhenUnreachable time.Duration `yaml:"off_when_unreachable" check:"positive" json:"off_when_unreachable,omitempty"`
	// OffWhenRefused lets a refused connection count as silence too. Otherwise it is "unknown": a machine that refuses
	// connections still runs, and may still be writing. Right for a host behind a gateway that refuses in its place.
	OffWhenRefused bool `yaml:"off_when_refused" json:"off_when_refused,omitempty"`
}

// Family serves connections and nodes of type "ssh".
func Family() adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnSpec]{
			Name:     "ssh",
			Doc:      "a host that is reached by SSH, its host key checked",
			Check:    checkConn,
			Endpoint: placeOf,
			ByHand: []manual.Instruction{
				{Say: "ssh: type lines with -i and a name in the credentials directory, or where the copies are. ssh asks once for each " +
					"host whether it is the right one: compare what it shows with what the host should show (“Is it the right one?”)."},
			},
		}.Any()},
		Nodes: []schema.AnyNodeType{schema.NodeType[NodeSpec]{
			Traits: schema.Traits{
				Name:     "ssh",
				Doc:      "driven by commands over SSH; without a probe it is on when it can be logged in to",
				Kind:     plan.Other,
				Anything: true,
				Via:      []string{"ssh"},
				Times:    script.Times(),
			},
			Verbs:    func(s *NodeSpec) plan.Verbs { return s.Verbs() },
			OffAfter: func(s *NodeSpec) time.Duration { return s.OffWhenUnreachable },
			Check:    checkNode,
			ByHand:   byHand,
		}.Any()},
		Connect: adapter.Connecting(connect),
		Open:    open,
	}
}

func checkConn(s *ConnSpec) []error {
	var errs []error
	if s.Key.IsZero() == s.Password.IsZero() {
		errs = append(errs, errors.New("exactly one of key and password must be given"))
	}
	switch {
	case (s.HostKey == "") == (s.KnownHosts == ""):
		errs = append(errs, errors.New(`exactly one of host_key and known_hosts must be given; "ssh-keyscan -t ed25519 HOST" prints the key to compare with the one on the host's console`))
	case s.HostKey != "":
		if _, err := pinned(s.HostKey); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func checkNode(s *NodeSpec) []error {
	errs := s.Check()
	if s.Verbs().Has(plan.Stop) && s.Probe.IsZero() && s.OffWhenUnreachable == 0 {
		errs = append(errs, errors.New("stop needs a probe, or off_when_unreachable: nothing else proves that it is off"))
	}
	if s.OffWhenRefused && s.OffWhenUnreachable == 0 {
		errs = append(errs, errors.New("off_when_refused has no effect without off_when_unreachable"))
	}
	return errs
}

// withPort gives an address its port.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, "22")
}
