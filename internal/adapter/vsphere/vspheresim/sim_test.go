package vspheresim_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"ebbtide/internal/adapter/vsphere/vspheresim"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// changes keeps what OnChange was told, in order.
type changes struct {
	mu  sync.Mutex
	all []string
	one chan string
}

func newChanges() *changes { return &changes{one: make(chan string, 10_000)} }

func (c *changes) add(kind, name string, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf("%s %s %t", kind, name, on))
	c.one <- c.all[len(c.all)-1]
}

func (c *changes) next(t *testing.T) string {
	t.Helper()
	select {
	case s := <-c.one:
		return s
	case <-time.After(10 * time.Second):
		require.FailNow(t, "nothing changed")
		return ""
	}
}

func start(t *testing.T, o vspheresim.Options) *vspheresim.Sim {
	t.Helper()
	s, err := vspheresim.New(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func login(t *testing.T, s *vspheresim.Server) *govmomi.Client {
	t.Helper()
	u, err := url.Parse(s.URL())
	require.NoError(t, err)
	u.User = url.UserPassword(vspheresim.User, vspheresim.Password)
	c, err := govmomi.NewClient(t.Context(), u, true)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func findVM(t *testing.T, c *govmomi.Client, path string) *object.VirtualMachine {
	t.Helper()
	f := find.NewFinder(c.Client)
	dc, err := f.DefaultDatacenter(t.Context())
	require.NoError(t, err)
	vm, err := f.SetDatacenter(dc).VirtualMachine(t.Context(), path)
	require.NoError(t, err)
	return vm
}

func properties(t *testing.T, vm *object.VirtualMachine) mo.VirtualMachine {
	t.Helper()
	var m mo.VirtualMachine
	require.NoError(t, vm.Properties(t.Context(), vm.Reference(), []string{"runtime", "guest", "config"}, &m))
	return m
}

func TestPowerIsToldInOrderAndShownEverywhere(t *testing.T) {
	told := newChanges()
	s := start(t, vspheresim.Options{
		HostsPerCluster: 2, OnChange: told.add,
		VMs: []vspheresim.VM{{Name: "a"}, {Name: "b", Host: 1}, {Name: "c", Off: true}},
	})
	require.Equal(t, []string{"esx01", "esx02"}, s.Hosts())
	d, err := s.Direct("esx01")
	require.NoError(t, err)
	vcenter, direct := login(t, s.VCenter()), login(t, d)
	a, same := findVM(t, vcenter, "a"), findVM(t, direct, "a")
	require.Equal(t, properties(t, a).Config.InstanceUuid, properties(t, same).Config.InstanceUuid)
	require.Equal(t, s.InstanceUUID("a"), properties(t, a).Config.InstanceUuid)
	require.NotEqual(t, a.Reference(), same.Reference(), "as in the real world")
	_, err = find.NewFinder(direct.Client).VirtualMachine(t.Context(), "*/b")
	require.Error(t, err)

	require.NoError(t, same.ShutdownGuest(t.Context()))
	require.Equal(t, "vm a false", told.next(t))
	task, err := a.PowerOn(t.Context())
	require.NoError(t, err)
	require.NoError(t, task.Wait(t.Context()))
	require.Equal(t, "vm a true", told.next(t))
	for _, vm := range []*object.VirtualMachine{a, same} {
		p := properties(t, vm)
		require.Equal(t, types.VirtualMachinePowerStatePoweredOn, p.Runtime.PowerState)
		require.Equal(t, "guestToolsRunning", p.Guest.ToolsRunningStatus)
	}
	require.True(t, s.VMOn("a"))
	require.False(t, s.VMOn("c"))
}

func TestHostTakesItsVMsDownAndComesBack(t *testing.T) {
	told := newChanges()
	s := start(t, vspheresim.Options{
		OnChange: told.add, VMs: []vspheresim.VM{{Name: "a"}}, HostOff: 20 * time.Millisecond,
		HostBoot: 20 * time.Millisecond,
	})
	d, err := s.Direct("esx01")
	require.NoError(t, err)
	vcenter, direct := login(t, s.VCenter()), login(t, d)
	host, err := find.NewFinder(direct.Client).HostSystem(t.Context(), "/ha-datacenter/host/*/*")
	require.NoError(t, err)
	_, err = methods.ShutdownHost_Task(t.Context(), direct.Client, &types.ShutdownHost_Task{This: host.Reference()})
	require.True(t, fault.Is(err, &types.InvalidState{}), "not without force: %v", err)
	_, err = methods.ShutdownHost_Task(t.Context(), direct.Client, &types.ShutdownHost_Task{This: host.Reference(), Force: true})
	require.NoError(t, err)
	require.Equal(t, "host esx01 false", told.next(t))
	require.Equal(t, "vm a false", told.next(t))
	silent, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = methods.GetCurrentTime(silent, direct.Client)
	require.Error(t, err, "its agent is off too")

	a := findVM(t, vcenter, "a")
	require.True(t, fault.Is(a.ShutdownGuest(t.Context()), &types.HostNotConnected{}))
	require.Equal(t, types.VirtualMachinePowerStatePoweredOn, properties(t, a).Runtime.PowerState, "vCenter's last word")
	require.False(t, s.VMOn("a"))

	require.NoError(t, s.PowerOnHost("esx01"))
	require.NoError(t, s.PowerOnHost("esx01"), "twice")
	require.Equal(t, "host esx01 true", told.next(t))
	collector := property.DefaultCollector(vcenter.Client)
	require.NoError(t, property.Wait(t.Context(), collector, a.Reference(), []string{"runtime.powerState", "runtime.connectionState"},
		func([]types.PropertyChange) bool {
			m := properties(t, a)
			return m.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff &&
				m.Runtime.ConnectionState == types.VirtualMachineConnectionStateConnected
		}))
	require.Empty(t, told.one)

	shutDown := func() error {
		_, err := methods.ShutdownHost_Task(t.Context(), direct.Client, &types.ShutdownHost_Task{This: host.Reference(), Force: true})
		return err
	}
	require.NoError(t, s.SetHost("esx01", vspheresim.HostBehaviour{Refuse: true}))
	require.True(t, fault.Is(shutDown(), &types.NoPermission{}))
	require.NoError(t, s.SetHost("esx01", vspheresim.HostBehaviour{Hang: true}))
	require.NoError(t, shutDown())
	require.Empty(t, told.one)
	require.Error(t, s.SetHost("nobody", vspheresim.HostBehaviour{}))
}

func TestGuests(t *testing.T) {
	told := newChanges()
	s := start(t, vspheresim.Options{
		OnChange: told.add,
		VMs:      []vspheresim.VM{{Name: "slow"}, {Name: "hung"}, {Name: "bare"}, {Name: "sticky"}},
		Guest: func(name string) vspheresim.GuestBehaviour {
			return vspheresim.GuestBehaviour{
				Delay: 300 * time.Millisecond, Hang: name == "hung", NoTools: name == "bare",
				Sticky: name == "sticky",
			}
		},
	})
	c := login(t, s.VCenter())
	slow, bare := findVM(t, c, "slow"), findVM(t, c, "bare")
	began := time.Now()
	require.NoError(t, findVM(t, c, "hung").ShutdownGuest(t.Context()))
	require.NoError(t, slow.ShutdownGuest(t.Context()))
	require.Equal(t, types.VirtualMachinePowerStatePoweredOn, properties(t, slow).Runtime.PowerState)
	require.Less(t, time.Since(began), 250*time.Millisecond, "a slow guest keeps nobody from looking")
	require.Equal(t, "guestToolsNotRunning", properties(t, bare).Guest.ToolsRunningStatus)
	require.True(t, fault.Is(bare.ShutdownGuest(t.Context()), &types.ToolsUnavailable{}))
	_, err := findVM(t, c, "sticky").PowerOff(t.Context())
	require.NoError(t, err)
	require.Equal(t, "vm slow false", told.next(t))
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	require.True(t, s.VMOn("hung"))
	require.True(t, s.VMOn("sticky"))

	require.NoError(t, s.DeleteVM("hung"))
	require.Equal(t, "vm hung false", told.next(t))
	require.True(t, fault.Is(slow.ShutdownGuest(t.Context()),
		&types.InvalidPowerState{ExistingState: "poweredOff", RequestedState: "poweredOn"}) ||
		!s.VMOn("slow"))
	require.Error(t, s.DeleteVM("nobody"))
}

func TestSessionsEnd(t *testing.T) {
	s := start(t, vspheresim.Options{})
	c := login(t, s.VCenter())
	_, err := methods.GetCurrentTime(t.Context(), c.Client)
	require.NoError(t, err)
	s.VCenter().ExpireSessions()
	_, err = methods.GetCurrentTime(t.Context(), c.Client)
	var expired *types.NotAuthenticated
	_, ok := fault.As(err, &expired)
	require.True(t, ok, "%v", err)
	require.NoError(t, c.Login(t.Context(), url.UserPassword(vspheresim.User, vspheresim.Password)))
	_, err = methods.GetCurrentTime(t.Context(), c.Client)
	require.NoError(t, err)
	require.Error(t, c.Login(t.Context(), url.UserPassword(vspheresim.User, "wrong")))
}

func TestServerFreezesAndStops(t *testing.T) {
	s := start(t, vspheresim.Options{})
	c := login(t, s.VCenter())
	before := s.VCenter().URL()
	ask := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := methods.GetCurrentTime(ctx, c.Client)
		return err
	}
	s.VCenter().Freeze()
	require.ErrorIs(t, ask(100*time.Millisecond), context.DeadlineExceeded)
	s.VCenter().Thaw()
	require.NoError(t, ask(5*time.Second))
	s.VCenter().Freeze()
	s.VCenter().Stop()
	_ = ask(5 * time.Second) // on a connection that the client still believes in
	require.ErrorContains(t, ask(5*time.Second), "connection refused")
	s.VCenter().Thaw()
	require.NoError(t, s.VCenter().Start())
	require.NoError(t, ask(5*time.Second))
	require.Equal(t, before, s.VCenter().URL())
}

// The stock simulator reads everything again for each change: this takes it minutes.
func TestAThousandWatchedVMs(t *testing.T) {
	const n = 1000
	var vms []vspheresim.VM
	for i := range n {
		vms = append(vms, vspheresim.VM{Name: fmt.Sprintf("vm%04d", i), Host: i % 4, Tags: []string{"tier/app"}})
	}
	began := time.Now()
	s := start(t, vspheresim.Options{HostsPerCluster: 4, VMs: vms})
	made := time.Since(began)
	c := login(t, s.VCenter())
	all, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	require.NoError(t, err)
	refs, err := all.Find(t.Context(), []string{"VirtualMachine"}, nil)
	require.NoError(t, err)
	require.Len(t, refs, n)

	began = time.Now()
	ready := make(chan struct{})
	var asked sync.WaitGroup
	asked.Go(func() {
		<-ready
		for _, r := range refs {
			if err := object.NewVirtualMachine(c.Client, r).ShutdownGuest(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	off := make(map[types.ManagedObjectReference]bool)
	filter := new(property.WaitFilter).Add(all.Reference(), "VirtualMachine", []string{"runtime.powerState"}, all.TraversalSpec())
	first := sync.OnceFunc(func() { close(ready) })
	seen := 0
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	require.NoError(t, property.WaitForUpdates(ctx, property.DefaultCollector(c.Client), filter, func(updates []types.ObjectUpdate) bool {
		for _, u := range updates {
			seen++
			for _, p := range u.ChangeSet {
				if p.Val == types.VirtualMachinePowerStatePoweredOff {
					off[u.Obj] = true
				}
			}
		}
		if seen >= n {
			first()
		}
		return len(off) == n
	}))
	asked.Wait()
	t.Logf("made in %v, shut down one by one in %v", made, time.Since(began))
}
