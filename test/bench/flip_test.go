package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/engine"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/power"
)

const (
	flips     = 20
	instances = 6 // of upsmon, each with its own phase
	rounds    = 4
)

// TestFlip measures the time from a UPS going on battery until the engine's first effect, polling a real upsd at the
// defaults, and until upsmon's first notice at its defaults, on the same upsd. When a flip falls between two polls
// decides most of its delay: see phases.
func TestFlip(t *testing.T) {
	wanted(t)
	peertest.Need(t, "/lib/nut/upsmon", "/lib/nut/upsmon")
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	driver := upsd.Driver("ups")
	set := func(status string) {
		driver.Set("ups.status", status, "battery.charge", "90", "battery.runtime", "900")
	}
	set("OL")
	upsd.Await("ups", "ups.status", "OL")
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // draws phases
	ours := median(ourFlips(t, upsd, set, phases(rng, flips, time.Second)))
	figure{
		Figure: "flip_to_first_effect", Value: ours.Seconds(), Unit: "s", Target: "<= 0.6", OK: ours <= 600*time.Millisecond,
		Runs: flips, Note: fmt.Sprintf("median, default polls of 1 s; one phase drawn uniformly from each %dth of it, seed %d",
			flips, seed),
	}.print(t)
	theirs := median(theirFlips(t, upsd, set, phases(rng, rounds, 5*time.Second/instances)))
	ratio := theirs.Seconds() / ours.Seconds()
	figure{
		Figure: "flip_upsmon_over_ebbtide", Value: ratio, Unit: "ratio", Target: ">= 4", OK: ratio >= 4, Runs: instances * rounds,
		Note: fmt.Sprintf("upsmon at its defaults notices after %.2f s (median; its ONBATT notice); %d of them spread over its 5 s, %d "+
			"flips drawn as above", theirs.Seconds(), instances, rounds),
	}.print(t)
}

// phases spreads n moments over an interval: one drawn uniformly from each nth part of it, in random order. Their mean
// hardly differs from one draw to the next, and no order of the draws is favoured.
func phases(rng *rand.Rand, n int, interval time.Duration) []time.Duration {
	spread := make([]time.Duration, n)
	for i, at := range rng.Perm(n) {
		spread[i] = time.Duration((float64(at) + rng.Float64()) / float64(n) * float64(interval))
	}
	return spread
}

// ourFlips gives the delays of Ebbtide's poller and engine, one for each phase between two polls.
func ourFlips(t *testing.T, upsd *nuttest.Server, set func(string), phases []time.Duration) []time.Duration {
	s := estate(t, 20, time.Second, time.Second)
	var mu sync.Mutex
	eng := engine.New(s)
	first, online := make(chan time.Time, 1), make(chan struct{}, 1)
	poller := nut.NewPoller(nut.PollerOptions{Log: slog.New(slog.DiscardHandler)}, []nut.Server{{
		Options: nut.Options{Address: upsd.Addr}, Supplies: []nut.Supply{{ID: "ups", UPS: "ups"}},
	}}, func(r power.Reading) {
		mu.Lock()
		defer mu.Unlock()
		was := eng.Open()
		eng.Apply(time.Now(), engine.Read{Reading: r})
		if !was && eng.Open() {
			first <- time.Now()
		}
		if r.Status.Has(power.OL) {
			select {
			case online <- struct{}{}:
			default:
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { poller.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	<-online
	var delays []time.Duration
	for _, phase := range phases {
		<-time.After(time.Second + phase) // after a poll
		flipped := time.Now()
		set("OB DISCHRG")
		delays = append(delays, (<-first).Sub(flipped))
		set("OL")
		upsd.Await("ups", "ups.status", "OL")
		for len(online) > 0 {
			<-online
		}
		<-online
		mu.Lock()
		eng = engine.New(s) // well again: the next flip is a new outage
		mu.Unlock()
	}
	return delays
}

// theirFlips gives the delays until upsmon runs its NOTIFYCMD for ONBATT.
func theirFlips(t *testing.T, upsd *nuttest.Server, set func(string), phases []time.Duration) []time.Duration {
	var marks []string
	for i := range instances { // their polls of every five seconds are spread over those five
		if i > 0 {
			<-time.After(5 * time.Second / instances)
		}
		marks = append(marks, startUpsmon(t, upsd))
	}
	<-time.After(8 * time.Second) // all have polled
	var delays []time.Duration
	for _, phase := range phases { // the instances' own phases cover the rest of their five seconds
		<-time.After(phase)
		flipped := time.Now()
		set("OB DISCHRG")
		for _, mark := range marks {
			delays = append(delays, awaitMark(t, mark).Sub(flipped))
		}
		set("OL")
		<-time.After(6 * time.Second) // each has seen it on line again
		for _, mark := range marks {
			require.NoError(t, os.RemoveAll(mark))
		}
	}
	return delays
}

// startUpsmon starts one with its default times, as an ordinary user, and gives the file that its ONBATT notice writes
// the time to.
func startUpsmon(t *testing.T, upsd *nuttest.Server) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "upsmon") //nolint:usetesting // t.TempDir lies under a folder that upsmon's user can't enter
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777))
	mark := filepath.Join(dir, "onbatt")
	script := "#!/bin/sh\n[ \"$NOTIFYTYPE\" = ONBATT ] && [ ! -e " + mark + " ] && date +%s.%N >" + mark + ".new && mv " + mark + ".new " +
		mark + "\nexit 0\n"
	write := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	write("notify", script, 0o755)
	write("upsmon.conf", fmt.Sprintf("MONITOR ups@%s 1 %s %s secondary\nMINSUPPLIES 1\nSHUTDOWNCMD /bin/true\nNOTIFYCMD "+
		"%s/notify\nNOTIFYFLAG ONBATT EXEC\nNOTIFYFLAG ONLINE IGNORE\n", upsd.Addr, nuttest.Viewer, nuttest.ViewerPassword, dir), 0o644)
	cmd := exec.CommandContext(t.Context(), "/lib/nut/upsmon", "-F", "-p")
	cmd.Env = append(os.Environ(), "NUT_CONFPATH="+dir, "NUT_STATEPATH="+dir, "NUT_ALTPIDPATH="+dir)
	cmd.Dir = dir
	if os.Geteuid() == 0 { // as root it would keep a process id of its own in /run
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return mark
}

// awaitMark waits for a time stamp.
func awaitMark(t *testing.T, mark string) time.Time {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-look.C {
		text, err := os.ReadFile(mark)
		if err != nil {
			continue
		}
		at, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		require.NoError(t, err)
		return time.Unix(0, int64(at*1e9))
	}
	t.Fatalf("upsmon did not notice in 20 s")
	return time.Time{}
}
