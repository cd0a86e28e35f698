package vsphere

import (
	"testing"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/vsphere/vspheresim"

	"github.com/stretchr/testify/require"
)

// What serves a VM's datastore is among its storage, so that the storage's node is found by its address.
func TestMembersNameWhatServesTheirDatastores(t *testing.T) {
	for _, c := range []struct {
		about string
		serve func(*vspheresim.Sim) error
		want  []string
	}{
		{"local", func(*vspheresim.Sim) error { return nil }, []string{"LocalDS_0"}},
		{"NFS", func(s *vspheresim.Sim) error { return s.ServeNFS("LocalDS_0", "10.0.0.30") }, []string{"10.0.0.30", "LocalDS_0"}},
		{"iSCSI", func(s *vspheresim.Sim) error { return s.ServeISCSI("LocalDS_0", "10.0.1.40:3260") }, []string{"10.0.1.40", "LocalDS_0"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			e := start(t, vspheresim.Options{HostsPerCluster: 2, VMs: vms("web01", "web02")})
			require.NoError(t, c.serve(e.Sim))
			n := e.node(t, "all", "vcenter", &VMsSpec{Select: Selection{Name: "*"}}).(adapter.Selector)
			members, err := n.Members(contracttest.Within(t, 10*time.Second))
			require.NoError(t, err)
			require.Len(t, members, 2)
			require.Equal(t, c.want, members[0].Storage)
			before := e.VCenter().Calls()["RetrievePropertiesEx"]
			_, err = n.Members(contracttest.Within(t, 10*time.Second))
			require.NoError(t, err)
			require.Equal(t, before, e.VCenter().Calls()["RetrievePropertiesEx"], "it is not read each time")
		})
	}
}

// What runs is listed whether a selector covers it or not.
func TestEverythingThatRuns(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: []vspheresim.VM{
		{Name: "web01"},
		{Name: "spare", Off: true},
		{Name: "golden", Template: true},
		{Name: "forgotten", Folder: "Old"},
		{Name: "vCLS-4c4c4544-0000-1111-2222-333344445555", ManagedBy: "com.vmware.vim.eam"},
	}})
	running, err := e.vcenter.Everything(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err)
	var names []string
	for _, m := range running {
		names = append(names, m.Name)
	}
	require.Equal(t, []string{"forgotten", "web01"}, names)
}
