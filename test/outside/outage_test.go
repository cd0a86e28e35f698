package outside

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An ordinary policy, with the times of a test.
const policy = `  shutdown: {when: {any: [{on_battery: 2s}, {low_battery: true}, {silent_on_battery: 3s}]}}
  restore: {when: {online: 2s}}
`

// dump is a real UPS: one of the dumps of networkupstools/nut-ddl. What a test changes is set at the start.
func dump(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv("EBBTIDE_NUT_DDL")
	if folder == "" {
		folder = "../../../shared/nut-ddl"
	}
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Logf("no UPS dumps: set EBBTIDE_NUT_DDL to a copy of networkupstools/nut-ddl: %v", err)
		return "battery.charge: 100\nbattery.runtime: 1800\nups.load: 30\nups.mfr: TEST\nups.model: small\nups.status: OL\n"
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		name, _, ok := strings.Cut(line, ":")
		if ok && !strings.HasPrefix(line, "#") && !strings.Contains(name, " ") && name != "ups.status" {
			lines = append(lines, strings.TrimRight(line, "\r\n"))
		}
	}
	return strings.Join(append(lines, "ups.status: OL"), "\n") + "\n"
}

const (
	smartUPS = "APC/APC__Smart-UPS_1500__usbhid-ups__2.7.2__01.dev"
	within   = 60 * time.Second
)

// moments are the numbers below n, or, unless all are to be played, one of them.
func moments(n, one int) []int {
	if !*all {
		return []int{one}
	}
	var each []int
	for i := range n {
		each = append(each, i)
	}
	return each
}

func (s *site) down() bool { return s.vmsOn() == 0 && s.nasIs() == "off" }

func (s *site) up(vms int) bool { return s.vmsOn() == vms && s.nasIs() == "on" }

func (s *site) over() bool {
	st, err := s.status()
	return err == nil && st.View.Outage == ""
}

func TestAnOutageAndBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, dump(t, smartUPS))
	s.run(policy)
	on := s.vmsOn()
	require.Equal(t, 4, on)
	s.says("ups.status", "OB DISCHRG")
	s.until("all is down", within, s.down)
	s.says("ups.status", "OL CHRG")
	s.until("all is up", within, func() bool { return s.up(on) })
	s.until("the outage is over", within, s.over)
}

// The mains are back while the estate is on its way down.
func TestTheMainsAreBackAtEachStage(t *testing.T) {
	t.Parallel()
	stages := []struct {
		name    string
		reached func(*site) bool
	}{
		{"at once", func(*site) bool { return true }},
		{"the outage is open", func(s *site) bool { return s.moments() > 0 }},
		{"a VM is off", func(s *site) bool { return s.vmsOn() < 4 }},
		{"all VMs are off", func(s *site) bool { return s.vmsOn() == 0 }},
		{"the NAS is off", func(s *site) bool { return s.nasIs() == "off" }},
	}
	for _, i := range moments(len(stages), 2) {
		stage := stages[i]
		t.Run(stage.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, dump(t, smartUPS))
			s.run(policy)
			s.says("ups.status", "OB DISCHRG")
			s.until(stage.name, within, func() bool { return stage.reached(s) })
			s.says("ups.status", "OL CHRG")
			s.until("all is up, and the outage over", within, func() bool { return s.over() && s.up(4) })
		})
	}
}

// atEach plays an outage up to each of n moments, or to one of them, and then what a test does there.
func atEach(t *testing.T, n, one int, do func(*site)) {
	t.Helper()
	t.Parallel()
	for _, i := range moments(n, one) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, dump(t, smartUPS))
			s.run(policy)
			s.says("ups.status", "OB DISCHRG")
			s.until("it has got so far", within, func() bool { return s.moments() >= min(i, 8) })
			do(s)
		})
	}
}

// Ebbtide is killed at any moment, and goes on.
func TestKilled(t *testing.T) {
	atEach(t, 8, 5, func(s *site) {
		s.daemon.kill()
		s.again()
		s.until("all is down", within, s.down)
		s.says("ups.status", "OL CHRG")
		s.until("all is up, and the outage over", within, func() bool { return s.over() && s.up(4) })
	})
}

// vCenter goes on battery and is back, with all its VMs on, as they begin there.
func TestVCenterRestarts(t *testing.T) {
	atEach(t, 10, 4, func(s *site) {
		s.vcenter.kill()
		s.startVCenter()
		s.until("all is down", within, s.down)
	})
}

// upsd goes while the mains are out: the estate is shut down by what it said last.
func TestUpsdIsKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t, dump(t, smartUPS))
	s.run(`  shutdown: {when: {any: [{on_battery: 10m}, {low_battery: true}, {silent_on_battery: 3s}]}}
  restore: {when: {online: 2s}}
`)
	s.says("ups.status", "OB DISCHRG")
	s.until("the outage is open", within, func() bool { return s.moments() > 0 })
	s.killNUT()
	s.until("all is down", within, s.down)
	s.serveNUT()
	s.until("all is up, and the outage over", within, func() bool { return s.over() && s.up(4) })
}

// Low battery at once, from a UPS that tells neither charge nor runtime: all guests are asked, and none is powered off.
func TestLowBatteryAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "ups.mfr: TEST\nups.model: plain\nups.status: OL\n")
	s.run(policy)
	s.says("ups.status", "OB LB")
	s.until("all is down", within, s.down)
	require.Contains(t, s.log(), "stop vms/")
	require.NotContains(t, s.log(), "force vms/")
}

// Ten short failures do nothing.
func TestFlaps(t *testing.T) {
	t.Parallel()
	s := newSite(t, dump(t, smartUPS))
	s.run(policy)
	for i := range 10 {
		s.says("ups.status", "OB DISCHRG")
		s.until("Ebbtide has seen it", within, func() bool { return strings.Count(s.log(), "power failure at ups") == i+1 })
		s.says("ups.status", "OL CHRG")
		s.until("the outage is over", within, s.over)
	}
	require.Equal(t, 4, s.vmsOn())
	log, err := os.ReadFile(filepath.Join(s.dir, "nas/log"))
	require.NoError(t, err)
	require.NotContains(t, string(log), "stop")
}

// A NAS that hangs holds up what needs it, and people are told; nothing is called off that is not.
func TestTheNASHangs(t *testing.T) {
	t.Parallel()
	s := newSite(t, dump(t, smartUPS))
	s.run(policy)
	s.signal(s.sshd, syscall.SIGSTOP)
	s.says("ups.status", "OB DISCHRG")
	s.until("the VMs are off", within, func() bool { return s.vmsOn() == 0 })
	s.signal(s.sshd, syscall.SIGCONT)
	s.until("all is down", within, s.down)
}

// A charge that jumps down begins what it is a trigger for, and up again ends nothing that has begun.
func TestTheChargeJumps(t *testing.T) {
	t.Parallel()
	s := newSite(t, dump(t, smartUPS))
	s.run(`  shutdown: {when: {any: [{charge_below: 40%}, {low_battery: true}, {silent_on_battery: 3s}]}}
  restore: {when: {online: 2s}}
`)
	s.says("battery.charge", "95")
	s.says("ups.status", "OB DISCHRG")
	s.until("the outage is open", within, func() bool { return s.moments() > 0 })
	s.says("battery.charge", "12")
	s.until("the VMs are going", within, func() bool { return strings.Contains(s.log(), "stop vms/") })
	s.says("battery.charge", "95")
	s.until("all is down", within, s.down)
	s.says("ups.status", "OL CHRG")
	s.until("all is up, and the outage over", within, func() bool { return s.over() && s.up(4) })
}

// Of two UPSes that feed the NAS one fails and dies: it goes on with the other, and goes down when that fails too.
func TestOneOfTwoDies(t *testing.T) {
	t.Parallel()
	s := newSite(t, dump(t, smartUPS))
	s.feeds = "ups, ups2"
	s.run(policy)
	s.says("ups.status", "OB DISCHRG")
	s.until("the outage is open", within, func() bool { return s.moments() > 0 })
	s.drivers["ups"].kill()
	s.until("Ebbtide hears no more of it", within, func() bool { return strings.Contains(s.log(), "can't be read") })
	require.Never(t, func() bool { return s.nasIs() != "on" || s.vmsOn() != 4 }, 8*time.Second, time.Second)
	s.saysOf("ups2", "ups.status", "OB DISCHRG")
	s.until("all is down", within, s.down)
}
