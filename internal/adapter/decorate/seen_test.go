package decorate_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/plan"
)

func TestNothingIsGoneThatWasNeverSeen(t *testing.T) {
	t.Parallel()
	array := fake.New(time.Now).Add("array", fake.Spec{State: plan.On})
	array.Break(fake.Vanished)
	n := decorate.OnceSeen(array, false)
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State)
	require.Contains(t, seen.Detail, "it was never seen")
	err = n.Do(t.Context(), adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.NotErrorIs(t, err, adapter.ErrGone)

	array.Break(fake.Whole)
	_, err = n.Probe(t.Context())
	require.NoError(t, err)
	array.Break(fake.Vanished)
	seen, err = n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Gone, seen.State, "what was there and is not any more is gone")
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}), adapter.ErrGone)

	seen, err = decorate.OnceSeen(array, true).Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Gone, seen.State, "it is on record")
}

func TestAnErrorMeansWhatItIsSaidTo(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("broken")
	inner := fmt.Errorf("no answer: %w", fmt.Errorf("%w: %w", adapter.ErrRefused, errBroken))
	err := fmt.Errorf("cannot stop it: %w", adapter.As(inner, adapter.ErrUnreachable))
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	require.NotErrorIs(t, err, adapter.ErrRefused)
	require.ErrorIs(t, err, errBroken, "what else it wraps is there")
	require.Equal(t, "cannot stop it: no answer: refused: broken", err.Error())
}
