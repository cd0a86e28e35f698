// Package crash_test kills the daemon for real: the binary that ships, on a site of real peers, gets a SIGKILL after a
// record of an outage, is started again and left to finish. What came of it is judged from the peers' side: the same
// end as without the kill, nothing stopped or started again that had settled, no rule broken.
package crash_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
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
const together = "6"

func TestMain(m *testing.M) {
	if daemon := os.Getenv(become); daemon != "" {
		becomeDaemon(daemon)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "ebbtide-crash")
	if err != nil {
		panic(err)
	}
	code := 1
	if binary, err = site.Build(dir); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// sample is after which records a quick run kills: about every ninth of the 46 that the site's outage has.
var sample = []kill{{record: 4}, {record: 13}, {record: 22}, {record: 31}, {record: 40}}

// moments are kills in which no record says when: a command has just arrived and its answer is lost, or all there is to
// do is wait.
var moments = []kill{
	{told: "ups INSTCMD shutdown.return"}, // the cut is armed, and the output still on
	{told: "host esx02 on"},               // everything has its power again, and the battery is to recharge
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
}

// plans are the kills of each run.
func plans(records int) [][]kill {
	var all [][]kill
	if !*whole {
		for _, k := range slices.Concat(sample, moments[:2]) {
			all = append(all, []kill{k})
		}
		return append(all, []kill{{record: 18}, {record: 2}})
	}
	for n := 1; n <= records; n++ {
		all = append(all, []kill{{record: n}})
	}
	for _, m := range moments {
		all = append(all, []kill{m})
	}
	for n := 1; n < records; n++ {
		all = append(all, []kill{{record: n}, {record: 1 + n%3}})
	}
	return all
}

// TestKilledAtAnyRecord (rule 8): after a kill at any record, and after two, the outage ends as it does without.
func TestKilledAtAnyRecord(t *testing.T) {
	runs := [][]kill{nil}
	if *whole { // how many records there are is not known before
		runs = plans(play(t, nil))
	} else {
		runs = append(runs, plans(0)...)
	}
	var passed atomic.Int64
	t.Run("kills", func(t *testing.T) {
		for _, kills := range runs {
			t.Run(label(kills), func(t *testing.T) {
				t.Parallel()
				play(t, kills)
				passed.Add(1)
			})
		}
	})
	fmt.Printf("%d of %d\n", passed.Load(), len(runs))
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
