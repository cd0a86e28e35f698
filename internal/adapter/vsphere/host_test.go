package vsphere

import (
	"context"
	"testing"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

func TestHostIsNotStoppedUnderItsVMs(t *testing.T) {
	e := start(t, vspheresim.Options{HostsPerCluster: 2, VMs: []vspheresim.VM{
		{Name: "web01"},
		{Name: "web02"},
		{Name: "db", Host: 1},
		{Name: "spare", Off: true},
		{Name: "vCLS-4c4c4544-0000-1111-2222-333344445555", ManagedBy: "com.vmware.vim.eam"},
	}})
	n := e.node(t, "esx01", "vcenter", &HostSpec{})
	require.Equal(t, plan.Observation{State: plan.On, Detail: "answers"}, contracttest.Probe(t, n))
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrBusy)
	require.ErrorContains(t, err, `cannot stop host "esx01": busy: 2 VMs are still running on it: web01, web02`)
	require.Zero(t, e.VCenter().Calls()["ShutdownHost_Task"])
	require.True(t, e.HostOn("esx01"))
	require.ErrorIs(t, contracttest.Do(t, n, plan.Start), adapter.ErrRefused)

	for _, name := range []string{"web01", "web02"} {
		require.NoError(t, contracttest.Do(t, e.vm(t, name), plan.Stop))
	}
	contracttest.UntilState(t, e.vm(t, "web01"), plan.Off)
	contracttest.UntilState(t, e.vm(t, "web02"), plan.Off)
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	require.Equal(t, "not responding, according to vCenter", contracttest.UntilState(t, n, plan.Unreachable).Detail, "silence is no proof")
	e.untilOff(t, "esx01")
	require.True(t, e.HostOn("esx02"))
	require.True(t, e.VMOn("db"))

	// What vCenter last heard of its VMs.
	require.Equal(t, plan.Observation{State: plan.Off, Detail: `powered off when last heard of: host "esx01" is not responding to vCenter`},
		contracttest.Probe(t, e.vm(t, "web01")))
	require.ErrorIs(t, contracttest.Do(t, e.vm(t, "web01"), plan.Start), adapter.ErrUnreachable)

	require.NoError(t, e.PowerOnHost("esx01"))
	contracttest.UntilState(t, n, plan.On)
	require.NoError(t, contracttest.Do(t, e.vm(t, "web01"), plan.Start))
	contracttest.UntilState(t, e.vm(t, "web01"), plan.On)
}

func TestForcedHostTakesItsVMsAlong(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01"), HostOff: 100 * time.Millisecond})
	n, vm := e.node(t, "x", "vcenter", &HostSpec{Host: "esx01"}), e.vm(t, "web01")
	contracttest.Probe(t, vm)
	require.NoError(t, contracttest.Do(t, n, plan.Force))
	contracttest.UntilState(t, n, plan.Unreachable)
	require.Equal(t, `powered on when last heard of: host "esx01" is not responding to vCenter`,
		contracttest.UntilState(t, vm, plan.Unreachable).Detail)
	require.False(t, e.VMOn("web01"))
	require.ErrorIs(t, contracttest.Do(t, vm, plan.Stop), adapter.ErrUnreachable)
	require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrUnreachable)
	e.untilOff(t, "esx01")
	require.NoError(t, e.PowerOnHost("esx01"))
	contracttest.UntilState(t, vm, plan.Off)
}

// A host's own agent knows the host by a name of its own and goes silent with it.
func TestHostDirectly(t *testing.T) {
	e := start(t, vspheresim.Options{HostsPerCluster: 2, VMs: vms("web01"), HostBoot: 100 * time.Millisecond})
	e.direct(t, "esx01")
	n, vm := e.node(t, "esx01", "esx01", &HostSpec{}), e.node(t, "web01", "esx01", &VMSpec{})
	seen := watch(t, n)
	require.Equal(t, plan.Observation{State: plan.On, Detail: "answers"}, next(t, seen, 5*time.Second))
	require.Equal(t, plan.On, contracttest.Probe(t, vm).State)
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrBusy)
	require.ErrorContains(t, err, "1 VM is still running on it: web01")
	require.NoError(t, contracttest.Do(t, vm, plan.Stop))
	contracttest.UntilState(t, vm, plan.Off)
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	require.Equal(t, plan.Unreachable, next(t, seen, 5*time.Second).State)
	require.Equal(t, plan.Unreachable, contracttest.Probe(t, n).State)
	e.untilOff(t, "esx01")
	_, err = vm.Probe(contracttest.Within(t, 2*time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrUnreachable)

	require.NoError(t, e.PowerOnHost("esx01"))
	for o := (plan.Observation{}); o.State != plan.On; {
		o = next(t, seen, 10*time.Second)
	}
	require.Empty(t, e.VCenter().Calls())
}

// Its agents end long before its datastores are unmounted: vCenter hears nothing of it, it refuses connections, and it is not off.
func TestAHostWhoseAgentsHaveEndedIsNotSilent(t *testing.T) {
	for name, via := range map[string]string{"through vCenter": "vcenter", "directly": "esx01"} {
		t.Run(name, func(t *testing.T) {
			e := start(t, vspheresim.Options{HostsPerCluster: 2, HostOff: 4 * time.Second})
			e.direct(t, "esx01")
			s := &HostSpec{Host: "esx01"}
			if via == "vcenter" {
				s.Fallback = "esx01"
			}
			n := e.node(t, "esx01", via, s)
			contracttest.UntilState(t, n, plan.On)
			require.NoError(t, contracttest.Do(t, n, plan.Stop))
			detail := contracttest.UntilState(t, n, plan.Unknown).Detail
			require.Contains(t, detail, "something answers at that address, but nothing listens on that port")
			for e.HostOn("esx01") {
				state := contracttest.Probe(t, n).State
				require.True(t, state != plan.Unreachable || !e.HostOn("esx01"))
			}
			contracttest.UntilState(t, n, plan.Unreachable)
		})
	}
}

func TestHostThatWasOffFromTheStart(t *testing.T) {
	e := start(t, vspheresim.Options{})
	e.direct(t, "esx01")
	require.NoError(t, e.CutHost("esx01"))
	n := e.node(t, "esx01", "esx01", &HostSpec{})
	require.Equal(t, plan.Unreachable, contracttest.Probe(t, n).State)
}

// The connection breaks before the answer: that is how a host says yes.
func TestHostThatGoesBeforeItAnswers(t *testing.T) {
	e := start(t, vspheresim.Options{})
	server := e.direct(t, "esx01")
	n := e.node(t, "esx01", "esx01", &HostSpec{})
	contracttest.Probe(t, n)
	server.HangUp("ShutdownHost_Task")
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
}

func TestHostFallsBackToItsOwnAgent(t *testing.T) {
	e := start(t, vspheresim.Options{HostsPerCluster: 2})
	e.direct(t, "esx01")
	n := e.node(t, "esx01", "vcenter", &HostSpec{Fallback: "esx01"})
	require.Equal(t, "answers", contracttest.Probe(t, n).Detail)
	e.VCenter().Stop()
	waitBroken(t, e.vcenter)
	require.Equal(t, "answers; asked through esx01", contracttest.Probe(t, n).Detail)
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	contracttest.UntilState(t, n, plan.Unreachable)
	e.untilOff(t, "esx01")

	alone := e.node(t, "esx02", "vcenter", &HostSpec{})
	_, err := alone.Probe(contracttest.Within(t, 3*time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable, "it is vCenter that is silent: an error, not a state of the host")
}

// Nothing has ever answered, so nothing tells a vCenter from a host, but that two hosts share it.
func TestHostsOfAVCenterThatNeverAnswered(t *testing.T) {
	e := start(t, vspheresim.Options{HostsPerCluster: 2})
	e.VCenter().Stop()
	n := e.node(t, "esx01", "vcenter", &HostSpec{})
	e.node(t, "esx02", "vcenter", &HostSpec{})
	_, err := n.Probe(contracttest.Within(t, 3*time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable, "its own silence would come to prove it off")
}

func TestUnknownHost(t *testing.T) {
	e := start(t, vspheresim.Options{})
	_, err := e.node(t, "esx99", "vcenter", &HostSpec{}).Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused, "a name that is misspelt is no host that is gone")
}

// What a host says that is asked itself is no silence, whatever it says.
func TestAHostThatRefusesOurLoginIsNotSilent(t *testing.T) {
	e := start(t, vspheresim.Options{HostsPerCluster: 2, HostOff: 6 * time.Second})
	server := e.direct(t, "esx01")
	wrong := spec(server)
	wrong.Password.Env = "hunter2"
	e.hosts["esx01"] = dial(t, "esx01", wrong)
	_, err := e.node(t, "esx01", "esx01", &HostSpec{}).Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	n := e.node(t, "esx01", "vcenter", &HostSpec{Fallback: "esx01"})
	contracttest.UntilState(t, n, plan.On)
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	require.Contains(t, contracttest.UntilState(t, n, plan.Unknown).Detail, "may not log in")
}

// A vCenter that goes in the middle of a host's shutdown says nothing of the host.
func TestAVCenterThatGoesBeforeItAnswers(t *testing.T) {
	for what, fallback := range map[string]string{"alone": "", "with a fallback that has gone": "esx01"} {
		t.Run(what, func(t *testing.T) {
			e := start(t, vspheresim.Options{HostsPerCluster: 2})
			itself := e.direct(t, "esx01")
			n := e.node(t, "esx01", "vcenter", &HostSpec{Fallback: fallback})
			contracttest.Probe(t, n)
			e.VCenter().HangUp("ShutdownHost_Task")
			require.NoError(t, itself.Vanish())
			err := contracttest.Do(t, n, plan.Stop)
			require.Error(t, err)
			for _, known := range []error{adapter.ErrRefused, adapter.ErrBusy, adapter.ErrUnreachable, adapter.ErrGone} {
				require.NotErrorIs(t, err, known, "nobody knows whether it was taken")
			}
		})
	}
}

// What vCenter has let go of is asked itself, also when it is told to stop: what vCenter has of it and its VMs is old.
func TestAHostThatVCenterHasLetGoOf(t *testing.T) {
	for what, letGo := range map[string]func(context.Context, *session, ref) error{
		"disconnected": func(ctx context.Context, s *session, h ref) error {
			_, err := methods.DisconnectHost_Task(ctx, s.Client, &types.DisconnectHost_Task{This: h})
			return err
		},
		"removed": func(ctx context.Context, s *session, h ref) error {
			_, err := methods.Destroy_Task(ctx, s.Client, &types.Destroy_Task{This: h})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			e := start(t, vspheresim.Options{HostsPerCluster: 2})
			itself := e.direct(t, "esx01")
			n := e.node(t, "esx01", "vcenter", &HostSpec{Fallback: "esx01"})
			contracttest.Probe(t, n)
			alone := e.node(t, "esx01", "vcenter", &HostSpec{})
			h, err := n.(*hostNode).find(t.Context(), e.vcenter)
			require.NoError(t, err)
			require.NoError(t, e.vcenter.do(t.Context(), func(ctx context.Context, s *session) error { return letGo(ctx, s, h.ref) }))
			peertest.Until(t, "vCenter to have let go of it", func() bool {
				seen, err := alone.Probe(t.Context())
				return err != nil || seen.State != plan.On
			})
			require.Error(t, contracttest.Do(t, alone, plan.Stop))
			seen := contracttest.Probe(t, n)
			require.Equal(t, plan.On, seen.State, seen.Detail)
			require.NoError(t, contracttest.Do(t, n, plan.Stop))
			require.Equal(t, 1, itself.Calls()["ShutdownHost_Task"])
			require.Zero(t, e.VCenter().Calls()["ShutdownHost_Task"])
		})
	}
}

func TestWhatVCenterSaysOfAHost(t *testing.T) {
	const (
		connected    = types.HostSystemConnectionStateConnected
		disconnected = types.HostSystemConnectionStateDisconnected
		silent       = types.HostSystemConnectionStateNotResponding
	)
	for _, c := range []struct {
		h      host
		direct bool
		want   plan.State
		detail string
	}{
		{host{reach: connected, power: types.HostSystemPowerStatePoweredOn}, false, plan.On, "answers"},
		{host{reach: connected, maintenance: true}, false, plan.On, "answers, in maintenance mode"},
		{host{reach: silent, power: types.HostSystemPowerStateUnknown}, false, plan.Unreachable, "not responding, according to vCenter"},
		{host{reach: silent, power: types.HostSystemPowerStatePoweredOff}, false, plan.Off, "vCenter reports it powered off"},
		{host{reach: silent, power: types.HostSystemPowerStateStandBy}, false, plan.Off, "vCenter reports it in standby mode"},
		{host{reach: disconnected}, false, plan.Unknown, "someone has disconnected it from vCenter"},
		{host{}, false, plan.Unknown, "its state may not be read by the account"},
		{host{}, true, plan.On, "answers"},
	} {
		require.Equal(t, plan.Observation{State: c.want, Detail: c.detail}, c.h.observation(c.direct))
	}
}

// vCenter calls a host powered off as soon as its agents are gone, and it may still unmount its datastores.
func TestAHostThatIsCalledPoweredOffMayBeOnItsWay(t *testing.T) {
	n, now := &hostNode{spec: &HostSpec{}}, time.Now()
	off := plan.Observation{State: plan.Off, Detail: "vCenter reports it powered off"}
	require.Equal(t, off, n.doubt(off, now), "it was off before we came")
	on := plan.Observation{State: plan.On}
	require.Equal(t, on, n.doubt(on, now))
	require.Equal(t, plan.Unreachable, n.doubt(off, now).State)
	require.Equal(t, plan.Unreachable, n.doubt(off, now.Add(goesDown-time.Second)).State)
	require.Equal(t, plan.Observation{}, n.doubt(plan.Observation{}, now.Add(goesDown-time.Second)), "no answer says nothing")
	require.Equal(t, off, n.doubt(off, now.Add(goesDown)))
	require.Equal(t, on, n.doubt(on, now.Add(time.Hour)))
	require.Equal(t, plan.Unreachable, n.doubt(off, now.Add(2*time.Hour)).State)
}

func TestWhatVCenterSaysOfAVM(t *testing.T) {
	const running = types.VirtualMachineToolsRunningStatusGuestToolsRunning
	for _, c := range []struct {
		m      vm
		want   plan.State
		detail string
	}{
		{vm{power: "poweredOn", tools: running, reach: "connected"}, plan.On, "powered on"},
		{
			vm{power: "poweredOn", tools: running, reach: "inaccessible"},
			plan.Unreachable,
			"powered on when last heard of: the VM is inaccessible to its host",
		},
		{vm{power: "poweredOff", reach: "orphaned"}, plan.Off, "powered off when last heard of: the VM is orphaned to its host"},
		{vm{reach: "connected"}, plan.Unknown, "its power state may not be read by the account"},
	} {
		require.Equal(t, plan.Observation{State: c.want, Detail: c.detail}, c.m.observation("esx01"))
	}
	bare := vm{power: "poweredOn"}
	require.Equal(t, plan.Observation{
		State: plan.On, Detail: "powered on, VMware Tools not running",
		Caution: "VMware Tools are not running: it can't be shut down, only powered off",
	}, bare.observation("esx01"))
}
