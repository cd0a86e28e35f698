// Command ebbtide takes a datacenter down in order when the mains fail, proves it, and brings it back.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"ebbtide/internal/cli"
)

// version is set by the build.
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	os.Exit(cli.Main(ctx, cli.World{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version, Reload: reload,
	}))
}
