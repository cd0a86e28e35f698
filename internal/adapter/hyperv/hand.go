package hyperv

import (
	"cmp"
	"fmt"

	"ebbtide/internal/english"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// say tells where PowerShell is opened.
func say(d *schema.Node, places func(string) manual.Endpoint) string {
	at := places(d.Via)
	return fmt.Sprintf("In PowerShell as an administrator on the machine at %s (user %s):", at.Address, at.User)
}

// quote makes a word of PowerShell.
func quote(name string) string { return schema.Quote(name) }

func vmHand(where, name string, clustered bool) manual.Procedure {
	do := func(host, role string) []manual.Instruction {
		if clustered {
			return []manual.Instruction{{Say: where, Type: role + " " + name}}
		}
		return []manual.Instruction{{Say: where, Type: host + " " + name}}
	}
	state := do("Get-VM", "Get-ClusterGroup")
	h := manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop:  do("Stop-VM -Force", "Stop-ClusterGroup"),
			plan.Force: {{Say: "Only if it does not shut down, on the host that runs it:", Type: "Stop-VM -TurnOff -Force " + name}},
			plan.Start: do("Start-VM", "Start-ClusterGroup"),
		},
		Off: append([]manual.Instruction{{Say: "It says Off (a clustered one: Offline)."}}, state...),
		On:  append([]manual.Instruction{{Say: "It says Running (a clustered one: Online)."}}, state...),
	}
	return h
}

func vmByHand(d *schema.Node, s *VMSpec, places func(string) manual.Endpoint) manual.Procedure {
	return vmHand(say(d, places), quote(cmp.Or(s.VM, d.ID)), s.Clustered)
}

func vmsByHand(d *schema.Node, s *VMsSpec, places func(string) manual.Endpoint) manual.Procedure {
	return vmHand(say(d, places), quote(cmp.Or(s.Select.Name, "*")), s.Clustered)
}

func hostByHand(d *schema.Node, s *HostSpec, places func(string) manual.Endpoint) manual.Procedure {
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop: {
				{Say: "First check that no VM is running on it. " + say(d, places), Type: "Get-VM | Where-Object State -ne Off"},
				{Type: "Stop-Computer -Force"},
			},
			plan.Force: {{Say: "Hold its power button for 5 seconds, or power it off at its management controller. Whatever is still " +
				"running on it loses power as it is."}},
			plan.Start: {{Say: "Press its power button, or power it on at its management controller."}},
		},
		Off: []manual.Instruction{{Say: fmt.Sprintf("Its power light is dark, or its management controller says off. Remotely: it does "+
			"not answer for %s (a hung one is silent too).", english.Span(cmp.Or(s.OffWhenUnreachable, offAfter)))}},
		On: []manual.Instruction{{Say: "It can be logged in to, and Hyper-V answers:", Type: "Get-VM"}},
	}
}

func clusterByHand(d *schema.Node, _ *ClusterSpec, places func(string) manual.Endpoint) manual.Procedure {
	where := say(d, places)
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop: {
				{Say: "First check that no VM is online on any host, including VMs that are not cluster roles but lie on a shared volume. " + where, Type: "Get-ClusterGroup"},
				{Say: "On one host, for all of them; the shared volumes go offline with it:", Type: "Stop-Cluster -Force"},
			},
			plan.Start: {
				{Say: "When the hosts and the storage are up. " + where, Type: "Start-Cluster"},
				{Say: "A shared volume that says maintenance:", Type: "Get-ClusterSharedVolume | Resume-ClusterResource"},
			},
		},
		Off: []manual.Instruction{{Say: "On each host it says Stopped:", Type: "Get-Service ClusSvc"}},
		On:  []manual.Instruction{{Say: "All hosts and volumes are up:", Type: "Get-ClusterNode; Get-ClusterSharedVolume"}},
	}
}
