package cache_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/cache"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/ssh/sshsim"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// all are the models of every system, made anew.
var all = []func() *model{newBcache, newLVMCache, newWritecache, newZFS, newOpenCAS, newMegaRAID, newSmartArray, newDrives}

type key string

func (k key) Secret(schema.SecretRef) (string, error) { return string(k), nil }

// start serves a model over SSH and opens its node.
func start(t *testing.T, m *model) (*sshsim.Server, *registry.Registry, adapter.Node) {
	t.Helper()
	server, err := sshsim.Start(m.handlers())
	require.NoError(t, err)
	t.Cleanup(server.Close)
	set, err := registry.Open([]adapter.Family{ssh.Family(), cache.Family()},
		[]schema.Connection{{Name: "host", Type: "ssh", Spec: &ssh.ConnSpec{
			Address: server.Address(), User: sshsim.User, HostKey: server.HostKey(), Key: schema.SecretRef{Credential: "key"},
		}}},
		[]schema.Node{{ID: "cache", Type: m.kind, Via: "host", Spec: m.spec}}, key(server.ClientKey()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("cache")
	require.True(t, ok)
	return server, set, n
}

// verbs are those of a model's type.
func (m *model) verbs() plan.Verbs {
	schema := adapter.Schema([]adapter.Family{cache.Family()})
	kind, _ := schema.Node(m.kind)
	return kind.Verbs(m.spec)
}

func TestContract(t *testing.T) {
	for _, make := range all {
		t.Run(make().kind, func(t *testing.T) {
			contracttest.Run(t, contracttest.Subject{Make: func(t *testing.T) *contracttest.Thing {
				m := make()
				server, set, n := start(t, m)
				return &contracttest.Thing{
					Node: n, Can: m.verbs(), Close: set.Close, Silence: server.Down,
					Freeze: func() { server.Freeze(true) },
					Truth: func() plan.State {
						if strings.Contains(m.state(), "imported=no") {
							return plan.Off
						}
						return plan.On
					},
				}
			}})
		})
	}
}

// TestWhatWasSetComesBack: after an outage each system is exactly as it was, also where that was not usual.
func TestWhatWasSetComesBack(t *testing.T) {
	for _, make := range all {
		m := make()
		t.Run(m.kind, func(t *testing.T) {
			_, _, n := start(t, m)
			before, seen := m.state(), contracttest.Probe(t, n)
			require.Equal(t, plan.No, seen.Protected, seen.Detail)
			require.NotEqual(t, plan.Yes, seen.Clean, seen.Detail)
			require.NotEmpty(t, seen.Settings)
			require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Protect}))
			require.Empty(t, contracttest.Probe(t, n).Settings, "what is protected has nothing to remember")
			require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Flush}))
			after := contracttest.Probe(t, n)
			require.Equal(t, plan.Yes, after.Protected, after.Detail)
			require.Equal(t, plan.Yes, after.Clean, after.Detail)
			require.Zero(t, after.Dirty)
			require.NotEqual(t, before, m.state())

			require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Unprotect, Settings: seen.Settings}))
			require.Equal(t, plan.No, contracttest.Probe(t, n).Protected)
			require.Equal(t, settled(before), settled(m.state()), "the settings were %q", seen.Settings)
		})
	}
}

// settled leaves out of a state what a flush is there to change.
func settled(state string) string {
	var words []string
	for word := range strings.FieldsSeq(state) {
		name, _, _ := strings.Cut(word, "=")
		switch name {
		case "state", "dirty_data", "dirty", "free", "txg":
		default:
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// TestForgedSettingsAreNotObeyed: what a host printed comes back as what is written to it. It may not become a path, a
// flag or another command.
func TestForgedSettingsAreNotObeyed(t *testing.T) {
	const forged = "cache_mode=../../x writeback_percent=-1 writeback_delay=$(reboot) writeback_running=yes set=../../../etc cleaner=2 " +
		"mode=wb;reboot " +
		"tank/vm=always;x v0=WT;x v../../1=WB ld1;x=enable ld1=on /dev/sda=--yes-i-know"
	for _, make := range all {
		m := make()
		t.Run(m.kind, func(t *testing.T) {
			server, _, n := start(t, m)
			_ = n.Do(t.Context(), adapter.Command{Verb: plan.Unprotect, Settings: forged})
			known := map[string]bool{}
			for line := range m.handlers() {
				known[line] = true
			}
			for _, line := range server.Ran() {
				require.True(t, known[line], "it ran %q", line)
			}
			for _, word := range []string{"reboot", "..", "always;x", "WT;x", "--yes"} {
				require.NotContains(t, m.state(), word)
			}
		})
	}
}

func TestBcacheIsDetachedWhenItStandsStill(t *testing.T) {
	m := newBcache()
	_, _, n := start(t, m)
	m.set("asleep", "yes")
	seen := contracttest.Probe(t, n)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Protect}))
	require.Equal(t, plan.No, contracttest.Probe(t, n).Clean, "its writer sleeps through a delay that was set before")
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Flush}))
	require.Contains(t, m.state(), "state=no cache", "detached")
	now := contracttest.Probe(t, n)
	require.Equal(t, plan.Yes, now.Clean)
	require.Equal(t, plan.Yes, now.Protected)

	require.ErrorContains(t, n.Do(t.Context(), adapter.Command{Verb: plan.Unprotect}), "no record says which", "nobody knows the set")
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Unprotect, Settings: seen.Settings}))
	require.Contains(t, m.state(), "set="+bset)
	require.Equal(t, plan.No, contracttest.Probe(t, n).Protected)
}

func TestBcacheThatRanWithoutItsCacheIsNeverSafe(t *testing.T) {
	m := newBcache()
	server, _, n := start(t, m)
	m.set("state", "inconsistent", "dirty_data", "0.0k", "cache_mode", "writethrough")
	seen := contracttest.Probe(t, n)
	require.Equal(t, plan.No, seen.Clean)
	require.Contains(t, seen.Detail, "never attach")
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Flush}), adapter.ErrRefused)
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Unprotect}), adapter.ErrRefused)
	require.NotContains(t, strings.Join(server.Ran(), "\n"), "attach")
}

func TestBcacheIsFoundByItsUUID(t *testing.T) {
	m := newBcache()
	m.spec = &cache.BcacheSpec{Device: backing}
	_, _, n := start(t, m)
	require.Equal(t, plan.No, contracttest.Probe(t, n).Protected)
	m.set("state", "")
	seen := contracttest.Probe(t, n)
	require.Equal(t, plan.Unknown, seen.State, "a device that is not there is no proof of anything")
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Protect}), adapter.ErrRefused)
}

// TestZFSIsCleanOnlyAfterAFlush: the group that is open may hold anything, however idle the ones before it were.
func TestZFSIsCleanOnlyAfterAFlush(t *testing.T) {
	m := newZFS()
	_, _, n := start(t, m)
	m.set("dirty", "0", "txg", "101")
	require.Equal(t, plan.NotKnown, contracttest.Probe(t, n).Clean)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Flush}))
	require.Equal(t, plan.Yes, contracttest.Probe(t, n).Clean)
	m.set("txg", "105", "dirty", "8192")
	require.Equal(t, plan.No, contracttest.Probe(t, n).Clean, "somebody has written since")
	m.set("txg", "106", "dirty", "0")
	require.Equal(t, plan.Yes, contracttest.Probe(t, n).Clean)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	require.Equal(t, plan.Off, contracttest.Probe(t, n).State)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Flush}), "what is exported is flushed")
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	require.Equal(t, plan.On, contracttest.Probe(t, n).State)
}

// TestOnlyZFSItselfSaysThatAPoolIsExported: a file that can't be read says nothing of the pool, and a flush that nothing can prove is none.
func TestOnlyZFSItselfSaysThatAPoolIsExported(t *testing.T) {
	for os, c := range map[string]struct {
		state  plan.State
		clean  plan.Fact // once it was flushed
		detail string
	}{
		"":        {plan.On, plan.Yes, "after the flush"},
		"FreeBSD": {plan.On, plan.Yes, "after the flush"},
		"illumos": {plan.On, plan.NotKnown, "the pool is imported (ONLINE), and its transaction groups can't be read, so that no flush can be proven"},
	} {
		m := newZFS()
		m.is["os"] = os
		_, _, n := start(t, m)
		require.NoError(t, contracttest.Do(t, n, plan.Flush), os)
		seen := contracttest.Probe(t, n)
		require.Equal(t, c.state, seen.State, os)
		require.Equal(t, c.clean, seen.Clean, os)
		require.Contains(t, seen.Detail, c.detail)
		require.NoError(t, contracttest.Do(t, n, plan.Stop), os)
		require.Equal(t, plan.Off, contracttest.Probe(t, n).State, os)
	}
	m := newZFS()
	m.is["os"] = "none" // the module is not loaded, or ZFS is hidden in a container
	_, _, n := start(t, m)
	_, err := n.Probe(t.Context())
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "/dev/zfs and /proc/self/mounts are required")
	require.ErrorIs(t, contracttest.Do(t, n, plan.Flush), adapter.ErrRefused)
}

func TestSudoThatAsksForAPasswordIsToldOf(t *testing.T) {
	m := newLVMCache()
	server, _, n := start(t, m)
	server.Refuse(m.lines[0])
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State)
	server.Refuse(m.lines[1])
	err = n.Do(t.Context(), adapter.Command{Verb: plan.Protect})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "lvchange")
}

// TestADeadHostHoldsNothingUp: a probe of an address that nobody answers at ends by its deadline.
func TestADeadHostHoldsNothingUp(t *testing.T) {
	m := newBcache()
	server, _, n := start(t, m)
	server.Freeze(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); _, _ = n.Probe(ctx) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the probe hangs")
	}
}
