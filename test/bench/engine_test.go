package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/command"
	"ebbtide/internal/adapter/passive"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
	"ebbtide/internal/sim"
)

// estate is a supply, a NAS, hosts and VMs: n nodes in all, with the given nominal times.
func estate(t *testing.T, n int, vm, host time.Duration) engine.Settings {
	t.Helper()
	times := func(nominal time.Duration) (x [7]plan.Times) {
		for v := range x {
			x[v] = plan.Times{Nominal: nominal, Within: 20*nominal + 10*time.Second}
		}
		return x
	}
	nodes := []plan.Node{
		{ID: "ups", Type: "supply", Kind: plan.Supply, Can: plan.VerbSet(plan.Start), Times: times(host)},
		{
			ID: "nas", Type: "nas", FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop, plan.Start), Times: times(host),
			Stage: plan.ShutdownStage, Attempts: 1,
		},
	}
	hosts := max(1, n/50)
	for i := range hosts {
		nodes = append(nodes, plan.Node{
			ID: fmt.Sprint("host", i), Type: "host", Kind: plan.Host, DependsOn: []string{"nas"},
			FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Times: times(host),
			Stage: plan.ShutdownStage, Attempts: 1,
		})
	}
	for i := range n - len(nodes) {
		on := fmt.Sprint("host", i%hosts)
		nodes = append(nodes, plan.Node{
			ID: fmt.Sprint("vm", i), Type: "vm", Kind: plan.VM, Host: on, DependsOn: []string{on},
			Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Times: times(vm), Stage: plan.ShutdownStage, Attempts: 1,
		})
	}
	e, err := plan.NewEstate(nodes, []plan.Limit{{Class: "vm", Total: 60, PerHost: 8}, {Class: "host", Total: 4}})
	require.NoError(t, err)
	return engine.Settings{Estate: e, Mode: "simulate", Supplies: []power.Supply{{ID: "ups"}}, Policy: power.Policy{
		Shutdown: power.Condition{Kind: power.OnBattery, For: 2 * time.Second},
		Restore:  power.Condition{Kind: power.Online, For: time.Hour}, Reserve: time.Second,
	}}
}

// outage is a scenario that takes an estate down and brings it back.
func outage(s engine.Settings) sim.Scenario {
	s.Policy.Restore.For = time.Minute
	return sim.Scenario{
		Settings: s, For: 6 * time.Hour, Batteries: map[string]sim.Battery{"ups": {Charge: 1, Runtime: 5 * time.Hour}},
		Changes: []sim.Change{{At: time.Minute, Supply: "ups"}, {At: time.Hour, Supply: "ups", Mains: true}},
	}
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// TestRunbook measures parse, check and compile of a runbook of 10,000 nodes.
func TestRunbook(t *testing.T) {
	wanted(t)
	var types schema.Types
	types.Nodes = append(types.Nodes, slices.Concat(command.Family().Nodes, passive.Family().Nodes)...)
	var b strings.Builder
	b.WriteString("version: 1\nrunbook: large\nsupplies:\n  ups: {nut: \"ups@127.0.0.1:3493\", username: u, password: {credential: " +
		"p}}\nnodes:\n")
	b.WriteString("  switch: {type: passive, fed_by: [ups]}\n")
	for i := range 10_000 - 2 {
		need := "switch"
		if i > 200 {
			need = fmt.Sprintf("n%d", i%200)
		}
		fmt.Fprintf(&b, "  n%d: {type: command, fed_by: [ups], depends_on: [%s], probe: [\"true\"], stop: [\"true\"], start: [\"true\"]}\n",
			i, need)
	}
	b.WriteString("policy:\n  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}\n  restore: {when: {online: 10m}}\n")
	src := []byte(b.String())
	var runs []time.Duration
	for range 5 {
		begun := time.Now()
		rb, problems := runbook.Load("large.yaml", src, types)
		require.Zero(t, problems.Count(runbook.Error), problems.Text())
		c, err := runbook.Compile(rb, types, nil)
		require.NoError(t, err)
		require.Equal(t, 10_000, c.Estate.Len())
		c.Estate.Plan(plan.Down, nil)
		runs = append(runs, time.Since(begun))
	}
	figure{
		Figure: "runbook_10000_nodes", Value: median(runs).Seconds(), Unit: "s", Target: "<= 1", OK: median(runs) <= time.Second,
		Runs: 5, Note: "read, check, compile and plan; median",
	}.print(t)
}
