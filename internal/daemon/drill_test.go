package daemon

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/config"
	"ebbtide/internal/ledger"
	"ebbtide/internal/nut/nutsim"
	"ebbtide/internal/plan"
)

const drillBook = `
version: 1
runbook: test
supplies:
  ups: {nut: "main@ADDRESS", username: ebbtide, password: {file: PASSWORD}, curve: {100%: 60m}}
nodes:
  nas: {type: fake, fed_by: [ups]}
  web: {type: fake, fed_by: [ups], depends_on: [nas], labels: {tier: web}}
policy:
  shed: [{name: web, nodes: [web], when: {on_battery: 1s}}]
  shutdown: {when: {on_battery: 2s}}
  restore: {when: {online: 1s}}
  reserve: 10s
`

func newDrillRig(t *testing.T) *rig {
	t.Helper()
	g := newRig(t)
	g.write(drillBook)
	return g
}

// done lists the commands that reached a node.
func (g *rig) done(node string) []plan.Verb {
	var verbs []plan.Verb
	for _, c := range g.estate.Calls() {
		if c.Node == node {
			verbs = append(verbs, c.Verb)
		}
	}
	return verbs
}

func (g *rig) closed() bool { return g.recorded(ledger.Closed, "", 0) }

func refusedWith(t *testing.T, answer error, text string) (refused *APIError) {
	t.Helper()
	refused, ok := errors.AsType[*APIError](answer)
	require.True(t, ok, "%v", answer)
	require.Equal(t, http.StatusConflict, refused.Code)
	require.ErrorContains(t, answer, text)
	return refused
}

// One node goes down and comes back, by its label; the storage that it stands on is left alone.
func TestADrill(t *testing.T) {
	g := newDrillRig(t)
	g.start()
	g.ready()
	p, err := g.client().PlanDrill(t.Context(), DrillOrder{Nodes: []string{"tier=web"}})
	require.NoError(t, err)
	require.Empty(t, p.Refused)
	require.Equal(t, []string{"web"}, p.Nodes)
	require.Equal(t, "tier=web", p.Scope)
	require.Len(t, p.Down, 1)
	require.Len(t, p.Up, 1)
	require.Positive(t, p.Takes)
	require.GreaterOrEqual(t, p.AtMost, p.Takes)
	require.Empty(t, g.records(), "a plan does nothing")

	begun, err := g.client().Drill(t.Context(), DrillOrder{Nodes: []string{"tier=web"}, By: "anna"})
	require.NoError(t, err)
	g.until("the end of the drill", g.closed)
	records := g.records()
	require.Equal(t, begun.Outage, records[0].Outage)
	require.Equal(t, ledger.ModeDrill, records[0].Mode)
	require.Equal(t, []string{"web"}, records[0].Scope)
	require.Contains(t, records[0].By, "anna")
	require.True(t, g.recorded(ledger.Proven, "web", plan.Stop))
	require.True(t, g.recorded(ledger.Proven, "web", plan.Start))
	require.Equal(t, []plan.Verb{plan.Stop, plan.Start}, g.done("web"))
	require.Empty(t, g.done("nas"))
	require.Empty(t, g.commands())
	g.until("counted", func() bool { return g.metrics()["ebbtide_drills_total{restored}"] == 1 })
	require.Zero(t, g.metrics()["ebbtide_outages_total{restored}"])
}

// What could not come back, or would lose what it stands on, is not drilled; nor is anything while a supply is not well.
func TestDrillsThatAreRefused(t *testing.T) {
	g := newDrillRig(t)
	g.start()
	g.ready()
	for _, c := range []struct {
		order DrillOrder
		text  string
	}{
		{DrillOrder{Nodes: []string{"nas"}}, "web, outside the drill, needs nas and is not off"},
		{DrillOrder{Nodes: []string{"ups"}}, "cutting its output is not a drill"},
		{DrillOrder{Nodes: []string{"wbe"}}, `no node has the name or label "wbe"`},
		{DrillOrder{Stage: "shutdown"}, `there is no shed stage "shutdown"`},
		{DrillOrder{Battery: "ups", Floor: 10}, "a floor of 10%"},
		{DrillOrder{Battery: "ups", Floor: 90}, "too close to the floor"},
	} {
		p, err := g.client().PlanDrill(t.Context(), c.order)
		require.NoError(t, err)
		require.Contains(t, p.Refused, c.text)
		_, err = g.client().Drill(t.Context(), c.order)
		require.NotEmpty(t, refusedWith(t, err, c.text).Hint())
	}
	require.Empty(t, g.records())
	g.outage(ledger.Opened, "", 0)
	_, err := g.client().Drill(t.Context(), DrillOrder{Stage: "web"})
	_ = refusedWith(t, err, "an outage is under way")
	g.back()
	g.ups.Set("ups.status", "OL BYPASS", "input.voltage", "150", "input.transfer.low", "180", "input.voltage.nominal", "230")
	g.until("the brown-out", func() bool { return strings.Contains(g.status().Text, "browned out") })
	_, err = g.client().Drill(t.Context(), DrillOrder{Stage: "web"})
	_ = refusedWith(t, err, "browned out")
}

// Orders that can't be read say what to write.
func TestDrillsThatCantBeRead(t *testing.T) {
	g := newDrillRig(t)
	g.start()
	for text, want := range map[string]string{
		`{}`:                                      "give exactly one",
		`{"nodes": ["a"], "stage": "b"}`:          "give exactly one",
		`{"stage": "b", "floor": 3}`:              "floor needs a battery",
		`{"stage": "b\u001b"}`:                    "printable",
		`{"what": 1}`:                             "cannot read the drill",
		`{"stage": "b"} {"stage": "b"}`:           "something follows it",
		`{"stage": "` + strings.Repeat("x", 5000): "too large",
	} {
		_, err := readDrill(http.MaxBytesReader(nil, &closer{strings.NewReader(text)}, maxCommand))
		require.ErrorContains(t, err, want, text)
	}
}

type closer struct{ *strings.Reader }

func (closer) Close() error { return nil }

// An unarmed daemon drills nothing, and rehearses: each probe is real, no command is sent.
func TestARehearsal(t *testing.T) {
	for _, armed := range []bool{false, true} {
		g := newDrillRig(t)
		g.config.Armed = armed
		g.start()
		g.ready()
		order := DrillOrder{Nodes: []string{"web"}}
		if !armed {
			p, err := g.client().PlanDrill(t.Context(), order)
			require.NoError(t, err)
			require.Contains(t, p.Refused, "not armed")
			_, err = g.client().Drill(t.Context(), order)
			require.Contains(t, refusedWith(t, err, "not armed").Hint(), "--rehearse")
		}
		var told []string
		require.NoError(t, g.client().Rehearse(t.Context(), order, func(line *RehearsalLine) error {
			told = append(told, line.Text)
			return nil
		}))
		text := strings.Join(told, "\n")
		require.Contains(t, text, "would stop web")
		require.Contains(t, text, "web would be off")
		require.NotContains(t, text, "web is ", "nothing of it has happened")
		require.Contains(t, text, "[rehearsed; really on")
		require.Contains(t, text, "web would be on again")
		require.Contains(t, told[len(told)-1], "the rehearsal is over; in a drill: everything that was on is on again")
		require.Empty(t, g.done("web"), "nothing was commanded")
		require.Empty(t, g.records(), "and nothing is on record")
		_ = refusedWith(t, g.client().Rehearse(t.Context(), DrillOrder{Nodes: []string{"ups"}}, nil), "cutting its output is not a drill")
	}
}

// A drill that the daemon leaves in the middle is brought back by the next one.
func TestADrillGoesOnAfterARestart(t *testing.T) {
	g := newDrillRig(t)
	g.start()
	g.ready()
	_, err := g.client().Drill(t.Context(), DrillOrder{Stage: "web"})
	require.NoError(t, err)
	g.until("the stop", func() bool { return g.recorded(ledger.Intent, "web", plan.Stop) })
	g.stop()
	g.config.Armed = false
	_, err = Open(t.Context(), g.options())
	require.ErrorContains(t, err, "cannot observe", "what a drill has stopped is not forgotten")
	g.config.Armed = true
	g.start()
	g.until("the end of the drill", g.closed)
	require.True(t, g.recorded(ledger.Proven, "web", plan.Start))
	require.Empty(t, g.commands())
}

// A battery is discharged to its floor by the UPS's test, whatever the UPS calls that, and what it gave is on record.
func TestABatteryDrill(t *testing.T) {
	for _, status := range []string{"OL CAL DISCHRG", "OB DISCHRG"} {
		g := newDrillRig(t)
		g.ups.OffersTest(nutsim.Test{Start: "test.battery.start.deep", Stop: "test.battery.stop", Status: status, Fall: 20})
		g.start()
		g.ready()
		order := DrillOrder{Battery: "ups", Floor: 60}
		g.until("estimate", func() bool { p, err := g.client().PlanDrill(t.Context(), order); return err == nil && p.Refused == "" })
		p, err := g.client().PlanDrill(t.Context(), order)
		require.NoError(t, err)
		require.Equal(t, "test.battery.start.deep", p.Battery.Command)
		_, err = g.client().Drill(t.Context(), order)
		require.NoError(t, err)
		g.until("the end of the drill", g.closed)
		i := slices.IndexFunc(g.records(), func(r ledger.Record) bool { return r.Kind == ledger.Spent })
		require.GreaterOrEqual(t, i, 0)
		d := g.records()[i].Discharge
		require.True(t, d.Drill)
		require.InDelta(t, 60, d.To, 5)
		require.Greater(t, d.From, d.To)
		require.Positive(t, d.Burn)
		require.Empty(t, g.done("web"))
		require.Equal(t, "OL CHRG", g.ups.Get("ups.status"))
		g.stop()
	}
}

// Without a test, and without a user who may begin it, nothing is begun.
func TestABatteryWithoutATest(t *testing.T) {
	g := newDrillRig(t)
	g.start()
	g.ready()
	p, err := g.client().PlanDrill(t.Context(), DrillOrder{Battery: "ups", Floor: 60})
	require.NoError(t, err)
	require.Contains(t, p.Refused, "no deep battery test")
}

// Who may only read may not drill, and not rehearse either.
func TestDrillsNeedTheRole(t *testing.T) {
	g := newDrillRig(t)
	g.config.Listen = config.Listen{Network: "tcp", Address: "127.0.0.1:0"}
	d := g.start()
	g.config.Listen.Address = d.Addr().String()
	_, err := g.client().PlanDrill(t.Context(), DrillOrder{Stage: "web"})
	refused, ok := errors.AsType[*APIError](err)
	require.True(t, ok)
	require.Equal(t, http.StatusForbidden, refused.Code)
}
