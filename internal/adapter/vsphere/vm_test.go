package vsphere

import (
	"testing"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vim25/types"
)

func TestVMGoesDownAndUp(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01"), Guest: func(string) vspheresim.GuestBehaviour {
		return vspheresim.GuestBehaviour{Delay: 100 * time.Millisecond}
	}})
	n := e.vm(t, "web01")
	require.Equal(t, plan.Observation{State: plan.On, Detail: "powered on"}, contracttest.Probe(t, n))
	require.NoError(t, contracttest.Do(t, n, plan.Start), "on already")

	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	require.Equal(t, plan.Observation{State: plan.Off, Detail: "powered off"}, contracttest.UntilState(t, n, plan.Off))
	require.False(t, e.VMOn("web01"))
	require.NoError(t, contracttest.Do(t, n, plan.Stop), "off already")
	require.NoError(t, contracttest.Do(t, n, plan.Force), "off already")

	require.NoError(t, contracttest.Do(t, n, plan.Start))
	contracttest.UntilState(t, n, plan.On)
	require.True(t, e.VMOn("web01"))

	require.NoError(t, contracttest.Do(t, n, plan.Force))
	contracttest.UntilState(t, n, plan.Off)
	require.False(t, e.VMOn("web01"))

	for _, v := range []plan.Verb{plan.Protect, plan.Flush, plan.Cut, plan.Unprotect} {
		require.ErrorIs(t, contracttest.Do(t, n, v), adapter.ErrRefused)
	}
}

func TestGuestWithoutToolsIsRefusedWithAHint(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("appliance"), Guest: func(string) vspheresim.GuestBehaviour {
		return vspheresim.GuestBehaviour{NoTools: true}
	}})
	n := e.vm(t, "appliance")
	require.Equal(t, "powered on, VMware Tools not running", contracttest.Probe(t, n).Detail)
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, `cannot stop VM "appliance"`)
	require.ErrorContains(t, err, "VMware Tools are not running in the guest")
	require.True(t, e.VMOn("appliance"))
	require.NoError(t, contracttest.Do(t, n, plan.Force))
	contracttest.UntilState(t, n, plan.Off)
}

func TestHungGuestStaysOnAndIsForced(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("hung", "other"), Guest: func(name string) vspheresim.GuestBehaviour {
		return vspheresim.GuestBehaviour{Hang: name == "hung"}
	}})
	n, other := e.vm(t, "hung"), e.vm(t, "other")
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	require.NoError(t, contracttest.Do(t, other, plan.Stop))
	contracttest.UntilState(t, other, plan.Off) // the hung one's order was given before
	require.Equal(t, plan.On, contracttest.Probe(t, n).State)
	require.NoError(t, contracttest.Do(t, n, plan.Force))
	contracttest.UntilState(t, n, plan.Off)
}

func TestQuestionIsShownAndKeepsTheGuestBusy(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("db")})
	n := e.vm(t, "db")
	contracttest.Probe(t, n)
	seen := watch(t, n)
	<-seen
	require.NoError(t, e.Ask("db", "No space\n left on device. Retry?"))
	require.Equal(t, "powered on, waiting for an answer: No space left on device. Retry?", (<-seen).Detail)
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrBusy)
	require.ErrorContains(t, err, "No space")
	require.NoError(t, e.Ask("db", ""))
	require.Equal(t, "powered on", (<-seen).Detail)
}

func TestTemplateAndSuspendedVMAreNotStarted(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: []vspheresim.VM{{Name: "golden", Template: true}, {Name: "asleep"}}})
	template, asleep := e.vm(t, "golden"), e.vm(t, "asleep")
	require.Equal(t, plan.Observation{State: plan.Off, Detail: "a template"}, contracttest.Probe(t, template))
	err := contracttest.Do(t, template, plan.Start)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "it is a template")

	require.NoError(t, e.SuspendVM("asleep"))
	require.Equal(t, "suspended", contracttest.UntilState(t, asleep, plan.Off).Detail)
	require.NoError(t, contracttest.Do(t, asleep, plan.Stop))
	require.NoError(t, contracttest.Do(t, asleep, plan.Force))
	require.ErrorIs(t, contracttest.Do(t, asleep, plan.Start), adapter.ErrRefused)
	require.Zero(t, e.VCenter().Calls()["PowerOnVM_Task"])
}

func TestVMDeletedInTheMiddleIsGone(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("doomed", "kept")})
	byName, byUUID := e.vm(t, "doomed"), e.node(t, "x", "vcenter", &VMSpec{UUID: e.InstanceUUID("doomed")})
	contracttest.Probe(t, byName)
	require.NoError(t, contracttest.Do(t, byName, plan.Stop))
	require.NoError(t, e.DeleteVM("doomed"))
	for _, n := range []adapter.Node{byName, byUUID} {
		require.Equal(t, plan.Observation{State: plan.Gone, Detail: "no longer in the inventory"}, contracttest.UntilState(t, n, plan.Gone))
		require.ErrorIs(t, contracttest.Do(t, n, plan.Start), adapter.ErrGone)
	}
	require.Equal(t, plan.On, contracttest.Probe(t, e.vm(t, "kept")).State)
}

func TestVMThatVCenterFindsDeletedIsGone(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("doomed")})
	n := e.vm(t, "doomed")
	contracttest.Probe(t, n)
	e.VCenter().Fail("ShutdownGuest", &types.ManagedObjectNotFound{})
	require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrGone)
}

// A name that was never seen proves nothing: it may be misspelt, or not visible to the account.
func TestUnknownNameIsAnErrorAndNoProof(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	n := e.vm(t, "web1")
	_, err := n.Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrGone)
	require.ErrorContains(t, err, `cannot probe VM "web1": gone: none of this name is visible to "ebbtide@vsphere.local"`)
	require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrGone)
}

func TestTwoVMsOfOneName(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: []vspheresim.VM{
		{Name: "web01", Folder: "Lab"}, {Name: "web01", Folder: "Prod/Web"},
	}})
	_, err := e.vm(t, "web01").Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, `2 VMs are called "web01": give vm as a path or give uuid: /DC0/vm/Lab/web01, /DC0/vm/Prod/Web/web01`)
	require.ErrorIs(t, contracttest.Do(t, e.vm(t, "web01"), plan.Stop), adapter.ErrRefused)
	require.Zero(t, e.VCenter().Calls()["ShutdownGuest"])

	for _, path := range []string{"/DC0/vm/Lab/web01", "vm/Lab/web01", "Lab/web01"} {
		require.Equal(t, plan.On, contracttest.Probe(t, e.node(t, "x", "vcenter", &VMSpec{VM: path})).State, path)
	}
	require.NoError(t, contracttest.Do(t, e.node(t, "x", "vcenter", &VMSpec{VM: "Web/web01"}), plan.Force))
	contracttest.UntilState(t, e.node(t, "x", "vcenter", &VMSpec{UUID: e.InstanceUUID("Prod/Web/web01")}), plan.Off)
	require.True(t, e.VMOn("Lab/web01"))
	_, err = e.node(t, "x", "vcenter", &VMSpec{VM: "b/web01"}).Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrGone, "half a folder's name")
}

func TestFaultsAreToldInTermsOfThePort(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	n := e.vm(t, "web01")
	for _, c := range []struct {
		fault types.BaseMethodFault
		want  error
		text  string
	}{
		{
			&types.NoPermission{PrivilegeId: "VirtualMachine.Interact.PowerOff"}, adapter.ErrRefused,
			"lacks the privilege VirtualMachine.Interact.PowerOff",
		},
		{&types.TaskInProgress{}, adapter.ErrBusy, "another task is running"},
		{&types.MethodDisabled{}, adapter.ErrBusy, "such as a backup"},
		{&types.HostNotConnected{}, adapter.ErrUnreachable, "its host does not answer vCenter"},
		{&types.InsufficientFailoverResourcesFault{}, adapter.ErrBusy, "admission control"},
		{&types.RestrictedVersion{}, adapter.ErrRefused, "read-only"},
		{&types.NotSupported{}, adapter.ErrRefused, "NotSupported"},
	} {
		e.VCenter().Fail("PowerOffVM_Task", c.fault)
		err := contracttest.Do(t, n, plan.Force)
		require.ErrorIs(t, err, c.want)
		require.ErrorContains(t, err, c.text)
	}
	e.VCenter().Fail("PowerOffVM_Task", nil)
	require.NoError(t, contracttest.Do(t, n, plan.Force))
}

// vSphere accepts a power operation and tells only its task what was wrong with it.
func TestFailedTaskIsTold(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	n := e.vm(t, "web01")
	require.NoError(t, e.SetGuest("web01", vspheresim.GuestBehaviour{Broken: "Failed to lock the file"}))
	require.NoError(t, contracttest.Do(t, n, plan.Force))
	contracttest.UntilState(t, n, plan.Off)
	require.NoError(t, contracttest.Do(t, n, plan.Start))
	contracttest.Until(t, n, "the failure is told", func(o plan.Observation) bool {
		return o.Detail == "powered off; start failed: Failed to lock the file"
	})
	require.NoError(t, e.SetGuest("web01", vspheresim.GuestBehaviour{}))
	require.NoError(t, contracttest.Do(t, n, plan.Start))
	require.Equal(t, "powered on", contracttest.UntilState(t, n, plan.On).Detail)
}
