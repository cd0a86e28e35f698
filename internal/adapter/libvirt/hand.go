package libvirt

import (
	"cmp"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// virshURI is the daemon as virsh is told of it.
func (s *ConnSpec) virshURI() string {
	if s.TLS == "" {
		return cmp.Or(s.URI, defaultURI)
	}
	return "qemu://" + s.TLS + "/system"
}

// hand tells what a person does to the domains that what names; name stands for one in a command.
func hand(d *runbook.NodeDecl, places func(string) runbook.Endpoint, what, name string) runbook.ManualProcedure {
	virsh := "virsh -c " + runbook.Quote(cmp.Or(places(d.Via).Address, defaultURI)) + " "
	do := func(say, command string) []runbook.Instruction {
		return []runbook.Instruction{{Say: say + " " + what + ", as root on the host:", Type: virsh + command + " " + name}}
	}
	state := []runbook.Instruction{{Type: virsh + "domstate --reason " + name}}
	return runbook.ManualProcedure{
		Do: map[plan.Verb][]runbook.Instruction{
			plan.Stop:  do("Shut down", "shutdown"),
			plan.Force: do("Only if it does not shut down: power off", "destroy"),
			plan.Start: do("Start", "start"),
		},
		Off: append([]runbook.Instruction{{Say: "It says: shut off. A transient domain is no longer found."}}, state...),
		On:  append([]runbook.Instruction{{Say: "It says: running."}}, state...),
	}
}

func domainByHand(d *runbook.NodeDecl, places func(string) runbook.Endpoint) runbook.ManualProcedure {
	s := d.Spec.(*DomainSpec)
	name := cmp.Or(s.UUID, s.Domain, d.ID)
	return hand(d, places, "the domain "+name, runbook.Quote(name))
}

func domainsByHand(d *runbook.NodeDecl, places func(string) runbook.Endpoint) runbook.ManualProcedure {
	s := d.Spec.(*DomainsSpec)
	h := hand(d, places, "each of the domains ("+s.Select.String()+")", "NAME")
	list := runbook.Instruction{
		Say:  "The names and states of all domains:",
		Type: "virsh -c " + runbook.Quote(cmp.Or(places(d.Via).Address, defaultURI)) + " list --all --title",
	}
	for _, v := range []plan.Verb{plan.Stop, plan.Force, plan.Start} {
		h.Do[v] = append([]runbook.Instruction{list}, h.Do[v]...)
	}
	return h
}
