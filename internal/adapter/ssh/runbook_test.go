package ssh_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/command"
	"ebbtide/internal/adapter/passive"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/secrets"
	"ebbtide/internal/adapter/self"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/ssh/sshsim"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

const wholeRunbook = `
version: 1
runbook: small-office
supplies:
  ups: {nut: "ups@127.0.0.1:3493"}
connections:
  nas: {type: ssh, address: %q, user: %s, key: {credential: nas_key}, host_key: %q}
nodes:
  switch: {type: passive, fed_by: [ups], up: {healthy: [{tcp: %q}]}}
  nas:
    type: ssh
    via: nas
    fed_by: [ups]
    depends_on: [switch]
    probe: nas-state
    protect: [nas-cache, write-through]
    flush: [nas-cache, flush]
    unprotect: [nas-cache, write-back]
    stop: [nas-poweroff]
    off_when_unreachable: 1s
    off_when_refused: true
    up: {wake: {mac: "02:00:00:00:00:01", broadcast: %q}}
  tape: {type: manual, fed_by: [ups]}
  tool: {type: command, fed_by: [ups], probe: ["true"], stop: ["false"]}
  me: {type: self, fed_by: [ups]}
policy:
  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}
  restore: {when: {online: 10m}}
`

// TestARunbookOpensAsItIsWritten goes from the text of a runbook to a NAS that is flushed, stopped and woken.
func TestARunbookOpensAsItIsWritten(t *testing.T) {
	nas := startNAS(t, sshsim.NASConfig{Dirty: 4096, StopTime: 20 * time.Millisecond})
	broadcast, err := nas.Wakes("02:00:00:00:00:01")
	require.NoError(t, err)
	families := []adapter.Family{ssh.Family(), command.Family(), passive.Family(), self.Family(false)}
	var types schema.Types
	for _, f := range families {
		types.Connections = append(types.Connections, f.Connections...)
		types.Nodes = append(types.Nodes, f.Nodes...)
	}
	text := fmt.Sprintf(wholeRunbook, nas.Address(), sshsim.User, nas.HostKey(), nas.Address(), broadcast)
	rb, problems := runbook.Load("office.yaml", []byte(text), types)
	require.Zero(t, problems.Count(runbook.Error), "%+v", problems)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nas_key"), []byte(nas.ClientKey()), 0o600))
	connections, nodes := rb.Declared()
	set, err := registry.Open(families, connections, nodes, secrets.New(dir))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	for id, want := range map[string]plan.State{"switch": plan.On, "nas": plan.On, "tape": plan.Unknown, "tool": plan.On, "me": plan.On} {
		n, ok := set.Node(id)
		require.True(t, ok, id)
		seen, err := n.Probe(t.Context())
		require.NoError(t, err, id)
		require.Equal(t, want, seen.State, id)
	}

	n, _ := set.Node("nas")
	for _, v := range []plan.Verb{plan.Protect, plan.Flush, plan.Stop} {
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: v}))
	}
	require.True(t, nas.Protected())
	peertest.Until(t, "NAS off", func() bool { return nas.State() == plan.Off })
	require.Zero(t, nas.Lost())
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Unreachable, seen.State)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	peertest.Until(t, "NAS on", func() bool { return nas.State() == plan.On })
}
