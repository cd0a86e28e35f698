package mixed_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/ssh/sshdtest"
	"ebbtide/internal/engine"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
	"ebbtide/test/site"
)

const unreachableText = `version: 1
runbook: unreachable
supplies:
  ups: {nut: "ups@%s", username: %s, password: {credential: upsd}}
connections:
  live: {type: ssh, address: %q, user: %s, key: {credential: key}, host_key: %q}
%s
nodes:
%s
policy:
  shutdown: {when: {on_battery: 1s}}
  reserve: 10s
`

// TestFiftyUnreachableHostsDelayNoOtherStep takes down what answers, one after the other as it depends on each other, while
// fifty hosts of the same type, from which nothing comes back, are being stopped as well. All that answers is proven off
// before the first of them is given up, which would be in ten minutes; and its turn is not the last: the output waits.
func TestFiftyUnreachableHostsDelayNoOtherStep(t *testing.T) {
	const silent, answering = 50, 6
	told := site.NewChronicle(t)
	files := site.NewFolder(t)
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	driver := upsd.Driver("ups")
	driver.Set("battery.charge", "100", "battery.runtime", "36000", "ups.load", "30")
	ups := driver.Machine(nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 1, OnDelay: 1, HasTimer: true})
	sshd := sshdtest.New(t)
	sshd.Write("node.sh", `cd "$(dirname "$0")" || exit 1
case "$2" in
state) if [ -e "$1.off" ]; then echo state=off; else echo state=on; fi;;
stop) : >"$1.off";;
esac
`)
	hole := peertest.BlackHole(t)
	var connections, nodes strings.Builder
	for i := range silent {
		fmt.Fprintf(&connections, "  dead%02d: {type: ssh, address: %q, user: root, key: {credential: key}, host_key: %q}\n", i,
			hole, sshd.HostKey)
		fmt.Fprintf(&nodes, "  dead%02d: {type: ssh, via: dead%02d, fed_by: [ups], stop: [poweroff], off_when_unreachable: 10s, down: "+
			"{nominal: 5s, within: 10m}}\n", i, i)
	}
	for i := range answering {
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf("depends_on: [live%d], ", i-1)
		}
		fmt.Fprintf(&nodes, "  live%d: {type: ssh, via: live, fed_by: [ups], %sprobe: [sh, %q, live%d, state], stop: [sh, %[3]q, "+
			"live%[1]d, stop], down: {nominal: 5s, within: 10m}}\n", i, needs, sshd.Dir+"/node.sh", i)
	}
	files.Secret("upsd", nuttest.AdminPassword)
	files.Secret("key", sshd.Key)
	files.Write("runbook.yaml", fmt.Sprintf(unreachableText, upsd.Addr, nuttest.Admin, sshd.Address, sshd.User, sshd.HostKey,
		strings.TrimSuffix(connections.String(), "\n"), strings.TrimSuffix(nodes.String(), "\n")))
	daemon := site.Start(t, site.Daemon(binary, files.Settings(true)))
	// view waits until the daemon's view of its nodes is so, and gives it.
	view := func(what string, holds func(live, dead []engine.NodeView) bool) {
		t.Helper()
		told.Until(what, 3*time.Minute, func() bool {
			require.True(t, daemon.Running(), "%s", daemon.Log())
			st, ok := files.Status()
			if !ok {
				return false
			}
			var live, dead []engine.NodeView
			for _, n := range st.View.Nodes {
				switch {
				case strings.HasPrefix(n.ID, "live"):
					live = append(live, n)
				case strings.HasPrefix(n.ID, "dead"):
					dead = append(dead, n)
				}
			}
			return holds(live, dead)
		})
	}
	all := func(nodes []engine.NodeView, are func(engine.NodeView) bool) bool {
		return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n engine.NodeView) bool { return !are(n) })
	}
	view("daemon that knows what answers", func(live, _ []engine.NodeView) bool {
		return all(live, func(n engine.NodeView) bool { return n.Seen.State == plan.On })
	})

	began := time.Now()
	ups.Mains(false)
	view("end of what answers", func(live, dead []engine.NodeView) bool {
		if !all(live, func(n engine.NodeView) bool { return n.Seen.State == plan.Off && n.Doing == "" }) {
			return false
		}
		require.Len(t, dead, silent)
		for _, n := range dead {
			require.Equal(t, "stop", n.Doing, "%s: it is neither given up nor taken for off", n.ID)
		}
		return true
	})
	t.Logf("what answers was off after %s", time.Since(began).Round(10*time.Millisecond))
	require.False(t, ups.Told("cut armed"), "%v", ups.Story())
}
