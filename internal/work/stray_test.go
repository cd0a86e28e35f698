package work

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// stopping gives the works of a VM on one UPS whose shutdown has begun, while its stop is verified.
func stopping(t *testing.T) (e *Works, vm int) {
	t.Helper()
	return stoppingA(t, plan.VM)
}

// stoppingA is stopping for another kind of node.
func stoppingA(t *testing.T, kind plan.Kind) (e *Works, vm int) {
	t.Helper()
	estate, err := plan.NewEstate([]plan.Node{
		{ID: "ups", Kind: plan.Supply},
		{ID: "vm", Kind: kind, FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Attempts: 1},
	}, nil)
	require.NoError(t, err)
	supplies, policy := []power.Supply{{ID: "ups"}}, &power.Policy{}
	works := New()
	e = &works
	e.Load(foresight.New(want.New(belief.New(estate, policy, supplies, "")), 0))
	vm, _ = estate.Index("vm")
	e.Begin(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	ups := ledger.Power{Supplies: []string{"ups"}}
	triggered := ups
	triggered.Stage = plan.ShutdownStage
	for _, r := range []ledger.Record{
		{Kind: ledger.Opened, Outage: "1", Seq: 1, Power: ups, Opening: ledger.Opening{Format: ledger.FormatNow}},
		{Kind: ledger.Snapshot, Nodes: []ledger.NodeState{{Node: "vm", State: plan.On}}},
		{Kind: ledger.Triggered, Power: triggered},
	} {
		require.True(t, e.Record(r))
	}
	e.begin(e.Course.Find(vm, plan.Stop, plan.Down))
	require.Equal(t, "stop", e.Doing(vm))
	e.Out = nil
	return e, vm
}

func forbidden(one effect.Effect) bool {
	a, is := one.(effect.Append)
	return is && a.Record.Kind == ledger.Forbidden
}

// Timers name nodes by their place: those of the estate before mean nothing in one that has fewer.
func TestTimersOfAnEstateBefore(t *testing.T) {
	e, vm := stopping(t)
	e.pauseFor(vm, time.Minute)
	require.True(t, e.Record(ledger.Record{Kind: ledger.Closed}))
	e.Drop(vm)
	e.pauseFor(vm, time.Minute)
	alone, err := plan.NewEstate([]plan.Node{{ID: "ups", Kind: plan.Supply}}, nil)
	require.NoError(t, err)
	e.Load(foresight.New(want.New(belief.New(alone, &power.Policy{}, []power.Supply{{ID: "ups"}}, "")), 0))
	e.Begin(e.Now.Add(2 * time.Minute))
	e.Ring()
	e.SetWake()
	require.Empty(t, e.Out)
}

// A command whose intent is refused is not given. Its node waits, and people are told.
func TestAnIntentThatCantBeApplied(t *testing.T) {
	e, vm := stopping(t)
	e.Graph.Node(vm).ID = "nobody" // so that the ledger does not know it
	e.send(vm)
	require.False(t, slices.ContainsFunc(e.Out, func(one effect.Effect) bool { _, is := one.(effect.Do); return is }))
	require.True(t, slices.ContainsFunc(e.Out, forbidden))
	require.Empty(t, e.Doing(vm))
}

// A step that goes a way that its table does not have is held back, and told of.
func TestAStepThatGoesAstray(t *testing.T) {
	e, vm := stopping(t)
	w := e.nodes[vm].work
	e.enter(w, ended)
	e.enter(w, asking)
	require.NotEmpty(t, e.refusal(vm), "its command would be refused meanwhile")
	require.True(t, e.RecallStray())
	at := slices.IndexFunc(e.Out, forbidden)
	require.GreaterOrEqual(t, at, 0)
	require.Contains(t, e.Out[at].(effect.Append).Record.Reason, "which is no way for a step")
	require.True(t, e.Out[at+1].(effect.Notify).Urgent)
	require.Empty(t, e.Doing(vm))
	require.True(t, e.Pause[vm].After(e.Now))
	require.False(t, e.RecallStray())
}
