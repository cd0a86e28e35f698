package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// moment is the grain of the explored world's time: everything happens at its multiples, in an order of its own.
const moment = 10 * time.Second

// budgets bound what goes wrong in one history.
type budgets struct {
	flips   int // of the mains
	crashes int // of the controller
	faults  int // of systems: a lost, refused, late or hollow command, a lost or late probe, a silent poll, a VM that somebody starts
	drains  int // levels by which the battery falls while it is used
}

// lab is what all worlds of one exploration have in common.
type lab struct {
	settings  engine.Settings
	estate    *plan.Estate
	supply    int
	blank     *engine.Engine // resumes from an empty journal
	estimates map[string]engine.Estimated
	limit     budgets
	tell      func(format string, args ...any) // nil: nobody listens
	witness   func(rec engine.Record)          // likewise
}

// newLab makes the estate: a UPS, an array that only its power starts again, two hosts with the VMs spread over them,
// of which the last one is off, and the second needs the first.
func newLab(t *testing.T, vms int, limit budgets) *lab {
	t.Helper()
	node := func(id, kind string, k plan.Kind, can ...plan.Verb) plan.Node {
		n := plan.Node{ID: id, Type: kind, Kind: k, Can: plan.VerbSet(can...), Stage: power.ShutdownStage, Attempts: 2}
		for v := range n.Times {
			n.Times[v] = plan.Times{Nominal: moment, Within: 3 * moment}
		}
		return n
	}
	ups := node("ups", "supply", plan.Supply, plan.Cut, plan.Start)
	array := node("array", "array", plan.Other, plan.Stop)
	array.FedBy, array.ByPower = []string{"ups"}, true
	nodes := []plan.Node{ups, array}
	for h := range 2 {
		host := node(fmt.Sprint("host", h+1), "host", plan.Host, plan.Stop, plan.Force, plan.Start)
		host.FedBy, host.DependsOn = []string{"ups"}, []string{"array"}
		nodes = append(nodes, host)
	}
	for v := range vms {
		vm := node(string(rune('a'+v)), "vm", plan.VM, plan.Stop, plan.Force, plan.Start)
		vm.Host = fmt.Sprint("host", v%2+1)
		vm.DependsOn = []string{vm.Host}
		if v == 1 {
			vm.DependsOn = append(vm.DependsOn, "a")
		}
		nodes = append(nodes, vm)
	}
	estate, err := plan.NewEstate(nodes, []plan.Limit{{Class: "vm", Total: 2}, {Class: "host", Total: 1}})
	require.NoError(t, err)
	supply, _ := estate.Index("ups")
	l := &lab{
		estate: estate, supply: supply, estimates: map[string]engine.Estimated{}, limit: limit,
		settings: engine.Settings{Estate: estate, Mode: "simulate", Supplies: []power.Supply{{ID: "ups"}}, Policy: power.Policy{
			Protect:  power.Condition{Kind: power.OnBattery},
			Shutdown: power.Condition{Kind: power.OnBattery, For: 2 * moment},
			Restore:  power.Condition{Kind: power.All, Of: []power.Condition{{Kind: power.Online, For: 2 * moment}, {Kind: power.RechargedFor}}},
			Reserve:  time.Minute,
		}},
	}
	l.blank = engine.New(l.settings)
	return l
}

func (l *lab) world() *world {
	w := &world{lab: l, now: time.Unix(1_800_000_000, 0).UTC(), mains: true, output: true, online: 3, left: l.limit, engine: l.blank.Clone(), journal: l.blank}
	for i := range l.estate.Len() {
		w.things = append(w.things, thing{state: plan.On})
		if i == l.estate.Len()-1 {
			w.things[i].state = plan.Off
		}
	}
	w.judge = newJudge(w)
	w.apply(engine.Started{}, &choices{})
	w.settle(&choices{})
	return w
}

func phrase(rec engine.Record) string {
	parts := []string{string(rec.Kind), rec.Stage, string(rec.Goal), rec.Node}
	if rec.Verb != nil {
		parts = append(parts, rec.Verb.String())
	}
	if rec.State != nil {
		parts = append(parts, rec.State.String())
	}
	parts = append(parts, string(rec.Outcome))
	if rec.Kind == engine.Snapshot || rec.Kind == engine.Closed {
		for _, n := range rec.Nodes {
			parts = append(parts, n.Node+"="+n.State.String())
		}
	}
	if rec.Reason != "" {
		parts = append(parts, "("+rec.Reason+")")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
