package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/nut/nuttest"
)

// TestIdle measures the daemon as servers have it, with ten supplies on a real upsd and nothing happening, and how long its help takes.
func TestIdle(t *testing.T) {
	wanted(t)
	dir := t.TempDir()
	binary := built(t)

	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("ups", i))
	}
	upsd := nuttest.Start(t, nuttest.Config{UPSes: names})
	var b strings.Builder
	b.WriteString("version: 1\nrunbook: idle\nsupplies:\n")
	for _, n := range names {
		upsd.Driver(n).Set("ups.status", "OL", "battery.charge", "100", "battery.runtime", "1200", "ups.load", "20")
		fmt.Fprintf(&b, "  %s: {nut: \"%s@%s\"}\n", n, n, upsd.Addr)
	}
	b.WriteString("nodes:\n")
	for _, n := range names {
		fmt.Fprintf(&b, "  host-%s: {type: command, fed_by: [%s], probe: [\"true\"], stop: [\"true\"], start: [\"true\"]}\n", n, n)
	}
	b.WriteString("policy:\n  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}\n  restore: {when: {online: 10m}}\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "runbook.yaml"), []byte(b.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "settings.yaml"),
		[]byte("runbook: runbook.yaml\njournal: journal.db\nlisten: unix:"+dir+"/s\n"), 0o600))
	daemon := exec.CommandContext(t.Context(), binary, "daemon", "--config", filepath.Join(dir, "settings.yaml"))
	require.NoError(t, daemon.Start())
	defer func() { _ = daemon.Process.Signal(syscall.SIGTERM); _ = daemon.Wait() }()

	<-time.After(15 * time.Second) // its start is not idle
	before, began := cpu(t, daemon.Process.Pid), time.Now()
	<-time.After(20 * time.Second)
	share := 100 * (cpu(t, daemon.Process.Pid) - before).Seconds() / time.Since(began).Seconds()
	rss := resident(t, daemon.Process.Pid)
	figure{Figure: "daemon_idle_10_supplies_rss", Value: rss, Unit: "MiB", Target: "<= 32", OK: rss <= 32}.print(t)
	figure{
		Figure: "daemon_idle_10_supplies_cpu", Value: share, Unit: "% of a core", Target: "<= 1", OK: share <= 1,
		Note: "over 20 s",
	}.print(t)

	var help []time.Duration
	for range 20 {
		begun := time.Now()
		require.NoError(t, exec.CommandContext(context.Background(), binary, "--help").Run())
		help = append(help, time.Since(begun))
	}
	figure{
		Figure: "help_time", Value: median(help).Seconds(), Unit: "s", Target: "<= 0.1", OK: median(help) <= 100*time.Millisecond,
		Runs: 20, Note: "median",
	}.print(t)
}

// cpu is the processor time of a process so far (proc(5): fields 14 and 15 of stat, in hundredths of a second).
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, err := strconv.Atoi(fields[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// resident is a process's resident memory in MiB.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.Atoi(f[1])
			require.NoError(t, err)
			return float64(kib) / 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
