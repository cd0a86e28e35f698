package mixed_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/ipmi/ipmitest"
	"ebbtide/internal/adapter/redfish/redfishsim"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
	"ebbtide/test/host"
	"ebbtide/test/site"
)

const stuckText = `version: 1
runbook: stuck
supplies:
  ups: {nut: "ups@%[1]s", username: %[2]s, password: {credential: upsd}}
connections:
%[3]s
nodes:
  store: {type: ssh, via: store, fed_by: [ups], risk: storage, stop: [systemctl, poweroff], off_when_unreachable: 1s, off_when_refused: true, down: %[4]s}
  hung: {type: ssh, via: hung, fed_by: [ups], depends_on: [store], stop: [/bin/true], off_when_unreachable: 1s, off_when_refused: true, down: %[4]s, up: {wake: {redfish: hung-bmc}}}
  mute: {type: ssh, via: mute, fed_by: [ups], depends_on: [store], stop: [systemctl, stop, ebbtide-login.service], off_when_unreachable: 1s, off_when_refused: true, down: %[4]s, up: {wake: {ipmi: mute-bmc}}}
policy:
  shutdown: {when: {on_battery: 1s}}
  reserve: 10s
`

// TestTheLastRungIsTheController takes real machines down that do not obey: one that takes its command and runs on, and one
// that only falls silent, which a runbook without a controller would take for off. Their controllers say that both are on,
// nothing that they stand on is touched until they are forced off, and the records say why that was done.
func TestTheLastRungIsTheController(t *testing.T) {
	told := site.NewChronicle(t)
	files := site.NewFolder(t)
	store, hung, mute := boot(t, told, "store", nil), boot(t, told, "hung", nil), boot(t, told, "mute", nil)

	redfish := redfishsim.New(redfishsim.Options{Machine: hung})
	t.Cleanup(redfish.Close)
	ipmi, err := ipmitest.New(0)
	require.NoError(t, err)
	t.Cleanup(ipmi.Close)
	ipmi.Wire(mute)

	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	driver := upsd.Driver("ups")
	driver.Set("battery.charge", "100", "battery.runtime", "3600", "ups.load", "30")
	ups := driver.Machine(nuttest.Traits{
		Commands: []string{"shutdown.return"}, OffDelay: 1, OnDelay: 1, HasTimer: true,
		Around: func() string {
			var on []string
			for _, h := range []*host.Host{store.Host, hung.Host, mute.Host} {
				if h.On() {
					on = append(on, h.Name)
				}
			}
			return strings.Join(on, " ")
		},
	})

	var connections strings.Builder
	for _, m := range []*machine{store, hung, mute} {
		fmt.Fprintf(&connections, "  %s: {type: ssh, address: %q, user: root, key: {credential: %[1]s}, host_key: %[3]q}\n", m.Name,
			m.Address, strings.TrimSpace(m.HostKey))
		files.Secret(m.Name, m.Key)
	}
	fmt.Fprintf(&connections, "  hung-bmc: {type: redfish, url: %q, username: %s, password: {credential: hung-bmc}, thumbprint: %q}\n",
		redfish.URL, redfishsim.User, redfish.Thumbprint())
	fmt.Fprintf(&connections, "  mute-bmc: {type: ipmi, address: %q, username: %s, password: {credential: mute-bmc}}",
		ipmi.Address, ipmitest.User)
	for name, secret := range map[string]string{
		"upsd": nuttest.AdminPassword, "hung-bmc": redfishsim.Password,
		"mute-bmc": ipmitest.Password,
	} {
		files.Secret(name, secret)
	}
	files.Write("runbook.yaml", fmt.Sprintf(stuckText, upsd.Addr, nuttest.Admin, connections.String(), "{nominal: 5s, within: 15s}"))

	daemon := site.Start(t, site.Daemon(binary, files.Settings(true)))
	until := func(what string, holds func() bool) {
		t.Helper()
		told.Until(what, 4*time.Minute, func() bool {
			require.True(t, daemon.Running(), "%s", daemon.Log())
			return holds()
		})
	}
	until("daemon that knows its estate", func() bool {
		st, ok := files.Status()
		return ok && len(st.View.Nodes) > 0 && !slices.ContainsFunc(st.View.Nodes,
			func(n engine.NodeView) bool { return n.Seen.State != plan.On })
	})
	ups.Mains(false)
	until("cut", func() bool { return ups.Told("output off") })

	require.Contains(t, ups.Story(), "output off []", "the UPS cuts what is off")
	require.Equal(t, []string{"ForceOff"}, redfish.Resets())
	require.Equal(t, []string{"down"}, ipmi.Commands())
	require.Equal(t, "host store off", told.Told()[2], "the store goes when both are really off: %v", told.Told())
	outages, err := files.Client().Outages(t.Context())
	require.NoError(t, err)
	require.Len(t, outages.Outages, 1)
	outage, err := files.Client().Outage(t.Context(), outages.Outages[0].ID)
	require.NoError(t, err)
	for _, name := range []string{"hung", "mute"} {
		i := slices.IndexFunc(outage.Records, func(r ledger.Record) bool {
			return r.Kind == ledger.Intent && r.Node == name && r.Verb != nil && *r.Verb == plan.Force
		})
		require.GreaterOrEqual(t, i, 0, "%s was forced: %v", name, told.Told())
		require.Equal(t, ledger.Overtime, outage.Records[i].Cause)
		require.Contains(t, outage.Records[i].Reason, "not proven within 15s")
	}
}
