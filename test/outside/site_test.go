// Package outside drives Ebbtide as somebody who has only its program and its pages: a stock vCenter simulator, a real upsd
// with a real dump of a UPS, a real sshd, and run books written from the documentation. Nothing of Ebbtide's own simulators
// and helpers is in it, so that what they have in common with the program can't hide a fault.
package outside

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// programs are built once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ebbtide-outside")
	if err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"ebbtide": "ebbtide/cmd/ebbtide", "vcsim": "ebbtide/test/outside/vcsim"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	return dir, nil
})

// all plays each moment, and not one of each kind.
var all = flag.Bool("outside.all", false, "play each moment")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if dir, err := programs(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// site is an estate with a daemon.
type site struct {
	t   *testing.T
	dir string
	bin string

	upsd, vcenter, sshd, daemon *peer
	drivers                     map[string]*peer // by UPS
	upsdAt, vcenterAt, sshdAt   string
	hostKey, thumbprint         string
	feeds                       string // of the NAS; "": the first UPS alone
}

// upses are what a site has: two that say the same, the second of which feeds nothing where a test does not want it.
var upses = []string{"ups", "ups2"}

// peer is a program that runs.
type peer struct {
	cmd   *exec.Cmd
	out   string // the file of its output
	ended chan struct{}
}

func (s *site) start(ready func() bool, env []string, name string, args ...string) *peer {
	s.t.Helper()
	p := &peer{cmd: exec.CommandContext(context.Background(), name, args...), ended: make(chan struct{})}
	out, err := os.CreateTemp(s.dir, filepath.Base(name)+"-*.log")
	require.NoError(s.t, err)
	p.out = out.Name()
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(os.Environ(), env...), out, out
	require.NoError(s.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // ended by a signal
		close(p.ended)
	}()
	s.t.Cleanup(func() {
		p.kill()
		if s.t.Failed() {
			text, _ := os.ReadFile(out.Name())
			s.t.Logf("%s:\n%s", filepath.Base(name), text)
		}
	})
	require.Eventually(s.t, ready, 30*time.Second, 50*time.Millisecond, "%s has not come up", name)
	return p
}

func (p *peer) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// address is free now.
func (s *site) address() string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, l.Close()) }()
	return l.Addr().String()
}

func listens(address string) func() bool {
	return func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second) //nolint:noctx // bounded
		if err != nil {
			return false
		}
		return c.Close() == nil
	}
}

func (s *site) write(name, text string, mode os.FileMode) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), mode))
	return path
}

// need gives a program that must be there; in CI it has to be.
func need(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing: run make setup", path)
		}
		t.Skipf("%s is missing: run make setup", path)
	}
	return path
}

// newSite starts all but the daemon. The UPS says what a dump of a real one says, with what the test needs to change.
func newSite(t *testing.T, ups string) *site {
	t.Helper()
	bin, err := programs()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "outside") //nolint:usetesting // a path short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &site{t: t, dir: dir, bin: bin}
	s.startNUT(ups)
	s.startSSH()
	s.vcenterAt = s.address()
	s.startVCenter()
	return s
}

func (s *site) startNUT(ups string) {
	need(s.t, "/lib/nut/dummy-ups")
	s.upsdAt = s.address()
	_, port, _ := net.SplitHostPort(s.upsdAt)
	conf := ""
	for _, name := range upses {
		s.write("nut/"+name+".dev", ups, 0o644)
		conf += fmt.Sprintf("[%s]\n\tdriver = dummy-ups\n\tport = %[1]s.dev\n\tmode = dummy-once\n", name)
	}
	s.write("nut/ups.conf", conf, 0o640)
	s.write("nut/upsd.conf", "LISTEN 127.0.0.1 "+port+"\n", 0o640)
	s.write("nut/upsd.users", "[admin]\n\tpassword = secret\n\tactions = SET\n\tinstcmds = ALL\n", 0o640)
	s.serveNUT()
}

// serveNUT starts the driver and upsd, again after killNUT. The UPS says what it said at the start.
func (s *site) serveNUT() {
	s.t.Helper()
	s.drivers = map[string]*peer{}
	for _, name := range upses {
		socket := filepath.Join(s.dir, "nut/dummy-ups-"+name)
		s.drivers[name] = s.start(func() bool { _, err := os.Stat(socket); return err == nil }, s.nutEnv(),
			"/lib/nut/dummy-ups", "-a", name, "-F", "-u", "root")
	}
	s.startUpsd()
}

// killNUT kills upsd, and the driver with it: that of NUT 2.8.0 does not outlive it.
func (s *site) killNUT() {
	s.upsd.kill()
	for name, driver := range s.drivers {
		driver.kill()
		_ = os.Remove(filepath.Join(s.dir, "nut/dummy-ups-"+name))
	}
}

func (s *site) nutEnv() []string {
	dir := filepath.Join(s.dir, "nut")
	return []string{"NUT_CONFPATH=" + dir, "NUT_STATEPATH=" + dir, "NUT_ALTPIDPATH=" + dir, "NUT_PIDPATH=" + dir, "NUT_QUIET_INIT_UPSNOTIFY=true"}
}

func (s *site) startUpsd() {
	serves := func() bool { return strings.Contains(s.upsc("ups", "ups.status"), "O") }
	s.upsd = s.start(serves, s.nutEnv(), need(s.t, "/lib/nut/upsd"), "-F", "-u", "root")
}

func (s *site) upsc(ups, name string) string {
	out, _ := exec.CommandContext(s.t.Context(), "upsc", ups+"@"+s.upsdAt, name).Output()
	return strings.TrimSpace(string(out))
}

// says changes what the first UPS says.
func (s *site) says(name, value string) {
	s.t.Helper()
	s.saysOf("ups", name, value)
}

func (s *site) saysOf(ups, name, value string) {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "upsrw", "-s", name+"="+value, "-u", "admin", "-p", "secret", ups+"@"+s.upsdAt).CombinedOutput()
	require.NoError(s.t, err, string(out))
	require.Eventually(s.t, func() bool { return s.upsc(ups, name) == value }, 10*time.Second, 50*time.Millisecond)
}

func (s *site) startVCenter() {
	s.t.Helper()
	s.vcenter = s.start(listens(s.vcenterAt), nil, filepath.Join(s.bin, "vcsim"), "-l", s.vcenterAt, "-vm", "4")
	c, err := tls.Dial("tcp", s.vcenterAt, &tls.Config{InsecureSkipVerify: true}) //nolint:noctx,gosec // to read its certificate
	require.NoError(s.t, err)
	sum := sha256.Sum256(c.ConnectionState().PeerCertificates[0].Raw)
	require.NoError(s.t, c.Close())
	s.thumbprint = hex.EncodeToString(sum[:])
}

// startSSH starts an sshd, which is the NAS: what it is told to do it does to a file.
func (s *site) startSSH() {
	s.sshdAt = s.address()
	_, port, _ := net.SplitHostPort(s.sshdAt)
	key := func(name string) string {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		require.NoError(s.t, err)
		block, err := ssh.MarshalPrivateKey(private, "")
		require.NoError(s.t, err)
		s.write(name, string(pem.EncodeToMemory(block)), 0o600)
		pub, err := ssh.NewPublicKey(public)
		require.NoError(s.t, err)
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(pub)))
	}
	s.hostKey = key("ssh/host")
	s.write("ssh/authorized", key("credentials/nas")+"\n", 0o600)
	s.write("nas/state", "on\n", 0o644)
	s.write("nas/nas", "#!/bin/sh\ncd "+s.dir+"/nas\ncase $1 in\nstate) cat state; echo \"$1\" >>log; [ \"$(cat state)\" = on ] || exit 3;;\n"+
		"*) echo \"$1\" >>log; [ \"$1\" = stop ] && echo off >state || echo on >state;;\nesac\n", 0o755)
	s.write("ssh/config", fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s/ssh/host\nAuthorizedKeysFile %s/ssh/authorized\nStrictModes no\nPidFile none\nUsePAM no\n", port, s.dir, s.dir), 0o600)
	require.NoError(s.t, os.MkdirAll("/run/sshd", 0o755))
	s.sshd = s.start(listens(s.sshdAt), nil, need(s.t, "/usr/sbin/sshd"), "-D", "-e", "-f", filepath.Join(s.dir, "ssh/config"))
}

// runbook is what its user has written.
func (s *site) runbook(policy string) string {
	return fmt.Sprintf(`version: 1
runbook: outside
supplies:
  ups: {nut: "ups@%[1]s", cut: none}
  ups2: {nut: "ups2@%[1]s", cut: none}
connections:
  vcenter: {type: vsphere, url: "https://%[2]s/sdk", username: user, password: {credential: vcenter}, thumbprint: "%[3]s"}
  box: {type: ssh, address: "%[4]s", user: root, key: {credential: nas}, host_key: "%[5]s"}
nodes:
  nas:
    type: ssh
    via: box
    risk: storage
    fed_by: [%[8]s]
    probe: [%[6]s/nas/nas, state]
    stop: [%[6]s/nas/nas, stop]
    start: [%[6]s/nas/nas, start]
    down: {nominal: 1s, within: 20s}
    up: {nominal: 1s, within: 20s}
  vms:
    type: vsphere.vms
    via: vcenter
    select: {name: "DC0_C0_RP0_VM*"}
    expect: 4
    depends_on: [nas]
    down: {nominal: 1s, within: 20s}
    up: {nominal: 1s, within: 20s}
policy:
%[7]s`, s.upsdAt, s.vcenterAt, s.thumbprint, s.sshdAt, s.hostKey, s.dir, policy, cmp.Or(s.feeds, "ups"))
}

// run starts the daemon, armed.
func (s *site) run(policy string) {
	s.t.Helper()
	s.write("credentials/vcenter", "pass\n", 0o600)
	s.write("runbook.yaml", s.runbook(policy), 0o644)
	s.write("ebbtide.yaml", fmt.Sprintf("runbook: runbook.yaml\narmed: true\njournal: %[1]s/journal.db\nlisten: unix:%[1]s/s\ncredentials: %[1]s/credentials\n"+
		"poll: 250ms\nlog: {level: info}\n", s.dir), 0o644)
	require.NoError(s.t, os.Chmod(filepath.Join(s.dir, "credentials"), 0o700))
	s.again()
}

// again starts the daemon once more.
func (s *site) again() {
	s.t.Helper()
	s.daemon = s.start(func() bool { _, err := s.status(); return err == nil }, nil, filepath.Join(s.bin, "ebbtide"), "daemon", "--config",
		filepath.Join(s.dir, "ebbtide.yaml"))
}

// status is what `ebbtide status --format json` tells, as far as it is of interest.
type status struct {
	View struct {
		Outage string `json:"outage"`
		Nodes  []struct {
			ID   string `json:"id"`
			Seen struct {
				State string `json:"state"`
			} `json:"seen"`
		} `json:"nodes"`
	} `json:"view"`
}

func (s *site) ebbtide(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.bin, "ebbtide"), append(args, "--config", filepath.Join(s.dir, "ebbtide.yaml"), "--format", "json")...)
	out, err := cmd.Output()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}

func (s *site) status() (*status, error) {
	out, err := s.ebbtide("status")
	if err != nil {
		return nil, err
	}
	var st status
	return &st, json.Unmarshal(out, &st)
}

// until waits for the estate to be as Ebbtide is to bring it about, by what the peers themselves say.
func (s *site) until(what string, within time.Duration, holds func() bool) {
	s.t.Helper()
	require.Eventually(s.t, holds, within, 200*time.Millisecond, "not so: %s", what)
}

// nasIs tells the state of the NAS by itself.
func (s *site) nasIs() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "nas/state"))
	return strings.TrimSpace(string(text))
}

func (s *site) signal(p *peer, sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// log is what the daemon that runs now has logged.
func (s *site) log() string {
	text, _ := os.ReadFile(s.daemon.out)
	return string(text)
}

// moments is how far the outage has got: what has been logged of it.
func (s *site) moments() int {
	return strings.Count(s.log(), "component=runner") + strings.Count(s.log(), "node=")
}
