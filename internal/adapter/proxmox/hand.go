package proxmox

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// placeOf is where a person opens the web interface.
func placeOf(s *ConnSpec) manual.Endpoint {
	return manual.Endpoint{Address: s.URL, User: "root@pam"}
}

// guestHand tells what a person does to the guests that what names; id stands for the number of one.
func guestHand(at manual.Endpoint, what, id string) manual.Procedure {
	do := func(menu, command string) []manual.Instruction {
		return []manual.Instruction{
			{Say: "In the web interface at " + at.Address + ": " + what + ", " + menu +
				". Or as root on its node, where the list gives its number (ct: pct instead of qm):", Type: "qm list; pct list"},
			{Type: "qm " + command + " " + id},
		}
	}
	state := []manual.Instruction{{Type: "qm status " + id + " || pct status " + id}}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop:  do("Shutdown", "shutdown"),
			plan.Force: do("Stop (only if it does not shut down)", "stop"),
			plan.Start: do("Start", "start"),
		},
		Off: append([]manual.Instruction{{Say: "It says: status: stopped"}}, state...),
		On:  append([]manual.Instruction{{Say: "It says: status: running"}}, state...),
	}
}

func guestByHand(d *schema.Node, s *GuestSpec, places func(string) manual.Endpoint) manual.Procedure {
	name, id := cmp.Or(s.Guest, d.ID), "NUMBER"
	if s.VMID > 0 {
		id = strconv.Itoa(s.VMID)
	}
	return guestHand(places(d.Via), "the guest "+name, id)
}

func guestsByHand(d *schema.Node, s *GuestsSpec, places func(string) manual.Endpoint) manual.Procedure {
	what := "each guest (" + s.Select.String() + ")"
	if len(s.Exclude) > 0 {
		what += ", but for " + strings.Join(s.Exclude, ", ")
	}
	return guestHand(places(d.Via), what, "NUMBER")
}

func nodeByHand(d *schema.Node, s *NodeSpec, places func(string) manual.Endpoint) manual.Procedure {
	name, at := cmp.Or(s.Node, d.ID), places(d.Via)
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop: {
				{Say: "First see that no guest runs on " + name + "; as root on it:", Type: "qm list; pct list"},
				{
					Say:  "In the web interface at " + at.Address + ": the node " + name + ", Shutdown. Or as root on it:",
					Type: "systemctl poweroff",
				},
			},
			plan.Force: {{Say: "Hold its power button for 5 seconds, or power it off at its management controller. Whatever is still " +
				"running on it loses power as it is."}},
			plan.Start: {{Say: "Press its power button, or power it on at its management controller."}},
		},
		Off: []manual.Instruction{{Say: fmt.Sprintf("Its power light is dark, or its management controller says off. Remotely: it does "+
			"not answer for %s (a hung one is silent too).", english.Span(cmp.Or(s.OffWhenUnreachable, offAfter)))}},
		On: []manual.Instruction{{
			Say:  "It is online. In a cluster, that has a quorum (a single host has none, and says so); as root on it:",
			Type: "pvecm status",
		}},
	}
}

func clusterByHand(_ *schema.Node, s *ClusterSpec, _ func(string) manual.Endpoint) manual.Procedure {
	suspend := []manual.Instruction{{
		Say:  "As root on any node. Write down how it is now:",
		Type: "ha-manager config; ceph osd dump | grep flags",
	}}
	back := []manual.Instruction{{
		Say:  "As root on any node, when all nodes are online and the cluster has a quorum:",
		Type: "pvecm status",
	}}
	if s.ha() {
		suspend = append(suspend, manual.Instruction{
			Say:  "For each resource in the list:",
			Type: "ha-manager set vm:NUMBER --state ignored",
		})
		back = append(back, manual.Instruction{
			Say:  "For each resource, as it was; HA then starts it by itself:",
			Type: "ha-manager set vm:NUMBER --state started",
		})
	}
	for _, f := range s.flags() {
		suspend = append(suspend, manual.Instruction{Type: "ceph osd set " + f})
		back = append(back, manual.Instruction{Type: "ceph osd unset " + f})
	}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{plan.Protect: suspend, plan.Unprotect: back},
		Clean: []manual.Instruction{{
			Say:  "Every HA resource says ignored, and the flags are listed:",
			Type: "ha-manager config; ceph -s",
		}},
		Back: []manual.Instruction{{
			Say:  "Every HA resource and the flags are as was written down:",
			Type: "ha-manager config; ceph osd dump | grep flags",
		}},
	}
}
