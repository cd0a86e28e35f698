package reach

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/plan"
)

func TestHowASystemWasNotReached(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		err  error
		want How
	}{
		{dial(syscall.ECONNREFUSED), Refused},
		{dial(syscall.EHOSTUNREACH), Silent},
		{dial(syscall.ETIMEDOUT), Silent},
		{dial(&net.DNSError{IsTimeout: true}), Local}, // the name server is silent: that says nothing of the host
		{dial(syscall.ENETUNREACH), Local},            // our own network is down
		{errors.New("odd"), Local},
	} {
		require.Equal(t, tt.want, Classify(tt.err), "%v", tt.err)
	}
}

// Only silence may come to prove that a machine is off; a refusal where the runbook says so.
func TestWhatCountsAsSilence(t *testing.T) {
	for _, tt := range []struct {
		how     How
		refusal bool
		want    plan.State
	}{
		{Silent, false, plan.Unreachable},
		{Refused, false, plan.Unknown},
		{Refused, true, plan.Unreachable},
		{Answering, true, plan.Unknown},
		{Local, true, plan.Unknown},
	} {
		err := New("10.0.0.1:443", tt.how, errors.New("because"))
		require.ErrorIs(t, err, adapter.ErrUnreachable)
		seen, ok := Seen(err, tt.refusal)
		require.True(t, ok)
		require.Equal(t, tt.want, seen.State)
	}
	_, ok := Seen(adapter.ErrUnreachable, true)
	require.False(t, ok, "a closed connection shows nothing of the machine")
}

// What a request over HTTPS that failed shows of its server: only a connection that nobody accepts is silence, and not a name that nobody
// tells, nor a wait for a turn.
func TestHowFarARequestCame(t *testing.T) {
	silent := peertest.BlackHole(t)
	closed := peertest.FreeAddress(t)
	reset := peertest.Listen(t, func(conn net.Conn) { _ = conn.Close() })
	nonsense := peertest.Listen(t, func(conn net.Conn) { _, _ = conn.Write([]byte("220 mail.example ready\r\n")) })
	mute := peertest.Listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	deaf := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", silent) // a name server that never answers
	}}
	for what, tt := range map[string]struct {
		address string
		want    How
	}{
		"nothing comes back":          {silent, Silent},
		"it refuses the connection":   {closed, Refused},
		"it ends the connection":      {reset, Answering},
		"it speaks something else":    {nonsense, Answering},
		"it says nothing":             {mute, Answering},
		"the name servers are silent": {"nas.test:443", Local},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			at := NewCourse(tt.address)
			ctx, cancel := context.WithTimeout(at.Follow(t.Context()), 300*time.Millisecond)
			defer cancel()
			client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Resolver: deaf}).DialContext}}
			defer client.CloseIdleConnections()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+tt.address, nil)
			require.NoError(t, err)
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			require.Error(t, err)
			none, ok := errors.AsType[*Error](at.Unsent(err))
			require.True(t, ok, "%v", err)
			require.Equal(t, tt.want, none.How, "%v", none)
		})
	}
}

// A question over a connection that has ended is over before it is asked, and says why.
func TestBound(t *testing.T) {
	closed := errors.New("closed")
	connection, end := context.WithCancel(t.Context())
	before, cancel := Bound(t.Context(), connection, closed)
	defer cancel(nil)
	require.NoError(t, before.Err())
	end()
	<-before.Done()
	require.ErrorIs(t, context.Cause(before), closed)
	after, cancel := Bound(t.Context(), connection, closed)
	defer cancel(nil)
	require.ErrorIs(t, context.Cause(after), closed)
}
