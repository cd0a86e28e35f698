package nut_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
)

// outlets is a UPS with an outlet and a group behind the real upsd.
func outlets(t *testing.T) (*nuttest.Server, *nuttest.Driver) {
	t.Helper()
	upsd := nuttest.Start(t, nuttest.Config{})
	driver := upsd.Driver("ups1")
	driver.Machine(nuttest.Traits{Outlets: []string{"2", "group.1"}, Commands: []string{"shutdown.return"}})
	driver.Set("ready", "1")
	upsd.Await("ups1", "ready", "1")
	return upsd, driver
}

// An outlet and a group go off and on, each by its own commands, each once.
func TestOutletsAreSwitched(t *testing.T) {
	t.Parallel()
	upsd, driver := outlets(t)
	for _, name := range []string{"2", "group.1"} {
		node := nut.NewOutlet(admin(upsd.Addr), "ups1", name)
		require.Equal(t, plan.On, contracttest.Probe(t, node).State)
		require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}), "what is on needs no start")
		require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
		untilState(t, node, plan.Off)
		require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Stop}), "what is off needs no stop")
		require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}))
		untilState(t, node, plan.On)
	}
	require.Equal(t, []string{
		"INSTCMD outlet.2.load.off", "INSTCMD outlet.2.load.on", "INSTCMD outlet.group.1.load.off", "INSTCMD outlet.group.1.load.on",
	}, driver.Sent())
}

// What a UPS says of its outlets in other ways, and what it does not offer.
func TestOutletsThatCannot(t *testing.T) {
	t.Parallel()
	upsd, driver := outlets(t)
	node := func(name string) adapter.Node { return nut.NewOutlet(admin(upsd.Addr), "ups1", name) }

	seen := contracttest.Probe(t, node("3"))
	require.Equal(t, plan.Unknown, seen.State, "one that is not there")
	require.Contains(t, seen.Detail, "outlet.3.status")
	err := node("3").Do(t.Context(), adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "outlet.2.load.off", "it says what there is")

	driver.Set("outlet.2.switchable", "no", "n", "1")
	upsd.Await("ups1", "n", "1")
	require.ErrorIs(t, node("2").Do(t.Context(), adapter.Command{Verb: plan.Stop}), adapter.ErrRefused)
	for _, v := range []plan.Verb{plan.Protect, plan.Flush, plan.Force, plan.Cut, plan.Unprotect, plan.Discharge} {
		require.ErrorIs(t, node("group.1").Do(t.Context(), adapter.Command{Verb: v}), adapter.ErrRefused)
	}

	driver.Set("ups.status", "OB OFF")
	upsd.Await("ups1", "ups.status", "OB OFF")
	require.Equal(t, plan.Off, contracttest.Probe(t, node("group.1")).State, "with the whole output")

	driver.Stale()
	upsd.AwaitError("ups1", "DATA-STALE")
	require.Equal(t, plan.Unreachable, contracttest.Probe(t, node("2")).State)
	require.ErrorIs(t, node("group.1").Do(t.Context(), adapter.Command{Verb: plan.Stop}), adapter.ErrUnreachable)
	require.Equal(t, plan.Gone, contracttest.Probe(t, nut.NewOutlet(admin(upsd.Addr), "nosuch", "2")).State)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = node("2").Probe(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, driver.Sent())
}
