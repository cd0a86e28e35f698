package demo

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// obedient is a node that takes every command.
type obedient struct{}

func (obedient) Probe(context.Context) (plan.Observation, error) {
	return plan.Observation{State: plan.On}, nil
}
func (obedient) Do(context.Context, adapter.Command) error { return nil }

// TestTheWitnessTells holds that what the witness sees reaches the referee: an outage in which one thing is wrong at a time.
func TestTheWitnessTells(t *testing.T) {
	t.Parallel()
	all := []plan.Verb{plan.Protect, plan.Flush, plan.Stop, plan.Force, plan.Start, plan.Unprotect}
	for _, c := range []struct {
		what, wants string
		happens     func(w *witness, do func(id string, verb plan.Verb))
	}{
		{"nothing", "", func(*witness, func(string, plan.Verb)) {}},
		{"a VM's stop", "", func(_ *witness, do func(string, plan.Verb)) { do("apps/app01", plan.Stop) }},
		{
			"storage under a host", "1: nas was told to stop while esx01 is on",
			func(_ *witness, do func(string, plan.Verb)) { do(nasName, plan.Stop) },
		},
		{"a host under its VM", "2: host esx01 was told to stop", func(_ *witness, do func(string, plan.Verb)) { do("esx01", plan.Stop) }},
		{
			"the output under storage", "3: the output of ups is cut while nas is on",
			func(_ *witness, do func(string, plan.Verb)) { do(upsName, plan.Cut) },
		},
		{"a start on battery", "5: apps/app01 is started on battery", func(w *witness, do func(string, plan.Verb)) {
			w.changed("app01", false)
			do("apps/app01", plan.Start)
		}},
		{
			"force without a reason", "18: apps/app01 was forced off",
			func(_ *witness, do func(string, plan.Verb)) { do("apps/app01", plan.Force) },
		},
		{"storage that is dirty", "12: nas was told to stop with dirty data", func(w *witness, do func(string, plan.Verb)) {
			w.ask = func() cache { return cache{protected: true, dirty: true} }
			for _, name := range []string{"app01", "esx01", "esx02"} {
				w.changed(name, false)
			}
			do(nasName, plan.Stop)
		}},
		{"something forgotten", "20: apps/app01 was on before", func(w *witness, _ func(string, plan.Verb)) {
			w.changed("app01", false)
			w.recorded([]ledger.Record{{Kind: ledger.Closed}})
		}},
		{"a battery that ran empty", "11: the battery ran empty with app01", func(w *witness, _ func(string, plan.Verb)) {
			w.cut(truth{}, false)
		}},
	} {
		estate, err := plan.NewEstate([]plan.Node{
			{ID: upsName, Kind: plan.Supply, Can: plan.VerbSet(plan.Cut)},
			{ID: nasName, FedBy: []string{upsName}, Can: plan.VerbSet(all...), Stage: plan.ShutdownStage},
			{
				ID: "esx01", Kind: plan.Host, FedBy: []string{upsName}, DependsOn: []string{nasName}, Can: plan.VerbSet(all[2:5]...),
				Stage: plan.ShutdownStage,
			},
			{ID: "apps/app01", Kind: plan.VM, DependsOn: []string{"esx01"}, Can: plan.VerbSet(all[2:5]...), Stage: plan.ShutdownStage},
		}, nil)
		require.NoError(t, err)
		w := newWitness()
		w.ask = func() cache { return cache{protected: true} }
		w.power(truth{mains: true, output: true, heard: true, charge: 100})
		w.know(estate, power.Policy{Restore: power.Condition{Kind: power.Online, For: gateOnline}})
		w.begin()
		w.power(truth{output: true, heard: true, charge: 99})
		w.recorded([]ledger.Record{{Kind: ledger.Opened}, {Kind: ledger.Snapshot, Nodes: []ledger.NodeState{
			{Node: nasName, State: plan.On}, {Node: "esx01", State: plan.On}, {Node: "apps/app01", State: plan.On},
		}}})
		c.happens(w, func(id string, verb plan.Verb) {
			w.recorded([]ledger.Record{{Kind: ledger.Intent, Step: ledger.Step{Node: id, Verb: &verb, Op: 1}}})
			require.NoError(t, w.watch(id, obedient{}).Do(t.Context(), adapter.Command{Verb: verb}))
		})
		found := w.result(nil, 0).Violations
		if c.wants == "" {
			require.Empty(t, found, c.what)
			continue
		}
		require.NotEmpty(t, found, c.what)
		require.True(t, strings.HasPrefix(found[0], c.wants), "%s: %q", c.what, found)
	}
}
