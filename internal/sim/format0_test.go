package sim

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
)

// TestAnOutageOfTheOldFormatIsTakenUp has the records that the engine before this one wrote in two outages of the home lab, with the
// commands that it gave (testdata/format0). After each of them it is thrown away, and this engine goes on: everything comes to a
// right end, and the referee has nothing to say.
func TestAnOutageOfTheOldFormatIsTakenUp(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]time.Duration{"short": 4 * time.Minute, "long": 40 * time.Minute} {
		entries := readFormat0(t, "testdata/format0/"+name+".jsonl")
		for n := 1; n < len(entries); n++ {
			if last := entries[n-1].Record; last.Node == "ebbtide" {
				break // from here on its own machine is off, and it was not there
			}
			t.Run(name+"/"+strconv.Itoa(n), func(t *testing.T) {
				r := takeUp(t, homeLabOut(t, outage), entries[:n])
				require.Empty(t, r.Violations)
				require.Empty(t, r.Missing)
				require.Empty(t, r.View.Outage, r.View.Waiting)
				require.Equal(t, engine.Closed, r.Records[len(r.Records)-1].Kind)
			})
		}
	}
}

// format0 is a record of the old engine, and the command that followed it, of an intent.
type format0 struct {
	Record  engine.Record `json:"record"`
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

// homeLabOut is the example whose mains fail for so long after a minute.
func homeLabOut(t *testing.T, outage time.Duration) Scenario {
	t.Helper()
	src, err := os.ReadFile("../../runbooks/home-lab.yaml")
	require.NoError(t, err)
	rb, problems := runbook.Load("home-lab.yaml", src, families.Schema())
	require.False(t, problems.HasErrors())
	compiled, err := runbook.Compile(rb, families.Schema(), nil)
	require.NoError(t, err)
	doc := Document{Version: DocumentVersion, For: outage + 24*time.Hour, Events: []EventDecl{
		{At: time.Minute, Supply: "ups", Mains: "off"}, {At: time.Minute + outage, Supply: "ups", Mains: "on"},
	}}
	sc, errs := doc.Build(compiled)
	require.Empty(t, errs)
	return sc
}

// takeUp plays what the old engine did, throws it away, and goes on with what it left.
func takeUp(t *testing.T, sc Scenario, left []format0) *Result {
	s := modelled(sc, false)
	s.engine, s.stopped, s.replayed = engine.New(sc.Settings), true, true
	for i := range left {
		e := &left[i]
		s.at(e.Record.At, func() {
			s.referee.Recorded(s.now, &e.Record)
			s.write(e.Record)
		})
		if e.Command == nil {
			continue
		}
		do := engine.Do{Op: e.Record.Op, Node: e.Record.Node, Verb: *e.Record.Verb, Settings: e.Command.Settings, Within: time.Minute}
		s.at(Epoch.Add(e.Command.At), func() {
			i, known := s.estate.Index(do.Node)
			require.True(t, known)
			s.showCommand(i, do)
			s.send(i, do)
		})
	}
	s.at(left[len(left)-1].Record.At, func() { s.replayed = false; s.crash() })
	s.begin()
	return s.end()
}
