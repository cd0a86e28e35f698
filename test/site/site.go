// Package site is a small server room of real peers for tests of the whole program: Debian's upsd, OpenSSH, and the
// vSphere simulator over HTTPS, on a model of the power that they stand on. It keeps the story of what happened as the
// peers saw it, and runs the built daemon against them.
package site

import (
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

// Options say how a site is. The zero Options are a site whose guests shut down by themselves.
type Options struct {
	Guest func(name string) vspheresim.GuestBehaviour // nil: every guest shuts down in a moment
	// Return gives the mains back by themselves as soon as the output is cut.
	Return bool
	// Test lets the UPS test its battery by test.battery.start.deep, as one does that knows no CAL.
	Test bool
	// Answers puts into the story what the NAS answers to probes.
	Answers bool
}

// Site is an estate of real peers, and the power that they stand on.
type Site struct {
	*Folder    // the daemon's files
	*Chronicle // what the peers saw

	UPSD    *nuttest.Server
	VSphere *vspheresim.Sim
	SSHD    *sshdtest.Server // the NAS

	t       testing.TB
	options Options
	ups     *nuttest.Driver
	stop    chan struct{}
	ended   sync.WaitGroup

	mu     sync.Mutex
	mains  bool
	output bool
	charge float64 // percent
	nasOn  bool
	tests  bool // the UPS runs on its battery on purpose
}

const (
	tick       = 50 * time.Millisecond
	drain      = 1.0                    // percent a second on battery
	drainTest  = 3.0                    // in a test of the battery
	fill       = 10.0                   // percent a second on the mains
	cutDelay   = 500 * time.Millisecond // from shutdown.return to the cut
	returnTime = 500 * time.Millisecond // from mains back to the output on
)

// VMs are the virtual machines that are on; Spare is one that is off and has to stay so.
var VMs = []string{"db", "app1", "app2", "lab1", "lab2"}

// Spare is the VM that is off.
const Spare = "spare"

// New starts a site, which ends with the test. It skips the test where upsd or sshd is not installed.
func New(t testing.TB, o Options) *Site {
	t.Helper()
	s := &Site{
		t: t, options: o, Folder: NewFolder(t), Chronicle: NewChronicle(t), stop: make(chan struct{}), mains: true, output: true,
		charge: 100, nasOn: true,
	}
	s.UPSD = nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	s.ups = s.UPSD.Driver("ups")
	s.ups.AddCommands("shutdown.return", "load.off", "load.on")
	if o.Test {
		s.ups.AddCommands("test.battery.start.deep", "test.battery.stop")
	}
	s.ups.Set("ups.status", "OL", "battery.charge", "100", "battery.runtime", "600", "ups.load", "40", "ups.delay.shutdown", "1",
		"output.voltage", "230")
	s.UPSD.Await("ups", "battery.charge", "100")
	if o.Guest == nil {
		o.Guest = func(string) vspheresim.GuestBehaviour {
			return vspheresim.GuestBehaviour{Delay: 200 * time.Millisecond}
		}
	}
	var err error
	s.VSphere, err = vspheresim.New(vspheresim.Options{
		HostsPerCluster: 2, HostOff: 300 * time.Millisecond, HostBoot: 500 * time.Millisecond, Guest: o.Guest,
		VMs: []vspheresim.VM{
			{Name: "db"},
			{Name: "app1", Host: 0},
			{Name: "app2", Host: 1},
			{Name: Spare, Host: 1, Off: true},
			{Name: "lab1", Host: 1, Folder: "Lab"},
			{Name: "lab2", Host: 0, Folder: "Lab"},
		},
		OnChange: func(kind, name string, on bool) {
			s.Tell(kind + " " + name + map[bool]string{true: " on", false: " off"}[on])
		},
		OnCommand: func(method, name string) { s.Tell(method + " " + name) },
	})
	require.NoError(t, err)
	t.Cleanup(s.VSphere.Close)
	s.SSHD = sshdtest.New(t)
	s.installNAS()
	s.ended.Go(s.live)
	t.Cleanup(func() { close(s.stop); s.ended.Wait() })
	return s
}

// SetMains takes the mains away or gives them back.
func (s *Site) SetMains(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setMains(on)
}

func (s *Site) setMains(on bool) {
	s.mains = on
	s.Tell(map[bool]string{true: "mains on", false: "mains off"}[on])
}

// EstateOff reports whether everything that the outage takes down is down.
func (s *Site) EstateOff() bool {
	if slices.ContainsFunc(VMs, s.VSphere.VMOn) || slices.ContainsFunc(s.VSphere.Hosts(), s.VSphere.HostOn) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.nasOn
}

// live is the physics of the site: a battery that drains and fills, an output that is cut and comes back, and what
// loses and gets its power with it.
func (s *Site) live() {
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
			if s.obey(c) {
				cutAt = now.Add(cutDelay)
			}
		}
		var done []Moment
		done, asked = s.nasDid(asked)
		for _, m := range done {
			s.TellAt(m.At, m.What)
			if m.What == "nas stop" {
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

// obey takes a command to the UPS and reports whether it is one to cut the output.
func (s *Site) obey(c nuttest.Command) (cuts bool) {
	s.TellAt(c.At, "ups "+strings.Join(c.Words, " "))
	switch {
	case len(c.Words) < 2:
	case c.Words[1] == "shutdown.return":
		return true
	case strings.HasPrefix(c.Words[1], "test.battery."):
		s.setTest(c.Words[1] == "test.battery.start.deep")
	}
	return false
}

func (s *Site) setTest(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tests = on
}

func (s *Site) setNAS(on bool) {
	s.mu.Lock()
	was := s.nasOn
	s.nasOn = on
	s.mu.Unlock()
	switch {
	case was && !on:
		s.SSHD.Kill()
		s.Tell("nas off")
	case !was && on:
		s.SSHD.Start()
		s.Tell("nas on")
	}
}

func (s *Site) cut() {
	s.mu.Lock()
	s.output = false
	s.Tell("ups output off")
	if s.options.Return {
		s.setMains(true)
	}
	s.mu.Unlock()
	s.ups.Set("output.voltage", "0")
}

// powerReturns starts what starts with its power: hosts by their firmware's setting, the NAS likewise.
func (s *Site) powerReturns() {
	s.mu.Lock()
	s.output = true
	s.Tell("ups output on")
	s.mu.Unlock()
	s.ups.Set("output.voltage", "230")
	s.setNAS(true)
	for _, h := range s.VSphere.Hosts() {
		_ = s.VSphere.PowerOnHost(h)
	}
}

// perPercent is how many seconds a percent of the charge lasts, as the UPS says: in a test enough for a whole shutdown.
func (s *Site) perPercent() float64 {
	if s.options.Test {
		return 60
	}
	return 6
}

func (s *Site) drainOrFill() {
	s.mu.Lock()
	status := "OL CHRG"
	switch {
	case s.mains && s.tests:
		status = "OB DISCHRG"
		s.charge = max(0, s.charge-drainTest*tick.Seconds())
	case s.mains:
		s.charge = min(100, s.charge+fill*tick.Seconds())
	default:
		status = "OB DISCHRG"
		s.charge = max(0, s.charge-drain*tick.Seconds())
	}
	if !s.output {
		status = "OFF"
		if s.mains {
			status = "OL OFF"
		}
	}
	charge, runtime := strconv.FormatFloat(s.charge, 'f', 1, 64), strconv.Itoa(int(s.charge*s.perPercent()))
	s.mu.Unlock()
	s.ups.Set("ups.status", status, "battery.charge", charge, "battery.runtime", runtime)
}
