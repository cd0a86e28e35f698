// Package host boots real machines for tests: this machine's own root under a systemd of its own, in a container
// (systemd-nspawn) whose writes are thrown away. Each has an sshd on a loopback port. It shuts down as a real machine does,
// and is gone from the network then.
package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/ssh/sshdtest"
)

// How long things may take on a machine that has much else to do.
const (
	bootWithin = time.Minute
	haltWithin = time.Minute
)

// Host is a machine. It is on from the start.
type Host struct {
	Name    string
	Address string // of its sshd: 127.0.0.1:port
	HostKey string // as in a .pub file
	Key     string // the private key that root is let in with, PEM

	t      testing.TB
	folder string // its sshd's configuration and unit, seen inside as inside
	root   string // where this machine's root is bound to
	binds  []string
	groups []string          // control groups that it runs in
	ended  func(name string) // when it has gone off; nil: nobody wants to know

	mu      sync.Mutex
	running *boot // nil: it is off
	last    *boot // the newest, also when it is over
}

// boot is one life of the machine.
type boot struct {
	cmd  *exec.Cmd
	log  bytes.Buffer
	over chan struct{}
}

// inside is where the machine sees its folder.
const inside = "/run/host-files"

// Options say what a machine is to have.
type Options struct {
	Binds map[string]string // files of this machine, read-only, by their path inside
	Ended func(name string) // called when it has gone off
}

// Need skips the test where machines can't be made: without root or systemd-nspawn. In CI it fails.
func Need(t testing.TB) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("systemd-nspawn"); err != nil {
		missing = "systemd-nspawn is missing: install systemd-container"
	}
	if os.Geteuid() != 0 {
		missing = "containers need root"
	}
	switch {
	case missing == "":
	case os.Getenv("CI") != "":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}

// Boot makes a machine and waits until it can be logged in to. It ends with the test.
func Boot(t testing.TB, name string, o Options) *Host {
	t.Helper()
	Need(t)
	h := &Host{Name: name, Address: peertest.FreeAddress(t), t: t, folder: t.TempDir(), ended: o.Ended}
	var private string
	h.HostKey, private = sshdtest.NewKey(t)
	public, key := sshdtest.NewKey(t)
	h.Key = key
	_, port, err := net.SplitHostPort(h.Address)
	require.NoError(t, err)
	h.write("host_key", private)
	h.write("authorized_keys", public+"\n")
	h.write("sshd_config", strings.ReplaceAll(`Port `+port+`
ListenAddress 127.0.0.1
HostKey IN/host_key
AuthorizedKeysFile IN/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
UseDNS no
`, "IN", inside))
	h.write("login.service", `[Unit]
Description=Logins of the test
DefaultDependencies=no
After=basic.target
Conflicts=shutdown.target
Before=shutdown.target
[Service]
RuntimeDirectory=sshd
ExecStart=/usr/sbin/sshd -D -e -f `+inside+`/sshd_config
`)
	h.root = filepath.Join(t.TempDir(), "root") // the plain view of /, without what is mounted on it
	require.NoError(t, os.Mkdir(h.root, 0o755))
	require.NoError(t, syscall.Mount("/", h.root, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(h.root, syscall.MNT_DETACH)) })
	for outside, path := range o.Binds {
		h.binds = append(h.binds, "--bind-ro="+outside+":"+path)
	}
	h.groups = h.makeGroups()
	t.Cleanup(func() { h.PowerOff(); removeGroups(h.groups) })
	h.PowerOn()
	h.Await()
	return h
}

func (h *Host) write(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.folder, name), []byte(text), 0o600))
}

// PowerOn boots the machine, unless it is on.
func (h *Host) PowerOn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running != nil {
		return
	}
	args := append([]string{
		"--tmpfs=/root", // a login does not run what this machine's own shell is told to: that may wait for its locks for a minute
		"--quiet", "--directory=" + h.root, "--volatile=overlay", "--boot", "--register=no", "--keep-unit",
		"--machine=" + h.machine(), "--console=pipe", "--bind-ro=" + h.folder + ":" + inside,
		"--bind-ro=" + filepath.Join(h.folder, "login.service") + ":/etc/systemd/system/ebbtide-login.service",
	}, append(h.binds, "systemd.unit=basic.target", "systemd.wants=ebbtide-login.service")...)
	b := &boot{over: make(chan struct{})}
	// Not under the test's context: PowerOff stops it.
	b.cmd = exec.CommandContext(context.Background(), "sh", slices.Concat([]string{"-c", enter, "sh"}, h.groups, []string{"--"}, args)...)
	b.cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
	b.cmd.Stdout, b.cmd.Stderr = &b.log, &b.log
	require.NoError(h.t, b.cmd.Start())
	h.running, h.last = b, b
	go func() {
		_ = b.cmd.Wait() // its status says how the machine ended, which nobody asks
		h.mu.Lock()
		if h.running == b {
			h.running = nil
		}
		h.mu.Unlock()
		if h.ended != nil {
			h.ended(h.Name)
		}
		close(b.over)
	}()
}

// machine is its name among all machines of this system.
func (h *Host) machine() string { return fmt.Sprintf("ebbtide-%d-%s", os.Getpid(), h.Name) }

// PowerOff takes its power away, as a cut does.
func (h *Host) PowerOff() {
	h.mu.Lock()
	b := h.running
	h.mu.Unlock()
	if b == nil {
		return
	}
	if leader := h.leader(b); leader > 0 {
		_ = syscall.Kill(leader, syscall.SIGKILL) // its PID 1, and all with it
	}
	select {
	case <-b.over:
	case <-time.After(haltWithin):
		_ = b.cmd.Process.Kill()
		<-b.over
		h.t.Errorf("%s did not end with its PID 1", h.Name)
	}
}

// On reports whether it runs.
func (h *Host) On() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running != nil
}

// Await waits until its sshd answers.
func (h *Host) Await() {
	h.t.Helper()
	h.until(bootWithin, "be logged in to", func() bool {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", h.Address)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		banner := make([]byte, 4)
		_, err = io.ReadFull(conn, banner)
		return err == nil && string(banner) == "SSH-"
	})
}

// Exec runs a command inside as root and gives what it prints.
func (h *Host) Exec(argv ...string) (string, error) {
	h.mu.Lock()
	b := h.running
	h.mu.Unlock()
	leader := 0
	if b != nil {
		leader = h.leader(b)
	}
	if leader == 0 {
		return "", errors.New("it is off")
	}
	ctx, cancel := context.WithTimeout(context.Background(), haltWithin)
	defer cancel()
	args := append([]string{"-t", strconv.Itoa(leader), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--"}, argv...)
	out, err := exec.CommandContext(ctx, "nsenter", args...).CombinedOutput()
	return string(out), err
}

// Until waits until a command inside prints what good likes, and gives that.
func (h *Host) Until(what string, good func(out string) bool, argv ...string) string {
	h.t.Helper()
	var out string
	h.until(bootWithin, what, func() bool {
		out, _ = h.Exec(argv...)
		return good(out)
	}, &out)
	return out
}

// until waits for what is good. It says in the end what came last, if that is given.
func (h *Host) until(within time.Duration, what string, good func() bool, last ...*string) {
	h.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); time.Now().Before(end); <-tick.C {
		if good() {
			return
		}
	}
	h.mu.Lock()
	b, off := h.last, h.running == nil
	h.mu.Unlock()
	h.PowerOff() // its log may be read now
	for _, l := range last {
		h.t.Logf("what %s printed last:\n%s", h.Name, *l)
	}
	if off {
		h.t.Fatalf("%s can't %s: it is off:\n%s", h.Name, what, b.log.String())
	}
	h.t.Fatalf("%s does not %s within %s:\n%s", h.Name, what, within, b.log.String())
}

// leader is the PID 1 of a machine as this system counts it; 0: it has none yet, or no more.
func (h *Host) leader(b *boot) int {
	pid := b.cmd.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0
	}
	for child := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(child)
		require.NoError(h.t, err)
		return n
	}
	return 0
}
