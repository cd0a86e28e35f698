package sim

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/families"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

var all0 = flag.Bool("format0.all", false, "take an outage of the old format up after each of its records; without, after one in four in the long ones")

// TestAnOutageOfTheOldFormatIsTakenUp has the records that the engine before this one wrote in outages and drills of the example estates,
// with the commands that it gave (testdata/format0: the scenarios, what it wrote, and how that was made). After each of them (see
// -format0.all) it is thrown away, and this engine goes on: everything comes to a right end, and the referee has nothing to say. Where no
// supply has its mains then, they also stay away: then everything is cut by the referee's rules.
func TestAnOutageOfTheOldFormatIsTakenUp(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/format0/*.yaml")
	require.NoError(t, err)
	long := readFormat0(t, "testdata/format0/long.jsonl")
	met := map[string]int{}
	for _, file := range files {
		sc := readScenario0(t, file)
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		entries := readFormat0(t, strings.TrimSuffix(file, "yaml")+"jsonl")
		for n := 1; n < len(entries); n++ {
			left := entries[:n]
			if name != "long" && n < len(long) && reflect.DeepEqual(left, long[:n]) {
				continue // as it was with those of that
			}
			if !*all0 && len(entries) > 80 && n%4 != 1 {
				continue
			}
			at := name + "/" + strconv.Itoa(n)
			t.Run(at, func(t *testing.T) {
				s := takeUp(t, sc, left)
				require.Empty(t, s.result.Violations)
				require.Empty(t, s.result.Missing)
				require.Empty(t, s.result.View.Outage, s.result.View.Waiting)
				require.Equal(t, ledger.Closed, s.result.Records[len(s.result.Records)-1].Kind)
				met[stage0(left)]++
			})
			dark, still := staysAway(sc, left)
			if !still {
				continue
			}
			t.Run(at+"/no mains", func(t *testing.T) {
				s := takeUp(t, dark, left)
				require.Empty(t, s.result.Violations)
				for k := range s.supplies {
					require.False(t, s.supplies[k].output, s.estate.Node(s.supplies[k].node).ID)
				}
				met["with no mains"]++
				if len(s.result.Crashed) > 0 { // it could not be proven off, and the battery ended
					met["with no mains, and something on at the end of the battery"]++
				}
			})
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(met)) {
		t.Logf("taken up %d times %s", met[stage], stage)
	}
	for _, stage := range []string{
		"before the snapshot", "before any stop", "in the stops", "after the cut was commanded", "in the power-up", "in the power-up after a cut",
		"in a drill", "on hold", "aborted", "with no mains",
	} {
		require.Positive(t, met[stage], stage)
	}
}

// stage0 tells in what stage an outage is after its newest record.
func stage0(left []format0) string {
	drill, snapped, stopped, cut, up := false, false, false, false, false
	hold, abort := false, false
	for i := range left {
		r := &left[i].Record
		switch r.Kind {
		case ledger.Opened:
			drill = r.Mode == ledger.ModeDrill
		case ledger.Snapshot:
			snapped = true
		case ledger.Mains:
			drill = drill && r.Cause != ledger.Failing
		case ledger.Intent:
			stopped = stopped || *r.Verb == plan.Stop
			cut = cut || *r.Verb == plan.Cut
		case ledger.Turned:
			up = r.Goal == plan.Up
		case ledger.Ordered:
			hold, abort = r.Order == ledger.Hold, r.Order == ledger.Abort
		default:
		}
	}
	switch {
	case hold:
		return "on hold"
	case abort:
		return "aborted"
	case drill:
		return "in a drill"
	case up && cut:
		return "in the power-up after a cut"
	case up:
		return "in the power-up"
	case cut:
		return "after the cut was commanded"
	case stopped:
		return "in the stops"
	case snapped:
		return "before any stop"
	default:
		return "before the snapshot"
	}
}

// staysAway gives a scenario without the returns of the mains that come after the records that are left. There is none if
// a supply has its mains then, and goes on having them.
func staysAway(sc Scenario, left []format0) (Scenario, bool) {
	last := left[len(left)-1].Record.At.Sub(Epoch)
	out := map[string]bool{}
	dark := sc
	dark.Changes, dark.For = nil, last+3*time.Hour
	for _, c := range sc.Changes {
		mains := c.Supply != "" && c.Silent == nil
		if mains && c.Mains && c.At > last {
			continue
		}
		if mains {
			out[c.Supply] = !c.Mains
		}
		dark.Changes = append(dark.Changes, c)
	}
	for _, decl := range sc.Settings.Supplies {
		if !out[decl.ID] {
			return sc, false
		}
	}
	return dark, len(dark.Changes) < len(sc.Changes)
}

// format0 is a record of the old engine, and the command that followed it, of an intent.
type format0 struct {
	Record  ledger.Record `json:"record"`
	Command *struct {
		At       time.Duration `json:"at"`
		Settings string        `json:"settings"`
	} `json:"command"`
}

func readFormat0(t *testing.T, file string) (list []format0) {
	t.Helper()
	src, err := os.ReadFile(filepath.Clean(file))
	require.NoError(t, err)
	for line := range bytes.Lines(src) {
		var e format0
		require.NoError(t, json.Unmarshal(line, &e))
		require.Zero(t, e.Record.Format)
		list = append(list, e)
	}
	require.NotEmpty(t, list)
	return list
}

// readScenario0 reads a scenario whose first line names its runbook.
func readScenario0(t *testing.T, file string) Scenario {
	t.Helper()
	src, err := os.ReadFile(filepath.Clean(file))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(src), "\n")
	book := strings.TrimPrefix(first, "# ")
	text, err := os.ReadFile(filepath.Join("../..", filepath.Clean(book)))
	require.NoError(t, err)
	rb, problems := runbook.Load(book, text, families.Schema())
	require.False(t, problems.HasErrors())
	sc, _, err := Load(file, src, rb, families.Schema())
	require.NoError(t, err)
	return sc
}

// takeUp plays what the old engine did, throws it away, and goes on with what it left.
func takeUp(t *testing.T, sc Scenario, left []format0) *simulation {
	s := modelled(sc, true)
	s.engine, s.stopped, s.replayed = engine.New(sc.Settings), true, true
	for i := range left {
		e := &left[i]
		if e.Record.Kind == ledger.Gap { // the old engine is back, and not this one
			s.at(e.Record.At.Add(-time.Millisecond), func() { s.life++; s.referee.Resumed(s.now) })
		}
		s.at(e.Record.At, func() {
			s.referee.Recorded(s.now, &e.Record)
			s.write(e.Record)
		})
		if e.Command == nil {
			continue
		}
		do := effect.Do{Op: e.Record.Op, Node: e.Record.Node, Verb: *e.Record.Verb, Settings: e.Command.Settings, Within: time.Minute}
		s.at(Epoch.Add(e.Command.At), func() {
			i, known := s.estate.Index(do.Node)
			require.True(t, known)
			s.showCommand(i, do)
			s.send(i, do)
		})
	}
	s.at(left[len(left)-1].Record.At, func() { s.replayed = false; s.crash() })
	s.begin()
	s.end()
	return s
}
