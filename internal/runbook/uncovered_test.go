package runbook_test

import (
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
  shutdown: {when: {low_battery: true}}
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
	require.Equal(t, []plan.Member{{ID: "8", Name: "forgotten"}}, c.Uncovered(rb, []plan.Member{
		{ID: "1", Name: "renamed"}, {ID: "9", Name: "sql01"}, {ID: "8", Name: "forgotten"},
	}))
}
