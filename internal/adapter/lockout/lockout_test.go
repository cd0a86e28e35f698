package lockout

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
)

func TestAWrongPasswordIsTriedLessAndLess(t *testing.T) {
	denied := fmt.Errorf("%w: wrong password", adapter.ErrRefused)
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		require.NoError(t, g.Locked())
		for _, pause := range []time.Duration{
			time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute,
			15 * time.Minute,
		} {
			err := g.Refused(denied)
			require.ErrorIs(t, err, adapter.ErrRefused)
			<-time.After(pause - 1)
			require.EqualError(t, g.Locked(), err.Error())
			require.ErrorIs(t, g.Locked(), adapter.ErrUnreachable, "it is not asked")
			require.ErrorIs(t, g.Locked(), ErrDenied)
			<-time.After(1)
			require.NoError(t, g.Locked())
		}
		require.Equal(t, denied, g.Sort(denied), "it was never let in")
		_ = g.Refused(denied)
		g.Accepted()
		require.NoError(t, g.Locked())
	})
}

// TestWhoWasInBeforeIsNotRefusedForGood: in an outage the directory goes down before what asks it.
func TestWhoWasInBeforeIsNotRefusedForGood(t *testing.T) {
	denied := fmt.Errorf("%w: wrong password", adapter.ErrRefused)
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		g.Accepted()
		for _, pause := range []time.Duration{5 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute} {
			err := g.Refused(denied)
			require.ErrorIs(t, err, adapter.ErrUnreachable)
			require.NotErrorIs(t, err, adapter.ErrRefused)
			<-time.After(pause - 1)
			require.EqualError(t, g.Locked(), err.Error())
			<-time.After(1)
			require.NoError(t, g.Locked())
		}
		require.ErrorIs(t, g.Sort(denied), adapter.ErrUnreachable)
	})
}

// What was let in a while ago may have a new password since; and several refusals at once are one.
func TestALoginCountsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		require.False(t, g.IsIn())
		g.Accepted()
		require.True(t, g.IsIn())
		<-time.After(stillIn)
		require.False(t, g.IsIn())
		g.Accepted()
		for range 5 {
			require.ErrorIs(t, g.Refused(errors.New("no")), ErrDenied)
		}
		require.False(t, g.IsIn())
		<-time.After(pauseAgain)
		require.NoError(t, g.Locked())
	})
}
