package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
	"ebbtide/internal/plan"
)

// result is what a run under load came to.
type result struct {
	calm, outage pollFigures
	clients      *clients
	took         time.Duration // from the trigger until the last VM was off
	scheduled    time.Duration // what the plan's schedule says of that
	whole        time.Duration // from the mains' failure until the last output was cut
	peak         float64       // MiB resident
	share        float64       // of a core, in the outage
	violations   []string
}

// underLoad takes a fleet down while clients ask. fail lets the supplies fail; it returns when the last one has.
func underLoad(t *testing.T, size fleetSize, n int, fail func(*fleet) time.Time) result {
	t.Helper()
	f := newFleet(t, size)
	r := result{scheduled: f.scheduled()}
	process, log := f.start(build(t))
	f.awaitReady(log)
	r.clients = startClients(t, f.socket(), n)
	calm := time.Now()
	f.until("three polls of each supply", 20*time.Second, func() bool { return f.polls.each(f.supplies(), calm) >= 3 })
	require.Empty(t, f.told(), "nothing is touched before the mains fail")
	began, used := time.Now(), cpu(t, process.Pid)
	r.calm = f.polls.judge(calm, began)
	last := fail(f)
	f.until("cut of every output", 10*time.Minute, func() bool { return f.count("cut") == f.supplies() })
	ended := time.Now()
	r.outage, r.whole = f.polls.judge(began, ended), ended.Sub(began)
	r.share = 100 * (cpu(t, process.Pid) - used).Seconds() / r.whole.Seconds()
	for _, h := range f.told() {
		if h.what == "vm off" {
			r.took = h.at.Sub(last) - triggerAfter
		}
	}
	if *profile != "" {
		require.NoError(t, process.Signal(syscall.SIGUSR1))
	}
	r.peak = memory(t, process.Pid, "VmHWM")
	r.clients.stop()
	r.violations = f.violations()
	require.Equal(t, f.vms(), f.count("vm off"))
	require.Equal(t, f.vCenters*f.hosts, f.count("host off"))
	return r
}

// undisturbed lets the measurement go before what else this machine does, where that is allowed: it is the daemon beside
// its peers that is measured. Linux shares the processor out among sessions first (sched(7), autogroup).
func undisturbed(t *testing.T) {
	t.Helper()
	err := errors.Join(syscall.Setpriority(syscall.PRIO_PGRP, 0, -10), os.WriteFile("/proc/self/autogroup", []byte("-10"), 0))
	if err != nil {
		t.Logf("others on this machine may disturb the measurement: %v", err)
	}
}

// build makes the binary.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "ebbtide")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "ebbtide/cmd/ebbtide")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// start runs the daemon until the end of the test.
func (f *fleet) start(binary string) (*os.Process, string) {
	f.t.Helper()
	path := filepath.Join(f.dir, "log")
	log, err := os.Create(path)
	require.NoError(f.t, err)
	cmd := exec.CommandContext(context.WithoutCancel(f.t.Context()), binary, "daemon", "--config", f.write())
	cmd.Stdout, cmd.Stderr = log, log
	if *profile != "" {
		self, err := os.Executable()
		require.NoError(f.t, err)
		dir, err := filepath.Abs(*profile)
		require.NoError(f.t, err)
		cmd.Path, cmd.Env = self, append(os.Environ(), profileFolder+"="+dir)
	}
	require.NoError(f.t, cmd.Start())
	f.t.Cleanup(func() {
		require.NoError(f.t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(f.t, cmd.Wait())
		require.NoError(f.t, log.Close())
		if f.t.Failed() {
			text, _ := os.ReadFile(path)
			f.t.Logf("%s", text[max(0, len(text)-20_000):])
		}
	})
	return cmd.Process, path
}

// awaitReady waits until the daemon has seen every VM and host on and every supply on line.
func (f *fleet) awaitReady(log string) {
	f.t.Helper()
	client := daemon.NewClient(config.Listen{Network: "unix", Address: f.socket()}, "")
	f.until("daemon that knows its estate", 2*time.Minute, func() bool {
		s, err := client.Status(f.t.Context())
		if err != nil || len(s.Blind) > 0 {
			return false
		}
		on := 0
		for _, n := range s.View.Nodes {
			if n.Seen.State == plan.On {
				on++
			}
		}
		return on == f.vms()+f.vCenters*f.hosts+f.supplies()
	})
	text, err := os.ReadFile(log)
	require.NoError(f.t, err)
	require.NotContains(f.t, string(text), "level=ERROR")
}

// until waits for a condition.
func (f *fleet) until(what string, within time.Duration, holds func() bool) {
	f.t.Helper()
	clock := time.NewTicker(50 * time.Millisecond)
	defer clock.Stop()
	for end := time.Now().Add(within); !holds(); <-clock.C {
		require.False(f.t, time.Now().After(end), "no %s within %s: %d VMs off, %d hosts off, %d outputs cut", what, within, f.count("vm off"), f.count("host off"), f.count("cut"))
	}
}

// memory is a line of a process's status in /proc, in MiB.
func memory(t *testing.T, pid int, key string) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, key+": %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	t.Fatalf("no %s", key)
	return 0
}

func (r *result) log(t *testing.T) {
	c := r.clients
	t.Logf("calm %s; outage %s", r.calm, r.outage)
	t.Logf("VMs off after %s, scheduled %s (%.2f); whole %s", r.took, r.scheduled, r.took.Seconds()/r.scheduled.Seconds(), r.whole)
	t.Logf("peak %.0f MiB, %.0f %% of a core; heap %.1f; routines %.0f", r.peak, r.share, c.heap, c.routines)
	t.Logf("%d answers, p50 %s p99 %s; %d documents, gap p50 %s p99 %s; %d MB; %d faults", len(c.answers), percentile(c.answers, 50), percentile(c.answers, 99),
		c.documents, percentile(c.gaps, 50), percentile(c.gaps, 99), c.bytes>>20, len(c.faults))
	t.Logf("violations: %q; faults %q", r.violations[:min(5, len(r.violations))], c.faults[:min(5, len(c.faults))])
}

// TestSmallLoad is the measurement of a large fleet in small, so that it always works: what it asserts is order, polls
// and answers, with room for a machine that is busy.
func TestSmallLoad(t *testing.T) {
	size := fleetSize{servers: 2, vCenters: 2, hosts: 5, apps: 24, dbs: 6, atOnce: 100, guest: time.Second}
	r := underLoad(t, size, 10, func(f *fleet) time.Time { return f.fail(0, f.supplies()) })
	r.log(t)
}

func TestLargeLoad(t *testing.T) {
	wanted(t)
	undisturbed(t)
	size := fleetSize{servers: 10, vCenters: 4, hosts: 25, apps: 40, dbs: 10, atOnce: 400, guest: 5 * time.Second}
	r := underLoad(t, size, 50, func(f *fleet) time.Time { return f.fail(0, f.supplies()) })
	r.log(t)
}
