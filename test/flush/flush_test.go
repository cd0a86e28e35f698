// Package flush_test proves the flush for real: Debian's kernel with a write-back cache under software emulation, the
// daemon that ships with a runbook of it, a UPS that goes on battery, and a power cut that is the emulator's death.
package flush_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/test/site"
)

var (
	binary string
	pairs  = flag.Int("pairs", 0, "how many times each kind of cache is cut with and without protection; 0: the first kind once")
)

func TestMain(m *testing.M) { site.Main(m, &binary) }

// TestTheFlush cuts the power of a machine that has acknowledged data in its cache alone, under the daemon that ships:
// with the cache in its runbook, and with the same runbook without it. The slow disk, started alone, holds the newest data
// then, or does not.
func TestTheFlush(t *testing.T) {
	for _, tool := range append(slices.Clone(tools), programs...) {
		peertest.Need(t, tool, tool)
	}
	k := newKernel(t)
	kinds, times := scenes, *pairs
	if times == 0 {
		kinds, times = scenes[:1], 1
	}
	for _, s := range kinds {
		for i := range times {
			t.Run(fmt.Sprintf("%s %d", s.name, i+1), func(t *testing.T) {
				root, start := newInitramfs(t, k), time.Now()
				var with, without verdict
				done := t.Run("cuts", func(t *testing.T) { // both at a time: emulation takes one processor each
					t.Run("protected", func(t *testing.T) {
						t.Parallel()
						with = outage(t, k, root, s, true)
					})
					t.Run("not protected", func(t *testing.T) {
						t.Parallel()
						without = outage(t, k, root, s, false)
					})
				})
				if !done {
					return
				}
				t.Logf("%s: protected: %s; not protected: %s; %.0f s, of which %.0f s of processor time, at a load of %s",
					s.name, with, without, time.Since(start).Seconds(), (with.cpu + without.cpu).Seconds(), load())
				require.Equal(t, with.written, with.found, "the newest data is on the slow disk")
				require.NotEqual(t, without.written, without.found, "without protection the cut loses it, or this proves nothing")
			})
		}
	}
}

// verdict is what a cut has left.
type verdict struct {
	dirty               string // what the cache held before the outage
	old, written, found string // checksums
	cpu                 time.Duration
}

func (v verdict) String() string {
	switch v.found {
	case v.written:
		return "kept (" + v.dirty + " before)"
	case v.old:
		return "lost, the old content is back (" + v.dirty + " before)"
	}
	return "lost, neither the old content nor the new but " + v.found + " (" + v.dirty + " before)"
}

// outage plays one night: the guest writes, the mains fail, the daemon takes the guest's user down, with the cache in
// the runbook protects and flushes it, and tells the UPS to cut. With that the emulator dies.
func outage(t *testing.T, k kernel, root initramfs, s scene, protected bool) verdict {
	dir := t.TempDir()
	slow, fast := disk(t, dir, "slow", 192), disk(t, dir, "fast", 96)
	g := boot(t, k, root, slow, fast)
	said := g.run(s.prepare)
	v := verdict{dirty: said["dirty"], old: said["old"], written: said["new"]}
	require.Len(t, v.old, 64)
	require.Len(t, v.written, 64)
	require.NotEqual(t, v.old, v.written)

	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	ups := upsd.Driver("ups")
	ups.AddCommands("shutdown.return", "load.off", "load.on")
	ups.Set("ups.status", "OL", "battery.charge", "100", "battery.runtime", "1200", "ups.load", "40", "ups.delay.shutdown", "1",
		"output.voltage", "230")
	upsd.Await("ups", "battery.charge", "100")
	d := site.Start(t, site.Daemon(binary, files(t, dir, upsd.Addr, g, s, protected)))
	client := client(dir)
	g.await("is known to the daemon", time.Minute, func() bool {
		st, err := client.Status(t.Context())
		return err == nil && len(st.Blind) == 0 && len(st.View.Supplies) == 1 && st.View.Supplies[0].Text == "on line"
	})
	ups.Set("ups.status", "OB DISCHRG", "battery.charge", "90")
	g.await("is cut off by the UPS", 5*time.Minute, func() bool {
		require.True(t, d.Running(), d.Log())
		return slices.ContainsFunc(ups.Commands(), func(c nuttest.Command) bool { return slices.Contains(c.Words, "shutdown.return") })
	})
	g.cut()
	ups.Set("ups.status", "OFF", "output.voltage", "0")

	alone := boot(t, k, root, slow)
	v.found = alone.run(s.recover + found)["found"]
	alone.cut()
	v.cpu = g.cpu() + alone.cpu()
	return v
}

const runbookText = `version: 1
runbook: flush
supplies:
  ups: {nut: "ups@%s", username: %s, password: {credential: upsd}}
connections:
  guest: {type: ssh, address: "%s", user: root, key: {credential: guest_key}, host_key: "%s"}
nodes:
  host: {type: passive, fed_by: [ups]}
%s  vm:
    type: ssh
    via: guest
    fed_by: [ups]
    depends_on: [%s]
    probe: "grep -q ' /mnt ' /proc/mounts || exit 3"
    stop: [umount, /mnt]
    start: [mount, /mnt]
policy:
  protect: {when: {on_battery: 1s}}
  shutdown: {when: {on_battery: 2s}}
  restore: {when: {online: 1h}}
  reserve: 10s
`

// files writes the daemon's files and gives the path of its settings.
func files(t *testing.T, dir, upsd string, g *guest, s scene, protected bool) string {
	t.Helper()
	cache, uses := "", "host"
	if protected {
		cache, uses = "  cache: "+s.node+"\n", "cache"
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "credentials"), 0o700))
	for name, text := range map[string]string{
		"runbook.yaml":          fmt.Sprintf(runbookText, upsd, nuttest.Admin, g.address, g.root.hostKey, cache, uses),
		"credentials/upsd":      nuttest.AdminPassword,
		"credentials/guest_key": g.root.key,
		"settings.yaml": fmt.Sprintf("runbook: runbook.yaml\njournal: journal.db\nlisten: unix:%s\ncredentials: credentials\narmed: "+
			"true\npoll: 200ms\npoll_on_battery: 100ms\n",
			socket(dir)),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return filepath.Join(dir, "settings.yaml")
}
