package forecast

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
)

// drawNetwork draws what is left of a drawn plan, with what is known of the steps under way.
func drawNetwork(t *rapid.T) (*network, map[int]odds) {
	e := drawEstate(t)
	p := e.Plan(rapid.SampledFrom([]plan.Goal{plan.Down, plan.Up}).Draw(t, "goal"), nil)
	c := newCourse(p, nil)
	roles, under := make([]role, len(p.Steps)), map[int]odds{}
	for i, s := range p.Steps {
		roles[i] = rapid.SampledFrom([]role{settled, instant, timed, timed, timed, timed, underway}).Draw(t, "role")
		switch {
		case s.Milestone && roles[i] != settled:
			roles[i] = instant
		case roles[i] == underway:
			under[i] = c.since(i, s.Verb, time.Duration(rapid.IntRange(0, 40).Draw(t, "for"))*time.Second, nil)
		}
	}
	return c.network(roles), under
}

// Luck that is kept is the luck that is drawn when a trial is played.
func TestKeptLuckIsTheSameLuck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, under := drawNetwork(t)
		const trials, seed = 7, 42
		n.course.keep(trials, seed)
		drawer, took, kept := newDrawer(n, under), make([]int64, len(n.steps)), make([]int64, len(n.steps))
		for j := range trials {
			drawer.draw(trialSeed(seed, j), took)
			gather(n.kept(trials, seed, under), j, kept)
			require.Equal(t, took, kept)
		}
		require.Nil(t, n.kept(trials, seed+1, under), "of another seed nothing is kept")
		require.Nil(t, n.kept(trials+1, seed, under))
	})
}

// Where no limit counts, the longest path is what the kernel plays; elsewhere nobody asks for it.
func TestSpansAreThoseOfTheKernel(t *testing.T) {
	unbound := 0
	rapid.Check(t, func(t *rapid.T) {
		n, under := drawNetwork(t)
		const trials, seed = 9, 1
		want := n.tryWith(1, trials, seed, under).spans
		n.course.keep(trials, seed)
		require.Equal(t, want, n.spans(trials, seed, under))
		p := rapid.SampledFrom([]float64{0, 0.5, 0.8, likely, 1}).Draw(t, "p")
		require.Equal(t, (&outcome{spans: want}).at(p), n.within(p, trials, seed, under))
		if len(n.lanes) == 0 && len(n.steps) > 1 {
			unbound++
		}
	})
	require.Positive(t, unbound)
}

// Far away is far away: no sum of times is more than a number holds.
func TestTheLongestPathNeverOverflows(t *testing.T) {
	n := wholeNetwork(sampleEstate(t, 60))
	n.lanes = nil
	n.course.keep(1, 1)
	took := make([][]int64, len(n.steps))
	for i := range took {
		took[i] = []int64{1 << 62}
	}
	require.Positive(t, n.longest(took, 1)[0])
}

func TestBriefIsAnswerWithoutWhatPeopleRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEstate(t)
		ask := drawQuestion(t, e)
		a := New(nil, 40).Answer(e, ask)
		want := foresight.Estimate{Serial: a.Serial, Need: a.Need, Hosts: a.Hosts, Whole: a.Whole}
		require.Equal(t, want, New(nil, 40).Brief(e, ask))
		require.Equal(t, want, New(nil, 40).Some(e, ask, Parts{Need: true, Whole: true}))
		want.Need, want.Whole = nil, 0
		require.Equal(t, want, New(nil, 40).Some(e, ask, Parts{}))
	})
}
