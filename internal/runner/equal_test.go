package runner_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/journal"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
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
	var sum struct{ lives, records, wants int }
	for s := *seed; s < *seed+*seeds; s++ {
		result, lives, parted := compare(t, scenario(s), sabotage{})
		require.Empty(t, parted, "seed %d: -shell.seed=%d -shell.seeds=1 replays it", s, s)
		sum.lives += len(lives)
		sum.records += len(result.Records)
		for _, l := range lives {
			sum.wants += len(l.wants)
		}
	}
	t.Logf("%d scenarios, %d lives, %d records, %d commands, probes and notices", *seeds, sum.lives, sum.records, sum.wants)
}

// scenario draws the scenario of a seed.
func scenario(seed uint64) sim.Scenario {
	dice := rand.New(rand.NewPCG(seed, 0))
	sc := sim.Draw(dice.IntN)
	slices.Sort(sc.CrashAt)
	sc.CrashAt = slices.Compact(sc.CrashAt)
	return sc
}

// compare plays a scenario twice and tells where the stories part; "": nowhere.
func compare(t *testing.T, sc sim.Scenario, spoil sabotage) (*sim.Result, []*life, string) {
	t.Helper()
	result, lives, end := simulate(sc)
	p := &replay{path: filepath.Join(t.TempDir(), "journal.db"), settings: sc.Settings, spoil: spoil}
	var view engine.View
	synctest.Test(t, func(t *testing.T) { view = p.play(t, lives, end) })
	if p.broken != "" {
		return result, lives, p.broken
	}
	want, got := lines(t, result.Records), lines(t, written(t, p.path))
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			return result, lives, fmt.Sprintf("record %d: the simulator wrote\n%s\nthe runner\n%s", i+1, at(want, i), at(got, i))
		}
	}
	for _, v := range []*engine.View{&view, &result.View} {
		v.PlanLeft = 0 // the simulator may end on a question for it
		for i := range v.Supplies {
			v.Supplies[i].Slack = power.Figure{}
		}
		for i := range v.Nodes {
			v.Nodes[i].SeenAt = v.Nodes[i].SeenAt.UTC().Round(0)
		}
	}
	require.Equal(t, result.View, view)
	return result, lives, ""
}

// written reads all that a journal holds.
func written(t *testing.T, path string) (all []engine.Record) {
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
func lines(t *testing.T, records []engine.Record) (all []string) {
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
