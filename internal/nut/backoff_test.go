package nut

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackoffStaysShort(t *testing.T) {
	s := &source{}
	last := time.Duration(0)
	for range 20 {
		s.backOff()
		require.GreaterOrEqual(t, s.backoff, last)
		require.LessOrEqual(t, time.Until(s.retryAt), 5*time.Second)
		last = s.backoff
	}
	require.Equal(t, 5*time.Second, last)
}
