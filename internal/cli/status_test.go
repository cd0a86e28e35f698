package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/daemon"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/sim"
	"ebbtide/internal/timeline"
	"ebbtide/test/golden"
)

// TestStatusInAnOutage is the home lab in the middle of the way down, as the simulator has it, with a VM that hangs and
// one that is gone.
func TestStatusInAnOutage(t *testing.T) {
	t.Parallel()
	s := homeLab(t, sim.Scenario{
		For:     19*time.Minute + 20*time.Second,
		Changes: []sim.Change{{At: time.Minute, Supply: "ups"}, {At: 2 * time.Hour, Supply: "ups", Mains: true}},
		Faults:  map[string]sim.Fault{"dns": sim.Hang, "home": sim.Vanish},
	})
	require.NotNil(t, s.Outage)
	goldenStatus(t, "testdata/status-outage.txt", s)
}

// TestStatusInCalm says what would happen next.
func TestStatusInCalm(t *testing.T) {
	t.Parallel()
	goldenStatus(t, "testdata/status-calm.txt", homeLab(t, sim.Scenario{For: time.Minute, Changes: []sim.Change{{At: time.Hour, Supply: "ups"}}}))
}

// TestStatusInAnObservedOutage: nothing reads as if it had happened.
func TestStatusInAnObservedOutage(t *testing.T) {
	t.Parallel()
	s := homeLab(t, sim.Scenario{
		Settings: engine.Settings{Mode: ledger.ModeObserve},
		For:      19*time.Minute + 20*time.Second,
		Changes:  []sim.Change{{At: time.Minute, Supply: "ups"}, {At: 2 * time.Hour, Supply: "ups", Mains: true}},
		Faults:   map[string]sim.Fault{"dns": sim.Hang, "home": sim.Vanish},
	})
	s.Armed = false
	for i := range s.View.Nodes { // as the daemon marks them
		if why := &s.View.Nodes[i].Why; *why != "" {
			*why = effect.Observing + *why
		}
	}
	s.View.Waiting, s.View.Supplies[0].Why = effect.Observing+s.View.Waiting, effect.Observing+s.View.Supplies[0].Why
	s.View.Supplies[0].Cut = true
	goldenStatus(t, "testdata/status-observed.txt", s)
}

// homeLab is what a daemon on the home lab's runbook would say at the end of a scenario.
func homeLab(t *testing.T, sc sim.Scenario) *daemon.Status {
	t.Helper()
	rb, r := homeLabRun(t, sc)
	s := &daemon.Status{Now: sim.Epoch.Add(sc.For), Armed: true, Runbook: rb.Name, Text: "in one line", Policy: rb.Triggers(), View: r.View}
	if r.View.Outage != "" {
		told := timeline.Fold(r.Records)
		s.Outage = &told
	}
	return s
}

func goldenStatus(t *testing.T, file string, s *daemon.Status) {
	t.Helper()
	var b bytes.Buffer
	writeStatus(&b, s)
	golden.Equal(t, file, b.String())
}
