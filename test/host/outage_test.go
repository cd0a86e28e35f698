package host_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

	var mu sync.Mutex
	var off []string // hosts, in the order in which they went
	note := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		off = append(off, name)
	}

	files := site.NewFolder(t)
	var connections strings.Builder
	var hosts []*host.Host
	for _, name := range []string{"store", "web1", "web2"} {
		h := host.Boot(t, name, host.Options{Ended: note})
		hosts = append(hosts, h)
		files.Secret(name, h.Key)
		fmt.Fprintf(&connections, "  %s: {type: ssh, address: %q, user: root, key: {credential: %s}, host_key: %q}\n", name, h.Address,
			name, strings.TrimSpace(h.HostKey))
	}
	files.Secret("upsd", nuttest.AdminPassword)
	files.Write("runbook.yaml", fmt.Sprintf(roomText, upsd.Addr, nuttest.Admin, strings.TrimSuffix(connections.String(), "\n"), hostKeys))

	process := site.Start(t, site.Daemon(binary, files.Settings(true)))
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
		for _, h := range hosts {
			if h.On() {
				out, err := h.Exec("sh", "-c", "ps -eo pid,ppid,stat,wchan:24,args; timeout 5 systemctl --no-pager list-jobs")
				t.Logf("%s is on:\n%s%v", h.Name, out, err)
			}
		}
		t.Fatalf("no %s: %v\n%s", what, ups.Story(), process.Log())
	}
	view := func(holds func(engine.View) bool) func() bool {
		return func() bool {
			st, ok := files.Status()
			return ok && holds(st.View)
		}
	}
	allOn := func(v engine.View) bool {
		return v.Outage == "" && len(v.Nodes) > 0 &&
			!slices.ContainsFunc(v.Nodes, func(n engine.NodeView) bool { return n.Seen.State != plan.On })
	}
	until("daemon that knows its hosts", view(allOn))

	ups.Mains(false)
	until("cut", func() bool { return ups.Told("output off") })
	for _, h := range hosts {
		require.False(t, h.On(), "%s at the cut", h.Name)
	}
	mu.Lock()
	require.Len(t, off, 3)
	require.Equal(t, "store", off[2], "%v", off)
	mu.Unlock()

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
