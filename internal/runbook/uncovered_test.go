package runbook_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

const servedBook = `version: 1
runbook: served
supplies: {ups: {nut: "ups@127.0.0.1"}}
connections:
  vc: {type: vsphere, url: "https://10.0.0.10/sdk", username: u, password: {env: P}}
  filer: {type: ssh, address: "10.0.0.30:22", user: u, key: {env: K}, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0mZkq3tT1xGz5oSxv6c4nJd8RwYpLhEu7fKaQ2iVbN"}
nodes:
  filer: {type: ssh, via: filer, fed_by: [ups], stop: [poweroff], off_when_unreachable: 30s, up: {wake: {power: true}}}
  array: {type: command, fed_by: [ups], serves: ["10.0.1.40", vmfs01], probe: ["true"], stop: ["true"], start: ["true"]}
  other: {type: command, fed_by: [ups], probe: ["true"], stop: ["true"], start: ["true"]}
  esx01: {type: vsphere.host, via: vc, fed_by: [ups], up: {wake: {power: true}}}
  sql01: {type: vsphere.vm, via: vc, depends_on: [esx01]}
  apps: {type: vsphere.vms, via: vc, select: {folder: Apps}, expect: 3}
policy:
  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}
  restore: {when: {online: 10m}}
`

func TestStorageIsFoundByWhatItServes(t *testing.T) {
	rb, problems := runbook.Load("served.yaml", []byte(servedBook), testSchema())
	require.Zero(t, problems.Count(runbook.Error), problems.Text())
	c, err := runbook.Compile(rb, testSchema(), map[string][]plan.Member{"apps": {
		{ID: "1", Name: "nfs", Host: "esx01", On: true, Storage: []string{"10.0.0.30", "ds1"}},
		{ID: "2", Name: "iscsi", Host: "esx01", On: true, Storage: []string{"10.0.1.40"}},
		{ID: "3", Name: "vmfs", Host: "esx01", On: true, Storage: []string{"VMFS01"}},
	}})
	require.NoError(t, err)
	for id, storage := range map[string]string{"apps/nfs": "filer", "apps/iscsi": "array", "apps/vmfs": "array"} {
		i, ok := c.Estate.Index(id)
		require.True(t, ok)
		require.Contains(t, c.Estate.Node(i).DependsOn, storage, id)
		require.NotContains(t, c.Estate.Node(i).DependsOn, "other")
	}
	covered := c.Coverage(rb)
	for _, one := range []struct {
		via  string
		vm   plan.Member
		node string
	}{
		{"vc", plan.Member{ID: "1", Name: "renamed"}, "apps/nfs"},
		{"vc", plan.Member{ID: "9", Name: "sql01"}, "sql01"},
		{"elsewhere", plan.Member{ID: "9", Name: "sql01"}, "sql01"},
		{"elsewhere", plan.Member{ID: "1", Name: "renamed"}, ""}, // the number of another one there
		{"vc", plan.Member{ID: "8", Name: "forgotten"}, ""},
		{"vc", plan.Member{ID: "8", Name: "apps"}, ""}, // what a selector is called is no name of a VM
	} {
		require.Equal(t, one.node, covered.Node(one.via, one.vm), "%+v", one)
	}
}

const numbersBook = `version: 1
runbook: numbers
supplies: {ups: {nut: "ups@127.0.0.1"}}
connections:
  a: {type: vsphere, url: "https://10.0.0.10/sdk", username: u, password: {env: P}}
  b: {type: vsphere, url: "https://10.0.0.11/sdk", username: u, password: {env: P}}
nodes:
  hosta: {type: vsphere.host, via: a, fed_by: [ups], up: {wake: {power: true}}}
  hostb: {type: vsphere.host, via: b, fed_by: [ups], up: {wake: {power: true}}}
  first: {type: vsphere.vm, via: a, uuid: "100", depends_on: [hosta]}
  alla: {type: vsphere.vms, via: a, select: {folder: Apps}, expect: 2, depends_on: [hosta]}
  allb: {type: vsphere.vms, via: b, select: {folder: Apps}, expect: 2, depends_on: [hostb]}
policy:
  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}
  restore: {when: {online: 10m}}
`

// TestNumbersBelongToTheirSystems: two hosts that are no cluster both have a guest 100, or a VM of a UUID that a copy of it has kept, and
// each is taken down.
func TestNumbersBelongToTheirSystems(t *testing.T) {
	rb, problems := runbook.Load("numbers.yaml", []byte(numbersBook), testSchema())
	require.Zero(t, problems.Count(runbook.Error), problems.Text())
	const uuid = "503C2F5D-7a3b-0d1e-9a4b-1c2d3e4f5a6b"
	c, err := runbook.Compile(rb, testSchema(), map[string][]plan.Member{
		"alla": {{ID: "100", Name: "dns"}, {ID: "101", Name: "web"}, {ID: uuid, Name: "copy", Host: "hosta"}},
		"allb": {{ID: "100", Name: "mail"}, {ID: "101", Name: "files"}, {ID: strings.ToLower(uuid), Name: "copy", Host: "hostb"}},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]runbook.Member{
		"alla/web": {Selector: "alla", MemberID: "101"}, "alla/copy": {Selector: "alla", MemberID: uuid},
		"allb/mail": {Selector: "allb", MemberID: "100"}, "allb/files": {Selector: "allb", MemberID: "101"},
		"allb/copy": {Selector: "allb", MemberID: strings.ToLower(uuid)},
	}, c.Members)
	covered := c.Coverage(rb)
	require.Equal(t, "first", covered.Node("a", plan.Member{ID: "100", Name: "dns"}))
	require.Equal(t, "allb/mail", covered.Node("b", plan.Member{ID: "100", Name: "mail"}))
	require.Equal(t, "allb/copy", covered.Node("b", plan.Member{ID: uuid, Name: "copy"}))
}

// TestOneIDInOneSystem: what one system calls the same can't be told apart by it, which people are to know.
func TestOneIDInOneSystem(t *testing.T) {
	rb, problems := runbook.Load("numbers.yaml", []byte(numbersBook), testSchema())
	require.Zero(t, problems.Count(runbook.Error), problems.Text())
	c, err := runbook.Compile(rb, testSchema(), map[string][]plan.Member{
		"alla": {{ID: "101", Name: "web"}, {ID: "101", Name: "web-copy"}, {ID: "102", Name: "dns"}}, "allb": {{ID: "101", Name: "files"}},
	})
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1, c.Warnings.Text())
	require.Contains(t, c.Warnings.Text(), "web and web-copy have the same ID, 101, so that neither can be told to stop")
}

// TestAUUIDElsewhere: what a vCenter covers is the same VM where its host lists it too, whatever that calls itself; on another host it is a
// copy, which no node covers.
func TestAUUIDElsewhere(t *testing.T) {
	rb, problems := runbook.Load("numbers.yaml", []byte(strings.Replace(numbersBook, "  allb: ", "  allc: ", 1)), testSchema())
	require.Zero(t, problems.Count(runbook.Error), problems.Text())
	const uuid = "503c2f5d-7a3b-0d1e-9a4b-1c2d3e4f5a6b"
	c, err := runbook.Compile(rb, testSchema(), map[string][]plan.Member{"alla": {{ID: uuid, Name: "web", Host: "hosta"}}, "allc": {}})
	require.NoError(t, err)
	covered := c.Coverage(rb)
	for _, at := range []struct{ connection, host, node string }{
		{"a", "hosta", "alla/web"},
		{"other", "hosta", "alla/web"},
		{"other", "10.0.0.10", "alla/web"}, // nobody knows what that is
		{"other", "", "alla/web"},
		{"other", "hostb", ""},
		{"b", "localhost.localdomain", ""}, // the connection of hostb
		{"b", "hostx", ""},                 // and then of another one too, which knows hosta by its name
		{"b", "hosty", ""},
	} {
		if at.host == "hostx" {
			for _, host := range []string{"hosta", "hostx", "hosty"} {
				covered.Lists(at.connection, host)
			}
		}
		m := plan.Member{ID: strings.ToUpper(uuid), Name: "copy", Host: at.host}
		require.Equal(t, at.node, covered.Node(at.connection, m), "%+v", at)
		require.Equal(t, at.host == "hosta", covered.Identity("a", plan.Member{ID: uuid, Host: "hosta"}) == covered.Identity(at.connection, m), "%+v", at)
	}
}
