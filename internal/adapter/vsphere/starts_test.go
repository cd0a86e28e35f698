package vsphere

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
)

// offs are VMs that are off, in a cluster whose DRS would only recommend.
func offs(t *testing.T, n int, o vspheresim.Options) (e *estate, names []string) {
	t.Helper()
	for i := range n {
		names = append(names, fmt.Sprintf("vm%03d", i))
		o.VMs = append(o.VMs, vspheresim.VM{Name: names[i], Off: true})
	}
	o.Features = &vspheresim.Features{DRS: types.DrsBehaviorManual}
	return start(t, o), names
}

// startAll starts VMs at the same time and gives what each of them was answered.
func startAll(t *testing.T, e *estate, names []string) []error {
	t.Helper()
	answers := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		n := e.vm(t, name)
		all.Go(func() { answers[i] = n.Do(contracttest.Within(t, 20*time.Second), adapter.Command{Verb: plan.Start}) })
	}
	all.Wait()
	return answers
}

func TestManyVMsStartByFewCalls(t *testing.T) {
	e, names := offs(t, 200, vspheresim.Options{Latency: 20 * time.Millisecond})
	contracttest.Probe(t, e.vm(t, names[0]))
	require.NoError(t, errors.Join(startAll(t, e, names)...))
	for _, name := range names {
		contracttest.UntilState(t, e.vm(t, name), plan.On)
	}
	calls := e.VCenter().Calls()
	require.LessOrEqual(t, calls["PowerOnMultiVM_Task"]+calls["PowerOnVM_Task"], 20, "%v", calls)
	require.Positive(t, calls["PowerOnMultiVM_Task"])
}

// One of many that can't be started is told as before, and the others start.
func TestOneOfManyThatDoesNotStart(t *testing.T) {
	e, names := offs(t, 20, vspheresim.Options{Latency: 20 * time.Millisecond, Guest: func(name string) vspheresim.GuestBehaviour {
		if name == "vm007" {
			return vspheresim.GuestBehaviour{Broken: "Failed to lock the file"}
		}
		return vspheresim.GuestBehaviour{}
	}})
	contracttest.Probe(t, e.vm(t, names[0]))
	nodes := map[string]adapter.Node{}
	var all sync.WaitGroup
	for _, name := range names {
		n := e.vm(t, name)
		nodes[name] = n
		all.Go(func() {
			if err := n.Do(contracttest.Within(t, 20*time.Second), adapter.Command{Verb: plan.Start}); err != nil {
				t.Errorf("start %s: %v", name, err)
			}
		})
	}
	all.Wait()
	for _, name := range names {
		if name != "vm007" {
			contracttest.UntilState(t, nodes[name], plan.On)
		}
	}
	contracttest.Until(t, nodes["vm007"], "the failure is told", func(o plan.Observation) bool {
		return o.Detail == "powered off; start failed: Failed to lock the file"
	})
}

// A call that is refused as a whole is given again for each VM.
func TestCallForManyThatIsRefused(t *testing.T) {
	e, names := offs(t, 10, vspheresim.Options{Latency: 20 * time.Millisecond})
	contracttest.Probe(t, e.vm(t, names[0]))
	e.VCenter().Fail("PowerOnMultiVM_Task", &types.NotSupported{})
	require.NoError(t, errors.Join(startAll(t, e, names)...))
	for _, name := range names {
		contracttest.UntilState(t, e.vm(t, name), plan.On)
	}
	require.Equal(t, len(names), e.VCenter().Calls()["PowerOnVM_Task"])

	e.VCenter().Fail("PowerOnMultiVM_Task", &types.NoPermission{PrivilegeId: "VirtualMachine.Interact.PowerOn"})
	e.VCenter().Fail("PowerOnVM_Task", &types.NoPermission{PrivilegeId: "VirtualMachine.Interact.PowerOn"})
	for _, name := range names {
		require.NoError(t, contracttest.Do(t, e.vm(t, name), plan.Force))
		contracttest.UntilState(t, e.vm(t, name), plan.Off)
	}
	for _, err := range startAll(t, e, names) {
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "VirtualMachine.Interact.PowerOn")
	}
}

// The secondary of a fault-tolerant VM has its primary's name and goes and comes with it.
func TestFaultTolerantVM(t *testing.T) {
	e := start(t, vspheresim.Options{HostsPerCluster: 2, VMs: []vspheresim.VM{
		{Name: "pos", Folder: "A"}, {Name: "pos", Folder: "B", Host: 1, Secondary: true},
	}})
	members, err := e.node(t, "all", "vcenter", &VMsSpec{Select: Selection{Name: "*"}}).(adapter.Selector).Members(contracttest.Within(t,
		10*time.Second))
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Equal(t, e.InstanceUUID("A/pos"), members[0].ID)
	require.NoError(t, contracttest.Do(t, e.vm(t, "pos"), plan.Stop))
	contracttest.UntilState(t, e.vm(t, "pos"), plan.Off)
	require.False(t, e.VMOn("A/pos"))

	secondary := e.node(t, "x", "vcenter", &VMSpec{UUID: e.InstanceUUID("B/pos")})
	err = contracttest.Do(t, secondary, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "its primary")
	err = contracttest.Do(t, e.node(t, "esx02", "vcenter", &HostSpec{}), plan.Stop)
	require.ErrorIs(t, err, adapter.ErrBusy, "it runs there")
}
