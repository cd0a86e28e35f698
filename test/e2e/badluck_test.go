package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// untilDown takes the mains away and waits for the cut.
func (s *room) untilDown(within time.Duration) {
	s.t.Helper()
	s.SetMains(false)
	s.Until("cut", within, func() bool { return s.At("ups output off") >= 0 })
	require.True(s.t, s.EstateOff(), "everything is off at the cut:\n%s", strings.Join(s.Told(), "\n"))
}

func TestARunbookWithMistakesDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "runbook.yaml"), []byte("version: 1\nrunbook: x\nsuplies: {}\n"), 0o600))
	settings := filepath.Join(dir, "settings.yaml")
	require.NoError(t, os.WriteFile(settings, []byte("runbook: runbook.yaml\njournal: journal.db\nlisten: unix:"+dir+"/api.sock\n"), 0o600))
	out, errs, code := run(t, "daemon", "--config", settings)
	require.Equal(t, 3, code, errs)
	require.Contains(t, out, "runbook.yaml:3:1: error:")
	require.Contains(t, out, "supplies", "the nearest known key is named")
}

func TestObserveModeSendsNothing(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	start(t, s.Files(false))
	s.Ready()
	s.SetMains(false)
	s.Until("rehearsed cut", 90*time.Second, func() bool {
		st, ok := s.Status()
		// In the steps, which keep it: its next reading shows the output on, as it is.
		return ok && st.Outage != nil && slices.ContainsFunc(st.Outage.Steps,
			func(s timeline.Step) bool { return s.Verb == plan.Cut && s.State == timeline.Proven })
	})
	for _, server := range []*vspheresim.Server{s.VSphere.VCenter()} {
		for _, method := range []string{"ShutdownGuest", "PowerOffVM_Task", "ShutdownHost_Task", "PowerOnVM_Task"} {
			require.Zero(t, server.Calls()[method], method)
		}
	}
	require.Equal(t, []string{"mains off"}, s.Told(), "no peer was told to do anything")
}

func TestAHungGuestIsForcedWithItsReason(t *testing.T) {
	t.Parallel()
	s := newRoom(t, func(name string) vspheresim.GuestBehaviour {
		return vspheresim.GuestBehaviour{Delay: 100 * time.Millisecond, Hang: name == "app1"}
	})
	start(t, s.Files(true))
	s.Ready()
	s.untilDown(60 * time.Second)
	st, ok := s.Status()
	require.True(t, ok)
	require.Len(t, st.Outage.Forced, 1)
	require.Equal(t, "app1", st.Outage.Forced[0].Node)
	require.Contains(t, st.Outage.Forced[0].Reason, "not proven within 3s")
	s.SetMains(true)
	s.untilRestored(90 * time.Second)
}

func TestVCenterVanishesInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	start(t, s.Files(true))
	s.Ready()
	s.SetMains(false)
	s.Until("first VM off", 30*time.Second, func() bool { return s.At("vm lab1 off") >= 0 || s.At("vm lab2 off") >= 0 })
	s.VSphere.VCenter().Stop()
	s.Until("cut", 90*time.Second, func() bool { return s.At("ups output off") >= 0 })
	require.True(t, s.EstateOff(), strings.Join(s.Told(), "\n"))
	s.requireOrderDown()
	require.NoError(t, s.VSphere.VCenter().Start())
	s.SetMains(true)
	s.untilRestored(90 * time.Second)
}

func TestKilledInTheMiddleItGoesOn(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(true)
	p := start(t, settings)
	s.Ready()
	s.SetMains(false)
	s.Until("database off", 60*time.Second, func() bool { return s.At("vm db off") >= 0 })
	p.Kill()
	start(t, settings)
	s.Until("cut", 90*time.Second, func() bool { return s.At("ups output off") >= 0 })
	require.True(t, s.EstateOff(), strings.Join(s.Told(), "\n"))
	s.requireOrderDown()
	s.SetMains(true)
	s.untilRestored(90 * time.Second)
	s.requireOrderUp()
	require.Equal(t, 1, count(s.Told(), "vm db off"))
	require.False(t, s.VSphere.VMOn("spare"))
}

func TestASecondDaemonAndAReloadAreRefused(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(true)
	p := start(t, settings)
	s.Ready()
	_, errs, code := run(t, "daemon", "--config", settings, "--listen", "unix:"+s.Dir+"/second.sock")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "in use")

	s.SetMains(false)
	s.Until("outage", 20*time.Second, func() bool { st, ok := s.Status(); return ok && st.View.Outage != "" })
	p.Signal(syscall.SIGHUP)
	s.Until("refused reload", 20*time.Second, func() bool {
		return strings.Contains(p.Log(), "was not reloaded") && strings.Contains(p.Log(), "an outage is under way")
	})
	_, errs, code = run(t, "hold", "--listen", "unix:"+s.Dir+"/api.sock")
	require.Equal(t, 0, code, errs)
	_, errs, code = run(t, "hold", "--listen", "unix:"+s.Dir+"/api.sock")
	require.Equal(t, 6, code, "held already: %s", errs)
	s.SetMains(true)
	_, errs, code = run(t, "resume", "--listen", "unix:"+s.Dir+"/api.sock")
	require.Equal(t, 0, code, errs)
	s.Until("end of the outage", 60*time.Second, func() bool { st, ok := s.Status(); return ok && st.View.Outage == "" })
}

func TestFlappingMainsStopNothing(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	start(t, s.Files(true))
	s.Ready()
	flap := time.NewTicker(300 * time.Millisecond)
	defer flap.Stop()
	for i := range 20 {
		<-flap.C
		s.SetMains(i%2 == 1)
	}
	s.Until("end of it", 60*time.Second, func() bool { st, ok := s.Status(); return ok && st.View.Outage == "" })
	for _, line := range s.Told() {
		require.False(t, strings.HasSuffix(line, " off") && line != "mains off", line)
	}
}

func TestAFullDiskDoesNotKeepTheEstateUp(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a small file system can only be mounted by root")
	}
	s := newRoom(t, nil)
	settings := s.Files(true)
	disk := filepath.Join(s.Dir, "disk")
	require.NoError(t, os.Mkdir(disk, 0o700))
	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"))
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	start(t, settings, "--journal", filepath.Join(disk, "journal.db"))
	s.Ready()
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	require.NoError(t, err)
	for block := make([]byte, 1024); err == nil; {
		_, err = f.Write(block)
	}
	_ = f.Close()
	s.untilDown(90 * time.Second)
	require.NoError(t, os.Remove(filler))
	s.SetMains(true)
	s.untilRestored(120 * time.Second)
}

// TestAWrongUPSNameAndAWrongPasswordAreTold: the daemon goes on, observes what it can, and says what is wrong.
func TestAWrongUPSNameAndAWrongPasswordAreTold(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(false)
	s.Write("credentials/upsd", "not the password")
	book, err := os.ReadFile(filepath.Join(s.Dir, "runbook.yaml"))
	require.NoError(t, err)
	more := "  typo: {nut: \"upps@" + s.UPSD.Addr + "\", cut: none}\nconnections:\n"
	s.Write("runbook.yaml", strings.Replace(string(book), "connections:\n", more, 1))
	p := start(t, settings)
	s.Until("both complaints", 30*time.Second, func() bool {
		log := p.Log()
		return strings.Contains(log, "ACCESS-DENIED") && strings.Contains(log, "upps") && strings.Contains(log, "UNKNOWN-UPS")
	})
	require.NotContains(t, p.Log(), "not the password")
	s.Until("the healthy supply read", 20*time.Second, func() bool {
		st, ok := s.Status()
		return ok && slices.ContainsFunc(st.View.Supplies, func(v engine.SupplyView) bool { return v.ID == "ups" && v.Text == "on line" })
	})
}

// TestAVMDeletedInTheMiddle counts as off, and is reported when it can't come back.
func TestAVMDeletedInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newRoom(t, func(name string) vspheresim.GuestBehaviour {
		return vspheresim.GuestBehaviour{Delay: 300 * time.Millisecond, Hang: name == "app2"}
	})
	start(t, s.Files(true))
	s.Ready()
	s.SetMains(false)
	s.Until("first app off", 60*time.Second, func() bool { return s.At("vm app1 off") >= 0 })
	require.NoError(t, s.VSphere.DeleteVM("app2"))
	s.Until("cut", 90*time.Second, func() bool { return s.At("ups output off") >= 0 })
	s.SetMains(true)
	s.Until("end of the outage", 120*time.Second, func() bool {
		st, ok := s.Status()
		return ok && st.View.Outage == "" && s.VSphere.VMOn("db") && s.VSphere.VMOn("app1")
	})
	out, _, code := run(t, "status", "--listen", "unix:"+s.Dir+"/api.sock")
	require.Zero(t, code)
	require.Contains(t, out, "end-to-end, armed")
}

// TestUpsdRestartedInAnOutage: the poller comes back by itself and the outage goes on.
func TestUpsdRestartedInAnOutage(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	start(t, s.Files(true))
	s.Ready()
	s.SetMains(false)
	s.Until("first VM off", 60*time.Second, func() bool { return s.At("vm lab1 off") >= 0 || s.At("vm lab2 off") >= 0 })
	s.UPSD.Stop()
	s.Until("database off", 60*time.Second, func() bool { return s.At("vm db off") >= 0 })
	s.UPSD.Launch()
	s.Until("cut", 120*time.Second, func() bool { return s.At("ups output off") >= 0 })
	require.True(t, s.EstateOff(), strings.Join(s.Told(), "\n"))
	s.SetMains(true)
	s.untilRestored(120 * time.Second)
}
