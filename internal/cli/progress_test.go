package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "[........................] 0 of 10 runs, about 0s left", progressLine(0, 10, "runs", 0))
	require.Equal(t, "[############............] 500 of 1000 runs, about 30s left", progressLine(500, 1000, "runs", 30*time.Second))
	require.Equal(t, "[########################] 10 of 10 runs, about 0s left", progressLine(10, 10, "runs", time.Minute))
}

func TestProgressIsForLongWorkOnTerminals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer
		newProgress(&screen, 10, "runs").done(5)
		p := newProgress(&screen, 10, "runs")
		p.to = &screen // a terminal
		p.done(1)
		p.clear()
		require.Empty(t, screen.String(), "it was over soon")

		p.began = p.began.Add(-10 * time.Second)
		p.drawn = p.began
		p.done(5)
		require.Equal(t, "\r[############............] 5 of 10 runs, about 10s left", screen.String())
		p.done(6)
		p.clear()
		require.Regexp(t, `left\r +\r$`, screen.String(), "not drawn again at once, and taken away in the end")
	})
}
