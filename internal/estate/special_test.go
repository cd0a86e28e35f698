package estate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/hyperv"
	"ebbtide/internal/adapter/hyperv/hypervsim"
	"ebbtide/internal/adapter/libvirt"
	"ebbtide/internal/adapter/libvirt/libvirttest"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/adapter/powershell/windowssim"
	"ebbtide/internal/adapter/proxmox"
	"ebbtide/internal/adapter/proxmox/proxmoxtest"
	"ebbtide/internal/adapter/self"
	"ebbtide/internal/adapter/vsphere"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/estate"
)

// said are the problems with their hints, a line each.
func said(asked *estate.Survey) string {
	var b strings.Builder
	for _, p := range asked.Problems {
		fmt.Fprintf(&b, "%s %s: %s | %s\n", p.Severity, p.Path, p.Message, p.Hint)
	}
	return b.String()
}

// TestVCentersOwnVM: it goes after all that is reached through it alone, by a way past it, or people are told what to write;
// and what they are told to write is enough.
func TestVCentersOwnVM(t *testing.T) {
	t.Parallel()
	sim, err := vspheresim.New(vspheresim.Options{HostsPerCluster: 2, VMs: []vspheresim.VM{
		{Name: "VCSA", Addresses: []string{"127.0.0.1"}}, {Name: "dc01"}, {Name: "web01", Host: 1},
	}})
	require.NoError(t, err)
	t.Cleanup(sim.Close)
	var connections strings.Builder
	connect := func(name string, server *vspheresim.Server, err error) {
		require.NoError(t, err)
		fmt.Fprintf(&connections, "  %s: {type: vsphere, url: %q, username: %s, password: {env: VSPHERE}, thumbprint: %q}\n", name,
			server.URL(), vspheresim.User, server.Thumbprint())
	}
	connect("vcenter", sim.VCenter(), nil)
	for _, host := range sim.Hosts() {
		server, err := sim.Direct(host)
		connect(host, server, err)
	}
	families := []adapter.Family{vsphere.Family()}
	const hosts = `  esx01: {type: vsphere.host, via: esx01, fed_by: [ups], up: {wake: {power: true}}}
  esx02: {type: vsphere.host, via: esx02, fed_by: [ups], up: {wake: {power: true}}}
`
	for _, c := range []struct {
		about, nodes string
		want         []string // each in a line of its own
	}{
		{
			"as it should be", hosts + `  dc01: {type: vsphere.vm, via: esx01, depends_on: [esx01]}
  vcsa: {type: vsphere.vm, via: esx01, vm: VCSA, depends_on: [esx01, dc01]}
  web01: {type: vsphere.vm, via: vcenter, depends_on: [esx02, vcsa]}
`, nil,
		},
		{
			"through itself, with another way", hosts + `  dc01: {type: vsphere.vm, via: vcenter, fallback: esx01, depends_on: [esx01]}
  vcsa: {type: vsphere.vm, via: vcenter, vm: VCSA, fallback: esx01, depends_on: [esx01, dc01]}
  web01: {type: vsphere.vms, via: vcenter, select: {name: web01}, expect: 1, depends_on: ["tier=late"]}
  between: {type: vsphere.vm, via: vcenter, vm: nothing, fallback: esx02, labels: {tier: late}, depends_on: [esx02, vcsa]}
`, []string{"trouble nodes.between: between does not exist"},
		},
		{
			"covered by nothing", hosts + `  dc01: {type: vsphere.vm, via: esx01, depends_on: [esx01]}
  web01: {type: vsphere.vm, via: vcenter, depends_on: [esx02]}
`, []string{`warning connections.vcenter: vcenter itself runs in VM "VCSA", and no node covers it: nothing shuts it down, and it keeps its host on | under nodes, write: VCSA: {type: vsphere.vm, via: esx01, risk: control-plane, depends_on: [esx01]}; let what is reached through vcenter depend on it`},
		},
		{
			"among others", hosts + `  dc01: {type: vsphere.vm, via: vcenter, fallback: esx01, depends_on: [esx01]}
  all: {type: vsphere.vms, via: vcenter, select: {name: "*"}, expect: 2}
`, []string{`warning nodes.all: vcenter itself runs in all/VCSA, which is stopped with the others: what is stopped after it can no longer be queried | exclude "VCSA" from all, and under nodes, write: VCSA: {type: vsphere.vm, via: esx01, risk: control-plane, depends_on: [esx01]}; let what`},
		},
		{
			"through itself", hosts + `  dc01: {type: vsphere.vm, via: vcenter, depends_on: [esx01]}
  vcsa: {type: vsphere.vm, via: vcenter, vm: VCSA, depends_on: [esx01, dc01]}
  web01: {type: vsphere.vm, via: vcenter, depends_on: [esx02]}
`, []string{
				`warning nodes.vcsa: vcenter itself runs in vcsa, which is reached through it: when it stops, nothing can prove that it is off, or start it | write via: esx01, a connection straight to its host`,
				`warning nodes.vcsa: vcenter itself runs in vcsa, which may be off before web01: reached through vcenter alone, they can no longer be queried | add depends_on: [vcsa] to them, so that they go before it; or fallback: with a connection straight to its host, each`,
				`warning nodes.vcsa: vcenter itself runs in vcsa, which needs dc01: reached through vcenter alone, nothing shuts down what goes after it | write for each of them via: or fallback: with a connection straight to its host`,
			},
		},
		{
			"no other way", `  host1: {type: vsphere.host, via: vcenter, host: esx01, fed_by: [ups], up: {wake: {power: true}}}
  host2: {type: vsphere.host, via: vcenter, host: esx02, fed_by: [ups], up: {wake: {power: true}}}
  others: {type: vsphere.vms, via: vcenter, select: {name: "[dw]*"}, expect: 2}
`, []string{`warning connections.vcenter: vcenter itself runs in VM "VCSA", and no node covers it: nothing shuts it down, and it keeps its host on | declare a connection straight to its host, and under nodes, write, with that for NAME: VCSA: {type: vsphere.vm, via: NAME, risk: control-plane, depends_on: [host1]}; let what`},
		},
	} {
		t.Run(c.about, func(t *testing.T) {
			asked := surveyed(t, estate.Options{Families: families}, "connections:\n"+connections.String()+"nodes:\n"+c.nodes)
			lines := strings.Split(strings.TrimSpace(said(asked)), "\n")
			if len(c.want) == 0 {
				require.Empty(t, asked.Problems, asked.Problems.Text())
			}
			require.Len(t, lines, max(1, len(c.want)), asked.Problems.Text())
			for i, want := range c.want {
				require.True(t, strings.HasPrefix(lines[i], want), "want %s\n got %s", want, lines[i])
			}
			require.Empty(t, asked.Uncovered, "it is told of as what it is")
		})
	}
}

// TestThisMachineIsAVMOfTheEstate: it would stop itself, or keep its host from going down.
func TestThisMachineIsAVMOfTheEstate(t *testing.T) {
	t.Parallel()
	const firmware, inside = "421f245c-7fa8-60fa-6af6-a46351ced0eb", "5C241F42-A87F-FA60-6AF6-A46351CED0EB"
	pve := proxmoxtest.New(t,
		proxmoxtest.Guest{
			VMID: 100, Name: "web", Status: "running",
			Config: map[string]string{"smbios1": "uuid=00112233-4455-6677-8899-aabbccddeeff"},
		},
		proxmoxtest.Guest{
			VMID: 101, Name: "ebbtide", Status: "running",
			Config: map[string]string{"smbios1": "manufacturer=x,uuid=" + firmware},
		})
	windows := hypervsim.New(&hypervsim.VM{ID: "1", Name: "web", State: "Running"},
		&hypervsim.VM{ID: "2", Name: "ebbtide", State: "Running", BIOS: "{" + strings.ToUpper(firmware) + "}"})
	t.Cleanup(windows.Close)
	kvm := libvirttest.New(t, libvirttest.Table)
	domain := kvm.Start("ebbtide", "")
	families := []adapter.Family{proxmox.Family(), powershell.Family(), hyperv.Family(), libvirt.Family(), self.Family(false)}
	for name, c := range map[string]struct {
		firmware, nodes string
		want            string // in what is said; "": nothing
	}{
		"covered, on Proxmox VE": {inside, `  host: {type: proxmox.node, via: pve, node: pve1, fed_by: [ups], up: {wake: {power: true}}}
  all: {type: proxmox.guests, via: pve, select: {all: true}, expect: 2, depends_on: [host]}
`, "warning nodes.all: all/ebbtide is the machine that runs this check: if the daemon runs here too, it stops itself in the middle of its plan"},
		"not covered, on Proxmox VE": {inside, `  host: {type: proxmox.node, via: pve, node: pve1, fed_by: [ups], up: {wake: {power: true}}}
  web: {type: proxmox.guest, via: pve, depends_on: [host]}
  ebbtide: {type: self, fed_by: [ups]}
`, `warning nodes.host: VM "ebbtide" on host is the machine that runs this check: if the daemon runs here too, host is never shut down`},
		"on a host that stays, on Proxmox VE": {inside, `  web: {type: proxmox.guest, via: pve, fed_by: [ups]}
`, ""},
		"another machine, on Proxmox VE": {"503c2f5d-7a3b-0d1e-9a4b-1c2d3e4f5a6b", `  ebbtide: {type: proxmox.guest, via: pve, fed_by: [ups]}
  web: {type: proxmox.guest, via: pve, fed_by: [ups]}
`, ""},
		"covered, on Hyper-V": {inside, `  HV1: {type: hyperv.host, via: hv1, fed_by: [ups], up: {wake: {power: true}}}
  all: {type: hyperv.vms, via: hv1, select: {all: true}, expect: 2, depends_on: [HV1]}
`, "warning nodes.all: all/ebbtide is the machine that runs this check"},
		"covered, on libvirt": {uuid.UUID(domain.UUID).String(), `  ebbtide: {type: libvirt.domain, via: kvm, fed_by: [ups]}
  "test": {type: libvirt.domain, via: kvm, fed_by: [ups]}
`, "warning nodes.ebbtide: ebbtide is the machine that runs this check"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := surveyed(t, estate.Options{Families: families, Firmware: c.firmware}, "connections:\n"+map[string]string{
				"Proxmox VE": fmt.Sprintf("  pve: {type: proxmox, url: %q, token: %q, secret: {env: PVE}, thumbprint: %q}\n", pve.URL(),
					proxmoxtest.Token, pve.Thumbprint()),
				"Hyper-V": fmt.Sprintf("  hv1: {type: winrm, url: %q, username: '%s', password: {env: WINDOWS}, auth: basic, thumbprint: %q}\n", windows.URL(), windowssim.User, windows.Thumbprint()),
				"libvirt": fmt.Sprintf("  kvm: {type: libvirt, uri: %q, socket: %q}\n", libvirttest.Table, kvm.Socket),
			}[name[strings.LastIndex(name, " on ")+4:]]+"nodes:\n"+c.nodes)
			if c.want == "" {
				require.Empty(t, asked.Problems, asked.Problems.Text())
				return
			}
			require.Len(t, asked.Problems, 1, asked.Problems.Text())
			require.Contains(t, said(asked), c.want)
			require.Empty(t, asked.Uncovered, "nobody is told to let Ebbtide stop its own machine")
		})
	}
}

// TestHAThatNobodyPutsOff: it starts again what goes down, wherever no node puts it off; what is written for it does.
func TestHAThatNobodyPutsOff(t *testing.T) {
	t.Parallel()
	sim, err := vspheresim.New(vspheresim.Options{APIVersion: "8.0.2.0", Clusters: 2, Features: &vspheresim.Features{}})
	require.NoError(t, err)
	t.Cleanup(sim.Close)
	require.NoError(t, sim.SetFeatures("DC0_C1", vspheresim.Features{HA: true}))
	pve := proxmoxtest.New(t)
	pve.SetHA("vm:100", "started")
	pve.SetHA("vm:101", "ignored")
	families := []adapter.Family{vsphere.Family(), proxmox.Family()}
	book := fmt.Sprintf(`connections:
  vcenter: {type: vsphere, url: %q, username: %s, password: {env: VSPHERE}, thumbprint: %q}
  pve: {type: proxmox, url: %q, token: %q, secret: {env: PVE}, thumbprint: %q}
nodes:
  esx01: {type: vsphere.host, via: vcenter, fed_by: [ups], up: {wake: {power: true}}}
  esx02: {type: vsphere.host, via: vcenter, fed_by: [ups], up: {wake: {power: true}}}
  pve1: {type: proxmox.node, via: pve, fed_by: [ups], up: {wake: {power: true}}}
`, sim.VCenter().URL(), vspheresim.User, sim.VCenter().Thumbprint(), pve.URL(), proxmoxtest.Token, pve.Thumbprint())
	require.Equal(t, `warning connections.vcenter: HA is on in cluster "DC0_C1", and no node turns it off for the outage: it restarts what goes down with its host | under nodes, write: cluster: {type: vsphere.cluster, via: vcenter, cluster: DC0_C1, depends_on: [esx01, esx02]}; and make its VMs depend on it
warning connections.pve: HA is on, and no node turns it off for the outage: it restarts what goes down with its host | under nodes, write: cluster: {type: proxmox.cluster, via: pve, depends_on: [pve1]}; and make its VMs depend on it
`, said(surveyed(t, estate.Options{Families: families}, book)))
	require.Empty(t, surveyed(t, estate.Options{Families: families},
		book+`  cluster: {type: vsphere.cluster, via: vcenter, cluster: DC0_C1, depends_on: [esx01, esx02]}
  pve-cluster: {type: proxmox.cluster, via: pve, depends_on: [pve1]}
`).Problems)
}
