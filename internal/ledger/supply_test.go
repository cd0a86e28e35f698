package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// toldToStop is a host in the ledger of an outage, on in the snapshot, that was told to stop, with such an answer; and what takes the next
// record, and the step of the host without an outcome.
func toldToStop(t *testing.T, outcome ledger.Outcome) (host *ledger.Node, apply func(ledger.Record), step ledger.Step) {
	t.Helper()
	estate, err := plan.NewEstate([]plan.Node{
		{ID: "ups", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut)},
		{ID: "host", Kind: plan.Host, FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop)},
	}, nil)
	require.NoError(t, err)
	l, seq := ledger.New(estate, &power.Policy{}, []power.Supply{{ID: "ups"}}, ""), uint64(0)
	apply = func(r ledger.Record) {
		seq++
		r.Seq, r.Outage, r.At = seq, "o", time.Unix(int64(seq), 0)
		require.NoError(t, l.Apply(&r))
	}
	stop := plan.Stop
	step = ledger.Step{Op: 1, Node: "host", Verb: &stop, Attempt: 1}
	answered := step
	answered.Outcome = outcome
	apply(ledger.Record{Kind: ledger.Opened, Opening: ledger.Opening{Mode: ledger.ModeRun, Format: ledger.FormatNow}, Power: ofUPS})
	apply(ledger.Record{Kind: ledger.Snapshot, Nodes: []ledger.NodeState{{Node: "ups", State: plan.On}, {Node: "host", State: plan.On}}})
	apply(ledger.Record{Kind: ledger.Intent, Step: step})
	apply(ledger.Record{Kind: ledger.Accepted, Step: answered})
	at, _ := estate.Index("host")
	step.Op = 0
	return &l.Outage.Nodes[at], apply, step
}

var ofUPS = ledger.Power{Supplies: []string{"ups"}}

// TestWhatCouldNotBeToldIsToldWhenItsSupplySpeaks: a stop that was given up without having reached its machine is due again where the
// supply may have been off and on; one that was taken, and given up, is not.
func TestWhatCouldNotBeToldIsToldWhenItsSupplySpeaks(t *testing.T) {
	for untold, outcome := range map[bool]ledger.Outcome{true: ledger.Unreached, false: ledger.Done} {
		host, apply, step := toldToStop(t, outcome)
		step.Outcome = outcome
		apply(ledger.Record{Kind: ledger.Failed, Step: step})
		require.True(t, host.GivenUp.Has(plan.Stop))
		apply(ledger.Record{Kind: ledger.Mains, Cause: ledger.Unseen, Power: ofUPS})
		require.Equal(t, !untold, host.GivenUp.Has(plan.Stop), outcome)
	}
}

// TestWhatItsGuestDisprovesIsNotShownOff: nothing may rest on that it was, as the word of its BMC after a crash. What comes up with its
// power was off.
func TestWhatItsGuestDisprovesIsNotShownOff(t *testing.T) {
	for cause, shown := range map[ledger.Cause]ledger.Shown{ledger.Disproved: ledger.WasTold, ledger.CameAgain: ledger.ShownOff} {
		host, apply, step := toldToStop(t, ledger.Done)
		apply(ledger.Record{Kind: ledger.Proven, Step: step, Cause: ledger.Silence})
		require.Equal(t, ledger.ShownOff, host.Shown)
		apply(ledger.Record{Kind: ledger.Seen, Nodes: []ledger.NodeState{{Node: "host"}}, Cause: cause})
		require.Equal(t, shown, host.Shown, cause)
	}
}

// TestACommandCountsFromItsAnswer: a login may take as long as a stop, and the time of what was told begins when it was told.
func TestACommandCountsFromItsAnswer(t *testing.T) {
	host, _, _ := toldToStop(t, ledger.Done)
	require.Equal(t, time.Unix(4, 0).UTC(), host.Last.At)
}
