package nut_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/schema"
)

func TestExamine(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{})
	driver := upsd.Driver("ups1")
	driver.AddCommands("shutdown.return", "load.off.delay", "outlet.1.load.off", "outlet.1.load.on", "outlet.2.load.off",
		"outlet.3.load.off", "outlet.3.load.on")
	driver.Set("outlet.1.status", "on", "outlet.2.status", "on", "outlet.2.switchable", "no", "ups.delay.shutdown", "20",
		"ups.delay.start", "30")
	driver.Writable("ups.delay.shutdown", 10, "20", "60", "180")
	driver.Range("ups.delay.start", 30, 600)
	driver.Set("ready", "1")
	upsd.Await("ups1", "ready", "1")
	reader := nut.Options{Address: upsd.Addr}

	all := schema.CutShutdownReturn
	for what, c := range map[string]struct {
		wants nut.Wants
		lacks []string // a part of each
	}{
		"nothing is lacking": {wants: nut.Wants{
			Cutting: nut.Cutting{Way: all, Off: time.Minute, On: 90 * time.Second},
			Outlets: []string{"1"},
		}},
		"never cut": {wants: nut.Wants{Cutting: nut.Cutting{Way: schema.CutNone, Off: time.Hour}}},
		"no such command": {
			wants: nut.Wants{Cutting: nut.Cutting{Way: schema.CutStayOff}},
			lacks: []string{"shutdown.stayoff (it has load.off.delay"},
		},
		"no way back": {wants: nut.Wants{Cutting: nut.Cutting{Way: schema.CutLoadOff}}, lacks: []string{"no load.on.delay"}},
		"no such delay": {
			wants: nut.Wants{Cutting: nut.Cutting{Way: all, Off: 45 * time.Second, On: time.Hour}},
			lacks: []string{
				"offdelay: 45s is not a value that the UPS accepts for ups.delay.shutdown (20, 60, 180)",
				"ondelay: 1h0m0s is not a value that the UPS accepts for ups.delay.start (30 to 600)",
			},
		},
		"outlets": {
			wants: nut.Wants{Cutting: nut.Cutting{Way: all}, Outlets: []string{"2", "3"}},
			lacks: []string{
				"outlet 2 can't be switched on", "outlet 2 is not switchable",
				"outlet 3 can't be proven off or on, because the UPS has no outlet.3.status",
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			offer, err := nut.Examine(t.Context(), reader, "ups1", c.wants)
			require.NoError(t, err)
			require.Len(t, offer.Lacks, len(c.lacks), "%q", offer.Lacks)
			for i := range c.lacks {
				require.Contains(t, offer.Lacks[i], c.lacks[i])
			}
		})
	}
	require.Empty(t, driver.Sent(), "it commands nothing")

	offer, err := nut.Examine(t.Context(), reader, "ups1", nut.Wants{Cutting: nut.Cutting{Way: all}})
	require.NoError(t, err)
	require.Equal(t, []string{"shutdown.return"}, offer.Ways)
	require.Contains(t, offer.Commands, "load.off.delay")
	require.Equal(t, []nut.Delay{
		{Name: "ups.delay.shutdown", Value: "20", Settable: true},
		{Name: "ups.delay.start", Value: "30", Settable: true},
	}, offer.Delays)

	upsd.Upsmon("127.0.0.1", "ups1", 0)
	offer, err = nut.Examine(t.Context(), reader, "ups1", nut.Wants{})
	require.NoError(t, err)
	require.Len(t, offer.Lacks, 1)
	require.Contains(t, offer.Lacks[0], "an upsmon on this machine")

	_, err = nut.Examine(t.Context(), reader, "nosuch", nut.Wants{})
	require.ErrorIs(t, err, adapter.ErrGone)
	driver.Kill()
	upsd.AwaitError("ups1", "DRIVER-NOT-CONNECTED")
	_, err = nut.Examine(t.Context(), reader, "ups1", nut.Wants{})
	require.ErrorIs(t, err, adapter.ErrUnreachable)
}
