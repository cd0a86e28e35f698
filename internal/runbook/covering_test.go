package runbook_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
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
		line := rb.Covering("vc", vm)
		require.Equal(t, want, line)
		covered, problems := runbook.Load("covered.yaml", []byte(strings.Replace(servedBook, "\npolicy:", "\n  "+line+"\npolicy:", 1)), testSchema())
		require.Zero(t, problems.Count(runbook.Error), problems.Text())
		c, err := runbook.Compile(covered, testSchema(), map[string][]plan.Member{"apps": nil})
		require.NoError(t, err)
		require.Empty(t, c.Uncovered(covered, []plan.Member{vm}), line)
	}
	require.Equal(t, `web: {type: vsphere.vm, via: vc}`, rb.Covering("vc", plan.Member{Name: "web", Host: "esx09"}), "a host that is not declared is no node")
	require.Equal(t, `web: {type: vsphere.vm, via: vc}`, rb.Covering("vc", plan.Member{Name: "web"}))
	all, _ := runbook.Load("served.yaml", []byte(strings.Replace(servedBook, "select: {folder: Apps}", "select: {folder: Apps}, depends_on: [sql01, esx01]", 1)), testSchema())
	require.Equal(t, `web: {type: vsphere.vm, via: vc, depends_on: [esx01]}`, all.Covering("vc", plan.Member{Name: "web"}), "what all the others depend on")
	require.Empty(t, rb.Covering("filer", plan.Member{Name: "web"}), "nothing covers VMs over SSH")
	require.Empty(t, rb.Covering("nowhere", plan.Member{Name: "web"}))
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
	require.Equal(t, []string{"m3", "m2", "m4", "m1"}, []string{problems[0].Message, problems[1].Message, problems[2].Message, problems[3].Message})
}
