package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/self"
	"ebbtide/internal/engine"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

func TestAWholeOutage(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.start()
	g.ready()
	s := g.status()
	require.Equal(t, "1.2.3", s.Version)
	require.True(t, s.Armed)
	require.Equal(t, ledger.ModeRun, s.Mode)
	require.Equal(t, "test", s.Runbook)
	require.NotEmpty(t, s.Digest)
	require.Nil(t, s.Outage)
	require.Len(t, s.View.Nodes, 3)
	require.Contains(t, s.Text, "ups on line")

	m := g.metrics()
	require.InDelta(t, 1, m["ebbtide_armed"], 0)
	require.InDelta(t, 90, m["ebbtide_supply_charge_percent{ups}"], 0)
	require.InDelta(t, 0, m["ebbtide_supply_on_battery{ups}"], 0)
	require.InDelta(t, 1, m["ebbtide_supply_status{OL,ups}"], 0)
	require.InDelta(t, 30, m["ebbtide_supply_load_percent{ups}"], 0)
	require.InDelta(t, 1, m["ebbtide_build_info{1.2.3}"], 0)
	require.InDelta(t, 0, m["ebbtide_outage_open"], 0)
	require.Less(t, m["ebbtide_node_proof_age_seconds{web}"], 30.0)
	require.Positive(t, m["ebbtide_supply_runtime_seconds{ups}"])

	g.outage(ledger.Proven, "ups", plan.Cut)
	require.Equal(t, []string{"shutdown.return"}, g.commands())
	require.Equal(t, plan.Off, g.estate.Node("nas").State())
	require.Equal(t, plan.Off, g.estate.Node("web").State())
	s = g.status()
	require.NotNil(t, s.Outage)
	require.Equal(t, 3, s.Outage.Summary.Proven)
	m = g.metrics()
	require.InDelta(t, 1, m["ebbtide_outage_open"], 0)
	require.InDelta(t, 3, m["ebbtide_steps{proven}"], 0)

	g.estate.Node("nas").Set(plan.On) // starts with its power
	g.back()
	require.Equal(t, plan.On, g.estate.Node("web").State())
	g.until("counted", func() bool { return g.metrics()["ebbtide_outages_total{restored}"] == 1 })
	require.Nil(t, g.status().Outage)
	list, err := g.client().Outages(t.Context())
	require.NoError(t, err)
	require.Len(t, list.Outages, 1)
	require.False(t, list.Outages[0].Open)
	var api *APIError
	_, err = g.client().Outage(t.Context(), "nothing")
	require.ErrorAs(t, err, &api)
	require.Equal(t, 404, api.Code)
}

// metrics scrapes the daemon: values by name and the values of the labels.
func (g *rig) metrics() map[string]float64 {
	g.t.Helper()
	resp := g.get("/metrics")
	require.Equal(g.t, 200, resp.code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(resp.body))
	require.NoError(g.t, err)
	values := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			key := name
			if len(labels) > 0 {
				key += "{" + strings.Join(reversed(labels), ",") + "}"
			}
			values[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// reversed sorts label values so that tests need not know the order of label names.
func reversed(labels []string) []string {
	if len(labels) == 2 && labels[0] > labels[1] {
		return []string{labels[1], labels[0]}
	}
	return labels
}

func TestObservingSendsNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Armed = false
	proof := filepath.Join(g.dir, "this machine was powered off")
	g.more = []adapter.Family{self.Family(true)} // whose own lock is open: the rehearsal alone holds it back
	g.write(strings.Replace(book, "policy:", "  me: {type: self, fed_by: [ups], stop: [touch, \""+proof+"\"]}\npolicy:", 1))
	g.start()
	g.until("ready", func() bool { return g.alive.ready(t.Context()) == nil && len(g.status().View.Nodes) == 4 })
	require.Equal(t, ledger.ModeObserve, g.status().Mode)
	g.outage(ledger.Proven, "me", plan.Stop)
	require.True(t, g.recorded(ledger.Proven, "ups", plan.Cut))
	requireObserved(t, g.status())
	g.back()
	require.NoFileExists(t, proof)
	g.until("the outage over in the log", func() bool { return strings.Contains(g.log.String(), "the outage is over") })
	requireObservedLog(t, g.log.String())
	require.Empty(t, g.commands(), "nothing reached the UPS")
	require.Empty(t, g.estate.Calls(), "nothing reached the estate")
	records := g.records()
	require.Equal(t, ledger.ModeObserve, records[0].Mode)
	require.Equal(t, "everything that was on would be on again", records[len(records)-1].Reason)
	spent := func(r ledger.Record) bool { return r.Kind == ledger.Spent }
	cut := slices.IndexFunc(records, func(r ledger.Record) bool { return r.Kind == ledger.Proven && r.Verb != nil && *r.Verb == plan.Cut })
	require.False(t, slices.ContainsFunc(records[:cut], spent), "the battery went on past a cut that nobody made")
	require.True(t, slices.ContainsFunc(records[cut:], spent), "and gave what it gave until its mains were back")
	for _, said := range []string{
		"(observing) would stop web", "(observing) would stop nas", "(observing) would cut ups",
		"(observing) would start web",
	} {
		require.Contains(t, g.log.String(), said)
	}
	g.until("counted", func() bool { return g.metrics()["ebbtide_outages_total{restored}"] == 1 })
	require.NotContains(t, g.log.String(), "swordfish")

	g.estate.Node("web").Set(plan.Off) // after the outage the truth counts again
	g.until("web seen off", func() bool {
		return slices.ContainsFunc(g.status().View.Nodes, func(n engine.NodeView) bool { return n.ID == "web" && n.Seen.State == plan.Off })
	})
}

// TestObservingGoesOn: what was rehearsed before a restart is so after it, though the systems say otherwise.
func TestObservingGoesOn(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Armed = false
	g.write(book)
	g.start()
	g.ready()
	g.outage(ledger.Proven, "web", plan.Stop)
	g.stop()
	g.start()
	g.until("cut", func() bool { return g.recorded(ledger.Proven, "ups", plan.Cut) })
	g.back()
	require.Empty(t, g.commands(), "nothing reached the UPS")
	require.Empty(t, g.estate.Calls(), "nothing reached the estate")
	require.NotContains(t, g.log.String(), "on again: it is being stopped again")
	require.Equal(t, 1, strings.Count(g.log.String(), "(observing) would stop web"))
}

// requireObserved: no sentence of the status reads as if it had happened.
func requireObserved(t *testing.T, s *Status) {
	t.Helper()
	require.Regexp(t, `^observing; outage \S+, would be (shutting the estate down|bringing the estate back): 2 of 2 nodes would be down, \d steps would be running, 0 would have failed`, s.Text)
	told := []string{s.View.Waiting}
	for _, v := range s.View.Supplies {
		told = append(told, v.Why)
	}
	for _, n := range s.View.Nodes {
		told = append(told, n.Why)
	}
	waits := slices.ContainsFunc(s.View.Nodes, func(n engine.NodeView) bool { return n.Why != "" })
	require.True(t, waits, "something waits")
	for _, m := range s.Outage.Marks {
		told = append(told, m.Text)
	}
	for _, st := range s.Outage.Steps {
		told = append(told, st.Reason)
	}
	for _, text := range told {
		require.Regexp(t, `^(\(observing\) |rehearsed|$)`, text)
	}
}

// requireObservedLog: from the outage's beginning to its end each line says that it is only observed, but those that tell of
// questions and of orders.
func requireObservedLog(t *testing.T, log string) {
	t.Helper()
	_, log, _ = strings.Cut(log, "power failure at ups")
	log, _, over := strings.Cut(log, "the outage is over")
	require.True(t, over)
	waited := 0
	for line := range strings.Lines(log[strings.Index(log, "\n")+1:]) {
		asked := strings.Contains(line, "component=adapter") || strings.Contains(line, "component=nut") ||
			strings.Contains(line, `msg="a watch failed"`)
		if asked || !strings.Contains(line, "msg=") {
			continue
		}
		require.Contains(t, line, `msg="(observing) `)
		if strings.Contains(line, "waiting for ") {
			waited++
		}
	}
	require.Positive(t, waited, "what nodes wait for is told")
}

func TestAnOutageIsTakenUpAfterAHardStop(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.start()
	g.ready()
	g.outage(ledger.Intent, "nas", plan.Stop)
	g.stop()
	require.Empty(t, g.commands())

	g.start()
	g.until("the cut", func() bool { return g.recorded(ledger.Proven, "ups", plan.Cut) })
	g.estate.Node("nas").Set(plan.On)
	g.back()
	require.Equal(t, plan.On, g.estate.Node("web").State())
	list, err := g.client().Outages(t.Context())
	require.NoError(t, err)
	require.Len(t, list.Outages, 1, "it is still the same outage")
}

func TestAModeChangeInAnOutage(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Armed = false
	g.start()
	g.ready()
	g.outage(ledger.Intent, "web", plan.Stop)
	g.stop()
	g.config.Armed = true
	g.start()
	g.until("a new, real outage", func() bool {
		records := g.records()
		return len(records) > 0 && records[0].Mode == ledger.ModeRun
	})
	g.until("a stop", func() bool { return len(g.estate.Calls()) > 0 })
	g.stop()

	g.config.Armed = false
	_, err := Open(t.Context(), g.options())
	var open *OpenOutageError
	require.ErrorAs(t, err, &open)
	require.NotEmpty(t, open.Hint())
}

func TestASecondDaemonIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.start()
	other := g.options()
	other.Config.Listen.Address = filepath.Join(g.dir, "t")
	_, err := Open(t.Context(), other)
	var inUse *journal.InUseError
	require.ErrorAs(t, err, &inUse)
	other.Config = g.config
	other.Config.Journal = filepath.Join(g.dir, "other.db")
	_, err = Open(t.Context(), other)
	require.ErrorContains(t, err, "another process serves that socket")
}

func TestMistakesStopTheStart(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.write("version: 1\nrunbook: x\nsupplys: {}\n")
	_, err := Open(t.Context(), g.options())
	var mistakes *MistakesError
	require.ErrorAs(t, err, &mistakes)
	require.True(t, mistakes.Problems.HasErrors())
	require.Contains(t, mistakes.Hint(), "ebbtide check")
	_, err = os.Stat(g.config.Journal)
	require.ErrorIs(t, err, os.ErrNotExist, "nothing was made")
	require.NoError(t, os.Remove(g.config.Runbook))
	_, err = Open(t.Context(), g.options())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNobodyIsReadyBeforeTheSuppliesWereHeard(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.ups.SetStale(true)
	g.start()
	g.until("the loop", func() bool { return g.get("/healthz").code == 200 })
	resp := g.get("/readyz")
	require.Equal(t, 503, resp.code)
	require.Contains(t, resp.body, `supply \"ups\" has not been heard from yet`)
	g.ups.SetStale(false)
	g.until("ready", func() bool { return g.get("/readyz").code == 200 })

	never := &heard{began: time.Now(), ever: map[string]bool{"ups": false}}
	require.Error(t, never.ready())
	never.began = never.began.Add(-givenUp)
	require.NoError(t, never.ready(), "a supply that is given up on keeps nobody from being ready")
}
