package lockout

import (
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
			require.Equal(t, err, g.Locked())
			<-time.After(1)
			require.NoError(t, g.Locked())
		}
		_ = g.Refused(denied)
		g.Accepted()
		require.NoError(t, g.Locked())
	})
}
