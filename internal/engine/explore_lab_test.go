package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/referee"
)

// moment is the grain of the explored world's time: everything happens at its multiples, in an order of its own.
const moment = 10 * time.Second

// budgets bound what goes wrong in one history.
type budgets struct {
	flips   int // of the mains of a supply, or of all at once
	crashes int // of the controller
	faults  int // of systems: of each kind one at most (see faultKind)
	drains  int // levels by which a battery falls while it is used
	slow    int // changes of state that take a moment longer
}

// atWill is as many as there may be.
const atWill = 99

// lab is what all worlds of one exploration have in common.
type lab struct {
	settings  engine.Settings
	estate    *plan.Estate
	supplies  []int          // their nodes
	blank     *engine.Engine // resumes from an empty journal
	estimates map[string]foresight.Estimate
	limit     budgets
	only      []faultKind                      // nil: every kind
	heedless  bool                             // what the referee has to say ends nothing
	tell      func(format string, args ...any) // nil: nobody listens
	witness   func(rec ledger.Record)          // likewise
}

var copied, printed = engine.Walks[referee.Referee]()

// part is a node of an explored estate.
func part(id, kind string, k plan.Kind, can ...plan.Verb) plan.Node {
	n := plan.Node{ID: id, Type: kind, Kind: k, Can: plan.VerbSet(can...), Stage: plan.ShutdownStage, Attempts: 2}
	for v := range n.Times {
		n.Times[v] = plan.Times{Nominal: moment, Within: 3 * moment}
	}
	return n
}

func vm(id, host string, needs ...string) plan.Node {
	n := part(id, "vm", plan.VM, plan.Stop, plan.Force, plan.Start)
	n.Host, n.DependsOn = host, append([]string{host}, needs...)
	return n
}

// newLab makes an estate with one UPS: an array that only its power starts again, two hosts with the VMs spread over them, of
// which the last one is off, and the second needs the first.
func newLab(t *testing.T, vms int, limit budgets) *lab {
	t.Helper()
	array := part("array", "array", plan.Other, plan.Stop)
	array.FedBy, array.ByPower = []string{"ups"}, true
	nodes := []plan.Node{part("ups", "supply", plan.Supply, plan.Cut, plan.Start), array}
	for h := range 2 {
		host := part(fmt.Sprint("host", h+1), "host", plan.Host, plan.Stop, plan.Force, plan.Start)
		host.FedBy, host.DependsOn = []string{"ups"}, []string{"array"}
		nodes = append(nodes, host)
	}
	for v := range vms {
		guest := vm(string(rune('a'+v)), fmt.Sprint("host", v%2+1))
		if v == 1 {
			guest.DependsOn = append(guest.DependsOn, "a")
		}
		nodes = append(nodes, guest)
	}
	return labOf(t, nodes, limit)
}

// newTwin makes an estate with two UPSes: storage, silent when it is off, and a host on both; a host on the second alone; a cache of
// the first host, in front of the storage; a selector whose members are on both hosts, so that an outage of one UPS takes a part of
// it and the other's widens that; and a VM on the second host that is off.
func newTwin(t *testing.T, limit budgets) *lab {
	t.Helper()
	both := []string{"ups-a", "ups-b"}
	array := part("array", "array", plan.Other, plan.Stop, plan.Start)
	array.FedBy, array.OffAfter = both, 2*moment
	host1, host2 := part("host1", "host", plan.Host, plan.Stop, plan.Force, plan.Start), part("host2", "host", plan.Host, plan.Stop, plan.Force, plan.Start)
	host1.FedBy, host2.FedBy = both, both[1:]
	host1.DependsOn, host2.DependsOn = []string{"array"}, []string{"array"}
	cache := part("cache", "cache", plan.Other, plan.Protect, plan.Flush, plan.Unprotect)
	cache.DependsOn, cache.Stage = []string{"host1", "array"}, plan.ProtectStage
	app1, app2 := vm("apps/1", "host1"), vm("apps/2", "host2")
	app1.Group, app2.Group = "apps", "apps"
	return labOf(t, []plan.Node{
		part("ups-a", "supply", plan.Supply, plan.Cut, plan.Start), part("ups-b", "supply", plan.Supply, plan.Cut, plan.Start),
		array, host1, host2, cache, app1, app2, vm("spare", "host2", "apps/1"),
	}, limit)
}

func labOf(t *testing.T, nodes []plan.Node, limit budgets) *lab {
	t.Helper()
	estate, err := plan.NewEstate(nodes, []plan.Limit{{Class: "vm", Total: 2}, {Class: "host", Total: 1}})
	require.NoError(t, err)
	l := &lab{
		estate: estate, estimates: map[string]foresight.Estimate{}, limit: limit,
		settings: engine.Settings{Estate: estate, Mode: "simulate", Policy: power.Policy{
			Protect:  power.Condition{Kind: power.OnBattery},
			Shutdown: power.Condition{Kind: power.OnBattery, For: 2 * moment},
			Restore: power.Condition{Kind: power.All, Of: []power.Condition{
				{Kind: power.Online, For: 2 * moment},
				{Kind: power.RechargedFor},
			}},
			Reserve: time.Minute,
		}},
	}
	for i := range estate.Len() {
		if estate.Node(i).Kind == plan.Supply {
			l.supplies = append(l.supplies, i)
			l.settings.Supplies = append(l.settings.Supplies, power.Supply{ID: estate.Node(i).ID})
		}
	}
	l.blank = engine.New(l.settings)
	return l
}

// start is when every explored history begins.
var start = time.Unix(1_800_000_000, 0).UTC()

// asUsual is what a cache is set to.
const asUsual = "write-back"

func (l *lab) world() *world {
	w := &world{lab: l, now: start, left: l.limit, engine: l.blank.Clone(), journal: l.blank}
	w.referee = referee.New(referee.Options{
		Estate: l.estate, Policy: l.settings.Policy,
		Sight: referee.Records | referee.Moves | referee.Batteries, Began: start,
	})
	for range l.supplies {
		w.outputs = append(w.outputs, output{mains: true, on: true, online: 3})
	}
	for i := range l.estate.Len() {
		w.things = append(w.things, thing{state: plan.On, dirty: l.estate.Node(i).Can.Has(plan.Protect)})
		if i == l.estate.Len()-1 {
			w.things[i].state = plan.Off
		}
		w.show(i)
	}
	w.apply(engine.Started{}, &choices{})
	w.settle(&choices{})
	return w
}

func phrase(rec ledger.Record) string {
	parts := []string{string(rec.Kind), string(rec.Stage), string(rec.Goal), string(rec.Cause), rec.Node}
	if rec.Verb != nil {
		parts = append(parts, rec.Verb.String())
	}
	if rec.State != nil {
		parts = append(parts, rec.State.String())
	}
	parts = append(parts, string(rec.Outcome), strings.Join(rec.Supplies, ","))
	if rec.Kind != ledger.Opened {
		for _, n := range rec.Nodes {
			parts = append(parts, n.Node+"="+n.State.String())
		}
	}
	if rec.Reason != "" {
		parts = append(parts, "("+rec.Reason+")")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
