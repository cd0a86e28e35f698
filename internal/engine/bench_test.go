package engine_test

import (
	"fmt"
	"testing"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
)

// thousand is an estate of 1,000 nodes: 20 hosts on a NAS, the rest VMs.
func thousand(b *testing.B) engine.Settings {
	b.Helper()
	times := func(nominal time.Duration) (x [7]plan.Times) {
		for v := range x {
			x[v] = plan.Times{Nominal: nominal, Within: 10 * nominal}
		}
		return x
	}
	nodes := []plan.Node{
		{ID: "ups", Type: "supply", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut, plan.Start), Times: times(time.Second)},
		{ID: "nas", Type: "ssh", FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Protect, plan.Flush, plan.Stop, plan.Start, plan.Unprotect), Times: times(5 * time.Second), Stage: plan.ShutdownStage, Attempts: 1},
	}
	for i := range 20 {
		nodes = append(nodes, plan.Node{ID: fmt.Sprint("host", i), Type: "host", Kind: plan.Host, DependsOn: []string{"nas"}, FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Times: times(30 * time.Second), Stage: plan.ShutdownStage, Attempts: 1})
	}
	for i := range 978 {
		host := fmt.Sprint("host", i%20)
		nodes = append(nodes, plan.Node{ID: fmt.Sprint("vm", i), Type: "vm", Kind: plan.VM, Host: host, DependsOn: []string{host}, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Times: times(20 * time.Second), Stage: plan.ShutdownStage, Attempts: 1})
	}
	estate, err := plan.NewEstate(nodes, []plan.Limit{{Class: "vm", Total: 120, PerHost: 8}, {Class: "host", Total: 4}})
	if err != nil {
		b.Fatal(err)
	}
	return engine.Settings{Estate: estate, Mode: "simulate", Supplies: []power.Supply{{ID: "ups"}}, Policy: power.Policy{
		Protect:  power.Condition{Kind: power.OnBattery, For: 5 * time.Second},
		Shutdown: power.Condition{Kind: power.OnBattery, For: 10 * time.Second},
		Restore:  power.Condition{Kind: power.Online, For: time.Minute}, Reserve: time.Minute,
	}}
}

// BenchmarkApply plays a whole outage of 1,000 nodes, down and up, and reports what an event costs, the model's own
// work included.
func BenchmarkApply(b *testing.B) {
	s := thousand(b)
	events := 0
	for b.Loop() {
		r := sim.Run(sim.Scenario{
			Settings: s, For: 4 * time.Hour, Batteries: map[string]sim.Battery{"ups": {Charge: 1, Runtime: 3 * time.Hour}},
			Changes: []sim.Change{{At: time.Minute, Supply: "ups"}, {At: 40 * time.Minute, Supply: "ups", Mains: true}},
		})
		if len(r.Violations) > 0 || r.View.Outage != "" {
			b.Fatal(r.View.Outage, r.View.Waiting, r.Violations)
		}
		events += r.Events
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
	b.ReportMetric(float64(events)/float64(b.N), "events")
}
