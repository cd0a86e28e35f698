package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/ledger"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
)

// endgame is a rig on the real upsd, whose UPSes obey and are called as they are in the runbook.
type endgame struct {
	*rig
	upsd *nuttest.Server
	ups  map[string]*nuttest.Machine
}

// newEndgame makes one with these fake nodes. UPSD in the runbook stands for the server's address, AS for a user who may
// command.
func newEndgame(t *testing.T, book string, nodes []string, supplies map[string]nuttest.Traits) *endgame {
	t.Helper()
	g := &endgame{rig: newRig(t), ups: map[string]*nuttest.Machine{}}
	names := make([]string, 0, len(supplies))
	for name := range supplies {
		names = append(names, name)
	}
	slices.Sort(names)
	g.upsd = nuttest.Start(t, nuttest.Config{UPSes: names})
	g.config.Credentials = g.dir
	write(t, g.dir, "upsd", nuttest.AdminPassword)
	write(t, g.dir, "forcer", nuttest.ForcerPassword)
	g.more = []adapter.Family{nut.Family()}
	for _, id := range nodes {
		if !slices.Contains([]string{"nas", "web"}, id) { // the rig has these
			g.estate.Add(id, fake.Spec{Takes: map[plan.Verb]time.Duration{plan.Stop: 200 * time.Millisecond}})
		}
	}
	for name, traits := range supplies {
		traits.Around = func() string {
			var on []string
			for _, id := range nodes {
				if g.estate.Node(id).State() != plan.Off {
					on = append(on, id)
				}
			}
			return strings.Join(on, " ")
		}
		driver := g.upsd.Driver(name)
		driver.Set("battery.charge", "100", "battery.runtime", "7200", "ups.load", "30")
		g.ups[name] = driver.Machine(traits)
		driver.Set("ready", "1")
		g.upsd.Await(name, "ready", "1")
	}
	g.write(strings.NewReplacer("UPSD", g.upsd.Addr, "AS", "username: "+nuttest.Admin+", password: {credential: upsd}").Replace(book))
	return g
}

func (g *endgame) recordedAs(kind ledger.Kind, node string) bool {
	return slices.ContainsFunc(g.records(), func(r ledger.Record) bool { return r.Kind == kind && r.Node == node })
}

// The whole end game on the real upsd: a lab is shed and its outlet switched off; the machines that NUT itself takes down
// are told to go, and their leave is waited for, before what they need goes; the cut takes its delay from the runbook, and
// comes last. On the way back the outlet is on before the lab starts.
func TestTheEndGame(t *testing.T) {
	t.Parallel()
	g := newEndgame(t, `
version: 1
runbook: test
supplies:
  ups: {nut: "ups@UPSD", AS, offdelay: 2s}
connections:
  upsd: {type: nut, nut: "ups@UPSD", username: forcer, password: {credential: forcer}}
nodes:
  nas: {type: fake, fed_by: [ups], up: {wake: {power: true}}}
  lab: {type: fake, fed_by: [ups/2]}
  secondaries: {type: nut.secondaries, via: upsd, fed_by: [ups], depends_on: [nas], fsd_cleared_by: cut, settle: 500ms, up: {wake: {power: true}}}
policy:
  shed: [{name: lab, nodes: [lab], when: {on_battery: 500ms}}]
  shutdown: {when: {on_battery: 3s}}
  restore: {when: {online: 1s}}
  reserve: 10s
`, []string{"nas", "lab"}, map[string]nuttest.Traits{
		"ups": {Commands: []string{"shutdown.return", "load.on"}, Outlets: []string{"2"}, OffDelay: 20, OnDelay: 1, HasTimer: true},
	})
	ups := g.ups["ups"]
	machine := g.upsd.Upsmon("127.0.0.2", "ups", 300*time.Millisecond)
	g.start()
	g.ready()
	ups.Mains(false)
	g.until("the output to go off", func() bool { return ups.Told("output off") })
	require.True(t, machine.Left(), "the secondary went before the cut")
	require.Equal(t, []string{
		"mains off [nas lab]", "outlet 2 off [nas]", "cut armed, 2s []", "output off []",
	}, ups.Story())
	require.Equal(t, []string{"INSTCMD outlet.2.load.off", "SET ups.delay.shutdown 2", "INSTCMD shutdown.return"},
		g.upsd.Driver("ups").Sent())
	require.True(t, g.recorded(ledger.Proven, "secondaries", plan.Stop))
	g.before(ledger.Proven, "secondaries", plan.Stop, ledger.Intent, "nas", plan.Stop)
	g.before(ledger.Proven, "ups/2", plan.Stop, ledger.Intent, "nas", plan.Stop)

	g.upsd.Stop() // its machine lost its power too
	g.upsd.Launch()
	ups.Mains(true)
	g.until("the output to return", func() bool { return ups.Told("output on") })
	g.estate.Node("nas").Set(plan.On)
	g.upsd.Upsmon("127.0.0.2", "ups", 0)
	g.until("the end of the outage", func() bool { return g.recorded(ledger.Closed, "", 0) })
	require.True(t, ups.Told("outlet 2 on [nas]"), "before the lab: %q", ups.Story())
	require.Equal(t, plan.On, g.estate.Node("lab").State())
	g.before(ledger.Proven, "ups/2", plan.Start, ledger.Intent, "lab", plan.Start)
	require.NotContains(t, g.log.String(), "a supply can't do")
}

// before asserts that one record stands before another.
func (g *endgame) before(kind ledger.Kind, node string, verb plan.Verb, then ledger.Kind, other string, otherVerb plan.Verb) {
	g.t.Helper()
	at := func(kind ledger.Kind, node string, verb plan.Verb) int {
		return slices.IndexFunc(g.records(), func(r ledger.Record) bool {
			return r.Kind == kind && r.Node == node && r.Verb != nil && *r.Verb == verb
		})
	}
	first, second := at(kind, node, verb), at(then, other, otherVerb)
	require.GreaterOrEqual(g.t, first, 0, "%s %s %s", kind, verb, node)
	require.Greater(g.t, second, first, "%s %s %s", then, otherVerb, other)
}

// The power race: the mains are back after the point of no return, and the UPS takes shutdown.return and ignores it on
// line, as some do. The load is cycled all the same, in another way.
func TestThePowerRace(t *testing.T) {
	t.Parallel()
	g := newEndgame(t, `
version: 1
runbook: test
supplies:
  ups: {nut: "ups@UPSD", AS}
connections:
  upsd: {type: nut, nut: "ups@UPSD", username: forcer, password: {credential: forcer}}
nodes:
  nas: {type: fake, fed_by: [ups]}
  secondaries: {type: nut.secondaries, via: upsd, fed_by: [ups], depends_on: [nas], fsd_cleared_by: restart, settle: 3s, up: {wake: {power: true}}}
policy:
  shutdown: {when: {on_battery: 500ms}}
  restore: {when: {online: 1s}}
  reserve: 10s
`, []string{"nas"}, map[string]nuttest.Traits{
		"ups": {Commands: []string{"shutdown.return", "shutdown.reboot"}, OffDelay: 1, OnDelay: 1, DeafOnLine: true},
	})
	ups := g.ups["ups"]
	g.upsd.Upsmon("127.0.0.2", "ups", 0)
	g.start()
	g.ready()
	ups.Mains(false)
	g.until("the point of no return", func() bool { return g.recorded(ledger.NoReturn, "secondaries", plan.Stop) })
	ups.Mains(true)
	g.until("the first way to be tried", func() bool { return len(g.upsd.Driver("ups").Sent()) > 0 })
	g.until("the UPS not to have made it", func() bool { return g.recordedAs(ledger.Reopened, "ups") })
	g.until("the cycle", func() bool { return ups.Told("output on") })
	require.Equal(t, []string{"INSTCMD shutdown.return", "INSTCMD shutdown.reboot"}, g.upsd.Driver("ups").Sent())
	g.upsd.Stop() // what cleared the flag
	g.upsd.Launch()
	g.upsd.Upsmon("127.0.0.2", "ups", 0) // starts with its power
	g.until("the end of the outage", func() bool { return g.recorded(ledger.Closed, "", 0) })
	require.Equal(t, plan.On, g.estate.Node("nas").State())
}

// Of two feeds one dies, and its driver with it while the cut is armed: what it alone feeds is taken down and brought back,
// and what has the other feed is left alone.
func TestOneOfTwoFeedsDies(t *testing.T) {
	t.Parallel()
	traits := nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 1, OnDelay: 1, FollowsOutput: true}
	g := newEndgame(t, `
version: 1
runbook: test
supplies:
  a: {nut: "a@UPSD", AS}
  b: {nut: "b@UPSD", AS}
nodes:
  web: {type: fake, fed_by: [a, b]}
  lab: {type: fake, fed_by: [a], up: {wake: {power: true}}}
policy:
  shutdown: {when: {on_battery: 500ms}}
  restore: {when: {online: 1s}}
  reserve: 10s
`, []string{"web", "lab"}, map[string]nuttest.Traits{"a": traits, "b": traits})
	g.start()
	g.ready()
	g.ups["a"].Mains(false)
	g.until("the cut to be proven", func() bool { return g.recorded(ledger.Proven, "a", plan.Cut) && g.ups["a"].Told("output off") })
	require.Equal(t, []string{"mains off [web lab]", "cut armed, 1s [web]", "output off [web]"}, g.ups["a"].Story())
	g.ups["a"].Mains(true)
	g.until("the output to return", func() bool { return g.ups["a"].Told("output on") })
	g.estate.Node("lab").Set(plan.On)
	g.until("the end of the outage", func() bool { return g.recorded(ledger.Closed, "", 0) })
	require.Empty(t, g.ups["b"].Story())
	require.Empty(t, g.upsd.Driver("b").Sent())
	require.Equal(t, plan.On, g.estate.Node("web").State())
	require.False(t, g.recordedAs(ledger.Intent, "web"), "it never lost its power")
}

// At the start people are told what a UPS lacks of what the runbook wants.
func TestWhatAUPSLacksIsTold(t *testing.T) {
	t.Parallel()
	g := newEndgame(t, `
version: 1
runbook: test
supplies:
  ups: {nut: "ups@UPSD", AS, cut: shutdown.stayoff, offdelay: 45s}
nodes:
  lab: {type: fake, fed_by: [ups/1]}
policy: {shutdown: {when: {on_battery: 10m}}, reserve: 10s}
`, []string{"lab"}, map[string]nuttest.Traits{"ups": {Commands: []string{"shutdown.return"}}})
	g.upsd.Upsmon("127.0.0.1", "ups", 0)
	g.start()
	for _, lack := range []string{
		"the UPS lacks the command shutdown.stayoff (it has shutdown.return)",
		fmt.Sprintf("offdelay: %s has no effect", 45*time.Second),
		"outlet 1 can't be switched off",
		"outlet 1 can't be proven off or on",
		"an upsmon on this machine is logged in",
	} {
		g.until(lack, func() bool { return strings.Contains(g.log.String(), lack) })
	}
	g.until("the status tells of it", func() bool {
		return slices.ContainsFunc(g.status().Lacks,
			func(l string) bool { return strings.HasPrefix(l, "ups: ") && strings.Contains(l, "shutdown.stayoff") })
	})
}
