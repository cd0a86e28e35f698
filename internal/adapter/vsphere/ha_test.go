package vsphere

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
)

// TestHADuringAnOutage plays the end of a shutdown and the way up, as Ebbtide commands them: a host goes with a VM that hung,
// then the other host; then both come back. With HA put off nothing runs that was taken down; with HA left on, the VM starts
// again on the host that is to go next, which then can't, and what was on when its power went starts by itself as soon as
// a host is back.
func TestHADuringAnOutage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about   string
		protect bool
	}{{"put off", true}, {"left on", false}} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			e := start(t, vspheresim.Options{
				APIVersion: "8.0.2.0", HostsPerCluster: 2, Features: &lively,
				VMs: []vspheresim.VM{{Name: "obeys"}, {Name: "hangs"}, {Name: "other", Host: 1}},
				Guest: func(name string) vspheresim.GuestBehaviour {
					return vspheresim.GuestBehaviour{Hang: name == "hangs"}
				},
			})
			cluster, esx01, esx02 := e.cluster(t), e.node(t, "esx01", "vcenter", &HostSpec{}), e.node(t, "esx02", "vcenter", &HostSpec{})
			before := contracttest.Probe(t, cluster).Settings
			if c.protect {
				require.NoError(t, contracttest.Do(t, cluster, plan.Protect))
				untilFact(t, cluster, plan.Yes)
			}
			for _, name := range []string{"obeys", "hangs", "other"} {
				require.NoError(t, contracttest.Do(t, e.vm(t, name), plan.Stop))
			}
			contracttest.UntilState(t, e.vm(t, "obeys"), plan.Off)
			contracttest.UntilState(t, e.vm(t, "other"), plan.Off)
			require.ErrorIs(t, contracttest.Do(t, esx01, plan.Stop), adapter.ErrBusy)
			require.NoError(t, contracttest.Do(t, esx01, plan.Force), "its VM is taken along")
			contracttest.UntilState(t, esx01, plan.Unreachable)
			e.AwaitHA()
			require.False(t, e.VMOn("obeys"), "what shut down by itself is off because somebody wanted it")
			require.False(t, e.VMOn("other"))
			require.Equal(t, !c.protect, e.VMOn("hangs"))

			err := contracttest.Do(t, esx02, plan.Stop)
			if c.protect {
				require.NoError(t, err)
			} else {
				contracttest.UntilState(t, e.vm(t, "hangs"), plan.On)
				require.ErrorIs(t, err, adapter.ErrBusy)
				require.ErrorContains(t, err, "1 VM is still running on it: hangs")
				require.NoError(t, e.CutHost("esx02"), "the battery ends")
			}
			contracttest.UntilState(t, esx02, plan.Unreachable)
			e.AwaitHA()
			require.False(t, e.VMOn("hangs"))

			e.untilOff(t, "esx02")
			require.NoError(t, e.PowerOnHost("esx02"))
			contracttest.UntilState(t, esx02, plan.On)
			e.AwaitHA()
			require.Equal(t, !c.protect, e.VMOn("hangs"), "before anybody starts it")
			if !c.protect {
				return
			}
			e.untilOff(t, "esx01")
			require.NoError(t, e.PowerOnHost("esx01"))
			contracttest.UntilState(t, esx01, plan.On)
			require.NoError(t, cluster.Do(t.Context(), adapter.Command{Verb: plan.Unprotect, Settings: before}))
			untilFact(t, cluster, plan.No)
			e.AwaitHA()
			require.True(t, e.Features(clusterName).HA)
			for _, name := range []string{"obeys", "hangs", "other"} {
				require.False(t, e.VMOn(name), "HA that is back looks after what runs")
			}
		})
	}
}

// TestHAStartsThemElsewhere: what a host's own endpoint shows moves with the VM.
func TestHAStartsThemElsewhere(t *testing.T) {
	t.Parallel()
	e := start(t, vspheresim.Options{HostsPerCluster: 2, Features: &vspheresim.Features{HA: true}, VMs: vms("web01")})
	e.direct(t, "esx01")
	e.direct(t, "esx02")
	n := e.node(t, "web01", "vcenter", &VMSpec{Fallback: "esx02"})
	contracttest.Probe(t, n)
	require.NoError(t, e.CutHost("esx01"))
	e.AwaitHA()
	contracttest.UntilState(t, n, plan.On)
	e.VCenter().Stop()
	waitBroken(t, e.vcenter)
	require.Equal(t, "powered on; asked through esx02", contracttest.Probe(t, n).Detail)
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	contracttest.UntilState(t, n, plan.Off)
	e.untilOff(t, "esx01")
	require.NoError(t, e.PowerOnHost("esx01"))
	contracttest.UntilState(t, e.node(t, "esx01", "esx01", &HostSpec{}), plan.On)
	e.AwaitHA()
	require.False(t, e.VMOn("web01"), "it shut down by itself")
}
