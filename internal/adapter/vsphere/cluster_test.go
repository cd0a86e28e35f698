package vsphere

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
)

// lively is a cluster that does everything by itself.
var lively = vspheresim.Features{HA: true, DRS: types.DrsBehaviorPartiallyAutomated, Overrides: true, DPM: true}

// quietly is the same when nothing of that happens any more.
var quietly = vspheresim.Features{DRS: types.DrsBehaviorManual, Retreat: true}

const clusterName = "DC0_C0"

func (e *estate) cluster(t *testing.T) adapter.Node {
	t.Helper()
	return e.node(t, clusterName, "vcenter", &ClusterSpec{})
}

// untilFact probes until a cluster is protected, or is not.
func untilFact(t *testing.T, n adapter.Node, want plan.Fact) plan.Observation {
	t.Helper()
	return contracttest.Until(t, n, "its facts", func(o plan.Observation) bool { return o.Protected == want })
}

func TestContractOfCluster(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{
		Secrets: []string{vspheresim.Password},
		Make: func(t *testing.T) *contracttest.Thing {
			s := simulate(t, vspheresim.Options{APIVersion: "8.0.2.0", Features: &lively})
			n, end := opened(t, s.VCenter(), "vsphere.cluster", &ClusterSpec{Cluster: clusterName})
			return &contracttest.Thing{
				Node: n, Can: clusterVerbs, Close: end,
				Truth:   func() plan.State { return plan.On },
				Silence: s.VCenter().Stop,
				Freeze:  s.VCenter().Freeze,
			}
		},
	})
}

// What is on is put off in whatever way the vCenter of that time knows, and comes back as it was.
func TestClusterIsQuieted(t *testing.T) {
	agent := vspheresim.VM{Name: "vCLS-4c4c4544-0000-1111-2222-333344445555", ManagedBy: "com.vmware.vim.eam"}
	for _, c := range []struct {
		about, api string
		retreats   bool
		calls      map[string]int // that change anything
		detail     string
	}{
		{
			"before vCLS", "7.0.0.0", false,
			map[string]int{"ReconfigureComputeResource_Task": 1},
			"ha=on drs=partiallyAutomated levels=on dpm=on vcls=none",
		},
		{
			"an advanced setting", "7.0.3.0", true,
			map[string]int{"ReconfigureComputeResource_Task": 1, "UpdateOptions": 1},
			"ha=on drs=partiallyAutomated levels=on dpm=on vcls=on",
		},
		{
			"the cluster's mode", "8.0.2.0", true,
			map[string]int{"ReconfigureComputeResource_Task": 1},
			"ha=on drs=partiallyAutomated levels=on dpm=on vcls=on",
		},
		{
			"newer", "9.0.0.0", true,
			map[string]int{"ReconfigureComputeResource_Task": 1},
			"ha=on drs=partiallyAutomated levels=on dpm=on vcls=on",
		},
	} {
		t.Run(c.about, func(t *testing.T) {
			e := start(t, vspheresim.Options{APIVersion: c.api, Features: &lively, VMs: []vspheresim.VM{agent}})
			n := e.cluster(t)
			changes := func() map[string]int {
				got := map[string]int{}
				for _, method := range []string{"ReconfigureComputeResource_Task", "UpdateOptions"} {
					if k := e.VCenter().Calls()[method]; k > 0 {
						got[method] = k
					}
				}
				return got
			}
			before := contracttest.Probe(t, n)
			require.Equal(t, plan.Observation{State: plan.On, Protected: plan.No, Detail: c.detail, Settings: c.detail}, before)

			require.NoError(t, contracttest.Do(t, n, plan.Protect))
			untilFact(t, n, plan.Yes)
			want := quietly
			want.Retreat = c.retreats
			require.Equal(t, want, e.Features(clusterName))
			require.Equal(t, c.calls, changes())
			require.NoError(t, contracttest.Do(t, n, plan.Protect))
			require.Equal(t, c.calls, changes(), "nothing is left to do")
			if c.retreats {
				contracttest.UntilState(t, e.vm(t, agent.Name), plan.Off)
			}

			// After a crash: another connection, which has seen nothing of this.
			e.vcenter = dial(t, "again", spec(e.VCenter()))
			n = e.cluster(t)
			require.Equal(t, plan.Yes, contracttest.Probe(t, n).Protected)
			for range 2 {
				require.NoError(t, n.Do(contracttest.Within(t, 10*time.Second),
					adapter.Command{Verb: plan.Unprotect, Settings: before.Settings}))
				require.Equal(t, before, untilFact(t, n, plan.No))
				require.Equal(t, lively, e.Features(clusterName))
			}
			if c.retreats {
				contracttest.UntilState(t, e.vm(t, agent.Name), plan.On)
			}
		})
	}
}

func TestClusterThatHasNothingToPutOff(t *testing.T) {
	e := start(t, vspheresim.Options{Features: &vspheresim.Features{}})
	n := e.cluster(t)
	require.Equal(t, plan.Yes, contracttest.Probe(t, n).Protected)
	require.NoError(t, contracttest.Do(t, n, plan.Protect))
	require.Zero(t, e.VCenter().Calls()["ReconfigureComputeResource_Task"])
}

// A reconfiguration that was accepted and failed is told, and nothing is taken for done.
func TestClusterThatVCenterCannotReconfigure(t *testing.T) {
	e := start(t, vspheresim.Options{APIVersion: "7.0.3.0", Features: &lively})
	n := e.cluster(t)
	e.VCenter().Break("reconfigureCluster", "The HA agent on esx01 does not answer")
	require.NoError(t, contracttest.Do(t, n, plan.Protect))
	told := func() plan.Observation {
		return contracttest.Until(t, n, "the failure is told",
			func(o plan.Observation) bool { return strings.Contains(o.Detail, "could not") })
	}
	o := told()
	require.Equal(t, plan.No, o.Protected)
	require.Contains(t, o.Detail, "but vCenter could not: The HA agent on esx01 does not answer")
	e.VCenter().Break("reconfigureCluster", "")
	require.NoError(t, contracttest.Do(t, n, plan.Protect))
	untilFact(t, n, plan.Yes)

	e.VCenter().Break("reconfigureCluster", "No licence")
	require.NoError(t, contracttest.Do(t, n, plan.Unprotect))
	o = told()
	require.False(t, e.Features(clusterName).Retreat, "a part of it is back")
	require.Equal(t, plan.Yes, o.Protected, "not all of it")
	require.Contains(t, o.Detail, "but vCenter could not: No licence")
	e.VCenter().Break("reconfigureCluster", "")
	require.NoError(t, contracttest.Do(t, n, plan.Unprotect))
	untilFact(t, n, plan.No)
	require.True(t, e.Features(clusterName).HA)

	e.VCenter().Fail("ReconfigureComputeResource_Task", &types.NoPermission{PrivilegeId: "Host.Inventory.EditCluster"})
	err := contracttest.Do(t, n, plan.Protect)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "Host.Inventory.EditCluster: add it to the account's role")
}

// What the journal does not know of comes back as it usually is; what it says that nobody can read is left to people.
func TestClusterOfWhichNothingIsKnown(t *testing.T) {
	e := start(t, vspheresim.Options{APIVersion: "8.0.2.0", Features: &quietly})
	n := e.cluster(t)
	require.NoError(t, contracttest.Do(t, n, plan.Unprotect))
	untilFact(t, n, plan.No)
	require.Equal(t, vspheresim.Features{HA: true, DRS: types.DrsBehaviorFullyAutomated, Overrides: true}, e.Features(clusterName))
	err := n.Do(contracttest.Within(t, 10*time.Second), adapter.Command{Verb: plan.Unprotect, Settings: "cache_mode=writeback"})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "by hand")
}

func TestClusterWithVSAN(t *testing.T) {
	with := lively
	with.VSAN = true
	e := start(t, vspheresim.Options{Features: &with})
	n := e.cluster(t)
	require.Contains(t, contracttest.Probe(t, n).Detail, "vSAN: Ebbtide does not shut this cluster's hosts down")
	err := contracttest.Do(t, n, plan.Protect)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "by hand")
	require.Equal(t, with, e.Features(clusterName))

	host := e.node(t, "esx01", "vcenter", &HostSpec{})
	require.Contains(t, contracttest.Probe(t, host).Detail, "vSAN")
	for _, v := range []plan.Verb{plan.Stop, plan.Force} {
		err = contracttest.Do(t, host, v)
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "vSAN")
	}
	require.True(t, e.HostOn("esx01"))
}

func TestClusterThatIsNotThere(t *testing.T) {
	e := start(t, vspheresim.Options{})
	e.direct(t, "esx01")
	_, err := e.node(t, "x", "vcenter", &ClusterSpec{}).Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrGone)
	_, err = e.node(t, "x", "esx01", &ClusterSpec{}).Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "give via a vCenter")
}

func TestFeaturesAreNoted(t *testing.T) {
	for _, f := range []features{
		{},
		{ha: true, drs: types.DrsBehaviorFullyAutomated, levels: true, dpm: true, agents: agentsOn},
		{drs: types.DrsBehaviorManual, agents: retreat},
	} {
		got, err := parseFeatures(f.String())
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
	for _, text := range []string{
		"", "ha=on", "ha=on ha=on drs=off levels=on dpm=off", "ha=yes drs=off levels=on dpm=off vcls=on",
		"ha=on drs=wild levels=on dpm=off vcls=on", "ha=on drs=off levels=on dpm=off vcls=gone", "write-back",
	} {
		_, err := parseFeatures(text)
		require.Error(t, err, "%q", text)
	}
}

func TestReleases(t *testing.T) {
	for api, want := range map[string]agentsWay{
		"6.5": nowhere, "7.0.0.0": nowhere, "7.0.1.1": bySetting, "8.0.1.0": bySetting,
		"8.0.2.0": byCluster, "8.0.10.0": byCluster, "9.0": byCluster, "": nowhere,
	} {
		s := new(session)
		s.Client = newVimClient(api)
		require.Equal(t, want, s.agentsBy(), api)
	}
}
