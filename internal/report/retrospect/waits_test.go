package retrospect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/evidence"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/report/retrospect"
)

// waited lists what waited, for how long, for what, and how that is known.
func waited(r *retrospect.Retrospective) []string {
	var all []string
	for _, w := range r.Waits {
		what := w.Node
		if w.Verb != nil {
			what = w.Verb.String() + " " + w.Node
		}
		end := ""
		if w.To.IsZero() {
			end = "…"
		}
		all = append(all, fmt.Sprintf("%s %.0fs%s: %s (%s)", what, w.Waited, end, w.For, w.By))
	}
	return all
}

func (s *story) accepted(after time.Duration, verb plan.Verb, node string, o ledger.Outcome, reason string) *story {
	return s.add(after, ledger.Record{Kind: ledger.Accepted, Step: ledger.Step{Node: node, Verb: &verb, Outcome: o}, Reason: reason})
}

func TestWhatStepsWaitedFor(t *testing.T) {
	t.Parallel()
	stop := plan.Stop
	for name, test := range map[string]struct {
		told *story
		want []string
	}{
		"held back until it was told again": {
			begin("run").stage("shutdown", 100).step(0, ledger.Intent, stop, "nas", "").step(5*time.Second, ledger.HeldBack, stop,
				"nas", "vm is on").
				step(30*time.Second, ledger.Intent, stop, "nas", "").step(time.Second, ledger.Proven, stop, "nas", ""),
			[]string{"stop nas 30s: vm is on (record)"},
		},
		"held back for a moment": {
			begin("run").stage("shutdown", 100).step(0, ledger.Intent, stop, "nas", "").step(0, ledger.HeldBack, stop, "nas", "vm is on").
				step(2*time.Second, ledger.Intent, stop, "nas", "").step(time.Second, ledger.Proven, stop, "nas", ""),
			nil,
		},
		"held back, and then its power was back": {
			begin("run").stage("shutdown", 100).step(0, ledger.Intent, stop, "nas", "").step(0, ledger.HeldBack, stop, "nas",
				"its power came back before it accepted the command").
				add(time.Minute, ledger.Record{
					Kind:  ledger.Turned,
					Power: ledger.Power{Goal: plan.Up},
				}).closed("everything that was on is on again"),
			nil,
		},
		"a system that says not now, until it takes the command": {
			begin("run").stage("shutdown", 100).step(0, ledger.Intent, stop, "vm", "").accepted(0, stop, "vm", ledger.Busy, "a task runs").
				step(15*time.Second, ledger.Intent, stop, "vm", "").accepted(0, stop, "vm", ledger.Busy, "a task runs").
				step(15*time.Second, ledger.Intent, stop, "vm", "").step(40*time.Second, ledger.Proven, stop, "vm", ""),
			[]string{"stop vm 30s: its system, which was busy: a task runs (record)"},
		},
		"a system that is never reached": {
			begin("run").stage("shutdown", 100).step(0, ledger.Intent, stop, "vm", "").accepted(0, stop, "vm",
				ledger.Unreached, "no route").
				step(3*time.Minute, ledger.Failed, stop, "vm", "not proven within 3m").closed("power is back"),
			[]string{
				"stop vm 180s: an answer from its system, which could not be reached: no route (record)",
				"stop nas 1s…: stop vm, which comes before it in the plan and was not proven: not proven within 3m (plan)",
			},
		},
		"a person": {
			begin("run").stage("shutdown", 100).step(0, ledger.Asked, stop, "vent", "").step(time.Minute, ledger.Proven, stop, "vent", ""),
			[]string{"stop vent 60s: a person (record)"},
		},
		"an order, and a fault of ours": {
			begin("run").stage("shutdown", 100).add(0,
				ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: ledger.Hold, By: "kim"}}).
				add(0, ledger.Record{Kind: ledger.Forbidden, Step: ledger.Step{Node: "nas", Verb: &stop}, Reason: "rule 1: vm uses it"}).
				add(20*time.Second, ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: ledger.Resume, By: "kim"}}).
				step(10*time.Second, ledger.Intent, stop, "nas", ""),
			[]string{"stop nas 30s: Ebbtide itself, because of a bug: rule 1: vm uses it (record)", " 20s: the hold ordered by kim (record)"},
		},
		"the gate, and what comes before by the plan": {
			begin("run").stage("shutdown", 100).
				step(0, ledger.Intent, stop, "vm", "").step(2*time.Minute, ledger.Proven, stop, "vm", "").
				step(0, ledger.Intent, stop, "nas", "").step(time.Second, ledger.Proven, stop, "nas", "").up().
				step(0, ledger.Intent, plan.Start, "nas", "").step(10*time.Minute, ledger.Proven, plan.Start, "nas", "").
				step(0, ledger.Intent, plan.Start, "vm", "").step(time.Second, ledger.Proven, plan.Start, "vm",
				"").closed("everything that was on is on again"),
			[]string{
				"start vm 600s: start nas, which comes before it in the plan (plan)",
				"stop nas 120s: stop vm, which comes before it in the plan (plan)",
				"ups 60s: its recharge gate to open after mains power was back; nothing that it feeds was started before that (record)",
			},
		},
		"what nobody wrote down": {
			begin("run").stage("shutdown", 100).step(5*time.Minute, ledger.Intent, stop, "vm", "").step(time.Second,
				ledger.Proven, stop, "vm", "").
				step(3*time.Minute, ledger.Intent, stop, "nas", "").step(time.Second, ledger.Proven, stop, "nas", ""),
			[]string{
				"stop nas 481s: stop vm until 02:05:11, which comes before it in the plan; what it waited for then was not recorded (unsaid)",
				"stop vm 300s: not recorded (unsaid)",
			},
		},
		"what was never started": {
			begin("run").stage("shutdown", 100).up().step(0, ledger.Intent, plan.Start, "nas", "").
				step(5*time.Minute, ledger.Failed, plan.Start, "nas",
					"not proven within 5m").closed("not brought back: nas, vm", "nas", "vm"),
			[]string{
				"start vm 301s…: start nas, which comes before it in the plan and was not proven: not proven within 5m (plan)",
				"ups 60s: its recharge gate to open after mains power was back; nothing that it feeds was started before that (record)",
			},
		},
	} {
		r := told(t, test.told.records, known(t))
		require.Equal(t, test.want, waited(r), name)
		r = told(t, test.told.records, retrospect.Basis{Zone: time.UTC})
		for _, w := range r.Waits {
			require.NotEqual(t, retrospect.WaitPlan, w.By, "%s: without the runbook nothing is known of a plan", name)
		}
	}
}

// TestWaitsInADocument: what the members of a selector waited for alike is one row, and what goes on says so.
func TestWaitsInADocument(t *testing.T) {
	t.Parallel()
	s := begin("observe").stage("shutdown", 100)
	for i := range 5 {
		s.step(0, ledger.Intent, plan.Stop, fmt.Sprintf("lab/%d", i), "").accepted(0, plan.Stop, fmt.Sprintf("lab/%d", i),
			ledger.Busy, "a task runs")
	}
	s.step(time.Minute, ledger.Asked, plan.Stop, "vent", "").add(30*time.Second,
		ledger.Record{Kind: ledger.Gap, Reason: "Ebbtide was not running, and resumes now"})
	text := string(written(t, told(t, s.records, known(t)), "md"))
	_, text, _ = strings.Cut(text, "What would have waited, and for what")
	require.Contains(t, text, "| stop lab ×5 | 1m 30s so far | (observing) its system, which was busy: a task runs |")
	require.Contains(t, text, "| stop vent | 30s so far | (observing) a person |")
}

// TestWaitsOfALargeEstate: what waits for what is found in time.
func TestWaitsOfALargeEstate(t *testing.T) {
	t.Parallel()
	const vms = 3000
	nodes := []plan.Node{
		{ID: "ups", Type: "supply", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut)},
		{ID: "nas", Type: "nas", Kind: plan.Other, Can: plan.VerbSet(plan.Stop, plan.Start), FedBy: []string{"ups"}},
	}
	for i := range vms {
		nodes = append(nodes, plan.Node{
			ID: fmt.Sprintf("vm%d", i), Type: "vm", Kind: plan.VM,
			Can: plan.VerbSet(plan.Stop, plan.Start, plan.Force), DependsOn: []string{"nas"},
		})
	}
	e, err := plan.NewEstate(nodes, nil)
	require.NoError(t, err)
	s := begin("run").stage("shutdown", 100)
	for i := range vms {
		s.step(200*time.Millisecond, ledger.Intent, plan.Stop, fmt.Sprintf("vm%d", i), "")
		if i > 3 {
			s.step(0, ledger.Proven, plan.Stop, fmt.Sprintf("vm%d", i-3), "")
		}
	}
	s.step(time.Minute, ledger.Intent, plan.Stop, "nas", "")
	began := time.Now()
	r := told(t, s.records, retrospect.Basis{Estate: e, Find: evidence.Finder(e), Zone: time.UTC})
	require.Less(t, time.Since(began), 30*time.Second)
	places := 0
	for _, w := range r.Waits {
		if w.By == retrospect.WaitPlace {
			places++
		}
	}
	require.Greater(t, places, vms/2)
}
