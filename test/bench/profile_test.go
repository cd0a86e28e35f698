package bench

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"syscall"
	"testing"

	"ebbtide/internal/cli"
)

// profile turns the load tests' daemon into one that writes where its time and memory go: this very test binary, which
// holds the whole program, runs in its place.
var profile = flag.String("profile", "", "folder for the CPU and heap profiles of the daemon under load")

const profileFolder = "EBBTIDE_BENCH_PROFILE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(profileFolder); dir != "" {
		os.Exit(profiled(dir))
	}
	os.Exit(m.Run())
}

// profiled runs a command line of Ebbtide and writes its profiles when it ends.
func profiled(dir string) int {
	used, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(used); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	usr := make(chan os.Signal, 1) // the heap while all is under way
	signal.Notify(usr, syscall.SIGUSR1)
	go func() {
		for range usr {
			writeHeap(dir)
		}
	}()
	code := cli.Main(ctx, cli.World{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Version: "profiled"})
	pprof.StopCPUProfile()
	_ = used.Close() // whoever reads it sees what is missing
	return code
}

func writeHeap(dir string) {
	f, err := os.Create(filepath.Join(dir, "heap.pprof"))
	if err != nil {
		panic(err)
	}
	defer f.Close() //nolint:errcheck // whoever reads it sees what is missing
	if err := pprof.WriteHeapProfile(f); err != nil {
		panic(err)
	}
}
