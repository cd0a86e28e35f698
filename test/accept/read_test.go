package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACampaignIsRead(t *testing.T) {
	const head = "    campaign_test.go:86: the first seed is 814340439 (at random): -dst.from 814340439 -dst.faults 1 plays the same again\n"
	told, err := readCampaign(head + `    campaign_test.go:127: 40000 seeds, 239046544 events, 2 seeds broke a rule
                       2 mains off
                       7 nights in which storage lost its power that could have been stopped
    campaign_test.go:134: seed 814340626: 12: nas1 was changed for the outage
    campaign_test.go:134: seed 814340962: 7: node a: {}, and by its records {}
--- FAIL: TestCampaign (338.86s)
`)
	require.NoError(t, err)
	require.Equal(t, campaignTold{from: 814340439, seeds: 40000, took: 338.86, leftOn: 7, broken: []string{
		"seed 814340626: 12: nas1 was changed for the outage", "seed 814340962: 7: node a: {}, and by its records {}",
	}}, told)
	_, err = readCampaign(head + "panic: test timed out\n")
	require.ErrorContains(t, err, "did not end")
	_, err = readCampaign(head + "    campaign_test.go:127: 5 seeds, 7 events, 1 seeds broke a rule\n--- FAIL: TestCampaign (1.00s)\n")
	require.ErrorContains(t, err, "counts 1 broken nights and names 0")
}

func TestFiguresAreRead(t *testing.T) {
	got, met, err := readApply(`{"figure":"engine_apply_1000_nodes","value":1.61,"unit":"µs/event"}`, "1000")
	require.NoError(t, err)
	require.Equal(t, "1.6 µs", got)
	require.True(t, met)
	_, met, err = readApply(`{"figure":"engine_apply_10000_nodes","value":10.1}`, "10000")
	require.NoError(t, err)
	require.False(t, met)
	_, _, err = readApply("--- SKIP: TestApply (0.00s)\n", "1000")
	require.Error(t, err)

	mib, err := readFigure("=== RUN\n{\"figure\":\"room_cpu\",\"value\":40}\n{\"figure\":\"room_peak_rss\",\"value\":88.5}\n", "room_peak_rss")
	require.NoError(t, err)
	require.InDelta(t, 88.5, mib, 0)
	_, err = readFigure("--- SKIP: TestIdle (0.00s)\n", "room_peak_rss")
	require.Error(t, err)

	caught, missed := readBugs("    --- PASS: TestBugsAreCaught/rule-1 (3.0s)\n    --- FAIL: TestBugsAreCaught/rule-2:-a-host " +
		"(9.0s)\n--- FAIL: TestBugsAreCaught (12.0s)\n")
	require.Equal(t, 1, caught)
	require.Equal(t, []string{"rule-2:-a-host"}, missed)

	estates, played, away, wrong, err := readNights("x: 40 nights from 7: 1 in which something that answers is not back, 0 that break a " +
		"rule, 3 in\ny: 40 nights from 7: 2 in which something that answers is not back, 1 that break a rule, 3 in\n")
	require.NoError(t, err)
	require.Equal(t, []int{2, 40, 3, 1}, []int{estates, played, away, wrong})
	_, _, _, _, err = readNights("")
	require.Error(t, err)

	beside, worse := readBeside("x: 40 nights, of which 1 came to something worse\ny: 20 nights, of which 0 came to something worse\n")
	require.Equal(t, []int{60, 1}, []int{beside, worse})

	passed, failed := readCrash("--- FAIL: TestKilled (9s)\n    --- FAIL: TestKilled/a (8s)\n        --- PASS: TestKilled/a/1 (1s)\n     " +
		"   --- FAIL: TestKilled/a/2 (1s)\n    --- PASS: TestKilled/b (8s)\n")
	require.Equal(t, []int{2, 1}, []int{passed, failed})
}

func TestShapesAreOfTheEngine(t *testing.T) {
	t.Chdir("../..")
	for _, f := range ofTheSource() {
		got, met, err := f.measure()
		require.NoError(t, err)
		require.Truef(t, met, "%s: %s, wanted %s", f.name, got, f.wanted)
	}
	n, _, err := linesOfEngine()
	require.NoError(t, err)
	require.Positive(t, n)
	most, _, err := linesOfLargest()
	require.NoError(t, err)
	require.GreaterOrEqual(t, most, n)
	t.Chdir(t.TempDir())
	_, _, err = linesOfEngine()
	require.ErrorContains(t, err, "root of the repository")
}

func TestWhatHasNoCommentIsCounted(t *testing.T) {
	const src = "package p\n\n// A is said.\ntype A struct{}\n\ntype B struct{}\n\nfunc (A) String() string { return \"\" }\n\nfunc (*A) Do() {}\n"
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
	require.NoError(t, err)
	count, last := bare(fset, f)
	require.Equal(t, 2, count)
	require.Equal(t, "Do", last)
}
