package bmc

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
)

func TestAWrongPasswordIsTriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lockout
		require.NoError(t, l.Locked())
		for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
			err := l.Refused("wrong password")
			require.ErrorIs(t, err, adapter.ErrRefused)
			time.Sleep(pause - time.Millisecond)
			require.Equal(t, err, l.Locked())
			time.Sleep(time.Millisecond)
			require.NoError(t, l.Locked())
		}
		_ = l.Refused("wrong password")
		l.Accepted()
		require.NoError(t, l.Locked())
	})
}
