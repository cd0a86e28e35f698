package ssh_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/ssh/sshsim"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// vault holds secrets by the name of their credential.
type vault map[string]string

func (v vault) Secret(ref schema.SecretRef) (string, error) { return v[ref.Credential], nil }

func shell(line string) schema.Command { return schema.Command{Line: line} }

func nasSpec() *ssh.NodeSpec {
	s := &ssh.NodeSpec{OffWhenUnreachable: time.Second, OffWhenRefused: true}
	s.Probe, s.Protect, s.Flush = shell(sshsim.Probe), shell(sshsim.Protect), shell(sshsim.Flush)
	s.Stop, s.Force, s.Unprotect = shell(sshsim.Stop), shell(sshsim.Force), shell(sshsim.Unprotect)
	return s
}

func startNAS(t *testing.T, config sshsim.NASConfig) *sshsim.NAS {
	nas, err := sshsim.StartNAS(config)
	require.NoError(t, err)
	t.Cleanup(nas.Close)
	return nas
}

// openNAS opens a runbook with the NAS as its only node.
func openNAS(t *testing.T, nas *sshsim.NAS, wake *schema.Wake) (*registry.Registry, adapter.Node) {
	set, err := registry.Open([]adapter.Family{ssh.Family()},
		[]schema.Connection{{Name: "nas", Type: "ssh", Spec: &ssh.ConnSpec{
			Address: nas.Address(), User: sshsim.User, HostKey: nas.HostKey(), Key: schema.SecretRef{Credential: "key"},
		}}},
		[]schema.Node{{ID: "nas", Type: "ssh", Via: "nas", Spec: nasSpec(), Wake: wake}},
		vault{"key": nas.ClientKey()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("nas")
	require.True(t, ok)
	return set, n
}

func TestContractOnTheDouble(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{Make: func(t *testing.T) *contracttest.Thing {
		nas := startNAS(t, sshsim.NASConfig{
			Dirty: 1 << 20, FlushTime: 50 * time.Millisecond, StopTime: 50 * time.Millisecond,
			BootTime: 20 * time.Millisecond,
		})
		const mac = "02:00:00:00:00:01"
		broadcast, err := nas.Wakes(mac)
		require.NoError(t, err)
		set, n := openNAS(t, nas, &schema.Wake{MAC: mac, Broadcast: broadcast})
		return &contracttest.Thing{
			Node: n, Can: nasSpec().Verbs() | plan.VerbSet(plan.Start), Truth: nas.State, Mute: true, Elsewhere: plan.VerbSet(plan.Start),
			Silence: nas.Down, RefusalIsSilence: true,
			Freeze: func() { nas.Freeze(true) },
			Close:  set.Close,
		}
	}})
}

func TestANASFlushesAsItSays(t *testing.T) {
	changes := make(chan int64, 2)
	nas := startNAS(t, sshsim.NASConfig{Dirty: 1000, FlushTime: time.Hour, OnChange: func(on bool, lost int64) {
		if on {
			lost = -1
		}
		changes <- lost
	}})
	_, n := openNAS(t, nas, nil)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Flush}))
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.No, seen.Clean)
	require.Positive(t, seen.Dirty)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Protect}))
	require.True(t, nas.Protected())
	require.Equal(t, []string{sshsim.Flush, sshsim.Probe, sshsim.Protect}, nas.Ran())

	nas.Cut()
	require.Equal(t, plan.Off, nas.State())
	require.Positive(t, nas.Lost(), "a cut costs what was dirty")
	require.Equal(t, nas.Lost(), <-changes)
	nas.PowerOn()
	require.NotEqual(t, plan.Off, nas.State())
	require.Equal(t, int64(-1), <-changes, "it is on again")
}
