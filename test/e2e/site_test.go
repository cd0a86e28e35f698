// Package e2e_test runs the built binary as the daemon against real peers: Debian's upsd, OpenSSH, and the vSphere
// simulator over HTTPS. What it asserts is seen from the peers' side.
package e2e_test

import (
	"os"
	"testing"

	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/test/site"
)

var binary string

func TestMain(m *testing.M) { site.Main(m, &binary) }

// room is a site, and what is asserted of it.
type room struct {
	*site.Site
	t *testing.T
}

func newRoom(t *testing.T, guest func(string) vspheresim.GuestBehaviour) *room {
	t.Helper()
	return &room{Site: site.New(t, site.Options{Guest: guest}), t: t}
}

// start runs the daemon; the test's end stops it.
func start(t *testing.T, settings string, more ...string) *site.Process {
	t.Helper()
	return site.Start(t, site.Daemon(binary, settings, more...))
}

// run runs one command to its end.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return site.Run(t, binary, args...)
}

// startWith runs the daemon with more in its environment.
func startWith(t *testing.T, env []string, settings string, more ...string) *site.Process {
	t.Helper()
	cmd := site.Daemon(binary, settings, more...)
	cmd.Env = append(os.Environ(), env...)
	return site.Start(t, cmd)
}
