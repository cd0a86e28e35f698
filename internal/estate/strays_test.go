package estate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/hyperv"
	"ebbtide/internal/adapter/hyperv/hypervsim"
	"ebbtide/internal/adapter/libvirt"
	"ebbtide/internal/adapter/libvirt/libvirttest"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/adapter/powershell/windowssim"
	"ebbtide/internal/adapter/proxmox"
	"ebbtide/internal/adapter/proxmox/proxmoxtest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/estate"
	"ebbtide/internal/nut/nutsim"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// passwords are those of the peers, by the variable that a runbook names.
type passwords struct{}

func (passwords) Secret(ref schema.SecretRef) (string, error) {
	return map[string]string{"PVE": proxmoxtest.Secret, "WINDOWS": windowssim.Password, "VSPHERE": vspheresim.Password}[ref.Env], nil
}

const policy = `policy:
  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}
  restore: {when: {online: 10m}}
`

// surveyed opens the estate of a runbook on a UPS that is well, asks it, and gives the runbook too.
func surveyed(t *testing.T, o estate.Options, text string) *estate.Survey {
	t.Helper()
	server, err := nutsim.Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	server.Add("main", "test UPS").Set("ups.status", "OL", "battery.charge", "90")
	text = "version: 1\nrunbook: test\nsupplies: {ups: {nut: \"main@" + server.Addr() + "\", cut: none}}\n" + text + policy
	rb, problems := runbook.Load("runbook.yaml", []byte(text), adapter.Schema(o.Families))
	require.False(t, problems.HasErrors(), problems.Text())
	o.Secrets, o.Over = passwords{}, func(_ string, n adapter.Node) adapter.Node { return decorate.Rehearse(n) }
	e, err := estate.Open(rb, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	asked, err := e.Survey(t.Context(), time.Minute)
	require.NoError(t, err)
	return asked
}

// written are the lines that would cover what runs uncovered.
func written(asked *estate.Survey) string {
	var lines strings.Builder
	for _, stray := range asked.Uncovered {
		fmt.Fprintf(&lines, "  %s\n", stray.Write)
	}
	return lines.String()
}

// TestWhatRunsUncovered: each system tells what runs there and belongs to no node, and what is written for it covers it.
func TestWhatRunsUncovered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about string
		make  func(t *testing.T) (families []adapter.Family, book string)
		want  string
	}{
		{"Proxmox VE", func(t *testing.T) ([]adapter.Family, string) {
			pve := proxmoxtest.New(t,
				proxmoxtest.Guest{VMID: 100, Name: "web", Status: "running", Config: map[string]string{"tags": "front"}},
				proxmoxtest.Guest{VMID: 101, Name: "db", Status: "running"},
				proxmoxtest.Guest{VMID: 102, Name: "tmpl", Status: "stopped", Template: true},
				proxmoxtest.Guest{VMID: 103, Name: "spare", Status: "stopped"},
				proxmoxtest.Guest{VMID: 104, Name: "test", Status: "running"},
				proxmoxtest.Guest{VMID: 105, Name: "test", Status: "running"},
				proxmoxtest.Guest{VMID: 200, Name: "dns", Type: "lxc", Status: "running"},
				proxmoxtest.Guest{VMID: 201, Name: "mail", Type: "lxc", Status: "running"})
			return []adapter.Family{proxmox.Family()}, fmt.Sprintf(`connections:
  pve: {type: proxmox, url: "%s", token: "%s", secret: {env: PVE}, thumbprint: "%s"}
nodes:
  pve1: {type: proxmox.node, via: pve, fed_by: [ups], up: {wake: {power: true}}}
  cluster: {type: proxmox.cluster, via: pve, depends_on: [pve1]}
  names: {type: proxmox.guest, via: pve, vmid: 200, depends_on: [cluster]}
  front: {type: proxmox.guests, via: pve, select: {tag: front}, expect: 1, depends_on: [cluster]}
`, pve.URL(), proxmoxtest.Token, pve.Thumbprint())
		}, `  db: {type: proxmox.guest, via: pve, depends_on: [cluster]}
  mail: {type: proxmox.guest, via: pve, depends_on: [cluster]}
  test-104: {type: proxmox.guest, via: pve, vmid: 104, depends_on: [cluster]}
  test-105: {type: proxmox.guest, via: pve, vmid: 105, depends_on: [cluster]}
`},
		{"Hyper-V", func(t *testing.T) ([]adapter.Family, string) {
			w := hypervsim.New(
				&hypervsim.VM{ID: "1", Name: "dc1", State: "Running"}, &hypervsim.VM{ID: "2", Name: "print", State: "Running"},
				&hypervsim.VM{ID: "3", Name: "spare", State: "Saved"},
				&hypervsim.VM{ID: "4", Name: "sql01", State: "Running", Clustered: true, Offline: 2},
				&hypervsim.VM{ID: "5", Name: "app1", State: "Running", Clustered: true, Offline: 2},
				&hypervsim.VM{ID: "6", Name: "app 2", State: "Running", Clustered: true, Offline: 2})
			t.Cleanup(w.Close)
			return []adapter.Family{powershell.Family(), hyperv.Family()}, fmt.Sprintf(`connections:
  hv1: {type: winrm, url: "%s", username: '%s', password: {env: WINDOWS}, auth: basic, thumbprint: "%s"}
nodes:
  hv1: {type: hyperv.host, via: hv1, fed_by: [ups], up: {wake: {power: true}}}
  dc1: {type: hyperv.vm, via: hv1, depends_on: [hv1]}
  cluster: {type: hyperv.cluster, via: hv1, depends_on: [hv1, dc1]}
  sql: {type: hyperv.vms, via: hv1, clustered: true, select: {name: "sql*"}, expect: 1, depends_on: [cluster]}
`, w.URL(), windowssim.User, w.Thumbprint())
		}, `  "app 2": {type: hyperv.vm, via: hv1, clustered: true, depends_on: [cluster]}
  app1: {type: hyperv.vm, via: hv1, clustered: true, depends_on: [cluster]}
  print: {type: hyperv.vm, via: hv1, depends_on: [hv1]}
`},
		{"libvirt", func(t *testing.T) ([]adapter.Family, string) {
			d := libvirttest.New(t, libvirttest.Table)
			d.Start("web01", "")
			d.Define("spare", "")
			return []adapter.Family{libvirt.Family()}, fmt.Sprintf(`connections:
  kvm: {type: libvirt, uri: "%s", socket: "%s"}
nodes:
  "test": {type: libvirt.domain, via: kvm, fed_by: [ups]}
`, libvirttest.Table, d.Socket)
		}, "  web01: {type: libvirt.domain, via: kvm}\n"},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			families, book := c.make(t)
			asked := surveyed(t, estate.Options{Families: families}, book)
			require.Equal(t, c.want, written(asked), asked.Problems.Text())
			require.Len(t, asked.Problems, 1, "one warning for all: %s", asked.Problems.Text())
			for _, stray := range asked.Uncovered {
				require.Contains(t, asked.Problems[0].Hint, stray.Write)
			}
			t.Log("\n" + asked.Problems.Text())
			require.Empty(t, surveyed(t, estate.Options{Families: families}, book+c.want).Problems)
		})
	}
}

// TestAListThatIsRefusedIsToldAndNoMore: what runs beside the nodes is not known; that they answer is.
func TestAListThatIsRefusedIsToldAndNoMore(t *testing.T) {
	t.Parallel()
	w := hypervsim.New(&hypervsim.VM{ID: "1", Name: "dc1", State: "Running"})
	t.Cleanup(w.Close)
	w.Deny("$o+=@(")
	asked := surveyed(t, estate.Options{Families: []adapter.Family{powershell.Family(), hyperv.Family()}}, fmt.Sprintf(`connections:
  hv1: {type: winrm, url: "%s", username: '%s', password: {env: WINDOWS}, auth: basic, thumbprint: "%s"}
nodes:
  dc1: {type: hyperv.vm, via: hv1, fed_by: [ups]}
`, w.URL(), windowssim.User, w.Thumbprint()))
	require.Len(t, asked.Problems, 1)
	require.Contains(t, asked.Problems[0].Message,
		"it is unknown what else runs behind hv1 besides the runbook's nodes: cannot list the VMs: refused: the account may not")
	require.Equal(t, estate.Well, asked.Nodes[0].Is)
}

// TestAVolumeThatIsNotOnlineIsToldBeforehand: nothing brings it back by itself.
func TestAVolumeThatIsNotOnlineIsToldBeforehand(t *testing.T) {
	t.Parallel()
	w := hypervsim.New()
	t.Cleanup(w.Close)
	w.Share(hypervsim.Volume{Name: "vol1"})
	ask := func() string {
		return surveyed(t, estate.Options{Families: []adapter.Family{powershell.Family(), hyperv.Family()}}, fmt.Sprintf(`connections:
  hv1: {type: winrm, url: "%s", username: '%s', password: {env: WINDOWS}, auth: basic, thumbprint: "%s"}
nodes:
  cluster: {type: hyperv.cluster, via: hv1, fed_by: [ups]}
`, w.URL(), windowssim.User, w.Thumbprint())).Problems.Text()
	}
	require.Empty(t, ask())
	w.Share(hypervsim.Volume{Name: "vol2", Maintenance: true})
	require.Contains(t, ask(), "warning: cluster: vol2 online on HV1, in maintenance until someone resumes it: Resume-ClusterResource\n")
	w.Share(hypervsim.Volume{Name: "vol2", State: "Offline"})
	require.Contains(t, ask(), "warning: cluster: vol2 offline on HV1: nothing on it starts before it is online\n")
}

// TestManyStraysAreOneWarning: it names some, and says how many more there are.
func TestManyStraysAreOneWarning(t *testing.T) {
	t.Parallel()
	var vms []*hypervsim.VM
	for i := range 25 {
		vms = append(vms, &hypervsim.VM{ID: fmt.Sprint(i), Name: fmt.Sprintf("vm%02d", i), State: "Running"})
	}
	w := hypervsim.New(vms...)
	t.Cleanup(w.Close)
	asked := surveyed(t, estate.Options{Families: []adapter.Family{powershell.Family(), hyperv.Family()}}, fmt.Sprintf(`connections:
  hv1: {type: winrm, url: "%s", username: '%s', password: {env: WINDOWS}, auth: basic, thumbprint: "%s"}
nodes:
  vm00: {type: hyperv.vm, via: hv1, fed_by: [ups]}
`, w.URL(), windowssim.User, w.Thumbprint()))
	require.Len(t, asked.Uncovered, 24)
	require.Len(t, asked.Problems, 1)
	require.Contains(t, asked.Problems[0].Message, "24 VMs are running that no node covers")
	lines := strings.Split(asked.Problems[0].Hint, "\n")
	require.Len(t, lines, 1+20+1)
	require.Contains(t, lines[20], "vm20: {type: hyperv.vm, via: hv1}")
	require.Contains(t, lines[21], "# and 4 more")
}
