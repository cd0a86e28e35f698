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

// profile makes the load tests' daemon write where its time and memory go.
var profile = flag.String("profile", "", "folder for the CPU and heap profiles of the daemon under load")

// asDaemon makes this test binary, which holds the whole program, run as the program: with profiles in the folder that
// is its value, or without where that is "-".
const asDaemon = "EBBTIDE_BENCH_DAEMON"

func TestMain(m *testing.M) {
	switch dir := os.Getenv(asDaemon); dir {
	case "":
		os.Exit(m.Run())
	case "-":
		os.Exit(program())
	default:
		os.Exit(profiled(dir))
	}
}

func program() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return cli.Main(ctx, cli.World{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Version: "measured"})
}

// profiled runs the program and writes its profiles: of the processor when it ends, of the heap at SIGUSR1.
func profiled(dir string) int {
	used, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(used); err != nil {
		panic(err)
	}
	usr := make(chan os.Signal, 1)
	signal.Notify(usr, syscall.SIGUSR1)
	go func() {
		for range usr {
			writeHeap(dir)
		}
	}()
	code := program()
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
