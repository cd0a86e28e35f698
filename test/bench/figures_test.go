// Package bench measures the figures that Ebbtide promises, against a peer in the same run where there is one. `make
// bench` prints them as JSON lines; an ordinary test run skips them, as timings are no test.
package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var measure = flag.Bool("figures", false, "measure and print the figures")

// figure is one line of output.
type figure struct {
	Figure string  `json:"figure"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Target string  `json:"target"`
	OK     bool    `json:"ok"`
	Runs   int     `json:"runs,omitempty"`
	Note   string  `json:"note,omitempty"`
}

func (f figure) print(t *testing.T) {
	t.Helper()
	line, err := json.Marshal(f)
	require.NoError(t, err)
	fmt.Fprintln(os.Stdout, string(line))
}

// wanted skips a measurement in an ordinary test run. In a run that measures, a figure that is skipped after all (its
// peer is not installed) is a failure: no figure goes missing unseen.
func wanted(t *testing.T) {
	t.Helper()
	if !*measure {
		t.Skip("a measurement, not a test: make bench")
	}
	t.Cleanup(func() {
		if t.Skipped() {
			t.Error("a figure was asked for, and this one was skipped: run make setup")
		}
	})
}

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}
