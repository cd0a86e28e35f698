package flush_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/ssh/sshdtest"
)

// programs are what the guest's files are made of, beside busybox, each with the libraries that it needs.
var programs = []string{
	"/usr/sbin/make-bcache", "/usr/sbin/bcache-super-show", "/usr/sbin/mke2fs", "/usr/sbin/dropbear", "/usr/sbin/dmsetup",
	"/usr/sbin/lvm", "/usr/sbin/cache_check",
}

// tools are what builds and runs the guest.
var tools = []string{
	"/usr/bin/qemu-system-x86_64", "/usr/bin/busybox", "/usr/bin/dropbearkey", "/usr/sbin/modprobe",
	"/usr/bin/xz", "/usr/bin/ldd",
}

// initramfs is the guest's root file system, and who may log in to it.
type initramfs struct {
	path    string
	key     string // the private key that is let in as root
	hostKey string
}

// newInitramfs builds it from the programs of this machine and new keys.
func newInitramfs(t *testing.T, k kernel) initramfs {
	t.Helper()
	dir := t.TempDir()
	fs := initramfs{path: filepath.Join(dir, "initramfs")}
	host := filepath.Join(dir, "host_key")
	text, err := output(t.Context(), dir, "dropbearkey", "-t", "ed25519", "-f", host)
	require.NoError(t, err)
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "ssh-ed25519" {
			fs.hostKey = f[0] + " " + f[1]
		}
	}
	public, private := sshdtest.NewKey(t)
	fs.key = private

	var a archive
	for _, d := range []string{
		"dev", "proc", "sys", "mnt", "run", "run/lock", "run/lvm", "tmp", "var", "var/log", "etc/lvm", "root/.ssh",
		"lib/modules", "lib64", "usr/bin", "usr/sbin", "bin", "sbin", "etc/dropbear", "lib/x86_64-linux-gnu",
	} {
		a.folder(d)
	}
	a.file("bin/busybox", 0o755, read(t, "/usr/bin/busybox"))
	list, err := output(t.Context(), "", "/usr/bin/busybox", "--list")
	require.NoError(t, err)
	for applet := range strings.FieldsSeq(list) {
		if applet != "busybox" && applet != "mke2fs" {
			a.link("bin/"+applet, "/bin/busybox")
		}
	}
	libraries := map[string]bool{}
	for _, p := range programs {
		a.file(strings.TrimPrefix(p, "/"), 0o755, read(t, p))
		out, err := output(t.Context(), "", "ldd", p)
		require.NoError(t, err)
		for line := range strings.Lines(out) {
			for word := range strings.FieldsSeq(line) {
				if strings.HasPrefix(word, "/") && !libraries[word] {
					libraries[word] = true
					a.file(strings.TrimPrefix(word, "/"), 0o755, read(t, word))
				}
			}
		}
	}
	for _, name := range []string{"pvcreate", "vgcreate", "lvcreate", "lvconvert", "lvchange", "lvs", "vgchange"} {
		a.link("usr/sbin/"+name, "/usr/sbin/lvm")
	}
	var order strings.Builder
	for _, m := range k.modules {
		a.file("lib/modules/"+filepath.Base(m), 0o644, read(t, m))
		fmt.Fprintln(&order, filepath.Base(m))
	}
	a.file("etc/modules.order", 0o644, []byte(order.String()))
	a.file("etc/lvm/lvm.conf", 0o644, read(t, "testdata/lvm.conf"))
	a.file("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\n"))
	a.file("etc/group", 0o644, []byte("root:x:0:\n"))
	a.file("etc/shells", 0o644, []byte("/bin/sh\n"))
	a.file("etc/dropbear/dropbear_ed25519_host_key", 0o600, read(t, host))
	a.file("root/.ssh/authorized_keys", 0o600, []byte(public+"\n"))
	a.file("init", 0o755, read(t, "testdata/init"))
	require.NoError(t, os.WriteFile(fs.path, a.end(), 0o600))
	return fs
}

// archive is a cpio archive of the kind that the kernel unpacks ("newc").
type archive struct {
	buf   bytes.Buffer
	inode int
	made  map[string]bool
}

const (
	isFolder = 0o040000
	isFile   = 0o100000
	isLink   = 0o120000
)

func (a *archive) folder(name string) {
	if a.made == nil {
		a.made = map[string]bool{}
	}
	if name == "." || a.made[name] {
		return
	}
	a.folder(filepath.Dir(name))
	a.made[name] = true
	mode := 0o755
	if name == "root" || name == "root/.ssh" {
		mode = 0o700
	}
	a.entry(name, isFolder|mode, nil)
}

func (a *archive) file(name string, mode int, content []byte) {
	a.folder(filepath.Dir(name))
	a.entry(name, isFile|mode, content)
}

func (a *archive) link(name, to string) { a.entry(name, isLink|0o777, []byte(to)) }

func (a *archive) entry(name string, mode int, content []byte) {
	a.inode++
	fmt.Fprintf(&a.buf, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", a.inode, mode, 0, 0, 1, 0, len(content), 0, 0,
		0, 0, len(name)+1, 0)
	a.buf.WriteString(name + "\x00")
	a.pad()
	a.buf.Write(content)
	a.pad()
}

func (a *archive) pad() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}

func (a *archive) end() []byte {
	a.entry("TRAILER!!!", 0, nil)
	return a.buf.Bytes()
}
