package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// beforeCommit is the last one before the referee and the engine were made anew: its campaign played 25 nights a second and core where
// 150 were asked for, which is six times as many (docs/adr/0018).
const (
	beforeCommit = "54e22936eadaf124858a0c8a4c6871d369ec644e"
	timesBefore  = 150.0 / 25
)

// speed plays nights that nothing is checked in beside the rules, on all cores, and then some with the campaign of
// before, out of the history.
func speed() (string, bool, error) {
	now, err := nightsASecond(".", 5000, "-dst.random", "-dst.broken", "0")
	if err != nil {
		return "", false, err
	}
	dir, err := os.MkdirTemp("", "ebbtide-before-")
	if err != nil {
		return "", false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tar := filepath.Join(dir, "before.tar")
	if out, err := exec.CommandContext(context.Background(), "git", "archive", "--output", tar, beforeCommit).CombinedOutput(); err != nil {
		return "", false, fmt.Errorf("cannot take the campaign of before out of the history (is the clone shallow? git fetch "+
			"--unshallow): %w\n%s", err, out)
	}
	if out, err := exec.CommandContext(context.Background(), "tar", "-xf", tar, "-C", dir).CombinedOutput(); err != nil {
		return "", false, fmt.Errorf("cannot unpack the campaign of before: %w\n%s", err, out)
	}
	before, err := nightsASecond(dir, 1000, "-dst.from", "7000000", "-dst.keep", dir)
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%.0f: %.1f × %.0f", now, now/before, before), now >= 150 || now >= timesBefore*before, nil
}

// nightsASecond plays so many nights with the campaign of a source tree.
func nightsASecond(dir string, seeds int, args ...string) (float64, error) {
	out, err := runIn(dir, "./test/dst", "^TestCampaign$", append(args, "-dst.shrink", "0", "-dst.seeds", fmt.Sprint(seeds))...)
	if err != nil {
		return 0, err
	}
	took := itTook.FindStringSubmatch(out)
	if took == nil {
		return 0, fmt.Errorf("the campaign did not end:\n%s", out)
	}
	seconds, err := strconv.ParseFloat(took[1], 64)
	return float64(seeds) / seconds / float64(runtime.GOMAXPROCS(0)), err
}
