package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
	"ebbtide/internal/engine"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
	"ebbtide/test/host"
	"ebbtide/test/site"
)

var binary string

func TestMain(m *testing.M) { site.Main(m, &binary) }

const roomText = `version: 1
runbook: real-hosts
supplies:
  ups: {nut: "ups@%s", username: %s, password: {credential: upsd}}
connections:
%s
nodes:
  store: {type: ssh, via: store, fed_by: [ups], risk: files, %[4]s}
  web1: {type: ssh, via: web1, fed_by: [ups], depends_on: [store], %[4]s}
  web2: {type: ssh, via: web2, fed_by: [ups], depends_on: [store], %[4]s}
policy:
  shutdown: {when: {on_battery: 1s}}
  restore: {when: {online: 2s}}
  reserve: 10s
`

const hostKeys = `stop: [systemctl, poweroff], off_when_unreachable: 1s, off_when_refused: true, down: {nominal: 5s, within: 1m}, up: {wake: {power: true}, within: 2m}`

// TestRealHostsGoDownAndComeBack takes machines down that systemd runs: over SSH, in order, each proven gone from the
// network before what it stands on is told to stop; their power is cut when the last is off, and they boot when it is back.
func TestRealHostsGoDownAndComeBack(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	driver := upsd.Driver("ups")
	driver.Set("battery.charge", "100", "battery.runtime", "1800", "ups.load", "30")
	ups := driver.Machine(nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 1, OnDelay: 1, HasTimer: true})

	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "credentials"), 0o700))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var connections strings.Builder
	var hosts []*host.Host
	for _, name := range []string{"store", "web1", "web2"} {
		h := host.Boot(t, name, host.Options{Ended: func(name string) { ups.Note(name + " off") }})
		hosts = append(hosts, h)
		write("credentials/"+name, h.Key)
		fmt.Fprintf(&connections, "  %s: {type: ssh, address: %q, user: root, key: {credential: %s}, host_key: %q}\n", name, h.Address, name, strings.TrimSpace(h.HostKey))
	}
	write("credentials/upsd", nuttest.AdminPassword)
	write("runbook.yaml", fmt.Sprintf(roomText, upsd.Addr, nuttest.Admin, strings.TrimSuffix(connections.String(), "\n"), hostKeys))
	write("settings.yaml", "runbook: runbook.yaml\njournal: journal.db\nlisten: unix:"+filepath.Join(dir, "s")+"\ncredentials: credentials\narmed: true\npoll: 200ms\npoll_on_battery: 100ms\n")

	process := site.Start(t, site.Daemon(binary, filepath.Join(dir, "settings.yaml")))
	until := func(what string, holds func() bool) {
		t.Helper()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); <-tick.C {
			if holds() {
				return
			}
			require.True(t, process.Running(), process.Log())
		}
		t.Fatalf("no %s: %v\n%s", what, ups.Story(), process.Log())
	}
	view := func(holds func(engine.View) bool) func() bool {
		return func() bool {
			st, err := daemon.NewClient(config.Listen{Network: "unix", Address: filepath.Join(dir, "s")}, "", nil).Status(t.Context())
			return err == nil && holds(st.View)
		}
	}
	allOn := func(v engine.View) bool {
		return v.Outage == "" && len(v.Nodes) > 0 && !slices.ContainsFunc(v.Nodes, func(n engine.NodeView) bool { return n.Seen.State != plan.On })
	}
	until("daemon that knows its hosts", view(allOn))

	ups.Mains(false)
	until("cut", func() bool { return ups.Told("output off") })
	for _, h := range hosts {
		require.False(t, h.On(), "%s at the cut", h.Name)
	}
	story := ups.Story()
	at := func(what string) int { return slices.Index(story, what) }
	require.Less(t, max(at("web1 off"), at("web2 off")), at("store off"), "%v", story)
	require.Less(t, at("store off"), at("output off"), "%v", story)

	ups.Mains(true)
	until("output", func() bool { return ups.Told("output on") })
	for _, h := range hosts { // their firmware: on with their power
		h.PowerOn()
	}
	for _, h := range hosts {
		h.Await()
	}
	until("end of the outage", view(allOn))
}
