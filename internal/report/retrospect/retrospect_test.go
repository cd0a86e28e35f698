package retrospect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/evidence"
	"ebbtide/internal/families"
	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/chart"
	"ebbtide/internal/report/render"
	"ebbtide/internal/report/retrospect"
	"ebbtide/internal/sim"
	"ebbtide/internal/timeline"
	"ebbtide/test/dst"
	"ebbtide/test/paper"
)

// story writes the records of an outage of nas, under vm, fed by ups.
type story struct {
	records []ledger.Record
	at      time.Time
}

func begin(mode ledger.Mode) *story {
	s := &story{at: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)}
	s.add(0, ledger.Record{
		Kind: ledger.Opened, Outage: "o1", Opening: ledger.Opening{Mode: mode},
		Power: ledger.Power{Supplies: []string{"ups"}}, Reason: "on battery for 0s, 90%, at least 9m left",
	})
	return s.add(0, ledger.Record{
		Kind:  ledger.Snapshot,
		Nodes: []ledger.NodeState{{Node: "vm", State: plan.On}, {Node: "nas", State: plan.On}, {Node: "spare", State: plan.Off}},
	})
}

func (s *story) add(after time.Duration, r ledger.Record) *story {
	s.at = s.at.Add(after)
	r.Seq, r.At, r.Outage = uint64(len(s.records)+1), s.at, "o1"
	s.records = append(s.records, r)
	return s
}

func (s *story) step(after time.Duration, kind ledger.Kind, verb plan.Verb, node, reason string) *story {
	return s.add(after, ledger.Record{Kind: kind, Step: ledger.Step{Node: node, Verb: &verb}, Reason: reason})
}

// by gives the newest record its cause.
func (s *story) by(cause ledger.Cause) *story {
	s.records[len(s.records)-1].Cause = cause
	return s
}

// stage starts one, with so much slack.
func (s *story) stage(name string, slack float64) *story {
	left, likely, charge, load, need, odds := 400.0, 800.0, 90.0, 50.0, 300.0, 0.02
	return s.add(10*time.Second, ledger.Record{
		Kind: ledger.Triggered,
		Power: ledger.Power{Stage: plan.Stage(name), Supplies: []string{"ups"}, Numbers: &ledger.Numbers{
			Left: &left, Likely: &likely, By: "its own runtime", Charge: &charge, Load: &load, Plan: &need, Slack: &slack, Odds: &odds,
		}}, Reason: "on battery for 10s",
	})
}

func (s *story) up() *story {
	return s.add(time.Minute, ledger.Record{
		Kind: ledger.Mains, Power: ledger.Power{Supplies: []string{"ups"}}, Cause: ledger.Returned,
		Reason: "on line",
	}).
		add(time.Minute, ledger.Record{
			Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up},
			Reason: "mains power is back and the recharge gate is open",
		})
}

func (s *story) closed(reason string, missing ...string) *story {
	r := ledger.Record{Kind: ledger.Closed, Reason: reason}
	for _, id := range missing {
		r.Nodes = append(r.Nodes, ledger.NodeState{Node: id})
	}
	return s.add(time.Second, r)
}

// estate is that of the story.
func estate(t testing.TB) *plan.Estate {
	minutes := func(nominal, within int) plan.Times {
		return plan.Times{Nominal: time.Duration(nominal) * time.Minute, Within: time.Duration(within) * time.Minute}
	}
	node := func(id string, kind plan.Kind, can plan.Verbs) plan.Node {
		n := plan.Node{ID: id, Type: id, Kind: kind, Can: can, Attempts: 2, Stage: "shutdown"}
		n.Times[plan.Stop], n.Times[plan.Start], n.Times[plan.Flush], n.Times[plan.Cut], n.Times[plan.Force] = minutes(1, 3), minutes(2, 5),
			minutes(1, 2), minutes(1, 2), minutes(1, 2)
		return n
	}
	ups := node("ups", plan.Supply, plan.VerbSet(plan.Cut))
	nas := node("nas", plan.Other, plan.VerbSet(plan.Stop, plan.Start))
	nas.FedBy = []string{"ups"}
	vm := node("vm", plan.VM, plan.VerbSet(plan.Stop, plan.Start, plan.Force))
	vm.DependsOn = []string{"nas"}
	e, err := plan.NewEstate([]plan.Node{ups, nas, vm}, nil)
	require.NoError(t, err)
	return e
}

func told(t testing.TB, records []ledger.Record, basis retrospect.Basis) *retrospect.Retrospective {
	r, err := retrospect.Of(records, basis)
	require.NoError(t, err)
	require.Len(t, r.Sentences, 5)
	return r
}

func known(t testing.TB) retrospect.Basis {
	e := estate(t)
	return retrospect.Basis{Estate: e, Find: evidence.Finder(e), Zone: time.UTC}
}

// advice is what is suggested about something.
func advice(r *retrospect.Retrospective, about string) string {
	var all []string
	for _, s := range r.Suggestions {
		if s.About == about {
			all = append(all, s.What+" "+s.Evidence)
		}
	}
	return strings.Join(all, "\n")
}

// night is an outage in which vm hangs and is forced, and all comes back.
func night(mode ledger.Mode) *story {
	return begin(mode).stage("shutdown", 42).
		step(0, ledger.Intent, plan.Stop, "vm", "").
		step(3*time.Minute, ledger.Intent, plan.Force, "vm", "not proven within 3m0s").by(ledger.Overtime).
		step(10*time.Second, ledger.Proven, plan.Stop, "vm", "").
		step(0, ledger.Intent, plan.Stop, "nas", "").
		step(160*time.Second, ledger.Proven, plan.Stop, "nas", "has not answered for 30s since it accepted its stop").by(ledger.Silence).
		add(0, ledger.Record{Kind: ledger.Spent, Power: ledger.Power{
			Supplies:  []string{"ups"},
			Discharge: &power.Discharge{Burn: 150, Took: 6 * time.Minute, Load: 45, From: 90, To: 30},
		}}).
		step(0, ledger.Intent, plan.Cut, "ups", "").
		step(time.Second, ledger.Proven, plan.Cut, "ups", "").
		up().
		step(0, ledger.Intent, plan.Start, "nas", "").
		step(2*time.Minute, ledger.Proven, plan.Start, "nas", "").
		step(0, ledger.Intent, plan.Start, "vm", "").
		step(time.Minute, ledger.Intent, plan.Start, "vm", "").
		step(2*time.Minute, ledger.Proven, plan.Start, "vm", "").
		closed("everything that was on is on again")
}

func TestARetrospective(t *testing.T) {
	t.Parallel()
	s := night("run")
	for i := range s.records {
		if d := s.records[i].Discharge; d != nil {
			d.At = s.records[i].At
		}
	}
	r := told(t, s.records, known(t))
	require.Equal(t, retrospect.Proof{WasOn: 2, Off: 1, Silent: 1, Forced: 1, Back: 2}, r.Proof)
	require.Contains(t, r.Sentences[0], "ups failed at 02:00:00 and was out for 7m 1s")
	require.Contains(t, r.Sentences[1], "Both nodes that were on went down: 1 proven off without force (by its silence after it accepted "+
		"its stop) and 1 powered off by force (vm); the output of ups was cut.")
	require.Contains(t, r.Sentences[2], "least time to spare was 42s, when stage shutdown for ups started at 02:00:10")
	require.Contains(t, r.Sentences[3], "Both of these came back, the last (vm)")

	require.Equal(t, "stop vm", r.Steps[0].Verb.String()+" "+r.Steps[0].Node, "the slowest first")
	require.InDelta(t, 190, r.Steps[0].Took, 0.1)
	require.InDelta(t, 180, r.Steps[0].Limit, 0.1)
	require.Len(t, r.Forced, 1)
	require.InDelta(t, 180, r.Forced[0].Waited, 0.1)
	require.Empty(t, r.Unproven)
	require.InDelta(t, 42, r.Nearest.Slack, 0.1)

	require.Len(t, r.Decisions, 3)
	require.Equal(t, "on battery for 10s. The battery (90%, load 50%) would last at least 6m 40s by its own runtime, and likely 13m 20s; "+
		"the rest of the plan needed 5m (p95); it could have waited 42s; the chance that the battery would give out first was 2.0%.",
		r.Decisions[0].Text)

	// 60 points gave 150 s at full load: all 90 give 225 s, which at half load is what the default curve makes of it.
	lasts, _ := power.Capacity{Burn: 225}.Lasts(nil, 0.5)
	require.InDelta(t, lasts.Seconds(), r.Batteries[0].Gave, 0.1)
	require.InDelta(t, lasts.Seconds()/800, r.Batteries[0].Ratio, 0.001)
	require.Contains(t, r.Batteries[0].Text, "The next plan takes that into account.")
	require.Contains(t, advice(r, "ups"), "replace it if a drill shows the same")

	require.Contains(t, advice(r, "vm"), "Find out why vm did not stop by itself")
	require.Contains(t, advice(r, "nas"), "Give nas a health check")
	require.Contains(t, advice(r, "nas"), "Allow more time for the stop of nas: 4m, say.")

	var hung []string
	for _, x := range r.Surprises {
		if x.Hung {
			hung = append(hung, x.Verb.String()+" "+x.Node)
		}
	}
	require.Equal(t, []string{"stop vm", "start vm"}, hung, "its first start brought nothing about")

	// Why it took as long: by the plan the cut waited for nas, and nas for vm.
	require.Len(t, r.Chains, 2)
	var links []string
	for _, l := range r.Chains[0].Links {
		links = append(links, l.What)
	}
	require.Equal(t, []string{"cut ups", "stop nas", "stop vm", "stage shutdown"}, links)
	require.Equal(t, retrospect.ByPlan, r.Chains[0].Links[0].By)
	require.InDelta(t, 351, r.Chains[0].Took, 0.1)
	require.Contains(t, r.Critical(), "cut ups @6m +1s\n└─stop nas @3m 20s +2m 40s\n  └─stop vm @10s +3m 10s forced\n    "+
		"└─stage shutdown @10s\n")
	require.Contains(t, r.Blame(), "    3m 10s stop vm (1m expected): proven, by force")
}

func TestWithoutTheRunbookTimesTell(t *testing.T) {
	t.Parallel()
	r := told(t, night("run").records, retrospect.Basis{Zone: time.UTC})
	require.Equal(t, retrospect.ByTime, r.Chains[0].Links[0].By)
	require.Zero(t, r.Steps[0].Expected)
	require.Empty(t, r.Surprises)
	require.Contains(t, strings.Join(r.Notes, "\n"), "--runbook")
}

func TestWhatAlwaysHangsIsToldFromThePast(t *testing.T) {
	t.Parallel()
	basis := known(t)
	for i := range 2 {
		basis.Past = append(basis.Past, forecast.Sample{
			Node: "vm", Type: "vm", Verb: plan.Stop,
			At: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Hung: true,
		})
	}
	require.Contains(t, advice(told(t, night("run").records, basis), "vm"),
		"It hung this time (not proven within 3m0s) and in 2 of 2 runs before that.")
}

// TestRecordsWithoutCausesClaimNothing: what their words say is for people, and nothing is reckoned from it.
func TestRecordsWithoutCausesClaimNothing(t *testing.T) {
	t.Parallel()
	s := night("run")
	for i := range s.records {
		s.records[i].Cause = ""
	}
	r := told(t, s.records, known(t))
	require.Equal(t, retrospect.Proof{WasOn: 2, Off: 1, Forced: 1, Back: 2}, r.Proof, "nothing is known of silence")
	require.Equal(t, s.records[len(s.records)-1].At, r.Until)
	require.False(t, r.Away[0].To.IsZero(), "a word on a supply that was away is that it is back")
	require.NotContains(t, advice(r, "vm"), "Find out why")
	for _, x := range r.Surprises {
		require.False(t, x.Hung && x.Verb == plan.Stop)
	}
	require.Contains(t, r.Forced[0].Reason, "not proven within", "and people still read why")
}

// TestACutOnGoodMainsIsNoFailureOfThem: an output goes off by its cut after the mains are back, and comes on again.
// What starts by that alone, and did not, needs a person.
func TestACutOnGoodMainsIsNoFailureOfThem(t *testing.T) {
	t.Parallel()
	ups := ledger.Power{Supplies: []string{"ups"}, Off: true}
	s := begin("run").stage("shutdown", 100).
		step(0, ledger.Intent, plan.Stop, "nas", "").
		step(time.Minute, ledger.Proven, plan.Stop, "nas", "").
		up().
		step(0, ledger.Intent, plan.Cut, "ups", "").
		step(time.Second, ledger.Proven, plan.Cut, "ups", "").
		add(20*time.Second, ledger.Record{Kind: ledger.Mains, Cause: ledger.Failing, Power: ups}).
		add(20*time.Second, ledger.Record{Kind: ledger.Mains, Cause: ledger.Returned, Power: ups}).
		step(5*time.Minute, ledger.Failed, plan.Start, "nas", "not proven within 5m").by(ledger.Overtime).
		closed("not brought back: nas", "nas")
	r := told(t, s.records, known(t))
	require.Len(t, r.Away, 1)
	require.Contains(t, advice(r, "nas"), "Switch nas on, or power-cycle it")
}

func TestABatteryThatIsToBeReplaced(t *testing.T) {
	t.Parallel()
	s := begin("run").stage("shutdown", 100).up().closed("everything that was on is on again")
	require.NotContains(t, advice(told(t, s.records, known(t)), "ups"), "Replace")
	s.records[0].Replace = true
	require.Contains(t, advice(told(t, s.records, known(t)), "ups"), "Replace the battery of ups.")
}

func TestModesAreTold(t *testing.T) {
	t.Parallel()
	for mode, want := range map[ledger.Mode][2]string{
		"drill":    {"Drill o1", "A drill"},
		"observe":  {"Observed outage o1", "it sent no command"},
		"simulate": {"Simulated outage o1", "none of this has happened"},
	} {
		r := told(t, night(mode).records, known(t))
		require.Equal(t, want[0], r.Title())
		require.Contains(t, strings.Join(r.Notes, "\n"), want[1])
	}
	s := night("drill")
	s.records[0].Supplies, s.records[0].Scope, s.records[0].By = nil, []string{"nas", "vm"}, "kim"
	basis := known(t)
	basis.Modelled = true
	drill := told(t, s.records[:9], basis)
	require.Equal(t, "Simulated drill o1", drill.Title())
	require.Equal(t, "On 1 March 2026 02:00:00 UTC kim ordered a drill of nas and vm.", drill.Sentences[0])
	r := told(t, night("observe").records, known(t))
	require.Contains(t, r.Sentences[1], "would have gone down")
	require.Empty(t, r.Surprises, "nothing is learned from what was not done")
}

// TestAnObservedOutageReadsAsOne: in no form of its report reads anything as if it had happened.
func TestAnObservedOutageReadsAsOne(t *testing.T) {
	t.Parallel()
	happened := regexp.MustCompile(`went down|came back|did not come|has come back|was cut|was late|is off\b|is proven|powering off|is asked|is passed|going up|Ended as| starts \||were taken|was taken`)
	stop, up := plan.Stop, plan.Up
	bad := night("observe")
	bad.records = bad.records[:len(bad.records)-1]
	bad.add(0, ledger.Record{Kind: ledger.Forbidden, Step: ledger.Step{Node: "nas", Verb: &stop}, Reason: "rule 1: vm uses it"}).
		add(0, ledger.Record{
			Kind: ledger.NoReturn, Step: ledger.Step{Node: "nas", Verb: &stop},
			Power: ledger.Power{Supplies: []string{"ups"}},
		}).
		add(0, ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: ledger.Hold, By: "kim"}}).
		step(0, ledger.Asked, plan.Stop, "vent", "").step(time.Minute, ledger.Failed, plan.Stop, "vent",
		"not confirmed within 1m: skipped").
		step(0, ledger.Intent, plan.Start, "vm", "").step(time.Minute, ledger.Failed, plan.Start, "vm",
		"not proven within 5m").by(ledger.Overtime).
		closed("not brought back: vm", "vm")
	early := begin("observe").stage("shutdown", -20)
	idle := begin("observe")
	idle.add(time.Minute, ledger.Record{
		Kind: ledger.Turned, Power: ledger.Power{Goal: up},
		Reason: "mains are back",
	}).closed("power is back; nothing had to be done")
	stories := map[string][]ledger.Record{
		"whole": night("observe").records, "bad": bad.records, "early": early.records,
		"idle": idle.records,
	}
	schema := families.Schema()
	for seed := range uint64(12) {
		scenario, _, err := sim.Load("drawn", []byte(dst.Draw(dst.Seeded(seed))), nil, schema)
		require.NoError(t, err)
		for at, records := range retrospect.Outages(sim.Run(scenario).Records) {
			if records[0].Mode == ledger.ModeDrill {
				continue
			}
			records[0].Mode = ledger.ModeObserve
			stories[fmt.Sprintf("drawn %d %d", seed, at)] = records
		}
	}
	for name, records := range stories {
		r := told(t, records, known(t))
		require.Contains(t, r.Notes[0], "it sent no commands", name)
		require.Empty(t, r.Chains, name)
		for _, s := range r.Sentences {
			require.Regexp(t, "would|only observed|not recorded|lowest recorded charge", s, name)
		}
		for _, m := range r.Timeline {
			require.True(t, strings.HasPrefix(m.Text, effect.Observing), "%s: %s", name, m.Text)
		}
		for _, d := range r.Decisions {
			require.True(t, strings.HasPrefix(d.Text, effect.Observing), d.Text)
			if d.Kind != ledger.Ordered {
				require.Contains(t, d.What, "would", name)
			}
		}
		for i := range r.Steps {
			require.Zero(t, r.Steps[i].Took, "a rehearsal takes no time that says anything")
		}
		for _, s := range r.Suggestions {
			require.NotContains(t, s.What, "start it by hand", name)
		}
		for _, text := range []string{string(written(t, r, "md")), r.Blame(), r.Critical()} {
			for line := range strings.Lines(text) {
				line = strings.ReplaceAll(line, "would have ended as", "")
				line = strings.ReplaceAll(line, "Would-be outcome", "")
				if found := happened.FindString(line); found != "" && !strings.Contains(line, effect.Observing) {
					require.NotContains(t, line, found, name)
				}
			}
		}
	}
}

// written is the report as a document of a format.
func written(t *testing.T, r *retrospect.Retrospective, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, render.Write(&b, r.Document(), format, render.Papers[0]))
	return b.Bytes()
}

func TestOutagesThatDidNotEndWell(t *testing.T) {
	t.Parallel()
	t.Run("open", func(t *testing.T) {
		t.Parallel()
		s := begin("run").stage("shutdown", -30).step(0, ledger.Intent, plan.Stop, "vm", "")
		r := told(t, s.records, known(t))
		require.True(t, r.Open)
		require.Contains(t, strings.Join(r.Notes, "\n"), "The outage is not over")
		require.Contains(t, r.Sentences[0], "was still out 10s later")
		require.Contains(t, r.Sentences[4], "It is not over")
		require.Equal(t, timeline.Running, r.Unproven[0].State)
		require.Contains(t, advice(r, ""), "Start the shutdown earlier")
	})
	t.Run("aborted", func(t *testing.T) {
		t.Parallel()
		s := begin("run").stage("protect", 100).add(time.Minute,
			ledger.Record{Kind: ledger.Ordered, Word: ledger.Word{Order: ledger.Abort, By: "kim"}}).
			add(time.Minute, ledger.Record{
				Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up},
				Reason: "ordered by kim",
			}).closed("everything that was on is on again")
		r := told(t, s.records, known(t))
		require.Equal(t, "Ordered by kim.", r.Decisions[1].Text)
		require.Equal(t, "Nothing was shut down; 2 nodes were on.", r.Sentences[1])
		require.Empty(t, r.Chains)
	})
	t.Run("what became of an output, and faults of our own", func(t *testing.T) {
		t.Parallel()
		s := begin("run").stage("shutdown", 100).step(0, ledger.Forbidden, plan.Stop, "nas", "rule 1: vm uses it and is not proven off").
			add(time.Minute, ledger.Record{
				Kind: ledger.Mains, Power: ledger.Power{Supplies: []string{"ups"}}, Cause: ledger.Returned,
				Reason: "on line",
			}).
			add(time.Minute, ledger.Record{
				Kind: ledger.Mains, Power: ledger.Power{Supplies: []string{"ups"}}, Cause: ledger.Cycled,
				Reason: "its output is on again",
			}).
			add(time.Minute, ledger.Record{
				Kind: ledger.Mains, Power: ledger.Power{Supplies: []string{"ups"}}, Cause: ledger.Released,
				Reason: "its cut can't come",
			}).
			closed("everything that was on is on again")
		r := told(t, s.records, known(t))
		require.Len(t, r.Away, 1, "the mains were away once")
		require.Equal(t, "stop nas is not sent, because of a bug in Ebbtide", r.Decisions[1].What)
		require.Equal(t, "rule 1: vm uses it and is not proven off. Please report it.", r.Decisions[1].Text)
		require.Equal(t, "the output of ups is not cut", r.Decisions[2].What)
	})
	t.Run("not all restored", func(t *testing.T) {
		t.Parallel()
		s := begin("run").stage("shutdown", 100).step(0, ledger.Intent, plan.Stop, "vm", "").step(time.Minute, ledger.Failed, plan.Stop,
			"vm", "not proven within 1m0s").by(ledger.Overtime).
			up().step(0, ledger.Intent, plan.Start, "vm", "").step(time.Minute, ledger.Failed, plan.Start, "vm",
			"not proven within 5m0s").by(ledger.Overtime).closed("not brought back: vm", "vm")
		r := told(t, s.records, known(t))
		require.Equal(t, []string{"vm"}, r.NotRestored)
		require.Equal(t, retrospect.Proof{WasOn: 2, Unproven: 1}, r.Proof)
		require.Contains(t, r.Sentences[4], "1 node did not come back: vm")
		require.Contains(t, advice(r, "vm"), "Find out why vm did not come back")
		require.Len(t, r.Unproven, 2)
	})
	t.Run("the last that came back", func(t *testing.T) {
		t.Parallel()
		s := begin("run").stage("shutdown", 100)
		for _, node := range []string{"vm", "nas"} {
			s.step(0, ledger.Intent, plan.Stop, node, "").step(time.Minute, ledger.Proven, plan.Stop, node, "")
		}
		s.up().step(0, ledger.Intent, plan.Start, "nas", "").step(2*time.Minute, ledger.Proven, plan.Start, "nas", "")
		back := s.records[len(s.records)-1].At
		s.step(0, ledger.Intent, plan.Start, "vm", "").step(5*time.Minute, ledger.Failed, plan.Start, "vm",
			"not proven within 5m").by(ledger.Overtime)
		r := told(t, s.closed("not brought back: vm", "vm").records, known(t))
		require.Contains(t, r.Sentences[3], "1 of these 2 came back at "+back.Format(time.TimeOnly))
	})
	t.Run("resumed", func(t *testing.T) {
		t.Parallel()
		s := begin("run").stage("shutdown", 100).step(0, ledger.Intent, plan.Stop, "vm", "").add(time.Minute,
			ledger.Record{Kind: ledger.Gap, Reason: "Ebbtide was not running, and resumes now"}).
			step(0, ledger.Proven, plan.Stop, "vm", "").up().closed("everything that was on is on again")
		r := told(t, s.records, known(t))
		require.Contains(t, strings.Join(r.Notes, "\n"), "was not observed")
		require.Contains(t, advice(r, ""), "why Ebbtide was not running")
		require.Empty(t, r.Surprises, "its time was not watched")
	})
}

func TestNothingIsMadeOfNothing(t *testing.T) {
	t.Parallel()
	_, err := retrospect.Of(nil, retrospect.Basis{})
	require.Error(t, err)
	_, err = retrospect.Of(night("run").records[1:], retrospect.Basis{})
	require.ErrorContains(t, err, "opening")
	require.Len(t, retrospect.Outages(slices.Concat(night("run").records[3:], night("run").records, night("drill").records)), 2)
}

// TestEachFormatTellsTheSame: every fact is in Markdown, HTML and PDF.
func TestEachFormatTellsTheSame(t *testing.T) {
	t.Parallel()
	hostile := night("run")
	for i := range hostile.records {
		if hostile.records[i].Node == "vm" {
			hostile.records[i].Reason += " <script>alert(1)</script> | `x`"
		}
	}
	r := told(t, hostile.records, known(t))
	var facts []string
	facts = append(facts, r.Sentences...)
	for _, s := range r.Suggestions {
		facts = append(facts, s.What, s.Evidence)
	}
	for _, d := range r.Decisions {
		facts = append(facts, d.What, d.Text)
	}
	for i := range r.Steps {
		facts = append(facts, r.Steps[i].Verb.String()+" "+r.Steps[i].Node)
	}
	for _, b := range r.Batteries {
		facts = append(facts, b.Text)
	}
	for _, m := range r.Timeline {
		facts = append(facts, m.Text)
	}
	for _, format := range render.Formats {
		var b bytes.Buffer
		require.NoError(t, render.Write(&b, r.Document(), format, render.Papers[0]))
		if format == "html" {
			require.NotContains(t, b.String(), "<script>alert")
		}
		text := letters(plainly(t, b.Bytes(), format))
		for _, fact := range facts {
			require.Contains(t, text, letters(fact), format)
		}
	}
}

// plainly is the text of a document of a format.
func plainly(t *testing.T, doc []byte, format string) string {
	switch format {
	case "md":
		return strings.ReplaceAll(string(doc), "\\", "")
	case "html":
		return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(string(doc))
	}
	return paper.Text(t, doc)
}

// letters leaves out how a text is broken into lines.
func letters(s string) string { return strings.Join(strings.Fields(s), "") }

// Whatever happens in an outage, and wherever its records end, there is a report that counts what the timeline counts,
// whose chains hold together, and that can be written.
func TestReportsOfDrawnOutages(t *testing.T) {
	t.Parallel()
	schema := families.Schema()
	for seed := range uint64(40) {
		scenario, _, err := sim.Load("drawn", []byte(dst.Draw(dst.Seeded(seed))), nil, schema)
		require.NoError(t, err)
		basis := retrospect.Basis{
			Estate: scenario.Settings.Estate, Find: evidence.Finder(scenario.Settings.Estate),
			Sheets: scenario.Settings.Supplies,
		}
		for _, records := range retrospect.Outages(sim.Run(scenario).Records) {
			for _, n := range []int{len(records), len(records)/2 + 1, 1} {
				r := told(t, records[:n], basis)
				tl := timeline.Fold(records[:n])
				require.Len(t, r.Steps, len(tl.Steps), "seed %d", seed)
				require.Len(t, r.Forced, len(tl.Forced))
				require.Len(t, r.Unproven, len(tl.Steps)-tl.Summary.Proven-tl.Summary.Forced)
				p := r.Proof
				require.LessOrEqual(t, p.Off+p.Forced+p.Unproven+p.Lost, p.WasOn)
				require.LessOrEqual(t, p.Back, p.Off+p.Forced+p.Unproven+p.Lost)
				ordered := slices.IsSortedFunc(records, func(a, b ledger.Record) int { return a.At.Compare(b.At) }) // the clock was not set
				for _, c := range r.Chains {
					require.NotEmpty(t, c.Links)
					for i, l := range c.Links[:len(c.Links)-1] {
						next := c.Links[i+1]
						require.GreaterOrEqual(t, l.Idle, 0.0, "seed %d", seed)
						if !ordered {
							continue
						}
						require.InDelta(t, l.At, next.At+next.Took+l.Idle, 0.001, "seed %d: %s after %s", seed, l.What, next.What)
					}
				}
				_, err := json.Marshal(r)
				require.NoError(t, err)
				require.NoError(t, render.Write(new(bytes.Buffer), r.Document(), "md", render.Papers[0]))
				require.NoError(t, chart.Plot(new(bytes.Buffer), r.Course(), ".svg"))
			}
		}
	}
}

// TestACutThatFailed: what starts by the return of its power alone rests on it, so it stands where people read first.
// TestABatteryThatGaveOutUnseen: nothing was told to go, and what was on is shown to have come up. It lost its power in between.
func TestABatteryThatGaveOutUnseen(t *testing.T) {
	t.Parallel()
	s := begin("run").stage("shutdown", -30).
		add(5*time.Minute, ledger.Record{Kind: ledger.Mains, Cause: ledger.Cycled, Power: ledger.Power{Supplies: []string{"ups"}}}).
		up().
		step(time.Minute, ledger.Proven, plan.Start, "nas", "it came back by itself").by(ledger.Already).
		step(time.Minute, ledger.Intent, plan.Start, "vm", "").
		step(time.Minute, ledger.Proven, plan.Start, "vm", "").
		closed("everything that was on is on again")
	r := told(t, s.records, known(t))
	require.Equal(t, 2, r.Proof.Lost)
	require.Contains(t, r.Sentences[1], "2 cut off without being proven off (nas and vm)")
}

func TestStorageThatWasStoppedOverADirtyCache(t *testing.T) {
	t.Parallel()
	s := begin("run").stage("shutdown", 42).
		step(0, ledger.Intent, plan.Stop, "vm", "").step(time.Minute, ledger.Proven, plan.Stop, "vm", "").
		step(time.Minute, ledger.Intent, plan.Stop, "nas", "the battery is nearly empty"+ledger.LeftDirty+"pool").by(ledger.Pressed).
		step(time.Minute, ledger.Proven, plan.Stop, "nas", "").up().closed("everything that was on is on again")
	r := told(t, s.records, known(t))
	require.Contains(t, r.Sentences[1], "; pool could not be proven clean before the storage was stopped.")
}

func TestACutThatFailed(t *testing.T) {
	t.Parallel()
	s := night("run")
	for i := range s.records {
		if r := &s.records[i]; r.Kind == ledger.Proven && *r.Verb == plan.Cut {
			r.Kind, r.Reason = ledger.Failed, "the UPS lacks the command shutdown.return"
		}
	}
	r := told(t, s.records, known(t))
	require.Contains(t, r.Sentences[1], "; the output of ups could not be cut.")
	require.NotContains(t, r.Sentences[1], "was cut")
	require.Contains(t, advice(r, "ups"), "Enable the command that cuts the output of ups in its UPS or driver, or write `cut: none` for "+
		"it. Its cut was not proven: the UPS lacks the command shutdown.return.")
}
