package runner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

func TestAnswersThatWereOvertaken(t *testing.T) {
	seen := func(s plan.State) plan.Observation { return plan.Observation{State: s} }
	answer := func(op engine.Op, s plan.State) engine.Finished {
		return engine.Finished{Op: op, Outcome: engine.Done, Seen: seen(s)}
	}
	n := newNews()
	n.told(engine.Observed{Node: "vm", Seen: seen(plan.On)})
	n.asked(engine.Probe{Op: 1, Node: "vm"})
	require.Equal(t, answer(1, plan.Off), n.answered(answer(1, plan.Off)), "what was told before the question is older")

	n.asked(engine.Probe{Op: 2, Node: "vm"})
	n.told(engine.Observed{Node: "other", Seen: seen(plan.Off)})
	n.told(engine.Observed{Node: "vm", Seen: seen(plan.Off)})
	late := n.answered(answer(2, plan.On))
	require.Equal(t, engine.TimedOut, late.Outcome, "nobody knows: it is asked again")
	require.Equal(t, "the answer was overtaken: it says on, and off was seen meanwhile", late.Detail)

	n.asked(engine.Probe{Op: 3, Node: "vm"})
	n.told(engine.Observed{Node: "vm", Seen: seen(plan.Off)})
	require.Equal(t, answer(3, plan.Off), n.answered(answer(3, plan.Off)), "both say the same")
	n.asked(engine.Probe{Op: 4, Node: "vm"})
	n.told(engine.Observed{Node: "vm", Seen: seen(plan.Off)})
	failed := engine.Finished{Op: 4, Outcome: engine.Unreached}
	require.Equal(t, failed, n.answered(failed))
	command := engine.Finished{Op: 5, Outcome: engine.Done}
	require.Equal(t, command, n.answered(command))
	require.Empty(t, n.probes)
	require.Empty(t, n.open)
	require.Empty(t, n.since)
}
