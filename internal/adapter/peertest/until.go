package peertest

import (
	"testing"
	"time"
)

// How long Until waits, far above what a loaded machine takes, and how often it looks.
const (
	untilWithin = time.Minute
	lookEvery   = 10 * time.Millisecond
)

// Until looks until something is good. Where that does not come within a minute the test fails, with what last tells.
func Until(t testing.TB, what string, good func() bool, last ...func() string) {
	t.Helper()
	deadline := time.NewTimer(untilWithin)
	defer deadline.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !good() {
		select {
		case <-tick.C:
		case <-deadline.C:
			for _, tell := range last {
				t.Log(tell())
			}
			t.Fatalf("it did not come in %v: %s", untilWithin, what)
		}
	}
}
