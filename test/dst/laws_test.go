package dst_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
	"ebbtide/test/dst"
)

const lawSeeds = 60

func drawn(t *testing.T, seed uint64) sim.Scenario {
	t.Helper()
	sc, _, err := sim.Load("drawn", []byte(dst.Draw(dst.Seeded(seed))), nil, schema)
	require.NoError(t, err)
	return sc
}

// TestClockStepsChangeNothing is rule 16: a run in which the wall clock is set differs from one in which it is not by
// nothing but the times in its records.
func TestClockStepsChangeNothing(t *testing.T) {
	t.Parallel()
	story := func(sc sim.Scenario) string {
		records := sim.Run(sc).Records
		for i := range records {
			records[i].At = time.Time{}
		}
		text, err := json.Marshal(records)
		require.NoError(t, err)
		return string(text)
	}
	set := 0
	for seed := range uint64(lawSeeds) {
		sc := drawn(t, seed)
		sc.CrashAt, sc.CrashOn = nil, nil // for how long Ebbtide was away is reckoned by the clock
		with := story(sc)
		if strings.Contains(with, string(`"kind":"`+ledger.Gap+`"`)) { // and so it is where its own machine was off
			continue
		}
		before := len(sc.Changes)
		sc.Changes = slices.DeleteFunc(sc.Changes, func(c sim.Change) bool { return c.Clock != nil })
		set += before - len(sc.Changes)
		require.Equal(t, story(sc), with, "seed %d", seed)
	}
	require.Greater(t, set, lawSeeds/4, "clocks were set")
}

// TestMoreBatteryNeverTriggersEarlier is rule 14: with batteries that last longer the first shutdown starts no earlier.
func TestMoreBatteryNeverTriggersEarlier(t *testing.T) {
	t.Parallel()
	first := func(sc sim.Scenario) time.Duration {
		for _, rec := range sim.Run(sc).Records {
			if rec.Kind == ledger.Triggered && rec.Stage == plan.ShutdownStage {
				return rec.At.Sub(sim.Epoch)
			}
		}
		return time.Duration(1<<63 - 1)
	}
	later := 0
	for seed := range uint64(lawSeeds) {
		sc := drawn(t, seed)
		sc.CrashAt, sc.CrashOn = nil, nil // a crash comes after so many records, whatever they say
		sc.Changes = slices.DeleteFunc(sc.Changes, func(c sim.Change) bool { return c.Clock != nil })
		small := first(sc)
		for id, b := range sc.Batteries {
			b.Runtime += b.Runtime / 2
			sc.Batteries[id] = b
		}
		large := first(sc)
		require.GreaterOrEqual(t, large, small, "seed %d", seed)
		if large > small {
			later++
		}
	}
	require.Greater(t, later, lawSeeds/10, "it made a difference")
}

// TestSilentNodesHoldNobodyUp holds that nodes which can't be reached delay no other step: with fifty such hosts before
// them, under a limit of four, all other hosts are told to stop when they would be without them, but for one attempt at a
// dead address (a look and a command of five seconds each) that may be under way when the turn of one comes.
func TestSilentNodesHoldNobodyUp(t *testing.T) {
	t.Parallel()
	const attempt = 11 * time.Second
	told := func(silent int) map[string]time.Duration {
		at := map[string]time.Duration{}
		for _, rec := range sim.Run(besideSilent(t, silent)).Records {
			if _, before := at[rec.Node]; rec.Kind == ledger.Intent && *rec.Verb == plan.Stop && !before {
				at[rec.Node] = rec.At.Sub(sim.Epoch)
			}
		}
		return at
	}
	without, with := told(0), told(50)
	require.Len(t, without, 2*besides)
	require.Len(t, with, 2*besides+50, "and each of the fifty has its turn")
	for id, at := range without {
		require.LessOrEqual(t, with[id], at+attempt, id)
	}
}

// besides is how many hosts can be reached.
const besides = 12

// besideSilent is an outage of hosts of which some can't be reached. Of the others each has a VM, of which each takes longer
// than the one before: they come to their turn one after the other.
func besideSilent(t *testing.T, silent int) sim.Scenario {
	t.Helper()
	node := func(id string, kind plan.Kind, took time.Duration, can ...plan.Verb) plan.Node {
		n := plan.Node{ID: id, Type: kind.String(), Kind: kind, Can: plan.VerbSet(can...), Stage: plan.ShutdownStage, Attempts: 1}
		for v := range n.Times {
			n.Times[v] = plan.Times{Nominal: took, Within: 10 * took}
		}
		return n
	}
	nodes := []plan.Node{node("ups", plan.Supply, time.Second, plan.Cut, plan.Start)}
	host := func(id string) {
		n := node(id, plan.Host, 20*time.Second, plan.Stop, plan.Start)
		n.FedBy = []string{"ups"}
		nodes = append(nodes, n)
	}
	for i := range besides {
		id := fmt.Sprint("esx", i)
		host(id)
		vm := node(fmt.Sprint("vm", i), plan.VM, time.Duration(10+9*i)*time.Second, plan.Stop, plan.Start)
		vm.Host, vm.DependsOn = id, []string{id}
		nodes = append(nodes, vm)
	}
	sc := sim.Scenario{Changes: []sim.Change{{At: 2 * time.Minute, Supply: "ups"}}, For: 40 * time.Minute}
	fallen := true
	for i := range silent {
		id := fmt.Sprint("gone", i)
		host(id)
		sc.Changes = append(sc.Changes, sim.Change{At: time.Minute, Node: id, Silent: &fallen})
	}
	estate, err := plan.NewEstate(nodes, []plan.Limit{{Class: plan.Host.String(), Total: 4}})
	require.NoError(t, err)
	on := power.Condition{Kind: power.OnBattery, For: 30 * time.Second}
	sc.Settings = engine.Settings{
		Estate: estate, Mode: "simulate", Supplies: []power.Supply{{ID: "ups"}},
		Policy: power.Policy{
			Protect: on, Shutdown: on, Restore: power.Condition{Kind: power.Online, For: time.Minute},
			Reserve: time.Minute,
		},
	}
	sc.Batteries = map[string]sim.Battery{"ups": {Charge: 1, Runtime: 2 * time.Hour}}
	return sc
}

// TestEstimatesAreMadeWhereTheyCount holds sim.Check, which makes of an estimate what is decided by and no more, against the
// same run with whole estimates: nothing is done otherwise, or at another time.
func TestEstimatesAreMadeWhereTheyCount(t *testing.T) {
	t.Parallel()
	story := func(sc sim.Scenario) string {
		r := sim.Check(sc)
		for i := range r.Records {
			r.Records[i].Numbers = nil
		}
		text, err := json.Marshal(r.Records)
		require.NoError(t, err)
		return fmt.Sprint(r.Events, r.Met, r.Violations, string(text))
	}
	for seed := range uint64(lawSeeds) {
		sc := drawn(t, seed)
		whole := sc
		whole.Forecast = forecast.New(nil, sc.EstimateTrials).Brief
		require.Equal(t, story(whole), story(sc), "seed %d", seed)
	}
}
