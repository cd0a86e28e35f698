package daemon

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// past writes an outage that was over so long ago: nas went down and came back, and the battery gave 300 of 500.
func (g *rig) past(ago time.Duration) (id string) {
	g.t.Helper()
	at := time.Now().Add(-ago)
	id = at.UTC().Format("20060102T150405Z")
	stop, start := plan.Stop, plan.Start
	records := []ledger.Record{
		{Kind: ledger.Opened, Outage: id, Opening: ledger.Opening{Mode: ledger.ModeRun}, Power: ledger.Power{Supplies: []string{"ups"}}},
		{Kind: ledger.Intent, Step: ledger.Step{Verb: &stop, Node: "nas"}},
		{Kind: ledger.Proven, Step: ledger.Step{Verb: &stop, Node: "nas"}, At: at.Add(40 * time.Second)},
		{Kind: ledger.Spent, Power: ledger.Power{
			Supplies:  []string{"ups"},
			Discharge: &power.Discharge{At: at, Burn: 300, Took: 20 * time.Minute, From: 100, To: 40},
		}},
		{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up}},
		{Kind: ledger.Proven, Step: ledger.Step{Verb: &start, Node: "nas"}},
		{Kind: ledger.Closed},
	}
	for i := range records {
		records[i].Seq = uint64(i + 1) //nolint:gosec // counts up
		if records[i].At.IsZero() {
			records[i].At = at
		}
	}
	j, err := journal.Open(g.config.Journal, journal.Options{})
	require.NoError(g.t, err)
	require.NoError(g.t, j.Append(records...))
	require.NoError(g.t, j.Close())
	return id
}

const days = 24 * time.Hour

// What is on record counts from the start: the battery's capacity is the engine's, and what was never shown to work, or
// not for long, is told.
func TestWhatWasLearnedCountsFromTheStart(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.past(200 * days)
	d := g.start()
	g.ready()
	c := d.site.Load().compiled.Supplies[0].Capacity
	require.InDelta(t, 500, c.Burn, 15)
	require.Equal(t, 1, c.Discharges)
	s := g.status()
	require.Equal(t, []string{"web"}, s.Proofs.Never)
	require.Equal(t, 120, s.Proofs.Days)
	var overdue []string
	for _, p := range s.Proofs.Overdue {
		overdue = append(overdue, p.ID)
		require.WithinDuration(t, time.Now().Add(-200*days), p.At, time.Minute)
	}
	require.Equal(t, []string{"ups", "nas"}, overdue)
	m := g.metrics()
	longAgo := float64(time.Now().Add(-200 * days).Unix())
	require.InDelta(t, longAgo, m["ebbtide_supply_last_proof_timestamp_seconds{ups}"], 60)
	require.InDelta(t, longAgo, m["ebbtide_node_last_proof_timestamp_seconds{nas}"], 60)
	require.InDelta(t, 0, m["ebbtide_node_last_proof_timestamp_seconds{web}"], 0)
	require.InDelta(t, c.Burn, m["ebbtide_supply_capacity_seconds{ups}"], 0.001)
	require.NotContains(t, g.log.String(), "the battery of a supply has never been tested")
}

// An outage that is over teaches at once: nothing has to be started again for it.
func TestADaemonLearnsFromItsOwnOutage(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	d := g.start()
	g.ready()
	require.Contains(t, g.log.String(), "the battery of a supply has never been tested")
	require.Equal(t, []string{"ups", "nas", "web"}, g.status().Proofs.Never)
	before := d.learned.forecaster.Load()
	g.outage(ledger.Proven, "ups", plan.Cut)
	g.mains(true)
	g.until("the output to be on again", func() bool { return g.recorded(ledger.Mains, "", 0) })
	g.estate.Node("nas").Set(plan.On) // starts with its power
	g.back()
	g.until("what it taught", func() bool { return d.learned.forecaster.Load() != before && len(g.status().Proofs.Never) == 1 })
	require.Equal(t, []string{"ups"}, g.status().Proofs.Never, "a few seconds prove nothing of a battery")
	require.InDelta(t, float64(time.Now().Unix()), g.metrics()["ebbtide_node_last_proof_timestamp_seconds{web}"], 60)
	var verbs []string
	for _, s := range d.learned.evidence.Samples(func(string) *plan.Node { return nil }) {
		verbs = append(verbs, s.Node+" "+s.Verb.String())
		require.Positive(t, s.Took)
	}
	require.ElementsMatch(t, []string{"web stop", "nas stop", "web start", "ups cut"}, verbs, "how long nas took nobody saw")
}

// A battery that was proven meanwhile reaches the engine without a restart.
func TestACapacityReachesTheEngine(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.past(1 * days)
	d := g.start()
	g.ready()
	tl := d.history.latest()
	tl.Add(ledger.Record{Kind: ledger.Opened, Outage: "drawn", Opening: ledger.Opening{Mode: ledger.ModeRun}})
	tl.Add(ledger.Record{Kind: ledger.Spent, Power: ledger.Power{
		Supplies:  []string{"ups"},
		Discharge: &power.Discharge{At: time.Now(), Burn: 200, From: 100, To: 0, Drill: true},
	}})
	d.ended(tl)
	g.until("the capacity", func() bool { return d.site.Load().compiled.Supplies[0].Capacity.Discharges == 2 })
	require.InDelta(t, 200, d.site.Load().compiled.Supplies[0].Capacity.Burn, 10)
}

// A journal with an older outage that can't be read teaches what can be, and keeps nobody from watching.
func TestADamagedOutageKeepsNobodyFromWatching(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	bad := g.past(20 * days)
	g.past(10 * days)
	text, err := os.ReadFile(g.config.Journal)
	require.NoError(t, err)
	text = bytes.ReplaceAll(text, []byte(`"outage":"`+bad), []byte(`"damage":"`+bad))
	require.NoError(t, os.WriteFile(g.config.Journal, text, 0o600))
	d := g.start()
	g.ready()
	require.Contains(t, g.log.String(), "nothing could be learned from some recorded outages")
	require.Equal(t, 1, d.learned.evidence.Outages)
	require.Empty(t, g.status().Aside, "the journal is good enough to go on with")
}
