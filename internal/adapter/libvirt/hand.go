package libvirt

import (
	"cmp"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// virshURI is the daemon as virsh is told of it.
func (s *ConnSpec) virshURI() string {
	if s.TLS == "" {
		return cmp.Or(s.URI, defaultURI)
	}
	return "qemu://" + s.TLS + "/system"
}

// hand tells what a person does to the domains that what names; name stands for one in a command.
func hand(d *schema.Node, places func(string) manual.Endpoint, what, name string) manual.Procedure {
	virsh := "virsh -c " + schema.Quote(cmp.Or(places(d.Via).Address, defaultURI)) + " "
	do := func(say, command string) []manual.Instruction {
		return []manual.Instruction{{Say: say + " " + what + ", as root on the host:", Type: virsh + command + " " + name}}
	}
	state := []manual.Instruction{{Type: virsh + "domstate --reason " + name}}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop:  do("Shut down", "shutdown"),
			plan.Force: do("Only if it does not shut down: power off", "destroy"),
			plan.Start: do("Start", "start"),
		},
		Off: append([]manual.Instruction{{Say: "It says: shut off. A transient domain is no longer found."}}, state...),
		On:  append([]manual.Instruction{{Say: "It says: running."}}, state...),
	}
}

func domainByHand(d *schema.Node, s *DomainSpec, places func(string) manual.Endpoint) manual.Procedure {
	name := cmp.Or(s.UUID, s.Domain, d.ID)
	return hand(d, places, "the domain "+name, schema.Quote(name))
}

func domainsByHand(d *schema.Node, s *DomainsSpec, places func(string) manual.Endpoint) manual.Procedure {
	h := hand(d, places, "each of the domains ("+s.Select.String()+")", "NAME")
	list := manual.Instruction{
		Say:  "The names and states of all domains:",
		Type: "virsh -c " + schema.Quote(cmp.Or(places(d.Via).Address, defaultURI)) + " list --all --title",
	}
	for _, v := range []plan.Verb{plan.Stop, plan.Force, plan.Start} {
		h.Do[v] = append([]manual.Instruction{list}, h.Do[v]...)
	}
	return h
}
