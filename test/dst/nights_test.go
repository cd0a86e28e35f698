package dst_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/belief"
	"ebbtide/internal/families"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/sim"
)

var (
	nights = flag.Int("dst.nights", 40, "how many drawn nights of each example estate are played")
	lost   = flag.Int("dst.lost", 1, "in how many of them something that answers may stay away (docs/adr/0016)")
)

// TestNights plays drawn nights of the example estates: everything that was on and can be had again is on in the end. What is
// really broken that night (it hangs, or takes longer than its run book waits for it), and what needs that, is counted apart, and
// is reported.
func TestNights(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../runbooks/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	first := *from // -dst.from and -dst.nights 1 tell one night
	if first == 0 {
		first = 1 + rand.Uint64N(mostSeeds)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sc := exampleOf(t, file)
			var seed atomic.Uint64
			var broken, missing, wrong atomic.Int64
			var all sync.WaitGroup
			for range runtime.GOMAXPROCS(0) {
				all.Go(func() {
					for n := seed.Add(1) - 1; n < uint64(*nights); n = seed.Add(1) - 1 {
						night := sim.Draw(sc, first+n, sim.Odds{Outage: true})
						play := sim.Check
						if *nights == 1 {
							play = sim.Run
						}
						r := play(night)
						gone := unexplained(&night, r)
						switch {
						case len(r.Violations) > 0:
							wrong.Add(1)
							t.Errorf("%s, night %d breaks a rule: %s", filepath.Base(file), first+n, r.Violations[0])
						case gone != "":
							missing.Add(1)
							t.Logf("%s, night %d: %s", filepath.Base(file), first+n, gone)
							if *nights == 1 {
								t.Log("\n" + sim.Tell(r))
							}
						case len(r.Missing) > 0:
							broken.Add(1)
						}
					}
				})
			}
			all.Wait()
			t.Logf("%d nights from %d: %d in which something that answers is not back, %d that break a rule, %d in which something broke for good and is reported",
				*nights, first, missing.Load(), wrong.Load(), broken.Load())
			require.LessOrEqual(t, missing.Load(), int64(*lost))
		})
	}
}

// exampleOf reads an example estate. A night draws its own outage.
func exampleOf(t *testing.T, file string) sim.Scenario {
	t.Helper()
	src, err := os.ReadFile(filepath.Clean(file))
	require.NoError(t, err)
	rb, problems := runbook.Load(filepath.Base(file), src, families.Schema())
	require.False(t, problems.HasErrors())
	compiled, err := runbook.Compile(rb, families.Schema(), nil)
	require.NoError(t, err)
	doc := sim.Document{Version: sim.DocumentVersion, For: time.Hour}
	sc, errs := doc.Build(compiled)
	require.Empty(t, errs)
	return sc
}

// unexplained says what is not back in the end though nothing broke that it needs, or is not reported; "": nothing. Where the battery gave
// out before anybody heard that the mains had failed, there was no outage that anything could come back from; nor was there of what lost
// its power so before the first that was heard.
func unexplained(night *sim.Scenario, r *sim.Result) string {
	estate := night.Settings.Estate
	reported, seenOn, forced := map[string]bool{}, map[string]bool{}, map[string]bool{}
	opened := time.Duration(-1)
	for i := range r.Records {
		rec := &r.Records[i]
		if rec.Kind == ledger.Opened && opened < 0 {
			opened = rec.At.Sub(sim.Epoch)
		}
		if rec.Kind == ledger.Intent && *rec.Verb == plan.Force {
			forced[rec.Node] = true
		}
		for _, n := range rec.Nodes {
			reported[n.Node] = reported[n.Node] || rec.Kind == ledger.Closed
			seenOn[n.Node] = seenOn[n.Node] || (rec.Kind == ledger.Snapshot || rec.Kind == ledger.Widened) && n.State == plan.On
		}
	}
	isBack := func(c sim.Change) bool { return c.Mains }
	late := opened >= night.Changes[slices.IndexFunc(night.Changes, isBack)].At // the first failure was over
	broken := brokenOn(night, forced)
	for i := range broken {
		id, decl := estate.Node(i).ID, estate.Node(i)
		if decl.Kind == plan.Passive && !belief.Probed(decl) { // nobody can ask it, nor do anything for it: it is on its way up
			continue
		}
		if known := opened >= 0 && (!late || seenOn[id]); known && slices.Contains(r.Missing, id) && (!broken[i] || !reported[id]) {
			return fmt.Sprintf("%s was on and is not (reported: %t)", id, reported[id])
		}
	}
	return ""
}

// brokenOn tells what breaks for good in a night: what hangs, what needs that, and what only a power cycle starts again which
// waits for something that hangs.
func brokenOn(night *sim.Scenario, wasForced map[string]bool) []bool {
	estate := night.Settings.Estate
	broken, holdsUp := make([]bool, estate.Len()), make([]bool, estate.Len())
	hangs := func(n *plan.Node, v plan.Verb, tries int) bool {
		return night.Took[sim.Action{Node: n.ID, Verb: v}] > n.Time(v).Within*time.Duration(max(tries, 1))
	}
	for i := range broken {
		decl := estate.Node(i)
		// what else hangs on its way down is for a person
		forced := decl.Kind == plan.VM && decl.Can.Has(plan.Force) && !hangs(decl, plan.Force, decl.Forces)
		// there may have been no time to ask it first
		off := wasForced[decl.ID] && hangs(decl, plan.Force, decl.Forces)
		if !forced && hangs(decl, plan.Stop, 1) || off {
			broken[i] = true
			for _, f := range estate.Sources(i) {
				holdsUp[f] = true
			}
		}
	}
	for i := range broken { // what a node needs comes before it
		decl := estate.Node(i)
		stuck := decl.ByPower && slices.ContainsFunc(estate.Feeds(i), func(f int) bool { return holdsUp[f] })
		needs := slices.ContainsFunc(estate.Needs(i), func(d int) bool { return broken[d] })
		broken[i] = broken[i] || stuck || needs || hangs(decl, plan.Start, decl.Attempts)
	}
	return broken
}
