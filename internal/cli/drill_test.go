package cli

import (
	"bytes"
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/daemon"
	"ebbtide/internal/engine"
	"ebbtide/internal/families"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/sim"
	"ebbtide/test/golden"
)

// TestTheVerdictOfADrill has all that may come of a node: what did not come back stands first, and decides the exit code.
func TestTheVerdictOfADrill(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct {
		nodes  []string
		faults map[string]sim.Fault
		code   int
	}{
		"testdata/verdict-good.txt":   {nodes: []string{"media"}},
		"testdata/verdict-forced.txt": {nodes: []string{"media", "home"}, faults: map[string]sim.Fault{"media": sim.Hang}},
		"testdata/verdict-dud.txt":    {nodes: []string{"media", "home"}, faults: map[string]sim.Fault{"home": sim.Dud}, code: exitFailed},
		"testdata/verdict-stuck.txt":  {nodes: []string{"media"}, faults: map[string]sim.Fault{"media": sim.Stuck}, code: exitFailed},
	} {
		_, r := homeLabRun(t, sim.Scenario{
			For: 2 * time.Hour, Faults: c.faults,
			Changes: []sim.Change{{At: time.Minute, Drill: &engine.Drill{Nodes: c.nodes, By: "tester"}}},
		})
		p := &daemon.DrillPlan{Scope: "test", Nodes: c.nodes}
		for _, id := range c.nodes {
			p.Down = append(p.Down, daemon.DrillStep{Node: id, Verb: plan.Stop, P95: 2 * time.Minute})
			p.Up = append(p.Up, daemon.DrillStep{Node: id, Verb: plan.Start, P95: 20 * time.Second})
		}
		var b bytes.Buffer
		a := &app{World: World{Stdout: &b}, format: "text"}
		err := a.showVerdict(judgeDrill(p, r.Records))
		code := exitDone
		if err != nil {
			code, _, _ = explain(err)
		}
		require.Equal(t, c.code, code, "%s", b.String())
		golden.Equal(t, file, b.String())
	}
}

// homeLabRun plays a scenario on the home lab's runbook.
func homeLabRun(t *testing.T, sc sim.Scenario) (*runbook.Runbook, *sim.Result) {
	t.Helper()
	rb, problems, err := readRunbook("../../runbooks/home-lab.yaml")
	require.NoError(t, err)
	require.Empty(t, problems)
	c, err := runbook.Compile(rb, families.Schema(), nil)
	require.NoError(t, err)
	sc.Settings = engine.Settings{Estate: c.Estate, Policy: c.Policy, Supplies: c.Supplies, Mode: cmp.Or(sc.Settings.Mode, "run")}
	sc.Batteries = map[string]sim.Battery{"ups": {Charge: 1, Runtime: 25 * time.Minute}}
	return rb, sim.Run(sc)
}
