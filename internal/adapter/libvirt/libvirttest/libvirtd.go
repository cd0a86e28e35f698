// Package libvirttest starts Debian's libvirt daemon for tests: without privileges, with its sockets and state in a
// folder of its own, stopped by process id. It serves libvirt's test driver, whose domains are only a table, and QEMU's
// with guests under emulation, a boot sector each, that obey the ACPI power button or do not.
package libvirttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
)

const program = "/usr/sbin/libvirtd"

// The drivers.
const (
	Table = "test:///default"
	QEMU  = "qemu:///session"
)

// nobody is the user that the daemon runs as when the tests run as root.
const nobody = 65534

// Daemon is a running libvirtd.
type Daemon struct {
	Socket string

	t    testing.TB
	dir  string
	cmd  *exec.Cmd
	hand *libvirt.Libvirt // a second client: what the tests see and do themselves
}

// New starts a daemon. It skips the test where it is not installed, and fails it in CI. uri is the driver of the
// tests' own connection.
func New(t testing.TB, uri string) *Daemon {
	t.Helper()
	return start(t, uri, func(*Daemon) []string { return nil })
}

// NewTLS is New for a daemon that listens for TLS too, at the address that it gives, and lets in who has a certificate of
// the authority.
func NewTLS(t testing.TB, uri string, a *peertest.Authority) (d *Daemon, address string) {
	t.Helper()
	port := peertest.FreePort(t, "tcp")
	d = start(t, uri, func(d *Daemon) []string {
		cert, key := a.Issue("kvm")
		file := func(setting, path string) string {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			return fmt.Sprintf("%s = %q\n", setting, d.write(setting, text))
		}
		conf := fmt.Sprintf("listen_tls = 1\nlisten_tcp = 0\nlisten_addr = \"127.0.0.1\"\ntls_port = \"%d\"\nauth_tls = \"none\"\n", port) +
			file("ca_file", a.File) + file("cert_file", cert) + file("key_file", key)
		return []string{"--listen", "--config", d.write("libvirtd.conf", []byte(conf))}
	})
	return d, fmt.Sprintf("127.0.0.1:%d", port)
}

// start runs a daemon with what options asks for once it has a folder.
func start(t testing.TB, uri string, options func(*Daemon) []string) *Daemon {
	t.Helper()
	need(t, program)
	if uri == QEMU {
		need(t, "/usr/bin/qemu-system-x86_64")
	}
	dir, err := os.MkdirTemp("/tmp", "ebbtide-libvirt") //nolint:usetesting // t.TempDir is too long for the path of a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	d := &Daemon{t: t, dir: dir, Socket: filepath.Join(dir, "run/libvirt/libvirt-sock")}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "run"), 0o700))
	// Not under the test's context, which ends before Kill can end the guests.
	d.cmd = exec.CommandContext(context.Background(), program, append(options(d), "-p", filepath.Join(dir, "pid"))...)
	d.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir + "/run", "XDG_CONFIG_HOME=" + dir + "/config",
		"XDG_CACHE_HOME=" + dir + "/cache", "XDG_DATA_HOME=" + dir + "/data",
	}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		d.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		d.own(dir)
		d.own(filepath.Join(dir, "run"))
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	d.cmd.Stderr = log
	require.NoError(t, d.cmd.Start())
	require.NoError(t, log.Close())
	t.Cleanup(d.Kill)
	d.connect(uri)
	return d
}

func need(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	message := path + " is not installed: run `make setup`"
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

func (d *Daemon) own(path string) {
	if os.Geteuid() == 0 {
		require.NoError(d.t, os.Chown(path, nobody, nobody))
	}
}

// write puts a file into the daemon's folder.
func (d *Daemon) write(name string, text []byte) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	require.NoError(d.t, os.WriteFile(path, text, 0o600))
	d.own(path)
	return path
}

// connect waits until the daemon answers.
func (d *Daemon) connect(uri string) {
	d.t.Helper()
	peertest.Until(d.t, "libvirtd answers", func() bool {
		d.hand = libvirt.NewWithDialer(dialers.NewLocal(dialers.WithSocket(d.Socket)))
		return d.hand.ConnectToURI(libvirt.ConnectURI(uri)) == nil
	})
}

// Kill ends the daemon at once, and the guests that it runs.
func (d *Daemon) Kill() {
	if d.cmd.ProcessState != nil {
		return
	}
	d.Thaw()
	if domains, err := d.Hand(); err == nil {
		for _, dom := range domains {
			if dom.ID >= 0 {
				_ = d.hand.DomainDestroy(dom) // a guest is a process of its own and would outlive its daemon
			}
		}
	}
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

// Hand lists the domains, not through the adapter.
func (d *Daemon) Hand() ([]libvirt.Domain, error) {
	all, _, err := d.hand.ConnectListAllDomains(1, libvirt.ConnectListDomainsActive|libvirt.ConnectListDomainsInactive)
	return all, err
}

// Client is the tests' own connection.
func (d *Daemon) Client() *libvirt.Libvirt { return d.hand }

// Freeze lets the daemon take connections and answer nothing, until Thaw.
func (d *Daemon) Freeze() { require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGSTOP)) }

// Thaw ends a Freeze.
func (d *Daemon) Thaw() { _ = d.cmd.Process.Signal(syscall.SIGCONT) }

// State tells a domain's state; DomainNostate if there is none.
func (d *Daemon) State(name string) libvirt.DomainState {
	dom, err := d.hand.DomainLookupByName(name)
	if err != nil {
		return libvirt.DomainNostate
	}
	state, _, err := d.hand.DomainGetState(dom, 0)
	if err != nil {
		return libvirt.DomainNostate
	}
	return libvirt.DomainState(state)
}

// Define makes a domain of the test driver.
func (d *Daemon) Define(name, title string) libvirt.Domain {
	d.t.Helper()
	if title != "" {
		title = "<title>" + title + "</title>"
	}
	dom, err := d.hand.DomainDefineXML(fmt.Sprintf(
		`<domain type="test"><name>%s</name>%s<memory>8192</memory><os><type>hvm</type></os></domain>`, name, title))
	require.NoError(d.t, err)
	return dom
}

// Start defines a domain of the test driver and starts it.
func (d *Daemon) Start(name, title string) libvirt.Domain {
	d.t.Helper()
	dom := d.Define(name, title)
	require.NoError(d.t, d.hand.DomainCreate(dom))
	return dom
}

// Vanish powers a domain off and forgets it.
func (d *Daemon) Vanish(name string) {
	d.t.Helper()
	dom, err := d.hand.DomainLookupByName(name)
	require.NoError(d.t, err)
	_ = d.hand.DomainDestroy(dom) // it may be off
	require.NoError(d.t, d.hand.DomainUndefine(dom))
}

// Boot sectors for a PC whose ACPI registers are where SeaBIOS puts them: PM1_STS at port 0x600, PM1_EN at 0x602,
// PM1_CNT at 0x604. Each says on its serial line that it runs.
var (
	// obedient enables the power button, waits for it, and goes into S5.
	obedient = []byte{
		0xfb,             // sti
		0xba, 0x02, 0x06, // mov dx, 0x602
		0xb8, 0x00, 0x01, // mov ax, PWRBTN_EN
		0xef,             // out dx, ax
		0xba, 0xf8, 0x03, // mov dx, 0x3f8
		0xb0, 'R', // mov al, 'R'
		0xee, // out dx, al
		// wait:
		0xf4,             // hlt, until the timer ticks
		0xba, 0x00, 0x06, // mov dx, 0x600
		0xed,             // in ax, dx
		0xf6, 0xc4, 0x01, // test ah, PWRBTN_STS >> 8
		0x74, 0xf6, // jz wait
		0xba, 0x04, 0x06, // mov dx, 0x604
		0xb8, 0x00, 0x20, // mov ax, SLP_EN
		0xef, 0xf4, // out dx, ax; hlt
	}
	// deaf never looks at the power button.
	deaf = []byte{
		0xba, 0xf8, 0x03, 0xb0, 'R', 0xee, // says so on the serial line
		0xf4, 0xeb, 0xfd, // hlt; again
	}
)

// Guest boots a real guest under emulation and returns when it runs. One that is transient was never defined.
func (d *Daemon) Guest(name string, obeys, transient bool) {
	d.t.Helper()
	code := deaf
	if obeys {
		code = obedient
	}
	sector := make([]byte, 1<<20)
	copy(sector, code)
	sector[510], sector[511] = 0x55, 0xaa
	disk, serial := d.write(name+".img", sector), filepath.Join(d.dir, name+".serial")
	xml := fmt.Sprintf(`<domain type="qemu"><name>%s</name><memory unit="MiB">16</memory><os><type arch="x86_64" machine="pc">hvm</type></os>
		<features><acpi/></features><on_poweroff>destroy</on_poweroff><devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
		<disk type="file" device="disk"><driver name="qemu" type="raw"/><source file="%s"/><target dev="hda" bus="ide"/></disk>
		<serial type="file"><source path="%s"/></serial><memballoon model="none"/></devices></domain>`, name, disk, serial)
	if transient {
		_, err := d.hand.DomainCreateXML(xml, 0)
		require.NoError(d.t, err)
	} else {
		dom, err := d.hand.DomainDefineXML(xml)
		require.NoError(d.t, err)
		require.NoError(d.t, d.hand.DomainCreate(dom))
	}
	d.Booted(name)
}

// Booted waits until a guest says that it runs.
func (d *Daemon) Booted(name string) {
	d.t.Helper()
	peertest.Until(d.t, name+" runs", func() bool {
		said, err := os.ReadFile(filepath.Join(d.dir, name+".serial"))
		return err == nil && len(said) > 0
	})
}
