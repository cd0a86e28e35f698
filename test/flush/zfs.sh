#!/bin/sh
# Says what the flush proof needs for ZFS with a log device, and what of it is missing on this machine. It changes nothing.
set -u
missing=0
need() { # what, whether it is there, how to get it
	if [ "$2" = yes ]; then
		echo "have     $1"
	else
		missing=$((missing + 1))
		echo "missing  $1: $3"
	fi
}
has() { if command -v "$1" >/dev/null 2>&1; then echo yes; else echo no; fi; }

kernel=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends/ { print $2; exit }')
kernel=${kernel#linux-image-}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ebbtide-flush
root=$cache/zfs

there() { if [ -e "$1" ]; then echo yes; else echo no; fi; }
found() { if find "$root/lib/modules/$kernel" -name zfs.ko 2>/dev/null | grep -q .; then echo yes; else echo no; fi; }

need "Debian's kernel $kernel, unpacked" "$(there "$cache/linux-image-$kernel/vmlinux")" "make test downloads it"
need "mmdebstrap" "$(has mmdebstrap)" "apt-get install mmdebstrap"
need "OpenZFS's module for that kernel" "$(found)" "build it (half an hour, contrib has to be among the sources):
    mmdebstrap --variant=minbase --components=main,contrib --include=linux-headers-$kernel,zfs-dkms,zfsutils-linux,dkms,build-essential bookworm $root"
if [ "$missing" -gt 0 ]; then
	echo "$missing missing: the proof with ZFS can't be played here. What was measured with it stands in docs/systems/zfs.md."
	exit 1
fi
cat <<EOF
Everything is there. By hand, as docs/systems/zfs.md has it: add spl, zavl, znvpair, zunicode, zcommon, zlua, zzstd, icp and
zfs to the guest's modules, zpool and zfs with their libraries to its programs, make a pool on /dev/vda1 with its log on
/dev/vdb1 and sync=always, overwrite and fsync a file, cut, and import it alone with zpool import -m.
EOF
