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

// heldAgainst is a campaign that played 145 nights a second and core on a machine that nobody has any more, where 150 are asked for
// (docs/adr/0018).
const (
	heldAgainst = "706e81a3028adc1dc5ab9ca61679152496f99c8a"
	timesThat   = 150.0 / 145
)

// speed plays nights that nothing is checked in beside the rules, on all cores, in turn with the campaign that it is held
// against, out of the history: a machine that others use too is at times half as fast.
func speed() (string, bool, error) {
	dir, err := os.MkdirTemp("", "ebbtide-before-")
	if err != nil {
		return "", false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tar := filepath.Join(dir, "before.tar")
	if out, err := exec.CommandContext(context.Background(), "git", "archive", "--output", tar, heldAgainst).CombinedOutput(); err != nil {
		return "", false, fmt.Errorf("cannot take the campaign of before out of the history (is the clone shallow? git fetch "+
			"--unshallow): %w\n%s", err, out)
	}
	if out, err := exec.CommandContext(context.Background(), "tar", "-xf", tar, "-C", dir).CombinedOutput(); err != nil {
		return "", false, fmt.Errorf("cannot unpack the campaign of before: %w\n%s", err, out)
	}
	const rounds, nights = 6, 1200
	var now, then float64 // seconds
	for range rounds {
		for _, of := range []struct {
			dir  string
			took *float64
		}{{".", &now}, {dir, &then}} {
			took, err := campaignTakes(of.dir, nights, "-dst.random", "-dst.broken", fmt.Sprint(nights))
			if err != nil {
				return "", false, err
			}
			*of.took += took
		}
	}
	a := rounds * nights / now / float64(runtime.GOMAXPROCS(0))
	return fmt.Sprintf("%.0f: %.2f × %.0f", a, then/now, a*now/then), a >= 150 || then/now >= timesThat, nil
}

// campaignTakes plays so many nights with the campaign of a source tree, and gives the seconds that it took.
func campaignTakes(dir string, nights int, args ...string) (float64, error) {
	out, err := runIn(dir, "./test/dst", "^TestCampaign$", append(args, "-dst.shrink", "0", "-dst.seeds", fmt.Sprint(nights))...)
	if err != nil {
		return 0, err
	}
	took := itTook.FindStringSubmatch(out)
	if took == nil {
		return 0, fmt.Errorf("the campaign did not end:\n%s", out)
	}
	return strconv.ParseFloat(took[1], 64)
}
