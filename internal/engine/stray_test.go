package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// inOutage gives the explored estate with its mains off for so long that VMs are being stopped.
func inOutage(t *testing.T) *world {
	t.Helper()
	w := newLab(t, 4, budgets{flips: 1}).world()
	w.step(&choices{taken: []int8{1}, widths: []int8{2}})
	for range 2 {
		w.step(&choices{})
	}
	require.Equal(t, "stop", doing(w, "b"))
	return w
}

func doing(w *world, id string) string {
	nodes := w.engine.View().Nodes
	return nodes[slices.IndexFunc(nodes, func(n engine.NodeView) bool { return n.ID == id })].Doing
}

// An operator who mistypes a node is told so. That he did is on record, and hinders no later resume.
func TestAnOrderForNobody(t *testing.T) {
	w := inOutage(t)
	var records []ledger.Record
	w.witness = func(rec ledger.Record) { records = append(records, rec) }
	w.apply(engine.Order{Verb: ledger.Confirm, Node: "x", By: "tester"}, &choices{})
	require.Len(t, records, 1)
	require.Equal(t, `there is no node "x"`, records[0].Reason)
	require.NoError(t, w.engine.Replay(records[0]))
}

// A record of its own that the estate can't take is a bug in Ebbtide: it is refused and told of, the journal can be taken up,
// and the outage goes on to its end.
func TestARecordThatCantBeApplied(t *testing.T) {
	for _, rec := range []ledger.Record{
		{Kind: ledger.Mains, Power: ledger.Power{Supplies: []string{"nobody"}}, Cause: ledger.Failing},
		{Kind: ledger.Widened, Nodes: []ledger.NodeState{{Node: "a", State: plan.Off}, {Node: "nobody", State: plan.On}}},
		{Kind: ledger.Proven, Step: ledger.Step{Node: "nobody", Verb: new(plan.Stop)}},
	} {
		w := inOutage(t)
		before, _ := w.engine.Clone().Fingerprint(nil, w.now)
		effects, stands := w.engine.Write(rec)
		require.False(t, stands)
		after, _ := w.engine.Fingerprint(nil, w.now)
		require.Equal(t, before, after, "it changed something")
		require.Len(t, effects, 2)
		require.Equal(t, ledger.Forbidden, effects[0].(effect.Append).Record.Kind)
		require.Contains(t, effects[0].(effect.Append).Record.Reason, `"nobody"`)
		require.True(t, effects[1].(effect.Notify).Urgent)
		effects, _ = w.engine.Write(rec)
		require.Empty(t, effects, "it is told once")
		goesOn(t, w)
	}
}

// goesOn lets the outage go to its end, down, and up again.
func goesOn(t *testing.T, w *world) {
	t.Helper()
	for range 40 {
		w.step(&choices{})
	}
	require.Equal(t, "all down and cut", w.end())
	w.left.flips = 1
	w.step(&choices{taken: []int8{1}, widths: []int8{2}})
	for range 60 {
		w.step(&choices{})
	}
	require.Equal(t, "all restored", w.end(), strings.Join([]string{w.engine.View().Waiting, w.broken, w.now.Format(time.TimeOnly)}, " "))
	require.Empty(t, w.broken)
}
