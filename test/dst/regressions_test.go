package dst_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/sim"
	"ebbtide/test/golden"
)

// TestRegressions plays the scenarios that once broke a rule: testdata has them by what was wrong.
func TestRegressions(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/*.yaml")
}

// TestFoundWorlds plays worlds in which the engine broke a rule before it was made anew (docs/adr/0016), by the seed that drew
// them.
func TestFoundWorlds(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/found/*.yaml")
}

// TestAllIsBack plays scenarios in which no rule was broken, and something was left off for good that nothing was wrong with: readers found
// them.
func TestAllIsBack(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/back/*.yaml", func(t *testing.T, r *sim.Result) { require.Empty(t, r.Missing) })
}

// TestCalm plays scenarios in which no rule was broken, and something was powered off, lost its power while on, or was left off, though
// nothing was wrong with it and its battery had the time.
func TestCalm(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/calm/*.yaml", func(t *testing.T, r *sim.Result) {
		require.Empty(t, r.Missing)
		require.Empty(t, r.Crashed)
		require.False(t, slices.ContainsFunc(r.Records, func(rec ledger.Record) bool {
			return rec.Kind == ledger.Intent &&
				*rec.Verb == plan.Force
		}))
		require.False(t, slices.ContainsFunc(r.Records, func(rec ledger.Record) bool {
			return rec.Kind == ledger.Failed && !strings.HasSuffix(rec.Reason, "skipped")
		}))
	})
}

// TestNotLost plays scenarios in which machines lost their power while on, though there was the time to shut them down.
func TestNotLost(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/not-lost/*.yaml", func(t *testing.T, r *sim.Result) {
		require.Empty(t, r.Missing)
		require.Empty(t, r.Crashed)
	})
}

// TestAskedFirst plays scenarios in which a stop comes to nobody, and its node answers after that, with much time left: it is asked to go,
// and no power-off comes to it.
func TestAskedFirst(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/asked/*.yaml", func(t *testing.T, r *sim.Result) {
		forced := map[ledger.Op]string{}
		for _, rec := range r.Records {
			switch {
			case rec.Kind == ledger.Intent && *rec.Verb == plan.Force:
				forced[rec.Op] = rec.Node
			case rec.Kind == ledger.Accepted && rec.Outcome == ledger.Unreached:
				delete(forced, rec.Op)
			}
		}
		require.Empty(t, forced)
	})
}

// TestSoonBack plays scenarios in which all is back within five minutes of when Ebbtide runs again, and nobody is told to start anything by
// hand.
func TestSoonBack(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/soon/*.yaml", func(t *testing.T, r *sim.Result) {
		require.Empty(t, r.Missing)
		again := slices.IndexFunc(r.Records, func(rec ledger.Record) bool { return rec.Kind == ledger.Gap })
		require.Positive(t, again)
		require.Less(t, r.Ended-r.Records[again].At.Sub(sim.Epoch), 5*time.Minute)
	})
}

// TestStorageIsStopped plays scenarios in which something loses its power while it is on, and yet no storage does.
func TestStorageIsStopped(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/storage/*.yaml", func(t *testing.T, r *sim.Result) {
		for _, id := range []string{"nas", "storage"} {
			require.NotContains(t, r.Crashed, id)
		}
	})
}

// TestAllDone plays scenarios in which the battery gets low while what is under way takes longer than usual, and there is time for it:
// nothing is given up.
func TestAllDone(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/all-done/*.yaml", func(t *testing.T, r *sim.Result) {
		require.Empty(t, r.Missing)
		require.Empty(t, r.Crashed)
		for _, rec := range r.Records {
			if rec.Kind == ledger.Failed {
				require.NotContains(t, []plan.Verb{plan.Stop, plan.Flush}, *rec.Verb, "%s: %s", rec.Node, rec.Reason)
			}
		}
	})
}

// TestStopped plays scenarios in which something does not come back by itself, and yet nothing loses its power while it is on.
func TestStopped(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/stopped/*.yaml", func(t *testing.T, r *sim.Result) {
		require.Empty(t, r.Crashed)
	})
}

// TestARestartInThePowerUp costs what the start takes: the gate was open, and stays so.
func TestARestartInThePowerUp(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/calm/a-restart-in-the-power-up.yaml", func(t *testing.T, r *sim.Result) {
		opened := slices.IndexFunc(r.Records, func(rec ledger.Record) bool { return rec.Kind == ledger.Turned && rec.Goal == plan.Up })
		require.Positive(t, opened)
		require.Equal(t, 2, r.Kills) // its own machine goes down, too
		require.Less(t, r.Ended-r.Records[opened].At.Sub(sim.Epoch), 20*time.Minute)
	})
}

// TestKeptOn plays scenarios in which the mains are back before anything has taken its stop that only a power cycle starts, or in which the
// battery has given out, and that made the cycle: nothing is cut.
func TestKeptOn(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/kept-on/*.yaml", func(t *testing.T, r *sim.Result) {
		require.Empty(t, r.Missing)
		require.False(t, slices.ContainsFunc(r.Records, func(rec ledger.Record) bool {
			return rec.Kind == ledger.Intent &&
				*rec.Verb == plan.Cut
		}))
	})
}

// TestLateCuts plays a UPS that takes the first of its cuts and does not make it: the next one is too late for what it was for, and is
// called off.
func TestLateCuts(t *testing.T) {
	t.Parallel()
	replay(t, "testdata/a-late-cut-is-called-off.yaml", func(t *testing.T, r *sim.Result) {
		cuts := 0
		for k := range r.Records {
			if r.Records[k].Kind == ledger.Intent && *r.Records[k].Verb == plan.Cut && r.Records[k].Node == "b" {
				cuts++
			}
		}
		require.Equal(t, 1, cuts)
	})
}

// held plays a scenario, and holds the engine against its own records, and against itself, after each event.
func held(sc sim.Scenario) *sim.Result {
	sc.Checked = true
	return sim.Check(sc)
}

// replay plays scenarios, of which each keeps every rule, and what else is asked.
func replay(t *testing.T, pattern string, ask ...func(*testing.T, *sim.Result)) {
	golden.Each(t, pattern, func(t *testing.T, file string) {
		t.Parallel()
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, r, err := playWith(held, string(text))
		require.NoError(t, err)
		require.Empty(t, r.Violations)
		for _, one := range ask {
			one(t, r)
		}
	})
}
