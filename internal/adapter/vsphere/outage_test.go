package vsphere

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
)

// outages are the ways in which a vCenter is lost in the middle.
var outages = map[string]struct {
	lose, back func(*testing.T, *vspheresim.Server)
}{
	"stopped": {
		func(_ *testing.T, s *vspheresim.Server) { s.Stop() },
		func(t *testing.T, s *vspheresim.Server) { require.NoError(t, s.Start()) },
	},
	"frozen": {
		func(_ *testing.T, s *vspheresim.Server) { s.Freeze() },
		func(_ *testing.T, s *vspheresim.Server) { s.Thaw() },
	},
}

func TestVCenterLostWithoutFallback(t *testing.T) {
	t.Parallel()
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, vspheresim.Options{VMs: vms("web01")})
			n := e.vm(t, "web01")
			seen := watch(t, n)
			require.Equal(t, plan.On, next(t, seen, 5*time.Second).State)

			outage.lose(t, e.VCenter())
			// Not a word of "off", and within seconds.
			o := next(t, seen, 8*time.Second)
			require.Equal(t, plan.Unknown, o.State, "%+v", o)
			_, err := n.Probe(contracttest.Within(t, 3*time.Second))
			require.ErrorIs(t, err, adapter.ErrUnreachable)
			require.ErrorContains(t, err, `cannot ask connection "vcenter"`)
			err = n.Do(contracttest.Within(t, 3*time.Second), adapter.Command{Verb: plan.Stop})
			require.ErrorIs(t, err, adapter.ErrUnreachable)
			require.True(t, e.VMOn("web01"), "the order was not given")

			outage.back(t, e.VCenter())
			contracttest.UntilState(t, n, plan.On)
			require.NoError(t, contracttest.Do(t, n, plan.Stop))
			contracttest.UntilState(t, n, plan.Off)
			last := o
			for last.State != plan.Off {
				last = next(t, seen, 5*time.Second)
			}
		})
	}
}

func TestVCenterLostWithFallback(t *testing.T) {
	t.Parallel()
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, vspheresim.Options{HostsPerCluster: 2, VMs: []vspheresim.VM{
				{Name: "web01"}, {Name: "web02", Host: 1}, {Name: "web01", Folder: "Other", Host: 1},
			}})
			e.direct(t, "esx01")
			e.direct(t, "esx02")
			// The id is a path of vCenter's: a host knows no folders, so this is found by its instance UUID.
			n := e.node(t, "vm/web01", "vcenter", &VMSpec{Fallback: "esx01"})
			elsewhere := e.node(t, "web02", "vcenter", &VMSpec{Fallback: "esx01"})
			member, err := e.node(t, "all", "vcenter",
				&VMsSpec{Select: Selection{Name: "web02"}, Fallback: []string{"esx01", "esx02"}}).(adapter.Selector).
				Member(e.InstanceUUID("web02"))
			require.NoError(t, err)
			seen := watch(t, n)
			require.Equal(t, "powered on", next(t, seen, 5*time.Second).Detail)
			require.Equal(t, "powered on", contracttest.Probe(t, elsewhere).Detail)
			require.Equal(t, "powered on", contracttest.Probe(t, member).Detail)

			outage.lose(t, e.VCenter())
			waitBroken(t, e.vcenter)
			require.Equal(t, plan.Observation{State: plan.On, Detail: "powered on; asked through esx01"}, contracttest.Probe(t, n))
			require.Equal(t, plan.Observation{State: plan.On, Detail: "powered on; asked through esx02"}, contracttest.Probe(t, member))
			_, err = elsewhere.Probe(contracttest.Within(t, 5*time.Second))
			require.ErrorIs(t, err, adapter.ErrUnreachable)
			require.ErrorContains(t, err, "it may run on another", "not gone: that proves nothing")

			require.NoError(t, contracttest.Do(t, n, plan.Stop))
			require.NoError(t, contracttest.Do(t, member, plan.Force))
			contracttest.UntilState(t, n, plan.Off)
			contracttest.UntilState(t, member, plan.Off)
			require.False(t, e.VMOn("web02"))
			require.True(t, e.VMOn("Other/web01"))
			var o plan.Observation
			for o.State != plan.Off { // the node's own watch hears it through the host
				o = next(t, seen, 5*time.Second)
				require.Contains(t, []plan.State{plan.On, plan.Off}, o.State)
			}

			outage.back(t, e.VCenter())
			require.NoError(t, contracttest.Do(t, n, plan.Start))
			for o.Detail != "powered on" {
				o = next(t, seen, 10*time.Second)
			}
		})
	}
}

// A command that falls into the moment at which vCenter freezes is given again through the host.
func TestCommandAsVCenterFreezes(t *testing.T) {
	t.Parallel()
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	e.direct(t, "esx01")
	n := e.node(t, "web01", "vcenter", &VMSpec{Fallback: "esx01"})
	contracttest.Probe(t, n)
	e.VCenter().Freeze()
	require.NoError(t, n.Do(contracttest.Within(t, 4*time.Second), adapter.Command{Verb: plan.Stop}))
	require.Equal(t, plan.Off, contracttest.UntilState(t, n, plan.Off).State)
	require.False(t, e.VMOn("web01"))
}

// The same without a fallback: it is unknown whether it was done, and that is what it says.
func TestCommandAsVCenterFreezesWithoutFallback(t *testing.T) {
	t.Parallel()
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	n := e.vm(t, "web01")
	contracttest.Probe(t, n)
	e.VCenter().Freeze()
	err := n.Do(contracttest.Within(t, time.Second), adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, contracttest.Within(t, 0).Err())
	require.ErrorContains(t, err, "it is unknown whether it was done")
	require.NotErrorIs(t, err, adapter.ErrUnreachable)
}

// When the directory is down, vCenter refuses every login; its hosts' own accounts still work.
func TestVCenterThatRefusesToLogIn(t *testing.T) {
	t.Parallel()
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	e.direct(t, "esx01")
	wrong := spec(e.VCenter())
	wrong.Password.Env = "expired"
	e.vcenter = dial(t, "vcenter", wrong)
	n := e.node(t, "web01", "vcenter", &VMSpec{Fallback: "esx01"})
	require.Equal(t, "powered on; asked through esx01", contracttest.Probe(t, n).Detail)
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	contracttest.UntilState(t, n, plan.Off)
	require.Equal(t, 1, e.VCenter().Calls()["Login"])
}

// A session that has ended, and a restarted vCenter that does not know its own view any more, say nothing of a VM: it is not gone, and
// refuses nothing.
func TestAWatchThatBreaksSaysNothingOfAVM(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]types.BaseMethodFault{
		"session": &types.NotAuthenticated{}, "view": &types.ManagedObjectNotFound{}, "server": &types.RuntimeFault{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, vspheresim.Options{VMs: vms("web01")})
			n := e.vm(t, "web01")
			contracttest.UntilState(t, n, plan.On)
			e.VCenter().Fail("CreateContainerView", fault) // as long as it starts
			e.VCenter().ExpireSessions()
			waitBroken(t, e.vcenter)
			require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrUnreachable)
			seen, err := n.Probe(t.Context())
			require.ErrorIs(t, err, adapter.ErrUnreachable, "%v", seen)
			require.True(t, e.VMOn("web01"))
		})
	}
}

func TestVCenterThatIsDownAtTheStart(t *testing.T) {
	t.Parallel()
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	e.VCenter().Stop()
	n := e.vm(t, "web01")
	_, err := n.Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	require.NoError(t, e.VCenter().Start())
	contracttest.UntilState(t, n, plan.On)
}
