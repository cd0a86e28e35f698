package daemon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// TestWhatWasNeverSeenIsNotGone: what is gone counts as off, and a name may be misspelt.
func TestWhatWasNeverSeenIsNotGone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.estate.Node("web").Break(fake.Vanished)
	g.start()
	state := g.state
	g.until("look at the NAS", func() bool { return state("nas") == plan.On })
	g.until("word on what was never seen", func() bool { return strings.Contains(g.log.String(), "it was never seen") })
	require.NotEqual(t, plan.Gone, state("web"))
	g.estate.Node("web").Break(fake.Whole)
	g.until("look at the VM", func() bool { return state("web") == plan.On })
}

// TestWhatIsOnRecordMayBeGone: a VM that exists only while it runs is gone once it has taken its stop, also for who has restarted since.
func TestWhatIsOnRecordMayBeGone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.start()
	g.ready()
	g.outage(ledger.Proven, "web", plan.Stop)
	g.stop()
	g.estate.Node("web").Break(fake.Vanished)
	g.start()
	g.until("the VM to be gone", func() bool { return g.state("web") == plan.Gone })
}

func (g *rig) state(id string) (state plan.State) {
	for _, n := range g.status().View.Nodes {
		if n.ID == id {
			state = n.Seen.State
		}
	}
	return state
}
