package decorate_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/plan"
)

func TestRehearse(t *testing.T) {
	e := fake.New(time.Now)
	inner := e.Add("nas", fake.Spec{Cache: true, Dirty: 512, Healthy: plan.Yes})
	n := decorate.Rehearse(inner)
	probe := func() plan.Observation {
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		return seen
	}
	do := func(v plan.Verb) { require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: v})) }

	require.Equal(t, inner.Truth(), probe(), "at first it tells the truth")
	do(plan.Protect)
	require.Equal(t, plan.Yes, probe().Protected)
	require.Equal(t, plan.No, probe().Clean)
	do(plan.Flush)
	require.Equal(t, plan.Yes, probe().Clean)
	require.Zero(t, probe().Dirty)
	do(plan.Stop)
	require.Equal(t, plan.Off, probe().State)
	require.Equal(t, plan.NotKnown, probe().Healthy)
	require.Equal(t, "rehearsed; really on: fake on", probe().Detail)
	inner.Set(plan.Stopping)
	require.Equal(t, plan.Off, probe().State)
	inner.Break(fake.Silent)
	require.Equal(t, plan.Unreachable, probe().State, "what could not have been proven is not")
	inner.Break(fake.Vanished)
	require.Equal(t, plan.Gone, probe().State)
	inner.Break(fake.Whole)
	inner.Set(plan.Off)
	do(plan.Start)
	require.Equal(t, plan.On, probe().State)
	require.Equal(t, plan.Yes, probe().Healthy)
	require.Equal(t, plan.No, probe().Clean)
	do(plan.Unprotect)
	require.Equal(t, plan.No, probe().Protected)
	inner.Set(plan.Starting)
	do(plan.Force)
	require.Equal(t, plan.Off, probe().State)
	require.Empty(t, e.Calls(), "nothing was sent")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, n.Do(ctx, adapter.Command{Verb: plan.Stop}), context.Canceled)
}

func TestRehearseWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := fake.New(time.Now).Add("vm", fake.Spec{})
		n := decorate.Rehearse(inner)
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan plan.State, 10)
		ended := make(chan error, 1)
		go func() {
			ended <- n.(adapter.Watcher).Watch(ctx, func(o plan.Observation) { seen <- o.State })
		}()
		require.Equal(t, plan.Off, <-seen)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(time.Now)
		slow := fake.Spec{Latency: time.Second}
		slots := make(chan struct{}, 2)
		start, done := time.Now(), make(chan error)
		for _, id := range []string{"a", "b", "c", "d"} {
			n := decorate.Limit(e.Add(id, slow), slots)
			go func() { done <- n.Do(t.Context(), adapter.Command{Verb: plan.Stop}) }()
		}
		for range 4 {
			require.NoError(t, <-done)
		}
		require.Equal(t, 2*time.Second, time.Since(start), "two at a time")

		hung := e.Add("hung", fake.Spec{})
		hung.Break(fake.Frozen)
		one := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- decorate.Limit(hung, one).Do(ctx, adapter.Command{Verb: plan.Stop}) }()
		synctest.Wait()
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		waits := decorate.Limit(e.Add("waits", fake.Spec{}), one)
		require.ErrorIs(t, waits.Do(short, adapter.Command{Verb: plan.Stop}), adapter.ErrBusy)
		_, err := waits.Probe(short)
		require.ErrorIs(t, err, adapter.ErrBusy)
		require.Equal(t, plan.On, e.Node("waits").State(), "the call was not made")
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, waits.Do(t.Context(), adapter.Command{Verb: plan.Stop}), "the slot is free again")
	})
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})).With("node", "vm")
	inner := fake.New(time.Now).Add("vm", fake.Spec{})
	n := decorate.Log(inner, log)
	_, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Contains(t, out.String(), `msg=probed node=vm`)
	require.Contains(t, out.String(), `state=on`)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	require.Contains(t, out.String(), `msg="command accepted" node=vm verb=stop`)
	inner.Fail(plan.Start, fake.Refuse)
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}), adapter.ErrRefused)
	require.Contains(t, out.String(), `msg="command failed" node=vm verb=start`)
}
