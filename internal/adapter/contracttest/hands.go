package contracttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/plan"
)

// handWithin is for one call to a system that answers, far above what a loaded machine takes.
const handWithin = 20 * time.Second

// Within gives a context that ends after d, or with the test.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Probe probes a node that answers.
func Probe(t testing.TB, n adapter.Node) plan.Observation {
	t.Helper()
	seen, err := n.Probe(Within(t, handWithin))
	require.NoError(t, err)
	return seen
}

// Do gives a node a verb.
func Do(t testing.TB, n adapter.Node, v plan.Verb) error {
	t.Helper()
	return n.Do(Within(t, handWithin), adapter.Command{Verb: v})
}

// Until probes a node until what it tells is good, and gives that. A probe that fails tells nothing.
func Until(t testing.TB, n adapter.Node, what string, good func(plan.Observation) bool) plan.Observation {
	t.Helper()
	var last plan.Observation
	var err error
	peertest.Until(t, what, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), handWithin)
		defer cancel()
		last, err = n.Probe(ctx)
		return err == nil && good(last)
	}, func() string { return fmt.Sprintf("last seen: %+v, error %v", last, err) })
	return last
}

// UntilState probes a node until it is in a state.
func UntilState(t testing.TB, n adapter.Node, want plan.State) plan.Observation {
	t.Helper()
	return Until(t, n, want.String(), func(seen plan.Observation) bool { return seen.State == want })
}
