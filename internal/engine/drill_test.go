package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// TestRefusedDrills names what speaks against a drill, and what to do instead.
func TestRefusedDrills(t *testing.T) {
	t.Parallel()
	vm := plan.VerbSet(plan.Stop, plan.Force, plan.Start)
	nodes := []plan.Node{
		{ID: "ups", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut, plan.Start)},
		{ID: "me", Kind: plan.Self, Can: plan.VerbSet(plan.Stop), FedBy: []string{"ups"}, DependsOn: []string{"boot"}, ByPower: true},
		{ID: "boot", Can: vm, FedBy: []string{"ups"}},
		{ID: "nas", Can: plan.VerbSet(plan.Stop), FedBy: []string{"ups"}, ByPower: true},
		{ID: "fan", Kind: plan.Manual, Can: plan.VerbSet(plan.Stop, plan.Start), FedBy: []string{"ups"}},
		{ID: "db", Kind: plan.VM, Can: vm, DependsOn: []string{"rack"}, FedBy: []string{"ups"}},
		{ID: "rack", Kind: plan.Passive, DependsOn: []string{"shelf"}},
		{ID: "shelf", Can: vm, FedBy: []string{"ups"}},
		{ID: "app", Kind: plan.VM, Can: vm, DependsOn: []string{"db"}, FedBy: []string{"ups"}},
		{ID: "mute", Kind: plan.VM, Can: vm, FedBy: []string{"ups"}},
		{ID: "off", Kind: plan.VM, Can: vm, FedBy: []string{"ups"}, Stage: "lab"},
		{ID: "lab/1", Group: "lab", Kind: plan.VM, Can: vm, FedBy: []string{"ups"}, Stage: "lab", Labels: []plan.Label{{Key: "tier", Value: "lab"}}},
	}
	for i := range nodes {
		if nodes[i].Stage == "" {
			nodes[i].Stage = plan.ShutdownStage
		}
		for v := range nodes[i].Times {
			nodes[i].Times[v] = plan.Times{Nominal: 10 * time.Second, Within: time.Minute}
		}
	}
	estate, err := plan.NewEstate(nodes, nil)
	require.NoError(t, err)
	e := engine.New(engine.Settings{
		Estate: estate, Supplies: []power.Supply{{ID: "ups"}}, Mode: "run",
		Policy: power.Policy{Shed: []power.Stage{{Name: "lab"}, {Name: "none"}}, Reserve: time.Minute},
	})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	read := func(r power.Reading) {
		r.Supply = "ups"
		now = now.Add(time.Second)
		answerProbes(e, now, e.Apply(now, engine.Read{Reading: r}), nil)
	}
	online := power.Reading{
		Status: power.OL, Charge: power.Known(100), Runtime: power.Known(3600), Load: power.Known(50),
		Voltage: power.Known(230),
	}
	require.Contains(t, e.RefusesDrill(engine.Drill{Nodes: []string{"app"}}), "never heard from", "before the first reading")
	answerProbes(e, now, e.Apply(now, engine.Started{}), map[string]plan.State{"off": plan.Off, "mute": plan.Unreachable})
	read(online)
	for _, c := range []struct {
		drill engine.Drill
		why   string // "": it would begin
	}{
		{engine.Drill{Nodes: []string{"app"}}, ""},
		{engine.Drill{Nodes: []string{"lab"}}, ""},
		{engine.Drill{Nodes: []string{"tier=lab", "off"}}, ""},
		{engine.Drill{Stage: "lab"}, ""},
		{engine.Drill{Nodes: []string{"app", "db", "shelf", "rack"}}, ""},
		{engine.Drill{}, "there is nothing to drill"},
		{engine.Drill{Nodes: []string{"tier=web"}}, `"tier=web"`},
		{engine.Drill{Stage: "none"}, `stage "none" has no nodes`},
		{engine.Drill{Stage: plan.ShutdownStage}, "no shed stage"},
		{engine.Drill{Nodes: []string{"me"}}, "the machine that Ebbtide runs on"},
		{engine.Drill{Nodes: []string{"ups"}}, "cutting its output is not a drill"},
		{engine.Drill{Nodes: []string{"fan"}}, "a manual step"},
		{engine.Drill{Nodes: []string{"nas"}}, "only the return of its power or a person can start nas again"},
		{engine.Drill{Nodes: []string{"boot"}}, "me, outside the drill, needs boot"},
		{engine.Drill{Nodes: []string{"db"}}, "app, outside the drill, needs db"},
		{engine.Drill{Nodes: []string{"shelf"}}, "db, outside the drill, needs shelf"},
		{engine.Drill{Nodes: []string{"mute"}}, "it is unknown whether these are on or off: mute"},
		{engine.Drill{Nodes: []string{"off"}}, "none of these nodes is on"},
		{engine.Drill{Supply: "upz"}, `there is no supply "upz"`},
		{engine.Drill{Supply: "ups", Floor: 5}, "a floor of 5%"},
		{engine.Drill{Supply: "ups", Floor: 96}, "a floor of 96%"},
		{engine.Drill{Supply: "ups", Floor: 50}, ""},
	} {
		why := e.RefusesDrill(c.drill)
		if c.why == "" {
			require.Empty(t, why, "%+v", c.drill)
			continue
		}
		require.Contains(t, why, c.why)
		require.Contains(t, why, "; ", "what to do instead")
	}
	for _, c := range []struct {
		reading power.Reading
		why     string
	}{
		{power.Reading{Link: power.Lost}, "silent"},
		{power.Reading{Status: power.OL | power.CAL}, "calibrating"},
		{power.Reading{Status: power.OL, Voltage: power.Known(150), TransferLow: power.Known(180)}, "browned out"},
	} {
		read(online)
		require.Empty(t, e.RefusesDrill(engine.Drill{Nodes: []string{"app"}}))
		read(c.reading)
		read(c.reading)
		require.Contains(t, e.RefusesDrill(engine.Drill{Nodes: []string{"app"}}), c.why)
	}
	low := online
	low.Runtime, low.Charge = power.Known(60), power.Known(80)
	read(low)
	read(low)
	require.Contains(t, e.RefusesDrill(engine.Drill{Supply: "ups", Floor: 50}), "a shutdown with the reserve needs")
	low.Charge = power.Known(52)
	read(low)
	require.Contains(t, e.RefusesDrill(engine.Drill{Supply: "ups", Floor: 50}), "too close to the floor")
	low.Status |= power.RB
	read(low)
	require.Contains(t, e.RefusesDrill(engine.Drill{Supply: "ups", Floor: 50}), "battery needs replacing")
	e.Apply(now, engine.JournalLost{Detail: "disk full"})
	require.Contains(t, e.RefusesDrill(engine.Drill{Nodes: []string{"app"}}), "the journal can't be written")
}

// answerProbes answers the probes among some effects: on, unless said otherwise. What an answer asks again is answered too.
func answerProbes(e *engine.Engine, now time.Time, effects []effect.Effect, states map[string]plan.State) {
	for len(effects) > 0 {
		ask, ok := effects[0].(effect.Probe)
		effects = effects[1:]
		if !ok {
			continue
		}
		state, given := states[ask.Node]
		if !given {
			state = plan.On
		}
		effects = append(effects, e.Apply(now, engine.Finished{Op: ask.Op, Outcome: ledger.Done, Seen: plan.Observation{State: state}})...)
	}
}
