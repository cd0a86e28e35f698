package english_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/english"
)

func TestSpans(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1ms": time.Microsecond, "12ms": 12 * time.Millisecond, "0.5s": 540 * time.Millisecond, "2s": 2 * time.Second,
		"2.5s": 2460 * time.Millisecond,
		"10s":  9960 * time.Millisecond, "21s": 20600 * time.Millisecond, "1m": 59600 * time.Millisecond,
		"6m 2s": 361930 * time.Millisecond, "10m": 10 * time.Minute,
		"1h": time.Hour, "2h 23m": 2*time.Hour + 22*time.Minute + 40*time.Second, "-1m 55s": -115 * time.Second,
	} {
		require.Equal(t, want, english.Span(d), d)
	}
}
