package wake_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/adapter/wake"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// strip is a PDU whose outlets feed one machine, which starts when it gets power after it had none.
type strip struct {
	machine *fake.Node
	on      map[int]bool
	log     []string
	fails   map[bool]error // of a switch, by what it is to bring about
}

func (*strip) Close() error { return nil }

func (s *strip) Outlet(_ context.Context, outlet int) (plan.Observation, error) {
	state := plan.Off
	if s.on[outlet] {
		state = plan.On
	}
	return plan.Observation{State: state}, nil
}

func (s *strip) Switch(ctx context.Context, outlet int, on bool) error {
	s.log = append(s.log, fmt.Sprint(outlet, " ", on))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.fails[on] != nil {
		return s.fails[on]
	}
	if on && !s.on[1] && !s.on[2] {
		s.machine.Break(fake.Whole)
		s.machine.Set(plan.On)
	}
	s.on[outlet] = on
	return nil
}

// ofPDU makes an array that was shut down, is silent, and comes back by outlets 1 and 2.
func ofPDU(t *testing.T, on bool) (adapter.Node, *fake.Node, *strip) {
	t.Helper()
	array := fake.New(time.Now).Add("array", fake.Spec{State: plan.Off})
	array.Break(fake.Silent)
	pdu := &strip{machine: array, on: map[int]bool{1: on, 2: on}}
	n, err := wake.With(array, schema.Node{ID: "array", Wake: &schema.Wake{PDU: "pdu", Outlets: schema.Outlets{1, 2}}},
		func(string) (adapter.Conn, error) {
			return pdu, nil
		})
	require.NoError(t, err)
	return n, array, pdu
}

func TestWakeByPDU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, array, pdu := ofPDU(t, false)
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
		require.Equal(t, []string{"1 true", "2 true"}, pdu.log)
		require.Equal(t, plan.On, array.State())
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
		require.Len(t, pdu.log, 2, "what is on is left alone")
	})
}

func TestWhatOnlyItsPowerBringsBackIsCycled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, array, pdu := ofPDU(t, true)
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
		require.Empty(t, pdu.log, "it may be booting: it gets its time")
		start := time.Now()
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
		require.Equal(t, []string{"1 false", "2 false", "1 true", "2 true"}, pdu.log)
		require.Equal(t, 10*time.Second, time.Since(start))
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		require.Equal(t, plan.On, seen.State)

		pdu.log = nil
		array.Set(plan.Off)
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
		require.Len(t, pdu.log, 4, "what is known to be off is not booting")
		array.Set(plan.Stopping)
		require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}), adapter.ErrBusy)
	})
}

// answers is a machine that runs and shows nothing of its state, as one that refuses a login.
type answers struct{ adapter.Node }

func (answers) Probe(context.Context) (plan.Observation, error) {
	return plan.Observation{State: plan.Unknown, Detail: "it refuses the connection"}, nil
}

func TestWhatAnswersIsNotCycled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, array, pdu := ofPDU(t, true)
		n, err := wake.With(answers{array}, schema.Node{ID: "array", Wake: &schema.Wake{PDU: "pdu", Outlets: schema.Outlets{1, 2}}},
			func(string) (adapter.Conn, error) { return pdu, nil })
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
		}
		require.Empty(t, pdu.log, "it may be replaying its log")
	})
}

func TestACycleNeverLeavesAnOutletOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, array, pdu := ofPDU(t, true)
		array.Break(fake.Whole)
		array.Set(plan.Off)
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		require.ErrorIs(t, n.Do(ctx, adapter.Command{Verb: plan.Start}), adapter.ErrBusy)
		require.Empty(t, pdu.log, "there is no time for it")

		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, stop)
		require.NoError(t, n.Do(ctx, adapter.Command{Verb: plan.Start}))
		require.Equal(t, map[int]bool{1: true, 2: true}, pdu.on)

		array.Set(plan.Off)
		pdu.fails = map[bool]error{false: adapter.ErrRefused}
		require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}), adapter.ErrRefused)
		require.Equal(t, map[int]bool{1: true, 2: true}, pdu.on)
	})
}
