package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The simulator asks more of an engine as time goes by: the adapter has to follow.
func TestBothEnginesPlay(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program twice")
	}
	out, err := git(t.Context(), "", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Skip("no history: ", err)
	}
	root, dir := strings.TrimSpace(out), t.TempDir()
	if err := known(t.Context(), root); err != nil {
		t.Skip(err)
	}
	overlay, err := oldEngine(t.Context(), root, dir)
	require.NoError(t, err)
	*from, *nights = 1, 5
	before, now := filepath.Join(dir, "before"), filepath.Join(dir, "now")
	require.NoError(t, build(t.Context(), root, before, "-overlay", overlay), "does %s have all that the simulator asks for?", adapterFile)
	require.NoError(t, build(t.Context(), root, now))
	olds, err := playedBy(t.Context(), before, filepath.Join(dir, "old.jsonl"))
	require.NoError(t, err)
	news, err := playedBy(t.Context(), now, filepath.Join(dir, "new.jsonl"))
	require.NoError(t, err)
	require.Len(t, pairs(olds, news), 5)
	require.NotEqual(t, olds, news, "the same engine played twice")
	for _, n := range append(olds, news...) {
		require.Empty(t, n.Unjudged)
	}
}

func TestAShallowHistoryIsSaid(t *testing.T) {
	dir := t.TempDir()
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, string(said))
	}
	whole, shallow := filepath.Join(dir, "whole"), filepath.Join(dir, "shallow")
	require.NoError(t, os.Mkdir(whole, 0o700))
	git(whole, "init", "-q")
	git(whole, "commit", "-q", "--allow-empty", "-m", "one")
	git(whole, "commit", "-q", "--allow-empty", "-m", "two")
	git(dir, "clone", "-q", "--depth", "1", "file://"+whole, shallow)

	var h hinted
	err := known(t.Context(), shallow)
	require.ErrorAs(t, err, &h)
	require.EqualError(t, err, "cannot find the old engine: commit c17c4cf is not in this clone, whose history is shallow")
	require.Contains(t, h.hint, "git fetch --unshallow")
	require.ErrorAs(t, known(t.Context(), whole), &h)
	require.Contains(t, h.hint, "git fetch origin main")
}

// nightsOf are four nights of both engines: one that can't be judged, one in which the new engine is better, and two in which it is
// worse.
func nightsOf() []pair {
	olds := []night{
		{Seed: 1, Unjudged: "panic: what"},
		{
			Seed: 2, On: 10, Crashed: []string{"nas"}, Broken: []string{"3: an output is cut at 5m"}, Commands: 7, Down: time.Hour,
			ToCut: 4 * time.Minute,
		},
		{Seed: 3, On: 10, Commands: 5, Down: time.Hour},
		{Seed: 4, On: 10, Commands: 5, Forced: []string{"a", "b"}, Down: 2 * time.Hour, ToCut: 8 * time.Minute},
	}
	news := []night{
		{Seed: 4, On: 10, Commands: 4, Missing: []string{"a"}, Down: 9 * time.Hour, ToCut: 9 * time.Minute, Kills: 1},
		{Seed: 1, On: 10},
		{Seed: 2, On: 10, Commands: 6, Down: time.Hour, ToCut: 4 * time.Minute},
		{Seed: 3, On: 10, Commands: 5, Down: 2 * time.Hour},
	}
	return pairs(olds, news)
}

func TestTheTableIsOfNightsThatBothWereJudgedIn(t *testing.T) {
	var b strings.Builder
	require.NoError(t, tell(&b, nightsOf(), 10))
	got := strings.Join(strings.FieldsFunc(b.String(), func(r rune) bool { return r == ' ' }), " ")
	for _, line := range []string{
		"seed 1 could not be judged (old engine): panic: what",
		"Judged with both engines: 3 of 4 nights.",
		"| nights that break a rule | 1 (33.33%) | 0 (0.00%) |",
		"| nodes that did | 1 | 0 |",
		"| nodes forced off | 2 | 0 |",
		"| commands given | 17 | 15 |",
		"| nodes that were on at the start and are in the end | 30 of 30 (100.00%) | 29 of 30 (96.67%) |",
		"| from the trigger to the cut, median of 2 nights | 4m0s | 4m0s |",
		"| from the trigger to the cut, p95 | 8m0s | 9m0s |",
		"| from the trigger to the cut, > 10% longer than the other | 0.00% | 50.00% |",
		"| makespan: anything was down, median of 2 nights | 1h0m0s | 1h0m0s |",
		"old: rule 3 in 1",
		"new: none",
		"nights of the old engine: 1 (33.33%), of the new one: 2 (66.67%)",
		"Of these, the 2 nights in which Ebbtide is never killed",
	} {
		require.Contains(t, got, line)
	}
	worst := strings.Index(got, "seed 4: not back: 1, were 0 (only now: a); Ebbtide is killed in it")
	require.Positive(t, worst)
	require.Contains(t, got[worst:], "seed 3: down for 2h0m0s, was 1h0m0s")
}

// A worse thing decides before the others.
func TestHarmIsOrdered(t *testing.T) {
	crashed, missing := night{Crashed: []string{"a"}}, night{Missing: []string{"a", "b"}}
	require.True(t, harmOf(&crashed, &missing).worse())
	require.False(t, harmOf(&missing, &crashed).worse())
	short, long, longer := night{Down: 10 * time.Minute}, night{Down: 19 * time.Minute}, night{Down: 21 * time.Minute}
	require.False(t, harmOf(&long, &short).worse(), "not by %s", muchLonger)
	require.True(t, harmOf(&longer, &short).worse())
	require.False(t, harmOf(&night{Down: time.Hour, Missing: []string{"a"}}, &night{Down: time.Minute, Missing: []string{"a"}}).worse(),
		"what is missing is missing to the end")
}
