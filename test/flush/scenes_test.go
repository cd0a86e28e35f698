package flush_test

// scene is one kind of cache, set up so that what was written last is in the cache alone.
type scene struct {
	name string
	// prepare makes the cache over the slow disk /dev/vda and the fast one /dev/vdb, and in a file system at /mnt the file
	// vm.bin: first with an old content that reaches the slow disk, then overwritten in place and fsynced, as a VM does with
	// its disk. It says the checksums "old" and "new", and how much is "dirty".
	prepare string
	// node declares the cache in a runbook.
	node string
	// recover makes what is on the slow disk alone, and nothing else, readable at /dev/found.
	recover string
}

// write is the part that all scenes have: hold, and let go, are what keeps the cache from emptying itself in between.
const write = `
/usr/sbin/mke2fs -q -t ext4 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -F $DEV
mount -t ext4 $DEV /mnt
dd if=/dev/urandom of=/mnt/vm.bin bs=1M count=$SIZE 2>/dev/null
sync
echo old $(sha256sum /mnt/vm.bin | cut -c1-64)
umount /mnt
hold
mount -t ext4 $DEV /mnt
for i in 1 2 $AGAIN; do dd if=/dev/urandom of=/mnt/vm.bin bs=1M count=$SIZE conv=notrunc,fsync 2>/dev/null; done
sync
echo new $(sha256sum /mnt/vm.bin | cut -c1-64)
`

var scenes = []scene{
	{
		name: "bcache",
		// sequential writes and a slow cache would go past it: not here. The writer is held as a busy cache's is by its
		// percentage; that it is let go is what protect must do.
		prepare: `
AGAIN=
SIZE=24
DEV=/dev/bcache0
B=/sys/block/bcache0/bcache
make-bcache --wipe-bcache --bucket 64k -B /dev/vda -C /dev/vdb --writeback >/dev/null 2>&1
for d in vda vdb; do [ -e /sys/block/$d/bcache ] || echo /dev/$d >/sys/fs/bcache/register; done
i=0
until [ -e $B/cache ]; do i=$((i+1)); [ $i -lt 300 ]; usleep 100000; done
for f in /sys/fs/bcache/*-*/congested_*_threshold_us $B/sequential_cutoff; do echo 0 >$f; done
echo writethrough >$B/cache_mode
hold() { echo writeback >$B/cache_mode; echo 0 >$B/writeback_running; }
` + write + `
echo dirty $(cat $B/state) $(cat $B/dirty_data)
`,
		node: "{type: bcache, via: guest, device: bcache0, fed_by: [ups], depends_on: [host]}",
		recover: `
[ -e /sys/block/vda/bcache ] || echo /dev/vda >/sys/fs/bcache/register
i=0
until [ -e /sys/block/vda/bcache/running ]; do i=$((i+1)); [ $i -lt 100 ]; usleep 100000; done
[ -e /dev/bcache0 ] || echo 1 >/sys/block/vda/bcache/running
i=0
until [ -e /dev/bcache0 ]; do i=$((i+1)); [ $i -lt 100 ]; usleep 100000; done
ln -s /dev/bcache0 /dev/found
`,
	},
	{
		name: "dm-cache",
		// It writes back by itself as soon as the slow disk is idle for a second. With no room for migrations it is as if it
		// never were.
		prepare: `
AGAIN=3
SIZE=8
DEV=/dev/mapper/vg-data
export LVM_SUPPRESS_FD_WARNINGS=1
{
pvcreate -q /dev/vda /dev/vdb
vgcreate -q vg /dev/vda /dev/vdb
lvcreate -q -Zn -Wn -L 160M -n data vg /dev/vda
lvcreate -q -Zn -Wn -L 80M -n fast vg /dev/vdb
lvconvert -q -y --type cache --cachevol vg/fast --cachemode writethrough vg/data
} >/dev/null 2>&1
hold() {
	lvchange -q -y --cachemode writeback vg/data >/dev/null 2>&1
	dmsetup message vg-data 0 migration_threshold 0
}
` + write + `
echo dirty $(dmsetup status vg-data | cut -d" " -f14)
`,
		node: "{type: lvm.cache, via: guest, lv: vg/data, fed_by: [ups], depends_on: [host]}",
		// The volume's own extents on the slow disk, past LVM, which knows that a disk is missing.
		recover: `
dmsetup create found --noudevsync --table "0 327680 linear /dev/vda 2048" >/dev/null
ln -s /dev/dm-0 /dev/found
`,
	},
}

// found reads what the slow disk holds.
const found = `
if mount -t ext4 -o ro,noload /dev/found /mnt 2>/tmp/why; then
	echo found $(sha256sum /mnt/vm.bin 2>/dev/null | cut -c1-64)
else
	echo found nothing: $(cat /tmp/why)
fi
`
