package fake

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/plan"
)

func TestContract(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{Make: func(*testing.T) *contracttest.Thing {
		n := New(time.Now).Add("nas", Spec{
			Cache: true, Dirty: 1 << 20, Latency: time.Millisecond,
			Takes: map[plan.Verb]time.Duration{
				plan.Stop: 50 * time.Millisecond, plan.Start: 50 * time.Millisecond,
				plan.Flush: 50 * time.Millisecond,
			},
		})
		return &contracttest.Thing{
			Node: n, Can: n.can, Truth: n.State,
			Vanish:  func() { n.Break(Vanished) },
			Silence: func() { n.Break(Silent) }, RefusalIsSilence: true,
			Freeze: func() { n.Break(Frozen) },
		}
	}})
}

func TestTimeIsThatOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(time.Now)
		n := e.Add("db", Spec{
			Cache: true, Dirty: 1000,
			Takes: map[plan.Verb]time.Duration{plan.Stop: time.Minute, plan.Flush: 10 * time.Second},
		})
		start := time.Now()
		seen := make(chan plan.State, 10)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Watch(ctx, func(o plan.Observation) { seen <- o.State }) }()
		require.Equal(t, plan.On, <-seen)
		require.NoError(t, n.Do(ctx, adapter.Command{Verb: plan.Stop}))
		require.Equal(t, plan.Stopping, <-seen)
		require.Equal(t, plan.Off, <-seen)
		require.Equal(t, time.Minute, time.Since(start))
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Equal(t, []Call{{At: start, Node: "db", Verb: plan.Stop, Was: plan.On}}, e.Calls())

		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Flush}))
		timer := time.NewTimer(4 * time.Second)
		<-timer.C
		require.Equal(t, int64(600), n.Truth().Dirty)
		require.Equal(t, plan.No, n.Truth().Clean)
	})
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		fault Fault
		want  error
		state plan.State
	}{
		{Hang, context.DeadlineExceeded, plan.On},
		{LoseAnswer, context.DeadlineExceeded, plan.Off},
		{Ignore, nil, plan.On},
		{Refuse, adapter.ErrRefused, plan.On},
		{Busy, adapter.ErrBusy, plan.On},
		{None, nil, plan.Off},
	} {
		n := New(time.Now).Add("vm", Spec{})
		n.Fail(plan.Stop, tt.fault)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		require.ErrorIs(t, n.Do(ctx, adapter.Command{Verb: plan.Stop}), tt.want)
		cancel()
		require.Equal(t, tt.state, n.State())
	}
}

func TestABrokenNodeBreaksItsWatch(t *testing.T) {
	n := New(time.Now).Add("vm", Spec{})
	first := make(chan plan.Observation, 1)
	ended := make(chan error, 1)
	go func() { ended <- n.Watch(t.Context(), func(o plan.Observation) { first <- o }) }()
	<-first
	n.Break(Frozen)
	require.ErrorIs(t, <-ended, adapter.ErrUnreachable)
}
