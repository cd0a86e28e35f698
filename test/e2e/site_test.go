// Package e2e_test runs the built binary as the daemon against real peers: Debian's upsd, OpenSSH, and the vSphere
// simulator over HTTPS. What it asserts is seen from the peers' side.
package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/ssh/sshdtest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/nut/nuttest"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ebbtide-e2e")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "ebbtide")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "ebbtide/cmd/ebbtide")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// site is an estate of real peers, and the power that they stand on.
type site struct {
	t      *testing.T
	dir    string
	upsd   *nuttest.Server
	ups    *nuttest.Driver
	vs     *vspheresim.Sim
	sshd   *sshdtest.Server
	stop   chan struct{}
	ended  sync.WaitGroup
	mu     sync.Mutex
	story  []string // what happened, as the peers saw it
	mains  bool
	output bool
	charge float64 // percent
	nasOn  bool
	drain  float64 // percent a second on battery
}

const (
	tick       = 50 * time.Millisecond
	cutDelay   = 500 * time.Millisecond // from shutdown.return to the cut
	returnTime = 500 * time.Millisecond // from mains back to the output on
)

func newSite(t *testing.T, guest func(string) vspheresim.GuestBehaviour) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), stop: make(chan struct{}), mains: true, output: true, charge: 100, nasOn: true, drain: 1}
	s.upsd = nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	s.ups = s.upsd.Driver("ups")
	s.ups.AddCommands("shutdown.return", "load.off", "load.on")
	s.ups.Set("ups.status", "OL", "battery.charge", "100", "battery.runtime", "600", "ups.load", "40", "ups.delay.shutdown", "1", "output.voltage", "230")
	s.upsd.Await("ups", "battery.charge", "100")
	if guest == nil {
		guest = func(string) vspheresim.GuestBehaviour {
			return vspheresim.GuestBehaviour{Delay: 200 * time.Millisecond}
		}
	}
	var err error
	s.vs, err = vspheresim.New(vspheresim.Options{
		HostsPerCluster: 2, HostOff: 300 * time.Millisecond, HostBoot: 500 * time.Millisecond, Guest: guest,
		VMs: []vspheresim.VM{
			{Name: "db"},
			{Name: "app1", Host: 0},
			{Name: "app2", Host: 1},
			{Name: "spare", Host: 1, Off: true},
			{Name: "lab1", Host: 1, Folder: "Lab"},
			{Name: "lab2", Host: 0, Folder: "Lab"},
		},
		OnChange: func(kind, name string, on bool) {
			s.tell(kind + " " + name + map[bool]string{true: " on", false: " off"}[on])
		},
	})
	require.NoError(t, err)
	t.Cleanup(s.vs.Close)
	s.sshd = sshdtest.New(t)
	s.installNAS()
	s.ended.Go(s.live)
	t.Cleanup(func() { close(s.stop); s.ended.Wait() })
	return s
}

func (s *site) tell(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.story = append(s.story, what)
}

// told is what happened so far, the entries of the NAS's own log among them.
func (s *site) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.story...)
}

// at gives where an entry stands in the story, -1 if it does not.
func (s *site) at(what string) int {
	for i, line := range s.told() {
		if line == what {
			return i
		}
	}
	return -1
}

// installNAS puts the program that the NAS's cache is worked with into its place. It keeps its state in files and logs
// what it was asked to do.
func (s *site) installNAS() {
	s.sshd.Write("protected", "no\n")
	s.sshd.Write("dirty", "4096\n")
	s.sshd.Write("log", "")
	s.sshd.Write("cache.sh", `#!/bin/sh
cd `+s.sshd.Dir+` || exit 1
case "$1" in
state) echo state=on; echo "protected=$(cat protected)"; echo "dirty=$(cat dirty)"; exit 0;;
protect) echo yes >protected;;
unprotect) echo no >protected;;
flush) echo 0 >dirty;;
stop) ;;
*) exit 2;;
esac
echo "nas $1" >>log
`)
}

// nasAsked reads what the NAS was asked to do since the last time.
func (s *site) nasAsked(read int) ([]string, int) {
	b, err := os.ReadFile(filepath.Join(s.sshd.Dir, "log"))
	if err != nil {
		return nil, read
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(b) == 0 || len(lines) <= read {
		return nil, read
	}
	return lines[read:], len(lines)
}

// live is the physics of the site: a battery that drains and fills, an output that is cut and comes back, and what
// loses and gets its power with it.
func (s *site) live() {
	clock := time.NewTicker(tick)
	defer clock.Stop()
	var cutAt, backAt time.Time
	commands, asked := 0, 0
	for {
		select {
		case <-s.stop:
			return
		case <-clock.C:
		}
		now := time.Now()
		for _, c := range s.ups.Commands()[commands:] {
			commands++
			s.tell("ups " + strings.Join(c.Words, " "))
			if len(c.Words) > 1 && c.Words[1] == "shutdown.return" {
				cutAt = now.Add(cutDelay)
			}
		}
		var lines []string
		lines, asked = s.nasAsked(asked)
		for _, line := range lines {
			s.tell(line)
			if line == "nas stop" {
				s.setNAS(false)
			}
		}
		s.mu.Lock()
		mains, output := s.mains, s.output
		s.mu.Unlock()
		switch {
		case output && !cutAt.IsZero() && now.After(cutAt):
			cutAt = time.Time{}
			s.cut()
			backAt = now.Add(returnTime)
		case !output && mains && backAt.IsZero():
			backAt = now.Add(returnTime)
		case !output && mains && now.After(backAt):
			s.powerReturns()
		}
		if !output && !mains {
			backAt = time.Time{}
		}
		s.drainOrFill()
	}
}

func (s *site) setNAS(on bool) {
	s.mu.Lock()
	was := s.nasOn
	s.nasOn = on
	s.mu.Unlock()
	switch {
	case was && !on:
		s.sshd.Kill()
		s.tell("nas off")
	case !was && on:
		s.sshd.Start()
		s.tell("nas on")
	}
}

func (s *site) cut() {
	s.mu.Lock()
	s.output = false
	s.story = append(s.story, "ups output off")
	s.mu.Unlock()
	s.ups.Set("output.voltage", "0")
}

// powerReturns starts what starts with its power: hosts by their firmware's setting, the NAS likewise.
func (s *site) powerReturns() {
	s.mu.Lock()
	s.output = true
	s.story = append(s.story, "ups output on")
	s.mu.Unlock()
	s.ups.Set("output.voltage", "230")
	s.setNAS(true)
	for _, h := range s.vs.Hosts() {
		_ = s.vs.PowerOnHost(h)
	}
}

func (s *site) drainOrFill() {
	s.mu.Lock()
	status := "OL CHRG"
	if s.mains {
		s.charge = min(100, s.charge+10*tick.Seconds())
	} else {
		status = "OB DISCHRG"
		s.charge = max(0, s.charge-s.drain*tick.Seconds())
	}
	if !s.output {
		status = "OFF"
		if s.mains {
			status = "OL OFF"
		}
	}
	charge, runtime := strconv.FormatFloat(s.charge, 'f', 1, 64), strconv.Itoa(int(s.charge*6))
	s.mu.Unlock()
	s.ups.Set("ups.status", status, "battery.charge", charge, "battery.runtime", runtime)
}

func (s *site) setMains(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mains = on
	s.story = append(s.story, map[bool]string{true: "mains on", false: "mains off"}[on])
}

// until waits for a condition of the site.
func (s *site) until(what string, within time.Duration, holds func() bool) {
	s.t.Helper()
	clock := time.NewTicker(20 * time.Millisecond)
	defer clock.Stop()
	for end := time.Now().Add(within); time.Now().Before(end); <-clock.C {
		if holds() {
			return
		}
	}
	s.t.Fatalf("no %s within %s; the story so far:\n%s", what, within, strings.Join(s.told(), "\n"))
}

// estateOff tells whether everything that the outage takes down is down.
func (s *site) estateOff() bool {
	if slices.ContainsFunc([]string{"db", "app1", "app2", "lab1", "lab2"}, s.vs.VMOn) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.vs.HostOn("esx01") && !s.vs.HostOn("esx02") && !s.nasOn
}

const runbookText = `version: 1
runbook: end-to-end
supplies:
  ups: {nut: "ups@%[1]s", username: %[2]s, password: {credential: upsd}}
connections:
  vcenter: {type: vsphere, url: "%[3]s", username: "%[4]s", password: {credential: vcenter}, thumbprint: "%[5]s"}
  esx01: {type: vsphere, url: "%[10]s", username: "%[4]s", password: {credential: vcenter}, thumbprint: "%[11]s"}
  esx02: {type: vsphere, url: "%[12]s", username: "%[4]s", password: {credential: vcenter}, thumbprint: "%[13]s"}
  nas: {type: ssh, address: "%[6]s", user: %[7]s, key: {credential: nas_key}, host_key: "%[8]s"}
nodes:
  switch: {type: passive, fed_by: [ups]}
  nas:
    type: ssh
    via: nas
    fed_by: [ups]
    depends_on: [switch]
    probe: [sh, %[9]s/cache.sh, state]
    protect: [sh, %[9]s/cache.sh, protect]
    flush: [sh, %[9]s/cache.sh, flush]
    unprotect: [sh, %[9]s/cache.sh, unprotect]
    stop: [sh, %[9]s/cache.sh, stop]
    off_when_unreachable: 1s
    off_when_refused: true
    up: {wake: {power: true}, within: 30s}
  esx01: {type: vsphere.host, via: vcenter, fallback: esx01, fed_by: [ups], depends_on: [nas, switch], off_when_unreachable: 1s, down: {within: 20s}, up: {wake: {power: true}, within: 30s}}
  esx02: {type: vsphere.host, via: vcenter, fallback: esx02, fed_by: [ups], depends_on: [nas, switch], off_when_unreachable: 1s, down: {within: 20s}, up: {wake: {power: true}, within: 30s}}
  db: {type: vsphere.vm, via: vcenter, fallback: esx01, depends_on: [esx01], risk: database, down: {within: %[14]s}}
  app1: {type: vsphere.vm, via: vcenter, fallback: esx01, depends_on: [db, esx01], down: {within: %[14]s}}
  app2: {type: vsphere.vm, via: vcenter, fallback: esx02, depends_on: [db, esx02], down: {within: %[14]s}}
  spare: {type: vsphere.vm, via: vcenter, fallback: esx02, depends_on: [esx02]}
  lab: {type: vsphere.vms, via: vcenter, fallback: [esx01, esx02], select: {folder: Lab}, depends_on: [esx01, esx02], risk: expendable, expect: 2, down: {within: %[14]s}}
policy:
  protect: {when: {on_battery: 1s}}
  shed: [{name: lab, nodes: [lab], when: {on_battery: 2s}}]
  shutdown: {when: {any: [{on_battery: 4s}, {low_battery: true}, {silent_on_battery: 10s}]}}
  restore: {when: {online: 6s}}
  limits: {vsphere.vm: {total: 10, per_host: 4}}
  reserve: 10s
`

// files writes the runbook, the credentials and the settings, and gives the settings' path.
func (s *site) files(armed bool) string {
	direct := func(host string) *vspheresim.Server {
		d, err := s.vs.Direct(host)
		require.NoError(s.t, err)
		return d
	}
	esx01, esx02 := direct("esx01"), direct("esx02")
	vc := s.vs.VCenter()
	s.write("runbook.yaml", fmt.Sprintf(runbookText, s.upsd.Addr, nuttest.Admin, vc.URL(), vspheresim.User, vc.Thumbprint(),
		s.sshd.Address, s.sshd.User, s.sshd.HostKey, s.sshd.Dir, esx01.URL(), esx01.Thumbprint(), esx02.URL(), esx02.Thumbprint(), "3s"))
	require.NoError(s.t, os.MkdirAll(filepath.Join(s.dir, "credentials"), 0o700))
	s.write("credentials/upsd", nuttest.AdminPassword)
	s.write("credentials/vcenter", vspheresim.Password)
	s.write("credentials/nas_key", s.sshd.Key)
	s.write("settings.yaml", fmt.Sprintf("runbook: runbook.yaml\njournal: journal.db\nlisten: unix:%s/api.sock\ncredentials: credentials\narmed: %t\npoll: 200ms\npoll_on_battery: 100ms\n", s.dir, armed))
	return filepath.Join(s.dir, "settings.yaml")
}

func (s *site) write(name, text string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}
