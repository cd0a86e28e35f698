package runbook_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// TestWhatWouldCoverAVM: what is written for it can be put below nodes, and then the VM is covered.
func TestWhatWouldCoverAVM(t *testing.T) {
	t.Parallel()
	rb, problems := runbook.Load("served.yaml", []byte(servedBook), testSchema())
	require.Zero(t, problems.Count(runbook.Error), problems.Text())
	for name, want := range map[string]string{
		"web":     `web: {type: vsphere.vm, via: vc, depends_on: [esx01]}`,
		"sql01":   `sql01-2: {type: vsphere.vm, via: vc, vm: sql01, depends_on: [esx01]}`, // on another system: the node is there
		"No":      `"No": {type: vsphere.vm, via: vc, depends_on: [esx01]}`,
		"42":      `"42": {type: vsphere.vm, via: vc, depends_on: [esx01]}`,
		"a: #b\\": `"a: #b\\": {type: vsphere.vm, via: vc, depends_on: [esx01]}`,
		"tier=x":  `tier-x: {type: vsphere.vm, via: vc, vm: "tier=x", depends_on: [esx01]}`,
		"a/b":     `a-b: {type: vsphere.vm, via: vc, uuid: "9", depends_on: [esx01]}`,
	} {
		vm := plan.Member{ID: "9", Name: name, Host: "ESX01"}
		line := rb.Covering("vc", &schema.Running{Member: vm})
		require.Equal(t, want, line)
		covered, problems := runbook.Load("covered.yaml",
			[]byte(strings.Replace(servedBook, "\npolicy:", "\n  "+line+"\npolicy:", 1)), testSchema())
		require.Zero(t, problems.Count(runbook.Error), problems.Text())
		c, err := runbook.Compile(covered, testSchema(), map[string][]plan.Member{"apps": nil})
		require.NoError(t, err)
		require.NotEmpty(t, c.Coverage(covered).Node("vc", vm), line)
	}
	require.Equal(t, `web: {type: vsphere.vm, via: vc}`,
		rb.Covering("vc", &schema.Running{Member: plan.Member{Name: "web", Host: "esx09"}}), "a host that is not declared is no node")
	require.Equal(t, `web: {type: vsphere.vm, via: vc}`, rb.Covering("vc", &schema.Running{Member: plan.Member{Name: "web"}}))
	all, _ := runbook.Load("served.yaml", []byte(strings.Replace(servedBook, "select: {folder: Apps}",
		"select: {folder: Apps}, depends_on: [sql01, esx01]", 1)), testSchema())
	require.Equal(t, `web: {type: vsphere.vm, via: vc, depends_on: [esx01]}`,
		all.Covering("vc", &schema.Running{Member: plan.Member{Name: "web"}}), "what all the others depend on")
	require.Empty(t, rb.Covering("filer", &schema.Running{Member: plan.Member{Name: "web"}}), "nothing covers VMs over SSH")
	require.Empty(t, rb.Covering("nowhere", &schema.Running{Member: plan.Member{Name: "web"}}))
}

const clusteredBook = `version: 1
runbook: clustered
supplies: {ups: {nut: "ups@127.0.0.1"}}
connections:
  vc: {type: vsphere, url: "https://10.0.0.10/sdk", username: u, password: {env: P}}
nodes:
  esx01: {type: vsphere.host, via: vc, fed_by: [ups], up: {wake: {power: true}}}
  esx02: {type: vsphere.host, via: vc, fed_by: [ups], up: {wake: {power: true}}}
  c1: {type: command, depends_on: [esx01], probe: ["true"], stop: ["true"], start: ["true"]}
  c2: {type: command, depends_on: [esx02], probe: ["true"], stop: ["true"], start: ["true"]}
  only: {type: passive, depends_on: [esx01]}
policy:
  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}
  restore: {when: {online: 10m}}
`

// TestWhatAVMDependsOnBesideItsHost: a cluster stands between them; of several the one that the host belongs to.
func TestWhatAVMDependsOnBesideItsHost(t *testing.T) {
	t.Parallel()
	rb, problems := runbook.Load("clustered.yaml", []byte(clusteredBook), testSchema())
	require.Zero(t, problems.Count(runbook.Error), problems.Text())
	for _, one := range []struct{ under, host, want string }{
		{"command", "esx01", "c1"},
		{"command", "esx02", "c2"},
		{"command", "esx03", ""},
		{"passive", "esx01", "only"},
		{"passive", "esx02", "esx02, only"},
		{"manual", "esx02", "esx02"},
	} {
		want := `web: {type: vsphere.vm, via: vc, clustered: true}`
		if one.want != "" {
			want = strings.Replace(want, "}", ", depends_on: ["+one.want+"]}", 1)
		}
		require.Equal(t, want, rb.Covering("vc", &schema.Running{
			Member: plan.Member{Name: "web", Host: one.host}, Under: one.under,
			Keys: "clustered: true",
		}))
	}
	require.Equal(t, `web-9: {type: vsphere.vm, via: vc, uuid: "9"}`,
		rb.Covering("vc", &schema.Running{Member: plan.Member{ID: "9", Name: "web"}, Twin: true}))
	require.Equal(t, `vm-9: {type: vsphere.vm, via: vc, uuid: "9"}`, rb.Covering("vc", &schema.Running{Member: plan.Member{ID: "9"}}))
}

func TestRemarksStandWhereTheirEntriesDo(t *testing.T) {
	t.Parallel()
	rb, _ := runbook.Load("served.yaml", []byte(servedBook), testSchema())
	problems := rb.Remarked([]runbook.Remark{
		{Severity: runbook.Warning, Section: runbook.SectionNodes, Name: "esx01", Message: "m1"},
		{Severity: runbook.Trouble, Section: runbook.SectionConnections, Name: "filer", Message: "m2", Hint: "h2"},
		{Severity: runbook.Trouble, Section: runbook.SectionSupplies, Name: "ups", Message: "m3"},
		{Severity: runbook.Warning, Section: runbook.SectionNodes, Name: "none", Message: "m4"},
	})
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	require.Equal(t, []int{1, 3, 6, 11}, lines)
	require.Equal(t, "connections.filer", problems[2].Path)
	require.Contains(t, problems.Text(), "served.yaml:6:3: trouble: m2\n")
	require.False(t, problems.HasErrors())
	problems.WorstFirst()
	require.Equal(t, []string{"m3", "m2", "m4", "m1"},
		[]string{problems[0].Message, problems[1].Message, problems[2].Message, problems[3].Message})
}
