package runbook

import (
	"net"

	"ebbtide/internal/plan"
)

// Endpoint is where a person reaches a system and as whom. It never holds a secret.
type Endpoint struct {
	Address        string // as it is typed: a URL, host:port
	User           string
	SecretLocation string // where the password or key is kept, in words
	Proof          string // what shows that it is the right system: its certificate's thumbprint, its host key's fingerprint
}

// ManualProcedure is what a person does to a node when Ebbtide does not. It never holds a secret.
type ManualProcedure struct {
	Do    map[plan.Verb][]Instruction
	Off   []Instruction // how to see that it is really off
	On    []Instruction // how to see that it is on
	Clean []Instruction // of a cache: how to see in what mode it is and that nothing is left in it
	Back  []Instruction // of what is protected: how to see that it is as it was before
}

// Instruction is one thing to do. With both, Say tells where or when Type is typed.
type Instruction struct {
	Say  string
	Type string // a command, as it is typed
}

// ProcedureOf tells what a person does to a declared node, with its wake and its health checks.
func (rb *Runbook) ProcedureOf(schema *Schema, d *NodeDecl) ManualProcedure {
	var h ManualProcedure
	if t, ok := schema.Node(d.Type); ok && t.ByHand != nil {
		h = t.ByHand(d, func(connection string) Endpoint { return rb.EndpointOf(schema, connection) })
	}
	if h.Do == nil {
		h.Do = map[plan.Verb][]Instruction{}
	}
	if w := d.Wake; w != nil {
		h.Do[plan.Start] = w.byHand(func(connection string) Endpoint { return rb.EndpointOf(schema, connection) })
	}
	for _, c := range d.Healthy {
		h.On = append(h.On, c.byHand())
	}
	return h
}

// EndpointOf tells where a person reaches a declared connection.
func (rb *Runbook) EndpointOf(schema *Schema, connection string) Endpoint {
	for i := range rb.Connections {
		c := &rb.Connections[i]
		if t, ok := schema.Connection(c.Type); ok && c.Name == connection && t.Endpoint != nil {
			return t.Endpoint(c.Spec)
		}
	}
	return Endpoint{}
}

func (w *Wake) byHand(places func(string) Endpoint) []Instruction {
	button := Instruction{Say: "Or press its power button."}
	switch {
	case w.MAC != "":
		line := "wakeonlan " + w.MAC
		if host := hostOf(w.Broadcast); host != "" {
			line = "wakeonlan -i " + host + " " + w.MAC
		}
		return []Instruction{{Say: "From a machine in its network:", Type: line}, button}
	case w.Redfish != "" || w.IPMI != "":
		bmc := w.Redfish + w.IPMI
		at := places(bmc)
		say := "At its management controller " + bmc
		if at.Address != "" {
			say += ", " + at.Address + " as " + at.User
		}
		return []Instruction{{Say: say + ": power on."}, button}
	case w.PDU != "":
		say := "At the PDU " + w.PDU
		if at := places(w.PDU); at.Address != "" {
			say += ", " + at.Address
			if at.User != "" {
				say += " as " + at.User
			}
		}
		return []Instruction{
			{Say: say + ": turn outlet " + w.Outlets.String() +
				" on. If on already and it stays dark: off, wait 10 seconds, on."},
			{Say: "Or pull its plugs, wait 10 seconds, and put them back."},
		}
	case w.Power:
		return []Instruction{{Say: "It starts by itself when its power returns. If it does not within its longest time, press its power button."}}
	}
	return nil
}

func (c HealthCheck) byHand() Instruction {
	switch {
	case c.TCP != "":
		return Instruction{Say: "It answers:", Type: "nc -vz " + hostOf(c.TCP) + " " + portOf(c.TCP)}
	case c.HTTP != "":
		return Instruction{Say: "It answers:", Type: "curl -fsS -o /dev/null " + Quote(c.HTTP)}
	case c.DNS != nil:
		return Instruction{Say: "It answers with an address:", Type: "dig +short @" + hostOf(c.DNS.Server) + " " + Quote(c.DNS.Name)}
	case c.NTP != "":
		return Instruction{Say: "It gives the time:", Type: "ntpdate -q " + Quote(hostOf(c.NTP))}
	case c.Ping != "":
		return Instruction{Say: "It answers:", Type: "ping -c 3 " + Quote(c.Ping)}
	default:
		return Instruction{Say: "On the machine that runs Ebbtide this ends without an error:", Type: Command{Argv: c.Command}.Shell()}
	}
}

// hostOf is the host of host or host:port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// portOf is the port of host:port.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address) // without one there is none to name
	return port
}
