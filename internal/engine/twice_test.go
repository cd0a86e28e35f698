package engine_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/sim"
	"ebbtide/test/golden"
)

// TestACrashChangesNoDecision plays each story of testdata/twice twice, once without and once with a crash at the moment that it
// names, and requires the same decisions: the commands to each node in their order, what was given up of it, and how all ends.
// In each, what the engine before this one kept of a node, a supply or the outage changed in one way live and in another when its
// records were folded (docs/adr/0016), and its comment says what that engine did. `go test -rewrite` writes the decisions anew,
// as they are without the crash.
//
// Beside the words of the other stories there is
//
//	crash after WORD…        right after the first record, or with "do" as its first word the first command, that has these words
//	crash after WORD… #N     right after the Nth of those
func TestACrashChangesNoDecision(t *testing.T) {
	golden.Each(t, "testdata/twice/*.txt", func(t *testing.T, file string) {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		head, _, _ := strings.Cut(string(src), "\n----\n")
		var lines, moments []string
		for line := range strings.Lines(head + "\n") {
			if moment, ok := strings.CutPrefix(line, "crash after "); ok {
				moments = append(moments, strings.TrimSpace(moment))
			} else {
				lines = append(lines, line)
			}
		}
		require.Len(t, moments, 1, "a story of this kind has one crash")
		sc := parseStory(t, strings.Join(lines, ""))
		whole := sim.Run(sc)
		golden.Equal(t, file, head+"\n----\n"+decided(whole))
		if !crashAfter(&sc, whole, strings.Fields(moments[0])) {
			t.Fatalf("nothing in this has the words %q:\n%s", moments[0], sim.Tell(whole))
		}
		crashed := sim.Run(sc)
		require.Equal(t, decided(whole), decided(crashed), "without the crash:\n%s\nand with it:\n%s", sim.Tell(whole),
			sim.Tell(crashed))
		require.Greater(t, crashed.Kills, whole.Kills)
	})
}

// crashAfter has a scenario crash at the moment that the words tell, of those that it has without. It reports whether there is one.
func crashAfter(sc *sim.Scenario, whole *sim.Result, words []string) bool {
	nth := 1
	if last := words[len(words)-1]; strings.HasPrefix(last, "#") {
		nth, _ = strconv.Atoi(last[1:])
		words = words[:len(words)-1]
	}
	records, commands := uint64(0), uint64(0)
	for _, l := range whole.Lines {
		var has []string
		switch e := l.Effect.(type) {
		case effect.Append:
			if e.Record.Kind == ledger.Still { // which are not counted
				continue
			}
			records++
			has = wordsOf(&e.Record)
		case effect.Do:
			commands++
			has = []string{"do", e.Verb.String(), e.Node}
		default:
			continue
		}
		if slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
			continue
		}
		if nth--; nth > 0 {
			continue
		}
		if has[0] == "do" {
			sc.CrashOn = append(sc.CrashOn, commands)
		} else {
			sc.CrashAt = append(sc.CrashAt, records)
		}
		return true
	}
	return false
}

// wordsOf are what a moment can be named by that is a record.
func wordsOf(r *ledger.Record) []string {
	words := []string{string(r.Kind), string(r.Stage), string(r.Goal), string(r.Order), r.Node, string(r.Outcome), string(r.Cause)}
	if r.Verb != nil {
		words = append(words, r.Verb.String())
	}
	return append(words, r.Supplies...)
}

// decided tells what a run has decided: of each node the commands and what was given up, and the end.
func decided(r *sim.Result) string {
	per := map[string][]string{}
	for _, l := range r.Lines {
		switch e := l.Effect.(type) {
		case effect.Do:
			per[e.Node] = append(per[e.Node], e.Verb.String())
		case effect.Append:
			if e.Record.Kind == ledger.Failed {
				per[e.Record.Node] = append(per[e.Record.Node], e.Record.Verb.String()+" given up")
			}
		default:
		}
	}
	var b strings.Builder
	for _, node := range slices.Sorted(maps.Keys(per)) {
		fmt.Fprintf(&b, "%s: %s\n", node, strings.Join(per[node], ", "))
	}
	fmt.Fprintf(&b, "end: on %v, off %v, crashed %v\n", r.On, r.Off, r.Crashed)
	for _, v := range r.Violations {
		rule, _, _ := strings.Cut(v, " at ")
		fmt.Fprintf(&b, "VIOLATION %s\n", rule)
	}
	return b.String()
}
