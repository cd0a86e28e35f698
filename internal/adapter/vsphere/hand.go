package vsphere

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// placeOf is where a person opens the client of a vCenter or of a host.
func placeOf(spec any) runbook.Place {
	s := spec.(*ConnectionSpec)
	u, err := parseURL(s.URL)
	if err != nil {
		return runbook.Place{User: s.Username}
	}
	return runbook.Place{Address: (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/ui"}).String(), User: s.Username}
}

// clients names the clients in which a node is found: that of its connection, then those that it falls back to.
func clients(places func(string) runbook.Place, via string, fallback ...string) string {
	at := places(via)
	text := fmt.Sprintf("%s (user %s)", at.Address, at.User)
	var others []string
	for _, name := range fallback {
		if other := places(name); other.Address != "" {
			others = append(others, fmt.Sprintf("%s (user %s)", other.Address, other.User))
		}
	}
	if len(others) > 0 {
		text += ", or if that does not answer the host's own: " + strings.Join(others, ", ")
	}
	return text
}

// onHost says where the commands of a VM are typed.
const onHost = "Or on its host, by SSH or at its console (Alt+F1); the list gives the number that stands for ID:"

// vmHand tells what a person does to the VMs that what names; list finds their numbers on a host.
func vmHand(at, what, list string) runbook.Hand {
	do := func(menu, command string) []runbook.Instruction {
		return []runbook.Instruction{
			{Say: "In the client at " + at + ": " + what + ", " + menu + "."},
			{Say: onHost, Type: list},
			{Type: command},
		}
	}
	state := []runbook.Instruction{{Type: "vim-cmd vmsvc/power.getstate ID"}}
	return runbook.Hand{
		Do: map[plan.Verb][]runbook.Instruction{
			plan.Stop:  do("Power (or Guest OS) > Shut Down", "vim-cmd vmsvc/power.shutdown ID"),
			plan.Force: do("Power > Power Off", "vim-cmd vmsvc/power.off ID"),
			plan.Start: do("Power > Power On", "vim-cmd vmsvc/power.on ID"),
		},
		Off: append([]runbook.Instruction{{Say: "The client shows it as powered off; on its host this says Powered off (a dead console or a silent guest proves nothing):"}}, state...),
		On:  append([]runbook.Instruction{{Say: "The client shows it as powered on, and its VMware Tools as running; on its host:"}}, state...),
	}
}

func vmByHand(d *runbook.NodeDecl, places func(string) runbook.Place) runbook.Hand {
	s := d.Spec.(*VMSpec)
	name := cmp.Or(s.VM, d.ID)
	what, find := "the VM "+name, name[strings.LastIndex(name, "/")+1:]
	if s.UUID != "" {
		what, find = "the VM with the instance UUID "+s.UUID, d.ID
	}
	return vmHand(clients(places, d.Via, s.Fallback), what, "vim-cmd vmsvc/getallvms | grep -F "+runbook.Quote(find))
}

func vmsByHand(d *runbook.NodeDecl, places func(string) runbook.Place) runbook.Hand {
	s := d.Spec.(*VMsSpec)
	return vmHand(clients(places, d.Via, s.Fallback...), "mark "+s.words(), "vim-cmd vmsvc/getallvms")
}

// words say which VMs are meant.
func (s *VMsSpec) words() string {
	var parts []string
	if s.Select.Tag != "" {
		parts = append(parts, "with the tag "+s.Select.Tag)
	}
	if s.Select.Folder != "" {
		parts = append(parts, "in the folder "+s.Select.Folder)
	}
	if s.Select.Name != "" {
		parts = append(parts, "named "+s.Select.Name)
	}
	text := "all VMs " + strings.Join(parts, " and ")
	if len(s.Exclude) > 0 {
		text += ", but for " + strings.Join(s.Exclude, ", ")
	}
	return text
}

func hostByHand(d *runbook.NodeDecl, places func(string) runbook.Place) runbook.Hand {
	s := d.Spec.(*HostSpec)
	name := cmp.Or(s.Host, d.ID)
	at := clients(places, d.Via, s.Fallback)
	return runbook.Hand{
		Do: map[plan.Verb][]runbook.Instruction{
			plan.Stop: {
				{Say: "First see that no VM runs on it; on the host this prints nothing:", Type: "esxcli vm process list"},
				{Say: "In the client at " + at + ": the host " + name + ", Power (or Actions) > Shut Down. It warns that the host is not in maintenance mode: go on."},
				{Say: "Or at its console: F12, log in as root, F2 to shut down. Or on the host (after the next start: the first with false):", Type: "esxcli system maintenanceMode set --enable true"},
				{Type: "esxcli system shutdown poweroff --delay 10 --reason 'mains failure'"},
			},
			plan.Force: {{Say: "Hold its power button for 5 seconds, or power it off at its management controller. What still runs on it is lost as it stands."}},
			plan.Start: {{Say: "Press its power button, or power it on at its management controller."}},
		},
		Off: []runbook.Instruction{{Say: fmt.Sprintf("Its power light is dark, or its management controller says off. From afar: its client does not answer for %s (a host that hangs is silent too).", cmp.Or(s.OffWhenUnreachable, offAfter))}},
		On:  []runbook.Instruction{{Say: "Its client opens, and the host is not in maintenance mode (if it is: Actions > Exit maintenance mode)."}},
	}
}

func clusterByHand(d *runbook.NodeDecl, places func(string) runbook.Place) runbook.Hand {
	name := cmp.Or(d.Spec.(*ClusterSpec).Cluster, d.ID)
	at := clients(places, d.Via)
	in := "In the client at " + at + ": the cluster " + name + ", Configure > "
	return runbook.Hand{
		Do: map[plan.Verb][]runbook.Instruction{
			plan.Protect: {
				{Say: in + "vSphere Availability > Edit: write down what it says, then turn vSphere HA off."},
				{Say: "There, vSphere DRS > Edit: write down the automation level, then choose Manual. Never turn DRS off: that removes the resource pools. Power Management (DPM): off."},
				{Say: "There, vSphere Cluster Services > General > Edit vCLS mode: Retreat mode (before vCenter 8.0 U2: the advanced setting config.vcls.clusters.domain-cNUMBER.enabled of vCenter, false; the number stands in the client's address of the cluster)."},
			},
			plan.Unprotect: {
				{Say: in + "vSphere Cluster Services > General > Edit vCLS mode: System managed (before vCenter 8.0 U2: the advanced setting, true)."},
				{Say: "There, vSphere DRS > Edit: the automation level that was written down."},
				{Say: "When enough hosts are connected: vSphere Availability > Edit: turn vSphere HA on, if it was."},
			},
		},
		Clean: []runbook.Instruction{{Say: in + "vSphere Availability says that HA is off, vSphere DRS says Manual, and no VM whose name begins with vCLS runs."}},
	}
}
