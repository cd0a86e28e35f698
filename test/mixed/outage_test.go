// Package mixed_test holds an outage of an estate of many systems.
package mixed_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/ipmi/ipmitest"
	"ebbtide/internal/adapter/libvirt/libvirttest"
	"ebbtide/internal/adapter/redfish/redfishsim"
	"ebbtide/internal/adapter/snmp/snmptest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/engine"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
	"ebbtide/test/host"
	"ebbtide/test/site"
)

var binary string

func TestMain(m *testing.M) { site.Main(m, &binary) }

const runbookText = `version: 1
runbook: mixed
supplies:
  ups: {nut: "ups@%[1]s", username: %[2]s, password: {credential: upsd}}
connections:
%[3]s
nodes:
  store: {type: ssh, via: store, fed_by: [ups], risk: storage, stop: [systemctl, poweroff], off_when_unreachable: 1s, off_when_refused: true, down: %[4]s, up: {wake: {pdu: rack, outlet: 3}, within: 3m}}
  web: {type: ssh, via: web, fed_by: [ups], depends_on: [store], stop: [systemctl, poweroff], off_when_unreachable: 1s, down: %[4]s, up: {wake: {redfish: web-bmc}, within: 3m}}
  kvm: {type: ssh, via: kvm, fed_by: [ups], depends_on: [store], stop: [systemctl, poweroff], off_when_unreachable: 1s, down: %[4]s, up: {wake: {ipmi: kvm-bmc}, within: 3m}}
  dns: {type: libvirt.domain, via: domains, depends_on: [kvm], risk: directory, down: %[4]s}
  db: {type: libvirt.domain, via: domains, depends_on: [kvm, dns], risk: database, down: %[4]s}
  idle: {type: libvirt.domain, via: domains, depends_on: [kvm]}
  esx01: {type: vsphere.host, via: vcenter, fallback: esx01, fed_by: [ups], depends_on: [store], off_when_unreachable: 1s, down: %[4]s, up: {wake: {power: true}, within: 3m}}
  esx02: {type: vsphere.host, via: vcenter, fallback: esx02, fed_by: [ups], depends_on: [store], off_when_unreachable: 1s, down: %[4]s, up: {wake: {power: true}, within: 3m}}
  erp: {type: vsphere.vm, via: vcenter, fallback: esx01, depends_on: [esx01, db], down: %[4]s}
  mail: {type: vsphere.vm, via: vcenter, fallback: esx02, depends_on: [esx02, dns], down: %[4]s}
  old: {type: vsphere.vm, via: vcenter, fallback: esx02, depends_on: [esx02]}
policy:
  shutdown: {when: {on_battery: 1s}}
  restore: {when: {online: 2s}}
  reserve: 10s
`

// asleep are the VMs that are off from the start.
var asleep = []string{"idle", "old"}

// order says what has to be told before what, on the way down and on the way up.
var order = []struct{ before, after string }{
	{"domain db off", "domain dns off"},
	{"vm erp off", "domain db off"}, // across hypervisors
	{"vm mail off", "domain dns off"},
	{"domain dns off", "host kvm off"},
	{"vm erp off", "host esx01 off"},
	{"vm mail off", "host esx02 off"},
	{"host web off", "host store off"},
	{"host kvm off", "host store off"},
	{"host esx01 off", "host store off"},
	{"host esx02 off", "host store off"},
	{"host store off", "output off"},
	{"output off", "mains on"},
	{"output on", "outlet on"},
	{"outlet on", "host store on"},
	{"host store on", "host web on"},
	{"host store on", "host kvm on"},
	{"host kvm on", "domain dns on"},
	{"domain dns on", "domain db on"},
	{"domain db on", "vm erp on"},
	{"domain dns on", "vm mail on"},
	{"host esx01 on", "vm erp on"},
	{"host esx02 on", "vm mail on"},
}

// TestAnOutageOfAMixedEstate takes one estate of many systems down and brings it back, each by its own means: a store that
// only its PDU's outlet wakes; a server with Redfish and a KVM host with IPMI, whose controllers are the second proof that
// they are off and the only way to start them; domains behind libvirt, over SSH through that host; VMs on hosts behind
// vCenter; and the UPS. What was done, and in which order, is what these systems themselves saw.
func TestAnOutageOfAMixedEstate(t *testing.T) {
	host.Need(t)
	told := site.NewChronicle(t)
	files := site.NewFolder(t)

	virt := libvirttest.New(t, libvirttest.Table)
	for _, name := range []string{"dns", "db"} {
		virt.Start(name, "")
	}
	virt.Define("idle", "")
	domains(t, virt, told)

	const socket = "/run/ebbtide-libvirt" // of the daemon, inside its host
	store, web, kvm := boot(t, told, "store", nil), boot(t, told, "web", nil), boot(t, told, "kvm", map[string]string{virt.Socket: socket})
	machines := []*machine{store, web, kvm}

	redfish := redfishsim.New(redfishsim.Options{Machine: web})
	t.Cleanup(redfish.Close)
	ipmi, err := ipmitest.New(0)
	require.NoError(t, err)
	t.Cleanup(ipmi.Close)
	ipmi.Wire(kvm)
	plug := outlet{oid: "1.3.6.1.4.1.318.1.1.26.9.2.4.1.5.3", told: told, feed: store} // rPDU2OutletSwitchedControlCommand
	plug.pdu = snmptest.Start(t, map[string]int{plug.oid: outletOn})

	vsphere, err := vspheresim.New(vspheresim.Options{
		HostsPerCluster: 2, HostOff: 300 * time.Millisecond, HostBoot: 500 * time.Millisecond,
		Guest: func(string) vspheresim.GuestBehaviour {
			return vspheresim.GuestBehaviour{Delay: 200 * time.Millisecond}
		},
		VMs:      []vspheresim.VM{{Name: "erp"}, {Name: "mail", Host: 1}, {Name: "old", Host: 1, Off: true}},
		OnChange: func(kind, name string, on bool) { told.Tell(onOff(kind+" "+name, on)) },
	})
	require.NoError(t, err)
	t.Cleanup(vsphere.Close)

	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	driver := upsd.Driver("ups")
	driver.Set("battery.charge", "100", "battery.runtime", "3600", "ups.load", "30")
	// alive lists what runs, from the systems' own side.
	alive := func() (on []string) {
		for _, m := range machines {
			if m.Host.On() {
				on = append(on, m.Name)
			}
		}
		on = append(on, slices.DeleteFunc(vsphere.Hosts(), func(h string) bool { return !vsphere.HostOn(h) })...)
		on = append(on, slices.DeleteFunc([]string{"erp", "mail", "old"}, func(v string) bool { return !vsphere.VMOn(v) })...)
		return append(on, slices.DeleteFunc([]string{"dns", "db", "idle"},
			func(d string) bool { return virt.State(d) != libvirt.DomainRunning })...)
	}
	all := []string{"store", "web", "kvm", "esx01", "esx02", "erp", "mail", "dns", "db"}
	require.Equal(t, all, alive())
	ups := driver.Machine(nuttest.Traits{
		Commands: []string{"shutdown.return"}, OffDelay: 1, OnDelay: 1, HasTimer: true,
		Around: func() string { return strings.Join(alive(), " ") },
	})

	var connections strings.Builder
	connect := func(name, format string, args ...any) {
		fmt.Fprintf(&connections, "  "+name+": "+format+"\n", args...)
	}
	for _, m := range machines {
		connect(m.Name, "{type: ssh, address: %q, user: root, key: {credential: %s}, host_key: %q}", m.Address, m.Name,
			strings.TrimSpace(m.HostKey))
		files.Secret(m.Name, m.Key)
	}
	connect("rack", "{type: snmp, address: %q, version: 2c, community: {credential: rack}, pdu: apc-rpdu2}", plug.pdu.Address)
	connect("web-bmc", "{type: redfish, url: %q, username: %s, password: {credential: web-bmc}, thumbprint: %q}", redfish.URL,
		redfishsim.User, redfish.Thumbprint())
	connect("kvm-bmc", "{type: ipmi, address: %q, username: %s, password: {credential: kvm-bmc}}", ipmi.Address, ipmitest.User)
	connect("domains", "{type: libvirt, ssh: kvm, socket: %q, uri: %q}", socket, libvirttest.Table)
	servers := map[string]*vspheresim.Server{"vcenter": vsphere.VCenter()}
	for _, name := range vsphere.Hosts() {
		servers[name], err = vsphere.Direct(name)
		require.NoError(t, err)
	}
	for name, s := range servers {
		connect(name, "{type: vsphere, url: %q, username: %q, password: {credential: vsphere}, thumbprint: %q}", s.URL(),
			vspheresim.User, s.Thumbprint())
	}
	for name, secret := range map[string]string{
		"upsd": nuttest.AdminPassword, "rack": snmptest.Community, "web-bmc": redfishsim.Password, "kvm-bmc": ipmitest.Password,
		"vsphere": vspheresim.Password,
	} {
		files.Secret(name, secret)
	}
	files.Write("runbook.yaml", fmt.Sprintf(runbookText, upsd.Addr, nuttest.Admin, strings.TrimSuffix(connections.String(), "\n"),
		"{nominal: 5s, within: 2m}"))

	daemon := site.Start(t, site.Daemon(binary, files.Settings(true)))
	until := func(what string, holds func() bool) {
		t.Helper()
		told.Until(what, 4*time.Minute, func() bool {
			require.True(t, daemon.Running(), "%s", daemon.Log())
			return holds()
		})
	}
	until("daemon that knows its estate", func() bool { return isSettled(files) })

	told.Tell("mains off")
	ups.Mains(false)
	until("cut", func() bool { return ups.Told("output off") })
	told.Tell("output off")
	until("cut that is proven", func() bool { return sees(files, "ups", plan.Off) })
	told.Tell("cut proven")
	require.Contains(t, ups.Story(), "output off []", "the UPS cuts what is off")
	st, ok := files.Status()
	require.True(t, ok)
	for _, n := range st.View.Nodes {
		if n.ID == "web" || n.ID == "kvm" {
			require.Contains(t, n.Seen.Detail, "its BMC reports it off", n.ID)
		}
	}
	plug.lose()

	told.Tell("mains on")
	ups.Mains(true)
	until("output", func() bool { return ups.Told("output on") })
	told.Tell("output on")
	ctx, cancel := context.WithCancel(t.Context())
	followed := make(chan struct{})
	go func() { plug.follow(ctx); close(followed) }()
	t.Cleanup(func() { cancel(); <-followed })
	for _, h := range vsphere.Hosts() { // their firmware: on with their power
		require.NoError(t, vsphere.PowerOnHost(h))
	}
	until("end of the outage", func() bool { return isSettled(files) })

	require.Equal(t, all, alive(), "what was on is on, and what was off is off")
	require.Equal(t, []string{"On"}, redfish.Resets(), "its own system shuts it down; its controller starts it, once")
	require.Equal(t, []string{"up"}, ipmi.Commands())
	moments := told.Told()
	for _, o := range order {
		before, after := slices.Index(moments, o.before), slices.Index(moments, o.after)
		require.GreaterOrEqual(t, before, 0, "%s: %v", o.before, moments)
		require.Greater(t, after, before, "%s after %s: %v", o.after, o.before, moments)
	}
	for _, name := range asleep {
		require.False(t, slices.ContainsFunc(moments, func(m string) bool { return strings.Contains(m, " "+name+" ") }),
			"%s: %v", name, moments)
	}
	for _, m := range told.Story() {
		t.Log(m.At.Format("05.000"), m.What)
	}
}

// isSettled reports whether no outage is open, and the daemon sees each thing as it was.
func isSettled(files *site.Folder) bool {
	st, ok := files.Status()
	return ok && st.View.Outage == "" && len(st.Blind) == 0 && len(st.View.Nodes) > 0 &&
		!slices.ContainsFunc(st.View.Nodes, func(n engine.NodeView) bool {
			return slices.Contains(asleep, n.ID) != (n.Seen.State == plan.Off) || n.ID != "ups" && !slices.Contains(asleep, n.ID) &&
				n.Seen.State != plan.On
		})
}

// sees reports whether the daemon sees a thing in a state.
func sees(files *site.Folder, id string, state plan.State) bool {
	st, ok := files.Status()
	return ok && slices.ContainsFunc(st.View.Nodes, func(n engine.NodeView) bool { return n.ID == id && n.Seen.State == state })
}
