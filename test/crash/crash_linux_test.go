// Package crash_test kills the daemon for real: the binary that ships, on a site of real peers, gets a SIGKILL after a
// record of an outage, is started again and left to finish. What came of it is judged from the peers' side: the same
// end as without the kill, nothing stopped or started again that had settled, no rule broken.
package crash_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"ebbtide/test/site"
)

var (
	whole  = flag.Bool("whole", false, "kill after every record, and twice, instead of after a sample")
	binary string
)

// together is how many sites run at a time: they mostly wait.
const together = "8"

func TestMain(m *testing.M) {
	if daemon := os.Getenv(become); daemon != "" {
		becomeDaemon(daemon)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	site.Main(m, &binary)
}

// moments are kills in which no record says when: a command has just arrived and its answer is lost, or all there is to
// do is wait.
var moments = []kill{
	{told: "host esx02 on"},               // everything has its power again, and the battery is to recharge
	{told: "ups INSTCMD shutdown.return"}, // the cut is armed, and the output still on
	{told: "ups INSTCMD shutdown.return", until: "ups output off"},
	{told: "ups INSTCMD shutdown.return", until: "ups output on"}, // it finds the estate booting
	{told: "ups INSTCMD shutdown.return", until: "host esx02 on"},
	{told: "ups output off"},
	{told: "ups output on"},
	{told: "nas protect"},
	{told: "ShutdownGuest app1"},
	{told: "ShutdownGuest db"},
	{told: "ShutdownHost_Task esx01"},
	{told: "nas flush"},
	{told: "nas stop"},
	{told: "PowerOnVM_Task db"},
	{told: "nas unprotect"},
	{words: "turned up", fail: true},
	{words: "intent db start", fail: true},
	{told: "nas unprotect", fail: true},
}

// series is a number of runs of one sort.
type series struct {
	what string
	runs [][]kill
}

// sweep is all that is played for an outage of so many records.
func sweep(records int) []series {
	one, told, two := series{what: "after a record"}, series{what: "at a moment"}, series{what: "twice"}
	for n := 1; n <= records; n++ {
		one.runs = append(one.runs, []kill{{record: n}})
		if n < records {
			two.runs = append(two.runs, []kill{{record: n}, {record: 1 + n%3}})
		}
	}
	for _, m := range moments {
		told.runs = append(told.runs, []kill{m})
	}
	return []series{one, told, two}
}

// sample is what a quick run plays of it: kills at records of each part of the outage, by what they say.
func sample() []series {
	after := func(words ...string) (kills []kill) {
		for _, w := range words {
			kills = append(kills, kill{words: w})
		}
		return kills
	}
	return []series{
		{"not at all", [][]kill{nil}},
		{"after a record", [][]kill{
			after("snapshot"), after("intent db stop"), after("accepted esx01 stop"), after("intent ups cut"), after("turned up"),
		}},
		{"at a moment", [][]kill{{moments[0]}}},
		{"twice", [][]kill{after("intent nas flush", "gap")}},
	}
}

// TestKilledAtAnyRecord (rule 8): after a kill at any record, and after two, the outage ends as it does without.
func TestKilledAtAnyRecord(t *testing.T) {
	all := sample()
	if *whole {
		all = sweep(play(t, nil)) // how many records there are is not known before
	}
	passed := make([]atomic.Int64, len(all))
	t.Run("kills", func(t *testing.T) {
		for i, s := range all {
			for _, kills := range s.runs {
				t.Run(label(kills), func(t *testing.T) {
					t.Parallel()
					play(t, kills)
					passed[i].Add(1)
				})
			}
		}
	})
	good, runs := 0, 0
	for i, s := range all {
		n := int(passed[i].Load())
		fmt.Printf("killed %s: %d of %d\n", s.what, n, len(s.runs))
		good, runs = good+n, runs+len(s.runs)
	}
	fmt.Printf("%d of %d\n", good, runs)
}

// label names a run; the name becomes part of folders' names.
func label(kills []kill) string {
	if len(kills) == 0 {
		return "none"
	}
	var words []string
	for _, k := range kills {
		words = append(words, k.String())
	}
	return strings.Join(words, " then ")
}
