package libvirt

import (
	"testing"

	"github.com/digitalocean/go-libvirt"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// What was migrated runs on another host: its node here covers nothing, which check --live says, and it is not started here.
func TestWhatWasMigratedIsNotHere(t *testing.T) {
	t.Parallel()
	o := sight{state: libvirt.DomainShutoff, reason: int32(libvirt.DomainShutoffMigrated)}.observation()
	require.Equal(t, plan.Gone, o.State)
	require.Contains(t, o.Detail, "migrated to another host")
	require.False(t, sight{state: libvirt.DomainShutoff}.isMigrated())
}

// What runs no more is off only if its process has ended: one that has crashed may be kept, with its image
// open, and serves nobody.
func TestWhatAStateMeans(t *testing.T) {
	t.Parallel()
	for state, want := range map[libvirt.DomainState]plan.State{
		libvirt.DomainRunning: plan.On, libvirt.DomainBlocked: plan.On, libvirt.DomainPaused: plan.On, libvirt.DomainPmsuspended: plan.On,
		libvirt.DomainShutdown: plan.Stopping, libvirt.DomainShutoff: plan.Off, libvirt.DomainCrashed: plan.Unknown,
		libvirt.DomainNostate: plan.Unknown,
	} {
		o := sight{state: state}.observation()
		require.Equal(t, want, o.State, o.Detail)
		require.Equal(t, want == plan.Off, sight{state: state}.holds(plan.Force), o.Detail)
	}
}

// A process that waits in the kernel is gone in a while: its power-off is no refusal.
func TestAProcessThatIsNotGoneYet(t *testing.T) {
	t.Parallel()
	says := func(text string) error {
		return explain(libvirt.Error{Code: uint32(libvirt.ErrSystemError), Message: text})
	}
	err := says("Failed to terminate process 4711 with SIGKILL: Device or resource busy")
	require.ErrorIs(t, err, adapter.ErrBusy)
	require.ErrorContains(t, err, "its qemu is not gone yet")
	require.ErrorIs(t, says("no such file"), adapter.ErrRefused)
}
