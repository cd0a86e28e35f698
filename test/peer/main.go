// Peer plays the same drawn nights on today's engine and on the one that it replaced (docs/adr/0016), and prints how the two
// compare and in which nights today's is clearly worse. `make peer` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

var (
	nights = flag.Int("nights", 20_000, "how many drawn nights are played")
	from   = flag.Uint64("from", 0, "the seed of the first; 0: at random")
	faults = flag.Int("faults", 1, "how many times as likely as usual faults, lies, crashes and silences are")
	show   = flag.Int("show", 10, "how many of the nights are listed in which the new engine is clearly worse")
	keep   = flag.String("keep", "", "where what came of each night is kept, as JSON lines; empty: nowhere")
	player = flag.Bool("play", false, "only play the nights, on the engine that this program is built with, and print what came of them")
)

// mostSeeds bounds a first seed, so that people can read it.
const mostSeeds = 1_000_000_000

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *from == 0 {
		*from = 1 + rand.Uint64N(mostSeeds)
	}
	do := compare
	if *player {
		do = play
	}
	if err := do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "peer: error:", err)
		if h := (hinted{}); errors.As(err, &h) {
			fmt.Fprintln(os.Stderr, "peer: hint:", h.hint)
		}
		stop()
		os.Exit(1)
	}
}

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// compare plays the nights on both engines and prints what came of it.
func compare(ctx context.Context) error {
	if *nights < 1 || *faults < 1 {
		return errors.New("cannot play fewer than 1 night, or with faults less than 1 times as likely")
	}
	root, err := git(ctx, "", "rev-parse", "--show-toplevel")
	if err != nil {
		return hinted{err, "the old engine is in the history: run this in a git clone of the repository"}
	}
	root = strings.TrimSpace(root)
	dir, err := os.MkdirTemp("", "ebbtide-peer-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	kept := dir
	if *keep != "" {
		if kept, err = filepath.Abs(*keep); err != nil {
			return err
		}
		if err := os.MkdirAll(kept, 0o755); err != nil {
			return err
		}
	}

	overlay, err := oldEngine(ctx, root, dir)
	if err != nil {
		return err
	}
	before, now := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	if err := build(ctx, root, before, "-overlay", overlay); err != nil {
		return fmt.Errorf("cannot build the old engine into today's simulator (does %s have all that it asks for?): %w", adapterFile, err)
	}
	if err := build(ctx, root, now); err != nil {
		return fmt.Errorf("cannot build the new engine: %w", err)
	}
	fmt.Printf("%d drawn nights from seed %d on (-from %d -nights %d -faults %d plays the same again); the old engine is that of %s\n\n",
		*nights, *from, *from, *nights, *faults, oldCommit[:7])
	olds, err := playedBy(ctx, before, filepath.Join(kept, "old.jsonl"))
	if err != nil {
		return fmt.Errorf("cannot play the nights on the old engine: %w", err)
	}
	news, err := playedBy(ctx, now, filepath.Join(kept, "new.jsonl"))
	if err != nil {
		return fmt.Errorf("cannot play the nights on the new engine: %w", err)
	}
	return tell(os.Stdout, pairs(olds, news), *show)
}

// build builds this program as the flags say.
func build(ctx context.Context, root, program string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build"}, flags...), "-o", program, "./test/peer")...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	return cmd.Run()
}

// playedBy has a program that was built play the nights, into a file.
func playedBy(ctx context.Context, program, file string) ([]night, error) {
	out, err := os.Create(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(ctx, program, "-play", fmt.Sprint("-from=", *from), fmt.Sprint("-nights=", *nights),
		fmt.Sprint("-faults=", *faults))
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return read(file)
}
