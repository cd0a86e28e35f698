package flush_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/cache"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// keys holds the guest's key.
type keys string

func (k keys) Secret(schema.SecretRef) (string, error) { return string(k), nil }

// open opens a node on a guest.
func open(t *testing.T, g *guest, kind string, spec any) adapter.Node {
	t.Helper()
	set, err := registry.Open([]adapter.Family{ssh.Family(), cache.Family()},
		[]schema.Connection{{Name: "guest", Type: "ssh", Spec: &ssh.ConnSpec{
			Address: g.address, User: "root", HostKey: g.root.hostKey, Key: schema.SecretRef{Credential: "key"},
		}}},
		[]schema.Node{{ID: "cache", Type: kind, Via: "guest", Spec: spec}}, keys(g.root.key))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("cache")
	require.True(t, ok)
	return n
}

// probe asks a node.
func probe(t *testing.T, n adapter.Node) plan.Observation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen, err := n.Probe(ctx)
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State, seen.Detail)
	return seen
}

// do gives a node a verb, with what it is to put back.
func do(t *testing.T, n adapter.Node, v plan.Verb, settings string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	require.NoError(t, n.Do(ctx, adapter.Command{Verb: v, Settings: settings}))
}

// TestTheAdaptersOnRealParts takes each kind of cache that the kernel has through an outage and back, by its adapter, and
// looks at it past the adapter.
func TestTheAdaptersOnRealParts(t *testing.T) {
	if *pairs == 0 {
		t.Skip("three guests more: make flush-proof plays it")
	}
	for _, tool := range append(tools, programs...) {
		peertest.Need(t, tool, tool)
	}
	k := newKernel(t)
	dir, root := t.TempDir(), newInitramfs(t, k)
	for _, c := range []struct {
		name, prepare, dirty, look, kind string
		spec                             any
	}{
		{
			name: "bcache", kind: "bcache", spec: &cache.BcacheSpec{Device: "bcache0", StandsStill: 3 * time.Second},
			prepare: scenes[0].prepare + "umount /mnt\n echo 7 >$B/writeback_percent; echo 77 >$B/writeback_delay\n",
			dirty:   "dd if=/dev/urandom of=/dev/bcache0 bs=1M count=8 seek=100 conv=fsync 2>/dev/null\n",
			look:    "cd /sys/block/bcache0/bcache; echo is $(cat cache_mode writeback_percent writeback_delay writeback_running)\n",
		},
		{
			name: "dm-cache", kind: "lvm.cache", spec: &cache.LVMCacheSpec{LVMSpec: cache.LVMSpec{LV: "vg/data"}},
			prepare: scenes[1].prepare + "umount /mnt\n",
			dirty:   "for i in 1 2 3; do dd if=/dev/urandom of=/dev/mapper/vg-data bs=64k count=200 conv=fsync 2>/dev/null; done\n",
			look:    "echo is $(dmsetup table vg-data | cut -d' ' -f7-10)\necho status $(dmsetup status vg-data)\n",
		},
		{
			name: "dm-writecache", kind: "lvm.writecache", spec: &cache.LVMWritecacheSpec{LVMSpec: cache.LVMSpec{LV: "wc-v/slow-data"}},
			prepare: writecache,
			dirty:   "dd if=/dev/urandom of=/dev/mapper/wc--v-slow--data bs=64k count=300 conv=fsync 2>/dev/null\n",
			look:    "echo is $(dmsetup table wc--v-slow--data | cut -d' ' -f7-)\necho status $(dmsetup status wc--v-slow--data)\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := boot(t, k, root, disk(t, dir, c.name+"-slow", 192), disk(t, dir, c.name+"-fast", 96))
			g.run(c.prepare)
			g.run(c.dirty)
			n := open(t, g, c.kind, c.spec)
			before := g.run(c.look)
			seen := probe(t, n)
			t.Logf("before: %v: %s; settings %q", before, seen.Detail, seen.Settings)
			require.Equal(t, plan.No, seen.Protected)
			require.Equal(t, plan.No, seen.Clean, seen.Detail)
			require.Positive(t, seen.Dirty)
			settings := seen.Settings

			do(t, n, plan.Protect, "")
			g.await("is protected", time.Minute, func() bool { return probe(t, n).Protected == plan.Yes })
			g.run(c.dirty) // what is written now must not count
			do(t, n, plan.Flush, "")
			g.await("is clean", time.Minute, func() bool { return probe(t, n).Clean == plan.Yes })
			t.Logf("clean: %v: %s", g.run(c.look), probe(t, n).Detail)
			g.run(c.dirty)
			require.Equal(t, plan.Yes, probe(t, n).Clean, "in write-through it stays clean under writes")

			do(t, n, plan.Unprotect, settings)
			g.await("is write-back again", time.Minute, func() bool { return probe(t, n).Protected == plan.No })
			require.Equal(t, before["is"], g.run(c.look)["is"], "all that was changed is as before")
			require.Equal(t, settings, probe(t, n).Settings)
			g.cut()
		})
	}
}

const writecache = `
export LVM_SUPPRESS_FD_WARNINGS=1
{
pvcreate -q /dev/vda /dev/vdb
vgcreate -q wc-v /dev/vda /dev/vdb
lvcreate -q -an -Zn -Wn -L 160M -n slow-data wc-v /dev/vda
lvcreate -q -an -Zn -Wn -L 80M -n fast wc-v /dev/vdb
lvconvert -q -y --type writecache --cachevol fast --cachesettings "high_watermark=90 low_watermark=80" wc-v/slow-data
lvchange -q -y -ay wc-v/slow-data
} >/dev/null 2>&1
`
