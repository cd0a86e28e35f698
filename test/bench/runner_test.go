package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/engine"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runner"
	"ebbtide/internal/sim"
)

// TestOrchestration compares a shutdown of 1,000 nodes with fixed durations under limits, through the real runner with
// the journal on disk, with what the simulator of the same engine says in virtual time.
func TestOrchestration(t *testing.T) {
	wanted(t)
	const vm, host = 1 * time.Second, 2 * time.Second
	s := estate(t, 1000, vm, host)
	virtual := makespan(sim.Run(sim.Scenario{
		Settings: s, For: time.Hour, Batteries: map[string]sim.Battery{"ups": {Charge: 1, Runtime: 5 * time.Hour}},
		Changes: []sim.Change{{At: 5 * time.Second, Supply: "ups"}},
	}).Records)
	records, commits := shutDown(t, s, vm, host)
	real := makespan(records)
	ratio := real.Seconds() / virtual.Seconds()
	figure{
		Figure: "orchestration_overhead_1000_nodes", Value: ratio, Unit: "real/virtual", Target: "<= 1.02", OK: ratio <= 1.02, Runs: 1,
		Note: fmt.Sprintf("real %.2f s, virtual %.2f s; of the real %.2f s were the journal's: %d commits, %.2f ms each (median), %d records", real.Seconds(), virtual.Seconds(), total(commits).Seconds(), len(commits), 1000*median(commits).Seconds(), len(records)),
	}.print(t)
}

// makespan is the time from the first command to the last proof of a stop.
func makespan(records []ledger.Record) time.Duration {
	var first, last time.Time
	for _, r := range records {
		switch {
		case r.Kind == ledger.Intent && first.IsZero():
			first = r.At
		case r.Kind == ledger.Proven && *r.Verb == plan.Stop:
			last = r.At
		}
	}
	return last.Sub(first)
}

// timed notes what each commit to the journal takes, with its syncs of the disk.
type timed struct {
	*journal.Journal
	commits []time.Duration
}

func (j *timed) Append(records ...ledger.Record) error {
	begun := time.Now()
	err := j.Journal.Append(records...)
	j.commits = append(j.commits, time.Since(begun))
	return err
}

func total(d []time.Duration) (sum time.Duration) {
	for _, one := range d {
		sum += one
	}
	return sum
}

// polled hides a node's watch: the simulator has none, so neither side may profit from it.
type polled struct{ adapter.Node }

// shutDown takes the estate down in real time and gives the journal, and what its commits took.
func shutDown(t *testing.T, s engine.Settings, vm, host time.Duration) ([]ledger.Record, []time.Duration) {
	t.Helper()
	world := fake.New(time.Now)
	nodes := map[string]adapter.Node{}
	for i := range s.Estate.Len() {
		n := s.Estate.Node(i)
		takes := host
		if n.Kind == plan.VM {
			takes = vm
		}
		nodes[n.ID] = polled{world.Add(n.ID, fake.Spec{
			Can: n.Can, Latency: 20 * time.Millisecond,
			Takes: map[plan.Verb]time.Duration{plan.Stop: takes},
		})}
	}
	file, err := journal.Open(filepath.Join(t.TempDir(), "journal.db"), journal.Options{})
	require.NoError(t, err)
	j := &timed{Journal: file}
	defer func() { require.NoError(t, j.Close()) }()
	down := make(chan struct{})
	var once sync.Once
	r := runner.New(runner.Options{
		Engine: engine.New(s), Journal: j, Nodes: func(id string) (adapter.Node, bool) { n, ok := nodes[id]; return n, ok },
		Recorded: func(records []ledger.Record) {
			for _, rec := range records {
				if rec.Kind == ledger.Proven && rec.Node == "nas" {
					once.Do(func() { close(down) })
				}
			}
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	poll := time.NewTicker(time.Second)
	defer poll.Stop()
	for polls := 0; ; polls++ {
		reading := power.Reading{
			Supply: "ups", Status: power.OL, Charge: power.Known(100), Runtime: power.Known(18000),
			Load: power.Known(50),
		}
		if polls >= 3 {
			reading.Status = power.OB
		}
		r.Post(engine.Read{Reading: reading})
		select {
		case <-poll.C:
			continue
		case <-down:
		case err := <-ended:
			t.Fatalf("the runner ended: %v", err)
		}
		break
	}
	outages, err := j.Outages()
	require.NoError(t, err)
	require.Len(t, outages, 1)
	records, err := j.Records(outages[0].ID)
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-ended)
	return records, j.commits
}
