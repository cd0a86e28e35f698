package nut_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nutsim"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
)

// With the real upsd: the deep test where there is one, else the calibration; and what ends it.
func TestABatteryIsDischarged(t *testing.T) {
	for what, c := range map[string]struct {
		offers []string
		told   [][]string
	}{
		"a deep test": {
			offers: []string{"test.battery.start", "test.battery.start.deep", "test.battery.stop"},
			told:   [][]string{{"INSTCMD", "test.battery.start.deep"}, {"INSTCMD", "test.battery.stop"}},
		},
		"a calibration": {
			offers: []string{"calibrate.start", "calibrate.stop", "test.battery.start.deep"},
			told:   [][]string{{"INSTCMD", "calibrate.start"}, {"INSTCMD", "calibrate.stop"}},
		},
	} {
		t.Run(what, func(t *testing.T) {
			upsd := nuttest.Start(t, nuttest.Config{})
			driver := upsd.Driver("ups1")
			driver.AddCommands(c.offers...)
			driver.Set("ups.status", "OL CHRG", "ready", "1")
			upsd.Await("ups1", "ready", "1")
			node := nut.NewOutput(admin(upsd.Addr), "ups1", nut.Cutting{})
			require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Discharge}))
			require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.EndDischarge}))
			var told [][]string
			for _, command := range driver.Commands() {
				told = append(told, command.Words)
			}
			require.Equal(t, c.told, told)
		})
	}
}

// A UPS without a test that can be ended is not tested at all, nor is one that is not simply on line.
func TestABatteryIsNotDischarged(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{})
	driver := upsd.Driver("ups1")
	driver.AddCommands("test.battery.start.deep", "test.battery.start.quick")
	driver.Set("ups.status", "OL", "ready", "1")
	upsd.Await("ups1", "ready", "1")
	node := nut.NewOutput(admin(upsd.Addr), "ups1", nut.Cutting{})
	err := node.Do(t.Context(), adapter.Command{Verb: plan.Discharge})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "test.battery.start.deep, test.battery.start.quick")
	_, err = nut.BatteryTest(t.Context(), admin(upsd.Addr), "ups1")
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorIs(t, node.Do(t.Context(), adapter.Command{Verb: plan.EndDischarge}), adapter.ErrRefused)

	driver.AddCommands("test.battery.stop")
	driver.Set("ups.status", "OB DISCHRG", "ready", "2")
	upsd.Await("ups1", "ready", "2")
	require.ErrorContains(t, node.Do(t.Context(), adapter.Command{Verb: plan.Discharge}), "OB DISCHRG")
	driver.Set("ups.status", "OL", "ready", "3")
	upsd.Await("ups1", "ready", "3")
	command, err := nut.BatteryTest(t.Context(), admin(upsd.Addr), "ups1")
	require.NoError(t, err)
	require.Equal(t, "test.battery.start.deep", command)
	require.Empty(t, driver.Commands())
}

// The simulated UPS falls while its test runs, beside the commands that it had before.
func TestTheSimulatorsTest(t *testing.T) {
	server, err := nutsim.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	server.AddUser(nutsim.User{Name: "u", Password: "p", Commands: true})
	ups := server.Add("ups", "tests itself")
	cut := false
	ups.OnCommand(func(string, string) error { cut = true; return nil }, "shutdown.return")
	ups.OffersTest(nutsim.Test{Start: "calibrate.start", Stop: "calibrate.stop", Status: "OL CAL DISCHRG", Fall: 100})
	ups.Set("ups.status", "OL", "battery.charge", "90", "battery.runtime", "900")
	o := nut.Options{Address: server.Addr(), Username: "u", Password: func() (string, error) { return "p", nil }}
	node := nut.NewOutput(o, "ups", nut.Cutting{})
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Discharge}))
	peertest.Until(t, "the charge to fall", func() bool { return ups.Get("battery.charge") < "80" && ups.Get("ups.status") == "OL CAL DISCHRG" })
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.EndDischarge}))
	peertest.Until(t, "the test to end", func() bool { return ups.Get("ups.status") == "OL" })
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	require.True(t, cut)
}
