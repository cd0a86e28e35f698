package reach

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
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
