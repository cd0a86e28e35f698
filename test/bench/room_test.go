package bench

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/forecast"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
)

// room is a small estate on one supply, and what is reckoned once for all its outages.
type room struct {
	estate *plan.Estate
	down   *plan.Plan
	watts  float64
	odds   forecast.Odds
	p95    float64         // of them, in seconds
	need   []time.Duration // what the engine is told that the plan takes, before anything has begun
}

// newRoom makes a room whose actions take scale times as long as usual.
func newRoom(t *testing.T, scale float64) *room {
	t.Helper()
	seconds := func(s float64) time.Duration { return time.Duration(scale * s * float64(time.Second)) }
	node := func(id string, kind plan.Kind, risk plan.Risk, watts, stop, within float64, can ...plan.Verb) plan.Node {
		n := plan.Node{
			ID: id, Type: kind.String(), Kind: kind, Risk: risk, Stage: "shutdown", Watts: watts, Attempts: 1,
			Can: plan.VerbSet(can...),
		}
		for v := range n.Times {
			n.Times[v] = plan.Times{Nominal: seconds(5), Within: seconds(30)}
		}
		n.Times[plan.Stop] = plan.Times{Nominal: seconds(stop), Within: seconds(within)}
		n.Times[plan.Flush] = plan.Times{Nominal: seconds(15), Within: seconds(60)}
		n.Times[plan.Force] = plan.Times{Nominal: 5 * time.Second, Within: 30 * time.Second}
		return n
	}
	array := node("array", plan.Other, plan.Storage, 100, 35, 120, plan.Protect, plan.Flush, plan.Stop, plan.Start, plan.Unprotect)
	array.FedBy = []string{"ups"}
	nodes := []plan.Node{
		{
			ID: "ups", Type: "supply", Kind: plan.Supply, Stage: "shutdown", Attempts: 1, Can: plan.VerbSet(plan.Cut, plan.Start),
			Times: array.Times,
		},
		array,
	}
	for _, host := range []string{"host1", "host2"} {
		h := node(host, plan.Host, plan.ControlPlane, 120, 60, 180, plan.Stop, plan.Force, plan.Start)
		h.DependsOn, h.FedBy = []string{"array"}, []string{"ups"}
		nodes = append(nodes, h)
	}
	for i, vm := range []struct {
		id, host string
		needs    []string
		risk     plan.Risk
		stop     float64
	}{
		{"directory", "host1", nil, plan.Directory, 20},
		{"database", "host1", []string{"directory"}, plan.Database, 40},
		{"files", "host2", []string{"directory"}, plan.Files, 25},
		{"app1", "host1", []string{"database"}, plan.Application, 30},
		{"app2", "host2", []string{"database", "files"}, plan.Application, 30},
	} {
		n := node(vm.id, plan.VM, vm.risk, float64(10+5*i), vm.stop, 120, plan.Stop, plan.Force, plan.Start)
		n.Host, n.DependsOn = vm.host, append([]string{vm.host}, vm.needs...)
		nodes = append(nodes, n)
	}
	estate, err := plan.NewEstate(nodes, nil)
	require.NoError(t, err)
	r := &room{estate: estate, down: estate.Plan(plan.Down, nil)}
	ask := effect.Estimate{}
	for i := range estate.Len() {
		r.watts += estate.Node(i).Watts
		ask.Down, ask.Scope = append(ask.Down, estate.Node(i).ID), append(ask.Scope, estate.Node(i).ID)
	}
	r.odds = forecast.Play(r.down, nil, 20_000)
	r.p95 = r.odds.At(0.95).Seconds()
	r.need = forecast.New(nil, forecast.DefaultTrials).Answer(estate, ask).Need
	return r
}

// night is an outage: the mains fail for so many seconds, and how long everything really takes.
type night struct {
	room  *room
	box   box
	lasts float64
	seed  uint64
	took  map[sim.Action]time.Duration
}

func drawNight(rooms []*room, seed uint64) *night {
	luck := rand.New(rand.NewPCG(seed, 777))
	o := &night{room: rooms[luck.IntN(len(rooms))], box: drawBox(luck), lasts: 60 * math.Exp(1.91*luck.NormFloat64()), seed: seed}
	drawn := sim.Draw(sim.Scenario{Settings: engine.Settings{Estate: o.room.estate}}, seed, sim.Odds{})
	o.took = drawn.Took
	array, _ := o.room.estate.Index("array")
	for _, verb := range []plan.Verb{plan.Protect, plan.Flush, plan.Stop} { // one that hangs cannot be forced: it crashes whatever the rule
		key := sim.Action{Node: "array", Verb: verb}
		o.took[key] = min(o.took[key], o.room.estate.Node(array).Time(verb).Within*9/10)
	}
	return o
}

// long reports whether it outlasts the battery, so that a clairvoyant begins a shutdown.
func (o *night) long() bool { return o.lasts > o.box.life() }

// step gives how long a step of the down plan takes: what does not end in its time is forced or given up.
func (o *night) step(s *plan.Step) float64 {
	n := o.room.estate.Node(s.Node)
	took, drawn := o.took[sim.Action{Node: n.ID, Verb: s.Verb}]
	if within := s.Times.Within; drawn && took >= within {
		took = within
		if forced, can := o.took[sim.Action{Node: n.ID, Verb: plan.Force}]; can && s.Verb == plan.Stop {
			took += forced
		}
	}
	return took.Seconds()
}

// ends tells, for a plan that begins at once and is carried out to the letter, when each node is off; those that stay on
// are left out.
func (o *night) ends() map[int]float64 {
	at, off := make([]float64, len(o.room.down.Steps)), map[int]float64{}
	for i := range o.room.down.Steps { // each after all that it waits for
		s := &o.room.down.Steps[i]
		for _, j := range s.After {
			at[i] = max(at[i], at[j])
		}
		if s.Milestone || s.Verb == plan.Cut {
			continue
		}
		if at[i] += o.step(s); s.Verb == plan.Stop {
			off[s.Node] = at[i]
		}
	}
	return off
}

// crashes reports whether something loses its power while on, if the shutdown begins so many seconds after the mains
// failed (negative: never) and is carried out to the letter: nothing is shortened as the battery runs down.
func (o *night) crashes(begins float64) bool {
	if begins < 0 || begins >= o.box.life() {
		return o.long()
	}
	full := o.box.health * o.box.sheet(o.box.load)
	left := 1 - begins/full - o.box.diesAt
	curve := power.NewCurve(o.box.supply("ups", false, epoch).Curve)
	draws, now := o.room.watts, 0.0
	off := o.ends()
	order := make([]int, 0, len(off))
	for node := range off {
		order = append(order, node)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(off[a], off[b]) })
	for _, node := range order {
		rate := curve.Rate(o.box.load*draws/o.room.watts) / curve.Rate(o.box.load) / full
		lasts := left / rate
		if begins+now+min(lasts, off[node]-now) >= o.lasts { // the mains are back
			return false
		}
		if lasts < off[node]-now {
			return true
		}
		left -= (off[node] - now) * rate
		draws, now = draws-o.room.estate.Node(node).Watts, off[node]
	}
	return false
}
