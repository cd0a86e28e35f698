package evidence_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/evidence"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/timeline"
)

var epoch = time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)

// book is a journal that is being written.
type book struct {
	t    testing.TB
	path string
	file *journal.Journal
}

func newBook(t testing.TB) *book {
	t.Helper()
	b := &book{t: t, path: filepath.Join(t.TempDir(), "journal.db")}
	var err error
	b.file, err = journal.Open(b.path, journal.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.file.Close()) })
	return b
}

// again opens the file anew after it was changed.
func (b *book) again(change func([]byte) []byte) {
	b.t.Helper()
	require.NoError(b.t, b.file.Close())
	text, err := os.ReadFile(b.path)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(b.path, change(text), 0o600))
	b.file, err = journal.Open(b.path, journal.Options{ReadOnly: true})
	require.NoError(b.t, err)
}

// outage appends an outage in which nodes were stopped and started, each for so long. Its battery gave 100 of 250.
func (b *book) outage(day int, mode ledger.Mode, took time.Duration, nodes ...string) string {
	b.t.Helper()
	at := epoch.AddDate(0, 0, day)
	id := at.Format("20060102T150405Z")
	stop, start := plan.Stop, plan.Start
	records := []ledger.Record{{
		Kind: ledger.Opened, Outage: id, Opening: ledger.Opening{
			Mode:    mode,
			Members: map[string][]plan.Member{"lab": {{ID: id, Name: "web"}}},
		}, Power: ledger.Power{Supplies: []string{"ups"}},
	}}
	add := func(kind ledger.Kind, verb *plan.Verb, node string, after time.Duration) {
		at = at.Add(after)
		records = append(records, ledger.Record{At: at, Kind: kind, Step: ledger.Step{Verb: verb, Node: node}})
	}
	for _, n := range nodes {
		add(ledger.Intent, &stop, n, 0)
		add(ledger.Proven, &stop, n, took)
	}
	records = append(records, ledger.Record{
		At: at, Kind: ledger.Spent, Power: ledger.Power{
			Supplies:  []string{"ups"},
			Discharge: &power.Discharge{At: at, Burn: 100, Took: took, From: 100, To: 60},
		},
	}, ledger.Record{At: at, Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up}})
	for _, n := range nodes {
		add(ledger.Intent, &start, n, 0)
		add(ledger.Proven, &start, n, 2*took)
	}
	records = append(records, ledger.Record{At: at, Kind: ledger.Closed, Reason: "all is on again"})
	for i := range records {
		records[i].Seq = uint64(i + 1) //nolint:gosec // counts up
	}
	require.NoError(b.t, b.file.Append(records...))
	return id
}

func typed(node string) *plan.Node { return &plan.Node{ID: node, Type: "type of " + node} }

func TestWhatAJournalShows(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.outage(0, "run", time.Minute, "vm", "nas")
	b.outage(10, "observe", time.Second, "vm")
	b.outage(20, "drill", 2*time.Minute, "vm")
	require.NoError(t, b.file.Append(ledger.Record{
		Seq: 1, Kind: ledger.Opened, Outage: "29990101T000000Z",
		Opening: ledger.Opening{Mode: "run"},
	}))
	e, err := evidence.Read(t.Context(), b.file)
	require.NoError(t, err)
	require.Equal(t, 3, e.Outages, "the open one is not over")
	seen := map[string]int{}
	for _, s := range e.Samples(typed) {
		require.Equal(t, typed(s.Node).Type, s.Type)
		seen[fmt.Sprint(s.Node, " ", s.Verb, " ", s.Took, " ", s.Drill)]++
	}
	require.Equal(t, map[string]int{
		"vm stop 1m0s false": 1, "vm start 2m0s false": 1, "nas stop 1m0s false": 1, "nas start 2m0s false": 1,
		"vm stop 2m0s true": 1, "vm start 4m0s true": 1,
	}, seen)
	all, hung := e.Runs("vm", plan.Stop)
	require.Equal(t, 2, all)
	require.Zero(t, hung)
	require.Equal(t, []string{"ups"}, e.Supplies())
	c := e.Capacity("ups", epoch.AddDate(0, 0, 20))
	require.Equal(t, 3, c.Discharges)
	require.InDelta(t, 250, c.Burn, 1)
	require.Equal(t, power.Capacity{}, e.Capacity("other", epoch))
	require.Equal(t, epoch.AddDate(0, 0, 20).Add(6*time.Minute), e.Returned("vm"))
	require.Equal(t, epoch.AddDate(0, 0, 0).Add(4*time.Minute+2*time.Minute), e.Returned("nas"))
	require.True(t, e.Returned("esx").IsZero())
	require.Equal(t, "20260321T020000Z", e.Members["lab"][0].ID)
}

// Without a runbook a node can what it was seen to do, and takes as long as half of its runs took.
func TestNodesWithoutARunbook(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for day, took := range []time.Duration{time.Minute, 9 * time.Minute, 2 * time.Minute} {
		b.outage(day, "run", took, "vm")
	}
	e, err := evidence.Read(t.Context(), b.file)
	require.NoError(t, err)
	require.Len(t, e.Nodes(), 1)
	vm := e.Nodes()[0]
	require.Equal(t, plan.VerbSet(plan.Stop, plan.Start), vm.Can)
	require.Equal(t, 2*time.Minute, vm.Time(plan.Stop).Nominal)
	require.Equal(t, 4*time.Minute, vm.Time(plan.Start).Nominal)
}

// What is damaged is left out and told of; the rest counts.
func TestADamagedOutageIsLeftOut(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.outage(0, "run", time.Minute, "vm")
	bad := b.outage(10, "run", time.Minute, "poor")
	b.outage(20, "run", time.Minute, "vm")
	b.again(func(text []byte) []byte {
		return bytes.ReplaceAll(text, []byte(`"node":"poor"`), []byte(`"node":"pool"`))
	})
	e, err := evidence.Read(t.Context(), b.file)
	require.ErrorContains(t, err, fmt.Sprintf("cannot learn from outage %q", bad))
	var damaged *journal.DamagedError
	require.ErrorAs(t, err, &damaged)
	require.Equal(t, 2, e.Outages)
	require.Len(t, e.Samples(typed), 4)
}

// A night of flaps does not push out what a long discharge has shown.
func TestFlapsTeachNothing(t *testing.T) {
	t.Parallel()
	e := evidence.Evidence{}
	for i := range 40 {
		gave := power.Discharge{At: epoch.Add(time.Duration(i) * time.Minute), Burn: 3, Took: 10 * time.Second, From: 100, To: 99}
		if i == 0 {
			gave = power.Discharge{At: epoch, Burn: 300, Took: 10 * time.Minute, From: 100, To: 40}
		}
		tl := timeline.Fold([]ledger.Record{
			{Kind: ledger.Opened, Outage: fmt.Sprint(i), Opening: ledger.Opening{Mode: "run"}},
			{Kind: ledger.Spent, Power: ledger.Power{Supplies: []string{"ups"}, Discharge: &gave}},
		})
		e.Add(&tl)
	}
	require.InDelta(t, 500, e.Capacity("ups", epoch.Add(time.Hour)).Burn, 1)
}

// A journal of a long life takes no more memory than its newest part.
func TestOnlyTheNewestIsKept(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for day := range 40 {
		b.outage(day, "run", time.Minute+time.Duration(day)*time.Second, "vm")
	}
	e, err := evidence.Read(t.Context(), b.file)
	require.NoError(t, err)
	require.Equal(t, 40, e.Outages)
	all := e.Samples(typed)
	require.Len(t, all, 64)
	require.Equal(t, 68*time.Second, all[0].Took, "the oldest eight are gone")
	require.Equal(t, 32, e.Capacity("ups", epoch.AddDate(0, 0, 40)).Discharges)
}

// stopping is a journal whose reader gives up after so many outages.
type stopping struct {
	*journal.Journal
	after  int
	cancel func()
}

func (s *stopping) Records(id string) ([]ledger.Record, error) {
	if s.after--; s.after == 0 {
		s.cancel()
	}
	return s.Journal.Records(id)
}

func TestReadingEndsInTime(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for day := range 5 {
		b.outage(day, "run", time.Minute, fmt.Sprint("vm", day))
	}
	ctx, cancel := context.WithCancel(t.Context())
	e, err := evidence.Read(ctx, &stopping{b.file, 2, cancel})
	require.ErrorContains(t, err, "cannot learn from 3 older outages")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, e.Outages)
	require.False(t, e.Returned("vm4").IsZero())
	require.True(t, e.Returned("vm2").IsZero())
}

func TestFinder(t *testing.T) {
	t.Parallel()
	estate, err := plan.NewEstate([]plan.Node{
		{ID: "nas", Type: "ssh", Attempts: 1}, {ID: "lab/web", Type: "vsphere.vm", Group: "lab", Attempts: 1},
	}, nil)
	require.NoError(t, err)
	find := evidence.Finder(estate)
	for node, want := range map[string]string{"nas": "nas", "lab/web": "lab/web", "lab/gone": "lab/web"} {
		require.Equal(t, want, find(node).ID, node)
	}
	require.Nil(t, find("other/gone"))
	require.Nil(t, find("gone"))
}

// BenchmarkRead reads a journal of 100 outages with 1,000 nodes.
func BenchmarkRead(b *testing.B) {
	book := newBook(b)
	var nodes []string
	for i := range 1000 {
		nodes = append(nodes, fmt.Sprint("lab/vm-", i))
	}
	for day := range 100 {
		book.outage(day, "run", 30*time.Second, nodes...)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, err := evidence.Read(b.Context(), book.file)
		require.NoError(b, err)
	}
}
