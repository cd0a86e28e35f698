package contracttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// Hands of the tests of single systems: with a time limit each, far above what a loaded machine takes.
const (
	handWithin  = 20 * time.Second // for one call
	untilWithin = 30 * time.Second // for a state to come
	lookEvery   = 10 * time.Millisecond
)

// Within gives a context for one call of a test.
func Within(t testing.TB) context.Context {
	t.Helper()
	return WithinOf(t, handWithin)
}

// WithinOf gives a context that ends after d: for calls that are to run into it.
func WithinOf(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Probe probes a node that answers.
func Probe(t testing.TB, n adapter.Node) plan.Observation {
	t.Helper()
	seen, err := n.Probe(Within(t))
	require.NoError(t, err)
	return seen
}

// Do gives a node a verb.
func Do(t testing.TB, n adapter.Node, v plan.Verb) error {
	t.Helper()
	return n.Do(Within(t), v)
}

// Until probes a node until what it tells is good, and gives that. A probe that fails tells nothing.
func Until(t testing.TB, n adapter.Node, what string, good func(plan.Observation) bool) plan.Observation {
	t.Helper()
	ctx := WithinOf(t, untilWithin)
	var last plan.Observation
	var err error
	UntilTrue(t, what, func() bool {
		last, err = n.Probe(ctx)
		return err == nil && good(last)
	}, func() string { return fmt.Sprintf("%+v, error %v", last, err) })
	return last
}

// UntilState probes a node until it is in a state.
func UntilState(t testing.TB, n adapter.Node, want plan.State) plan.Observation {
	t.Helper()
	return Until(t, n, want.String(), func(seen plan.Observation) bool { return seen.State == want })
}

// UntilTrue looks until something is good. Where that does not come, the test fails with what last tells.
func UntilTrue(t testing.TB, what string, good func() bool, last ...func() string) {
	t.Helper()
	deadline := time.NewTimer(untilWithin)
	defer deadline.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !good() {
		select {
		case <-tick.C:
		case <-deadline.C:
			seen := ""
			for _, tell := range last {
				seen += tell()
			}
			require.FailNow(t, "it did not come in time: "+what, seen)
		}
	}
}
