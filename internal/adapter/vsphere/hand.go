package vsphere

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strings"

	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/english"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// placeOf is where a person opens the client of a vCenter or of a host.
func placeOf(s *ConnectionSpec) manual.Endpoint {
	at := manual.Endpoint{User: s.Username, SecretLocation: s.Password.Location(), Proof: certificate.Shown(s.Thumbprint)}
	if u, err := parseURL(s.URL); err == nil {
		at.Address = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/ui"}).String()
	}
	return at
}

// hostPort is where a place listens.
func hostPort(at manual.Endpoint) string {
	return strings.TrimSuffix(strings.TrimPrefix(at.Address, "https://"), "/ui")
}

// devTCP is a host, with its port if that is not the usual one, as bash has it behind /dev/tcp.
func devTCP(hostPort string) string {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		host, port = strings.Trim(hostPort, "[]"), "443"
	}
	return host + "/" + port
}

// govcAt is the line that tells govc, VMware's command line, where to go. It takes the password from GOVC_PASSWORD.
func govcAt(at manual.Endpoint) string {
	return "export GOVC_URL=" + schema.Quote(at.User+"@"+hostPort(at))
}

// inClient says what is chosen in a client, and what is typed instead.
func inClient(at manual.Endpoint, choose string, command string) []manual.Instruction {
	if command == "" {
		return []manual.Instruction{{Say: fmt.Sprintf("In the client at %s (user %s): %s.", at.Address, at.User, choose)}}
	}
	return []manual.Instruction{{
		Say:  fmt.Sprintf("In the client at %s (user %s): %s. Or with govc:", at.Address, at.User, choose),
		Type: govcAt(at),
	}, {Type: command}}
}

// otherwise says what is done, and where, if the first place does not answer.
func otherwise(places func(string) manual.Endpoint, fallback []string, what, command string) []manual.Instruction {
	var all []manual.Instruction
	var clients []string
	for _, name := range fallback {
		at := places(name)
		if at.Address == "" {
			continue
		}
		clients = append(clients, fmt.Sprintf("%s (user %s)", at.Address, at.User))
		all = append(all, manual.Instruction{Type: govcAt(at)})
	}
	if len(all) == 0 {
		return nil
	}
	all[0].Say = fmt.Sprintf("If that does not answer, %s: %s:", what, english.Series(clients, len(clients)))
	if len(all) > 1 && command != "" {
		all[0].Say = fmt.Sprintf("If that does not answer, %s: %s. With govc, the last line after each of the others:", what,
			english.Series(clients, len(clients)))
	}
	if command != "" {
		all = append(all, manual.Instruction{Type: command})
	}
	return all
}

// onHost says where the commands of a VM are typed.
const onHost = "Or on its host, by SSH or at its console (Alt+F1); the list shows the ID:"

const (
	shutDown = "Power (or Guest OS) > Shut Down"
	powerOff = "Power > Power Off"
	powerOn  = "Power > Power On"
	provesIt = " (a guest that does not answer proves nothing):"
)

func vmByHand(d *schema.Node, s *VMSpec, places func(string) manual.Endpoint) manual.Procedure {
	name := cmp.Or(s.VM, d.ID)
	base := name[strings.LastIndex(name, "/")+1:]
	what, typed := "the VM "+name, func(command string) string { return command + " " + schema.Quote(name) }
	if s.UUID != "" { // by name it might be another
		base, what, typed = d.ID, "the VM with the instance UUID "+s.UUID, func(string) string { return "" }
	}
	same := "the same at its host's own client"
	here := func(command string) string { return command + " " + schema.Quote(base) }
	if s.UUID != "" {
		here = typed
	}
	do := func(menu, govc, onItsHost string) []manual.Instruction {
		all := append(inClient(places(d.Via), what+", "+menu, typed(govc)), otherwise(places, []string{s.Fallback}, same, here(govc))...)
		return append(all, manual.Instruction{Say: onHost, Type: "vim-cmd vmsvc/getallvms | grep -F " + schema.Quote(base)},
			manual.Instruction{Type: onItsHost})
	}
	see := func(state, shown string) []manual.Instruction {
		all := []manual.Instruction{{
			Say:  "The client shows it as " + shown + provesIt[:len(provesIt)-1] + "; govc says " + state + ":",
			Type: typed("govc vm.info"),
		}}
		if s.UUID != "" {
			all = []manual.Instruction{{Say: "The client shows it as " + shown + "."}}
		}
		return append(all, manual.Instruction{Say: "On its host:", Type: "vim-cmd vmsvc/power.getstate ID"})
	}
	force := []manual.Instruction{
		{Say: "In the same place: " + powerOff + ", or:", Type: typed("govc vm.power -off")},
		{Type: "vim-cmd vmsvc/power.off ID"},
	}
	if s.UUID != "" {
		force = []manual.Instruction{{Say: "In the same place: " + powerOff + ", or:", Type: "vim-cmd vmsvc/power.off ID"}}
	}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop:  do(shutDown, "govc vm.power -s", "vim-cmd vmsvc/power.shutdown ID"),
			plan.Force: force,
			plan.Start: do(powerOn, "govc vm.power -on", "vim-cmd vmsvc/power.on ID"),
		},
		Off: see("poweredOff", "powered off"),
		On:  see("poweredOn", "powered on, and its VMware Tools as running"),
	}
}

func vmsByHand(d *schema.Node, s *VMsSpec, places func(string) manual.Endpoint) manual.Procedure {
	at := places(d.Via)
	list, refs := s.govc()
	named := "go by the names in the appendix, at the client of each host in turn (a host knows neither tags nor folders)"
	stop := inClient(at, s.words()+": write down in the appendix which of them are on", list)
	stop = append(stop, manual.Instruction{Say: "Then all of these: " + shutDown + "."})
	if refs != "" {
		stop[len(stop)-1] = manual.Instruction{
			Say:  "Then all of these: " + shutDown + ", or:",
			Type: refs + " | xargs -r govc vm.power -s",
		}
	}
	stop = append(stop, otherwise(places, s.Fallback, named, "govc vm.power -s NAME")...)
	stop = append(stop, manual.Instruction{Say: onHost, Type: "vim-cmd vmsvc/getallvms"},
		manual.Instruction{Type: "vim-cmd vmsvc/power.shutdown ID"})
	start := inClient(at, "those that the appendix says were on, and no others, "+powerOn, "govc vm.power -on NAME")
	off := manual.Instruction{Say: "The client shows none of them as powered on" + provesIt[:len(provesIt)-1] + "."}
	if list != "" {
		off = manual.Instruction{Say: "The client shows none of them as powered on; this shows none as poweredOn" + provesIt, Type: list}
	}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop: stop,
			plan.Force: {
				{Say: "In the same place, each that is still on: " + powerOff + ", or:", Type: "govc vm.power -off NAME"},
				{Type: "vim-cmd vmsvc/power.off ID"},
			},
			plan.Start: append(append(start, otherwise(places, s.Fallback, "the same at the client of each host in turn",
				"govc vm.power -on NAME")...), manual.Instruction{Say: onHost, Type: "vim-cmd vmsvc/getallvms"},
				manual.Instruction{Type: "vim-cmd vmsvc/power.on ID"}),
		},
		Off: []manual.Instruction{
			off,
			{Say: "Or one by one, also at a host:", Type: "govc vm.info NAME"},
			{Say: "At its console:", Type: "vim-cmd vmsvc/power.getstate ID"},
		},
		On: []manual.Instruction{{
			Say:  "The client shows those as powered on, and their VMware Tools as running; each says poweredOn:",
			Type: "govc vm.info NAME",
		}},
	}
}

// govc gives the lines that list the VMs that are meant: for people, and as what other lines take. None, if no single
// line can tell.
func (s *VMsSpec) govc() (list, refs string) {
	const on = " -type m -runtime.powerState poweredOn"
	switch sel := s.Select; {
	case len(s.Exclude) > 0:
		return "", ""
	case sel == Selection{Folder: sel.Folder}:
		folder := sel.Folder
		if !strings.HasPrefix(folder, "/") {
			folder = "vm/" + folder
		}
		return "govc find " + schema.Quote(folder) + on, "govc find -i " + schema.Quote(folder) + on
	case sel == Selection{Name: sel.Name}:
		return "govc find / -name " + schema.Quote(sel.Name) + on, "govc find -i / -name " + schema.Quote(sel.Name) + on
	case sel == Selection{Tag: sel.Tag}:
		category, name, _ := strings.Cut(sel.Tag, "/")
		refs = "govc tags.attached.ls -c " + schema.Quote(category) + " " + schema.Quote(name)
		return refs + " | xargs -r govc vm.info", refs
	}
	return "", ""
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

// shutThisHost shuts down the host that is asked itself. At a vCenter, which has many, it finds none.
const shutThisHost = "govc host.shutdown -f '/ha-datacenter/host/*/*'"

// Of the host that is asked itself: whether it is in maintenance mode, and the way out.
const (
	inMaintenance    = "govc find / -type h -runtime.inMaintenanceMode true"
	leaveMaintenance = "govc host.maintenance.exit '/ha-datacenter/host/*/*'"
)

func hostByHand(d *schema.Node, s *HostSpec, places func(string) manual.Endpoint) manual.Procedure {
	name := cmp.Or(s.Host, d.ID)
	own, stop := places(cmp.Or(s.Fallback, d.Via)), []manual.Instruction{
		{Say: "First check that no VM is running on it. This prints nothing:", Type: govcAt(places(cmp.Or(s.Fallback, d.Via)))},
		{Type: "govc find / -type m -runtime.powerState poweredOn"},
	}
	menu := "the host " + name + ", Power (or Actions) > Shut Down. It warns that the host is not in maintenance mode: continue"
	if s.Fallback != "" {
		stop = append(stop, inClient(places(d.Via), menu, "govc host.shutdown -f "+schema.Quote(name))...)
		stop = append(stop, otherwise(places, []string{s.Fallback},
			"the same at its own client (it is normal for the command to break off as the host goes down)", shutThisHost)...)
	} else {
		stop[0].Say = "First check that no VM is running on it. This prints nothing (at a vCenter: nothing that is on this host):"
		stop = append(stop, inClient(own, menu, "")...)
		stop = append(stop, manual.Instruction{Say: "Or with govc at the host (it is normal for the command to break off as the host " +
			"goes down; at a vCenter, use the host's name instead of the path):", Type: shutThisHost})
	}
	stop = append(stop,
		manual.Instruction{Say: "Or at its console: F12, log in as root, F2 to shut down. Or on the host, which then starts in " +
			"maintenance mode:", Type: "esxcli system maintenanceMode set --enable true"},
		manual.Instruction{Type: "esxcli system shutdown poweroff --delay 10 --reason 'mains failure'"},
	)
	leave := "Actions > Exit maintenance mode, or:"
	if s.Fallback == "" {
		leave = "Actions > Exit maintenance mode, or (at a vCenter with its name instead of the path):"
	}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop: stop,
			plan.Force: {{Say: "Hold its power button for 5 seconds, or power it off at its management controller. Whatever is still " +
				"running on it loses power as it is."}},
			plan.Start: {{Say: "Press its power button, or power it on at its management controller."}},
			plan.Unprotect: {
				{Say: fmt.Sprintf("In the client at %s (user %s): the host %s, %s", own.Address, own.User, name, leave), Type: govcAt(own)},
				{Type: leaveMaintenance},
			},
		},
		Off: []manual.Instruction{{
			Say: fmt.Sprintf("Its power light is dark, or its management controller says off. Remotely: for %s this prints nothing, or “No route to "+
				"host” (a hung host is silent too). “Connection refused” says that it still runs:", english.Span(cmp.Or(s.OffWhenUnreachable, offAfter))),
			Type: "timeout 5 bash -c '</dev/tcp/" + devTCP(hostPort(own)) + "' && echo it answers",
		}},
		On: []manual.Instruction{
			{Say: "Its client opens, and this answers:", Type: govcAt(own)},
			{Type: "govc about"},
			{Say: "In maintenance mode no VM starts on it. This prints nothing, or at least not this host:", Type: inMaintenance},
			{Say: "If it prints it: " + leave, Type: leaveMaintenance},
		},
		Back: []manual.Instruction{{Say: "This prints nothing, or at least not this host:", Type: inMaintenance}},
	}
}

func clusterByHand(d *schema.Node, s *ClusterSpec, places func(string) manual.Endpoint) manual.Procedure {
	name := cmp.Or(s.Cluster, d.ID)
	at := places(d.Via)
	in := fmt.Sprintf("In the client at %s (user %s): the cluster %s, Configure > ", at.Address, at.User, name)
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Protect: {
				{Say: in + "vSphere Availability > Edit: write down what it says, then turn vSphere HA off."},
				{Say: "There, vSphere DRS > Edit: write down the automation level, then choose Manual. Never turn DRS off: that removes " +
					"the resource pools. Power Management (DPM): off."},
				{Say: "There, vSphere Cluster Services > General > Edit vCLS mode: Retreat mode (before vCenter 8.0 U2: the advanced " +
					"setting config.vcls.clusters.domain-cNUMBER.enabled of vCenter, false; the number stands in the client's address of " +
					"the cluster)."},
				{Say: "Or the first two with govc:", Type: govcAt(at)},
				{Type: "govc cluster.change -ha-enabled=false -drs-mode manual " + schema.Quote(name)},
			},
			plan.Unprotect: {
				{Say: in + "vSphere Cluster Services > General > Edit vCLS mode: System managed (before vCenter 8.0 U2: the advanced " +
					"setting, true)."},
				{Say: "There, vSphere DRS > Edit: the automation level that was written down."},
				{Say: "When enough hosts are connected: vSphere Availability > Edit: turn vSphere HA on, if it was."},
				{
					Say:  "Or the last two with govc, with fullyAutomated, partiallyAutomated or manual for MODE, as was written down:",
					Type: govcAt(at),
				},
				{Type: "govc cluster.change -ha-enabled=true -drs-mode MODE " + schema.Quote(name)},
			},
		},
		Clean: []manual.Instruction{{Say: in + "vSphere Availability says that HA is off, vSphere DRS says Manual, and no VM whose name " +
			"begins with vCLS runs."}},
		Back: []manual.Instruction{{Say: in + "vSphere Availability and vSphere DRS say what was written down, and VMs whose names " +
			"begin with vCLS run if they did before."}},
	}
}
