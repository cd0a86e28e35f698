package flush_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
)

// guest is a machine of Debian's kernel under software emulation, with disks of its own and an SSH server.
type guest struct {
	t       *testing.T
	address string
	console string
	root    initramfs
	cmd     *exec.Cmd
	ended   chan struct{}
}

// disk makes an empty disk.
func disk(t *testing.T, dir, name string, mebibytes int64) string {
	t.Helper()
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(mebibytes<<20))
	require.NoError(t, f.Close())
	return path
}

// boot starts a guest and waits until it can be logged in to. The test's end stops it.
func boot(t *testing.T, k kernel, root initramfs, disks ...string) *guest {
	t.Helper()
	g := &guest{t: t, address: peertest.FreeAddress(t), root: root, ended: make(chan struct{})}
	g.console = filepath.Join(t.TempDir(), "console")
	require.NoError(t, os.WriteFile(g.console, nil, 0o600))
	_, port, err := net.SplitHostPort(g.address)
	require.NoError(t, err)
	args := []string{
		"-M", "q35", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max", "-smp", "1", "-m", "320",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", k.image, "-initrd", root.path,
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off tsc=unstable random.trust_cpu=on cryptomgr.notests",
		"-serial", "file:" + g.console,
		"-netdev", "user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:" + port + "-:22", "-device", "virtio-net-pci,netdev=n0",
	}
	for _, d := range disks {
		args = append(args, "-drive", "file="+d+",if=virtio,format=raw,cache=none")
	}
	var errs bytes.Buffer
	// Not under the test's context: what ends it is the power cut, or the clean-up.
	g.cmd = exec.CommandContext(context.Background(), "qemu-system-x86_64", args...)
	g.cmd.Stdout, g.cmd.Stderr = &errs, &errs
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, g.cmd.Start())
	go func() { _ = g.cmd.Wait(); close(g.ended) }()
	t.Cleanup(g.cut)
	g.await("boots", 3*time.Minute, func() bool {
		select {
		case <-g.ended:
			t.Fatalf("the emulator has ended: %s", errs.String())
		default:
		}
		return strings.Contains(string(read(t, g.console)), "READY")
	})
	return g
}

// cut takes its power away: the emulator is killed, with all that it has not yet given to its disks.
func (g *guest) cut() {
	_ = g.cmd.Process.Kill()
	<-g.ended
}

// cpu is the processor time that the emulator took, once it has ended.
func (g *guest) cpu() time.Duration {
	return g.cmd.ProcessState.SystemTime() + g.cmd.ProcessState.UserTime()
}

// await waits for a condition.
func (g *guest) await(what string, within time.Duration, holds func() bool) {
	g.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); time.Now().Before(end); <-tick.C {
		if holds() {
			return
		}
	}
	g.t.Fatalf("it never %s; its console:\n%s", what, read(g.t, g.console))
}

// run runs a script in the guest and gives the words that it said: "new 4711" is said["new"].
func (g *guest) run(script string) (said map[string]string) {
	g.t.Helper()
	signer, err := ssh.ParsePrivateKey([]byte(g.root.key))
	require.NoError(g.t, err)
	host, _, _, _, err := ssh.ParseAuthorizedKey([]byte(g.root.hostKey))
	require.NoError(g.t, err)
	client, err := ssh.Dial("tcp", g.address, &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.FixedHostKey(host),
		HostKeyAlgorithms: []string{host.Type()}, Timeout: 20 * time.Second,
	})
	require.NoError(g.t, err)
	defer func() { _ = client.Close() }()
	stuck := time.AfterFunc(4*time.Minute, func() { _ = client.Close() })
	defer stuck.Stop()
	session, err := client.NewSession()
	require.NoError(g.t, err)
	var out, errs bytes.Buffer
	session.Stdin, session.Stdout, session.Stderr = strings.NewReader(script), &out, &errs
	err = session.Run("sh -eu")
	require.NoError(g.t, err, "the guest said:\n%s%s", out.String(), errs.String())
	said = map[string]string{}
	for line := range strings.Lines(out.String()) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			said[key] = value
		}
	}
	return said
}

// load is the machine's load, for what is told of times.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	return fmt.Sprint(strings.Fields(string(b))[0])
}

// socket is where the daemon of a folder listens.
func socket(dir string) string { return filepath.Join(dir, "api.sock") }

// client asks the daemon of a folder.
func client(dir string) *daemon.Client {
	return daemon.NewClient(config.Listen{Network: "unix", Address: socket(dir)}, "", nil)
}
