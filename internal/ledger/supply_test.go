package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// TestWhatCouldNotBeToldIsToldWhenItsSupplySpeaks: a stop that was given up without having reached its machine is due again where the
// supply may have been off and on; one that was taken, and given up, is not.
func TestWhatCouldNotBeToldIsToldWhenItsSupplySpeaks(t *testing.T) {
	for untold, outcome := range map[bool]ledger.Outcome{true: ledger.Unreached, false: ledger.Done} {
		estate, err := plan.NewEstate([]plan.Node{
			{ID: "ups", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut)},
			{ID: "host", Kind: plan.Host, FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop)},
		}, nil)
		require.NoError(t, err)
		l := ledger.New(estate, &power.Policy{}, []power.Supply{{ID: "ups"}}, "")
		host, _ := estate.Index("host")
		stop, seq := plan.Stop, uint64(0)
		apply := func(r ledger.Record) {
			seq++
			r.Seq, r.Outage, r.At = seq, "o", time.Unix(int64(seq), 0)
			require.NoError(t, l.Apply(&r))
		}
		of := func(op ledger.Op) ledger.Step { return ledger.Step{Op: op, Node: "host", Verb: &stop, Attempt: 1} }
		answered, failed := of(1), of(0)
		answered.Outcome, failed.Outcome = outcome, outcome
		supply := ledger.Power{Supplies: []string{"ups"}}
		apply(ledger.Record{Kind: ledger.Opened, Opening: ledger.Opening{Mode: ledger.ModeRun, Format: ledger.FormatNow}, Power: supply})
		on := []ledger.NodeState{{Node: "ups", State: plan.On}, {Node: "host", State: plan.On}}
		apply(ledger.Record{Kind: ledger.Snapshot, Nodes: on})
		apply(ledger.Record{Kind: ledger.Intent, Step: of(1)})
		apply(ledger.Record{Kind: ledger.Accepted, Step: answered})
		apply(ledger.Record{Kind: ledger.Failed, Step: failed})
		require.True(t, l.Outage.Nodes[host].GivenUp.Has(plan.Stop))
		apply(ledger.Record{Kind: ledger.Mains, Cause: ledger.Unseen, Power: supply})
		require.Equal(t, !untold, l.Outage.Nodes[host].GivenUp.Has(plan.Stop), outcome)
	}
}

// TestWhatItsGuestDisprovesIsNotShownOff: nothing may rest on that it was, as the word of its BMC after a crash.
func TestWhatItsGuestDisprovesIsNotShownOff(t *testing.T) {
	estate, err := plan.NewEstate([]plan.Node{
		{ID: "ups", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut)},
		{ID: "host", Kind: plan.Host, FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop)},
	}, nil)
	require.NoError(t, err)
	l := ledger.New(estate, &power.Policy{}, []power.Supply{{ID: "ups"}}, "")
	host, _ := estate.Index("host")
	stop, seq := plan.Stop, uint64(0)
	apply := func(r ledger.Record) {
		seq++
		r.Seq, r.Outage, r.At = seq, "o", time.Unix(int64(seq), 0)
		require.NoError(t, l.Apply(&r))
	}
	step := ledger.Step{Op: 1, Node: "host", Verb: &stop, Attempt: 1}
	taken := step
	taken.Outcome = ledger.Done
	apply(ledger.Record{
		Kind: ledger.Opened, Opening: ledger.Opening{Mode: ledger.ModeRun, Format: ledger.FormatNow},
		Power: ledger.Power{Supplies: []string{"ups"}},
	})
	apply(ledger.Record{Kind: ledger.Snapshot, Nodes: []ledger.NodeState{{Node: "ups", State: plan.On}, {Node: "host", State: plan.On}}})
	apply(ledger.Record{Kind: ledger.Intent, Step: step})
	apply(ledger.Record{Kind: ledger.Accepted, Step: taken})
	apply(ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: "host", Verb: &stop}, Cause: ledger.Silence})
	require.Equal(t, ledger.ShownOff, l.Outage.Nodes[host].Shown)
	apply(ledger.Record{Kind: ledger.Seen, Nodes: []ledger.NodeState{{Node: "host"}}, Cause: ledger.CameAgain})
	require.Equal(t, ledger.WasTold, l.Outage.Nodes[host].Shown)
}
