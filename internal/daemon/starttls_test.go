package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/config"
	"ebbtide/internal/ledger"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
)

// TestSTARTTLSWithUpsd: an outage on a real upsd that is spoken to over TLS, the cut among it; and one that shows a
// certificate of an authority that we do not know is neither read nor given the password.
func TestSTARTTLSWithUpsd(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{TLS: true})
	driver := upsd.Driver("ups1")
	driver.AddCommands("shutdown.return")
	driver.Set("ups.status", "OL", "battery.charge", "100", "battery.runtime", "7200", "ups.load", "30", "ups.delay.shutdown", "1")
	upsd.Await("ups1", "battery.charge", "100")
	g := newRig(t)
	g.config.Credentials = g.dir
	write(t, g.dir, "upsd", nuttest.AdminPassword)
	secure := fmt.Sprintf(`nut: "ups1@%s", username: %s, password: {credential: upsd}, tls: {ca_file: %q}`, upsd.Addr,
		nuttest.Admin, upsd.CAFile)
	text := strings.ReplaceAll(book, `nut: "main@ADDRESS", username: ebbtide, password: {file: PASSWORD}`, secure)
	require.Contains(t, text, "ca_file")
	g.write(text)
	g.start()
	g.ready()
	require.Contains(t, g.status().Text, "ups on line")
	driver.Set("ups.status", "OB DISCHRG")
	g.until("the cut was commanded", func() bool { return len(driver.Commands()) > 0 })
	require.Equal(t, []string{"INSTCMD", "shutdown.return"}, driver.Commands()[0].Words)
	driver.Set("ups.status", "OB OFF")
	g.until("the cut", func() bool { return g.recorded(ledger.Proven, "ups", plan.Cut) })
	driver.Set("ups.status", "OL")
	g.estate.Node("nas").Set(plan.On) // starts with its power
	g.until("the end of the outage", func() bool { return g.recorded(ledger.Closed, "", 0) })
	require.NotContains(t, g.log.String(), "it is unknown whether the output")
	g.stop()

	g.certify("localhost") // of another authority
	g.config.TLS, g.config.Listen = config.TLS{}, config.Listen{Network: "unix", Address: g.dir + "/s2"}
	g.write(strings.ReplaceAll(text, upsd.CAFile, g.config.TLS.Certificate))
	g.start()
	g.until("the complaint", func() bool { return strings.Contains(g.log.String(), "certificate signed by unknown authority") })
	require.NotContains(t, g.log.String(), "s3cret")
}
