package nut_test

import (
	"fmt"
	"net"
	"strconv"
	"testing"

	peer "github.com/robbiet480/go.nut"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nuttest"
)

// What we read of a healthy UPS is what go.nut reads of it, as far as it keeps text: it turns numbers and yes-no words
// into Go values, so that a serial number loses its zeros (docs/adr/0002-own-nut-client.md).
func TestSameAsPeer(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{})
	driver := upsd.Driver("ups1")
	driver.Set("ups.status", "OL CHRG", "battery.charge", "87.5", "battery.runtime", "1800", "device.mfr", "CPS", "ups.load", "23",
		"ups.model", "OR1500 rack", "input.voltage", "230.4", "ups.beeper.status", "muted")
	driver.AddCommands("shutdown.return", "load.off")
	upsd.Await("ups1", "ups.beeper.status", "muted")

	host, portText, err := net.SplitHostPort(upsd.Addr)
	require.NoError(t, err)
	port, err := strconv.Atoi(portText)
	require.NoError(t, err)
	theirs, err := peer.Connect(host, port)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = theirs.Disconnect() }) // it never closes its socket; the process's end does
	all, err := theirs.GetUPSList()
	require.NoError(t, err)
	require.Len(t, all, 1)

	ours := dial(t, nut.Options{Address: upsd.Addr})
	vars, err := ours.ListVar(t.Context(), "ups1")
	require.NoError(t, err)
	require.Len(t, all[0].Variables, len(vars))
	for i, v := range all[0].Variables {
		require.Equal(t, vars[i].Name, v.Name)
		require.Equal(t, vars[i].Value, fmt.Sprint(v.Value), v.Name)
	}
	commands, err := ours.ListCmd(t.Context(), "ups1")
	require.NoError(t, err)
	var names []string
	for _, c := range all[0].Commands {
		names = append(names, c.Name)
	}
	require.Equal(t, commands, names)
	n, err := ours.NumLogins(t.Context(), "ups1")
	require.NoError(t, err)
	require.Equal(t, n, all[0].NumberOfLogins)
}
