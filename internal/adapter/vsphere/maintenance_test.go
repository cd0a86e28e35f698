package vsphere

import (
	"testing"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"

	"github.com/stretchr/testify/require"
)

// stopped gives the stop again, as the engine does with what is busy, until it is accepted.
func stopped(t *testing.T, n adapter.Node) {
	t.Helper()
	peertest.Until(t, "it is stopped", func() bool {
		err := contracttest.Do(t, n, plan.Stop)
		if err != nil {
			require.ErrorIs(t, err, adapter.ErrBusy)
		}
		return err == nil
	})
}

// A host that is shut down in maintenance mode boots in it, and no VM starts there before it is taken out.
func TestHostGoesAndComesInMaintenanceMode(t *testing.T) {
	for name, direct := range map[string]bool{"through vCenter": false, "directly": true} {
		t.Run(name, func(t *testing.T) {
			e := start(t, vspheresim.Options{VMs: vms("web01")})
			via := "vcenter"
			if direct {
				via = "esx01"
				e.direct(t, via)
			}
			n, vm := e.node(t, "esx01", via, &HostSpec{Maintenance: true}), e.vm(t, "web01")
			require.Equal(t, plan.Observation{State: plan.On, Detail: "answers", Protected: plan.No}, contracttest.Probe(t, n))
			err := contracttest.Do(t, n, plan.Stop)
			require.ErrorIs(t, err, adapter.ErrBusy)
			require.ErrorContains(t, err, "still running on it")
			require.False(t, e.InMaintenance("esx01"))
			require.NoError(t, contracttest.Do(t, vm, plan.Stop))
			contracttest.UntilState(t, vm, plan.Off)
			stopped(t, n)
			contracttest.UntilState(t, n, plan.Unreachable)
			e.untilOff(t, "esx01")

			require.NoError(t, e.PowerOnHost("esx01"))
			require.Equal(t, plan.Observation{State: plan.On, Detail: "answers, in maintenance mode", Protected: plan.Yes},
				contracttest.UntilState(t, n, plan.On))
			contracttest.UntilState(t, vm, plan.Off)
			err = contracttest.Do(t, vm, plan.Start)
			require.ErrorIs(t, err, adapter.ErrBusy)
			require.ErrorContains(t, err, "maintenance mode")
			require.NoError(t, contracttest.Do(t, n, plan.Unprotect))
			untilFact(t, n, plan.No)
			require.NoError(t, contracttest.Do(t, n, plan.Unprotect))
			require.False(t, e.InMaintenance("esx01"))
			// the watch may not have heard of it yet
			for err = contracttest.Do(t, vm, plan.Start); err != nil; err = contracttest.Do(t, vm, plan.Start) {
				require.ErrorIs(t, err, adapter.ErrBusy)
			}
			contracttest.UntilState(t, vm, plan.On)
		})
	}
}

// One that somebody had put into maintenance mode is told as such: the snapshot has it, and nobody takes it out.
func TestHostThatWasInMaintenanceMode(t *testing.T) {
	e := start(t, vspheresim.Options{})
	require.NoError(t, e.SetMaintenance("esx01", true))
	n := e.node(t, "esx01", "vcenter", &HostSpec{Maintenance: true})
	require.Equal(t, plan.Yes, contracttest.Probe(t, n).Protected)
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	contracttest.UntilState(t, n, plan.Unreachable)
	require.Zero(t, e.VCenter().Calls()["EnterMaintenanceMode_Task"])
	require.ErrorIs(t, contracttest.Do(t, e.node(t, "esx01", "vcenter", &HostSpec{}), plan.Unprotect), adapter.ErrRefused)
}

func TestHostIsWellWhenItsDatastoresAreMounted(t *testing.T) {
	e := start(t, vspheresim.Options{HostsPerCluster: 2})
	n := e.node(t, "esx01", "vcenter", &HostSpec{Datastores: []string{"LocalDS_0"}})
	require.Equal(t, plan.Yes, contracttest.Probe(t, n).Healthy)
	require.NoError(t, e.SetMounted("esx01", "LocalDS_0", false))
	o := contracttest.Probe(t, n)
	require.Equal(t, plan.Observation{State: plan.On, Healthy: plan.No, Detail: "answers; not mounted: LocalDS_0"}, o)
	require.NoError(t, e.SetMounted("esx01", "LocalDS_0", true))
	require.Equal(t, plan.Yes, contracttest.Probe(t, n).Healthy)
	o = contracttest.Probe(t, e.node(t, "esx02", "vcenter", &HostSpec{Datastores: []string{"LocalDS_0", "vmfs01"}}))
	require.Equal(t, "answers; not mounted: vmfs01", o.Detail)

	d := schema.Node{
		ID: "esx01", Via: "vcenter", Spec: &HostSpec{Datastores: []string{"LocalDS_0"}},
		Healthy: []schema.HealthCheck{{TCP: "127.0.0.1:902"}},
	}
	checked, err := Family().Open(d, e.vcenter, nil)
	require.NoError(t, err)
	require.Equal(t, plan.NotKnown, contracttest.Probe(t, checked).Healthy, "its checks are still to be made")
}
