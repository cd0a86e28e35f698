package vsphere

import (
	"testing"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"

	"github.com/stretchr/testify/require"
)

func TestSelection(t *testing.T) {
	e := start(t, vspheresim.Options{HostsPerCluster: 2, VMs: []vspheresim.VM{
		{Name: "web01", Folder: "Prod/Web", Tags: []string{"tier/app", "site/a"}},
		{Name: "web02", Folder: "Prod/Web", Tags: []string{"tier/app"}, Host: 1, Off: true},
		{Name: "sql01", Folder: "Prod", Tags: []string{"tier/db"}},
		{Name: "try01", Folder: "Lab/Web", Tags: []string{"tier/app"}},
		{Name: "golden", Folder: "Lab", Tags: []string{"tier/app"}, Template: true},
		{Name: "vCLS-4c4c4544-0000-1111-2222-333344445555", Tags: []string{"tier/app"}, ManagedBy: "com.vmware.vim.eam"},
		{Name: "vCLS (12)"},
		{Name: "vCLS-notes"}, // a person's, however odd
	}})
	for _, c := range []struct {
		about   string
		sel     Selection
		exclude []string
		want    []string
	}{
		{"tag", Selection{Tag: "tier/app"}, nil, []string{"try01", "web01", "web02"}},
		{"another tag of the same category", Selection{Tag: "tier/db"}, nil, []string{"sql01"}},
		{"folder by name, and below", Selection{Folder: "Prod"}, nil, []string{"sql01", "web01", "web02"}},
		{"folders of one name", Selection{Folder: "Web"}, nil, []string{"try01", "web01", "web02"}},
		{"folder by path", Selection{Folder: "Prod/Web"}, nil, []string{"web01", "web02"}},
		{"folder by full path", Selection{Folder: "/DC0/vm/Lab"}, nil, []string{"try01"}},
		{"glob", Selection{Name: "*01"}, nil, []string{"sql01", "try01", "web01"}},
		{"all must match", Selection{Tag: "tier/app", Folder: "Prod", Name: "web*"}, nil, []string{"web01", "web02"}},
		{"exclude", Selection{Tag: "tier/app"}, []string{"try*", "*2"}, []string{"web01"}},
		{"everything", Selection{Name: "*"}, nil, []string{"sql01", "try01", "vCLS-notes", "web01", "web02"}},
		{"nothing", Selection{Name: "nginx*"}, nil, nil},
	} {
		n := e.node(t, "apps", "vcenter", &VMsSpec{Select: c.sel, Exclude: c.exclude})
		members, err := n.(adapter.Selector).Members(contracttest.Within(t, 10*time.Second))
		require.NoError(t, err, c.about)
		var names []string
		for _, m := range members {
			names = append(names, m.Name)
		}
		require.Equal(t, c.want, names, c.about)
	}

	n := e.node(t, "apps", "vcenter", &VMsSpec{Select: Selection{Folder: "Prod/Web"}})
	members, err := n.(adapter.Selector).Members(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err)
	require.Equal(t, []plan.Member{
		{ID: e.InstanceUUID("web01"), Name: "web01", Host: "esx01", On: true, Storage: []string{"LocalDS_0"}},
		{ID: e.InstanceUUID("web02"), Name: "web02", Host: "esx02", Storage: []string{"LocalDS_0"}},
	}, members)
	require.Equal(t, plan.Observation{State: plan.On, Detail: "1 of 2 VMs are on"}, contracttest.Probe(t, n))
	require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrRefused)

	member, err := n.(adapter.Selector).Member(members[0].ID)
	require.NoError(t, err)
	require.NoError(t, contracttest.Do(t, member, plan.Stop))
	contracttest.UntilState(t, member, plan.Off)
	require.False(t, e.VMOn("web01"))
	require.Equal(t, "0 of 2 VMs are on", contracttest.UntilState(t, n, plan.Off).Detail)
}

// A selection that can't be what was meant is an error: an empty list would leave VMs running.
func TestSelectionThatIsMisspelt(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: []vspheresim.VM{{Name: "web01", Folder: "Prod", Tags: []string{"tier/app"}}}})
	for want, sel := range map[string]Selection{
		`no folder "Prd" is visible to`:              {Folder: "Prd"},
		`no folder "/vm/Prod" is visible to`:         {Folder: "/vm/Prod"},
		`there is no tag "apps" in category "tier"`:  {Tag: "tier/apps"},
		`there is no tag "app" in category "layers"`: {Tag: "layers/app"},
	} {
		_, err := e.node(t, "x", "vcenter", &VMsSpec{Select: sel}).(adapter.Selector).Members(contracttest.Within(t, 10*time.Second))
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, want)
	}
	e.VCenter().Stop()
	waitBroken(t, e.vcenter)
	_, err := e.node(t, "x", "vcenter", &VMsSpec{Select: Selection{Name: "*"}}).(adapter.Selector).Members(contracttest.Within(t,
		10*time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable)
}

func TestMistakesInTheRunbook(t *testing.T) {
	check := Family().Connections[0].Check
	require.Empty(t, check(&ConnectionSpec{URL: "https://vc"}))
	require.Empty(t, check(&ConnectionSpec{}), "what is missing is told by the runbook itself")
	require.Len(t, check(&ConnectionSpec{URL: "ftp://vc", Thumbprint: "12", CAFile: "x"}), 3)
	require.Len(t, check(&ConnectionSpec{URL: "https://me:secret@vc"}), 1)
	require.NotContains(t, check(&ConnectionSpec{URL: "https://me:secret@vc"})[0].Error(), "secret@")
	nodes := make(map[string]func(any) []error)
	for _, n := range Family().Nodes {
		nodes[n.Name] = n.Check
	}
	require.Empty(t, nodes["vsphere.vm"](&VMSpec{}))
	require.Empty(t, nodes["vsphere.vm"](&VMSpec{UUID: "503c2f5d-7a3b-0d1e-9a4b-1c2d3e4f5a6b"}))
	require.Len(t, nodes["vsphere.vm"](&VMSpec{VM: "a", UUID: "b"}), 2)
	require.Empty(t, nodes["vsphere.vms"](&VMsSpec{Select: Selection{Tag: "a/b", Name: "*"}, Exclude: []string{"x[0-9]"}}))
	require.Len(t, nodes["vsphere.vms"](&VMsSpec{}), 1)
	require.Len(t, nodes["vsphere.vms"](&VMsSpec{Select: Selection{Tag: "a", Name: "["}, Exclude: []string{"[z-a"}}), 3)
}
