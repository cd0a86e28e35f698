package schema

import (
	"net"

	"ebbtide/internal/manual"
)

// ByHand tells how a person starts a machine that is woken so. places finds the places of connections by their names.
func (w *Wake) ByHand(places func(string) manual.Endpoint) []manual.Instruction {
	button := manual.Instruction{Say: "Or press its power button."}
	switch {
	case w.MAC != "":
		line := "wakeonlan " + w.MAC
		if host := HostOf(w.Broadcast); host != "" {
			line = "wakeonlan -i " + host + " " + w.MAC
		}
		return []manual.Instruction{{Say: "From a machine in its network:", Type: line}, button}
	case w.Redfish != "" || w.IPMI != "":
		bmc := w.Redfish + w.IPMI
		at := places(bmc)
		say := "At its management controller " + bmc
		if at.Address != "" {
			say += ", " + at.Address + " as " + at.User
		}
		return []manual.Instruction{{Say: say + ": power on."}, button}
	case w.PDU != "":
		say := "At the PDU " + w.PDU
		if at := places(w.PDU); at.Address != "" {
			say += ", " + at.Address
			if at.User != "" {
				say += " as " + at.User
			}
		}
		return []manual.Instruction{
			{Say: say + ": turn outlet " + w.Outlets.String() +
				" on. If the outlet is on already and the machine stays off: turn it off, wait 10 seconds, turn it on."},
			{Say: "Or pull its plugs, wait 10 seconds, and put them back."},
		}
	case w.Power:
		return []manual.Instruction{{Say: "It starts by itself when its power returns. If it has not within its “at most” time, press its power button."}}
	}
	return nil
}

// ByHand tells how a person asks what the check asks.
func (c HealthCheck) ByHand() manual.Instruction {
	switch {
	case c.TCP != "":
		return manual.Instruction{Say: "It answers:", Type: "nc -vz " + HostOf(c.TCP) + " " + portOf(c.TCP)}
	case c.HTTP != "":
		return manual.Instruction{Say: "It answers:", Type: "curl -fsS -o /dev/null " + Quote(c.HTTP)}
	case c.DNS != nil:
		return manual.Instruction{Say: "It answers with an address:", Type: "dig +short @" + HostOf(c.DNS.Server) + " " + Quote(c.DNS.Name)}
	case c.NTP != "":
		return manual.Instruction{Say: "It gives the time:", Type: "ntpdate -q " + Quote(HostOf(c.NTP))}
	case c.Ping != "":
		return manual.Instruction{Say: "It answers:", Type: "ping -c 3 " + Quote(c.Ping)}
	default:
		return manual.Instruction{Say: "On the machine that runs Ebbtide this ends without an error:", Type: Command{Argv: c.Command}.Shell()}
	}
}

// HostOf is the host of host or host:port.
func HostOf(address string) string {
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
