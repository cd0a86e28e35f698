package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/families"
	"ebbtide/internal/forecast"
	"ebbtide/internal/foresight"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runner"
	"ebbtide/internal/sim"
	"ebbtide/test/dst"
)

var (
	seeds = flag.Uint64("shell.seeds", 100, "how many seeds the shell and the simulator are compared on")
	seed  = flag.Uint64("shell.seed", 1, "the first of them")
)

// TestTheShellEqualsTheSimulator plays drawn scenarios in the simulator and then drives the real runner, with its
// journal on a real disk, through the same events in virtual time. Both must want the same things done at the same
// instants and write the same journal, byte for byte. So what is proven of the engine in the simulator holds in the
// shell.
func TestTheShellEqualsTheSimulator(t *testing.T) {
	t.Parallel()
	var lives, records, wants, seen atomic.Int64
	for s := *seed; s < *seed+*seeds; s++ {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			t.Parallel()
			result, told, parted := compare(t, scenario(t, s), sabotage{})
			require.Empty(t, parted, "-shell.seed=%d -shell.seeds=1 replays it", s)
			lives.Add(int64(len(told)))
			records.Add(int64(len(result.Records)))
			for _, l := range told {
				wants.Add(int64(len(l.wants)))
				seen.Add(int64(len(l.polls)))
			}
		})
	}
	t.Cleanup(func() {
		t.Logf("%d scenarios, %d lives, %d readings, orders and observations, %d records, %d commands, probes and notices",
			*seeds, lives.Load(), seen.Load(), records.Load(), wants.Load())
	})
}

// TestTheComparisonCanFail breaks the shell in several ways. Each is found, and it says by which of the first seeds.
func TestTheComparisonCanFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil sabotage
		finds string
	}{
		"commands before the intent is durable": {
			sabotage{journal: func(j runner.Journal) runner.Journal { return &hasty{Journal: j} }},
			"before its intent is durable",
		},
		"loses a poll":                   {sabotage{lose: func(n int) bool { return n%60 == 59 }}, "the simulator did"},
		"takes a refusal for busy":       {sabotage{node: func(n adapter.Node) adapter.Node { return misread{n} }}, "the simulator did"},
		"takes a second longer to hear":  {sabotage{node: func(n adapter.Node) adapter.Node { return late{n} }}, "the simulator"},
		"forgets its journal in a crash": {sabotage{forget: true}, "the simulator did"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for s := uint64(1); s <= 40; s++ {
				if _, _, parted := compare(t, scenario(t, s), test.spoil); strings.Contains(parted, test.finds) {
					t.Logf("found by seed %d at %s", s, parted)
					return
				}
			}
			require.FailNow(t, "nobody noticed")
		})
	}
}

// hasty says that records are durable, and writes them with the next ones.
type hasty struct {
	runner.Journal
	kept []ledger.Record
}

func (h *hasty) Append(records ...ledger.Record) error {
	kept := h.kept
	h.kept = slices.Clone(records)
	if len(kept) == 0 {
		return nil
	}
	return h.Journal.Append(kept...)
}

type misread struct{ adapter.Node }

func (m misread) Do(ctx context.Context, do adapter.Command) error {
	err := m.Node.Do(ctx, do)
	if errors.Is(err, adapter.ErrRefused) {
		return adapter.ErrBusy
	}
	return err
}

type late struct{ adapter.Node }

func (l late) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := l.Node.Probe(ctx)
	sleepUntil(ctx, time.Now().Add(time.Second))
	return seen, err
}

// scenario draws the scenario of a seed. Its journal and its clock stay whole: the shell meets theirs elsewhere.
func scenario(t *testing.T, seed uint64) sim.Scenario {
	t.Helper()
	text := dst.Draw(dst.Seeded(seed))
	sc, _, err := sim.Load("drawn", []byte(text), nil, families.Schema())
	require.NoError(t, err, "%s", text)
	sc.For = min(sc.For, 3*time.Hour) // what waits for a person by then waits
	sc.Changes = slices.DeleteFunc(sc.Changes, func(c sim.Change) bool { return c.Journal != nil || c.Clock != nil })
	sc.Forecast = forecasting()
	sc.CrashOn, sc.Away = nil, 0 // it is stopped after records only, and comes back when the simulator's does by itself
	slices.Sort(sc.CrashAt)
	sc.CrashAt = slices.Compact(sc.CrashAt)
	return sc
}

// forecasting is what both sides ask how long a plan takes. It has no memory, so that each may ask in its own order.
func forecasting() func(*plan.Estate, effect.Estimate) foresight.Estimate {
	return forecast.New(nil, 50).Answer
}

// compare plays a scenario twice and tells where the stories part; "": nowhere.
func compare(t *testing.T, sc sim.Scenario, spoil sabotage) (*sim.Result, []*life, string) {
	t.Helper()
	result, lives := simulate(sc)
	p := &replay{path: filepath.Join(t.TempDir(), "journal.db"), settings: sc.Settings, spoil: spoil}
	var view engine.View
	synctest.Test(t, func(t *testing.T) { view = p.play(t, lives) })
	if p.broken != "" {
		return result, lives, p.broken
	}
	want, got := lines(t, result.Records), lines(t, written(t, p.path))
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			return result, lives, fmt.Sprintf("record %d: the simulator wrote\n%s\nthe runner\n%s", i+1, at(want, i), at(got, i))
		}
	}
	if want, got := known(t, result.View), known(t, view); want != got {
		return result, lives, fmt.Sprintf("the simulator's engine knows in the end\n%s\nthe runner's\n%s", want, got)
	}
	return result, lives, ""
}

// known writes what an engine knows, without what follows from its newest estimate: the simulator may end on the question.
func known(t *testing.T, v engine.View) string {
	t.Helper()
	v.PlanLeft, v.PlanLikely, v.Tail, v.Critical = 0, 0, 0, nil
	for i := range v.Supplies {
		s := &v.Supplies[i]
		s.Slack, s.Odds, s.Why, s.Deadlines = power.Figure{}, power.Figure{}, "", nil
	}
	for i := range v.Nodes {
		v.Nodes[i].SeenAt = v.Nodes[i].SeenAt.UTC()
	}
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// written reads all that a journal holds.
func written(t *testing.T, path string) (all []ledger.Record) {
	t.Helper()
	j, err := journal.Open(path, journal.Options{ReadOnly: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	outages, err := j.Outages()
	require.NoError(t, err)
	for _, o := range outages {
		records, err := j.Records(o.ID)
		require.NoError(t, err)
		all = append(all, records...)
	}
	return all
}

// lines writes records, times in UTC.
func lines(t *testing.T, records []ledger.Record) (all []string) {
	t.Helper()
	for _, r := range records {
		r.At = r.At.UTC()
		text, err := json.Marshal(r)
		require.NoError(t, err)
		all = append(all, string(text))
	}
	return all
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}
