package nut_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nuttest"
)

func secret(s string) func() (string, error) {
	return func() (string, error) { return s, nil }
}

func admin(address string) nut.Options {
	return nut.Options{Address: address, Username: nuttest.Admin, Password: secret(nuttest.AdminPassword)}
}

func dial(t *testing.T, o nut.Options) *nut.Client {
	t.Helper()
	c, err := nut.Dial(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestEveryVerbAgainstUpsd(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups1", "ups2"}})
	driver := upsd.Driver("ups1")
	driver.Set("ups.status", "OL CHRG", "battery.charge", "87", "ups.model", `Rack #3 "B" \ end`, "ups.id", "", "ups.delay.shutdown", "20",
		"input.transfer.low", "170", "ups.serial", "000000123")
	driver.Writable("ups.delay.shutdown", 5)
	driver.Writable("ups.id", 32)
	driver.Writable("input.sensitivity", 10, "low", "high speed")
	driver.Set("input.sensitivity", "low")
	driver.Range("input.transfer.low", 160, 200)
	driver.AddCommands("shutdown.return", "test.battery.start")
	upsd.Await("ups1", "ups.serial", "000000123")
	upsd.Await("ups1", "input.sensitivity", "low")
	ctx, c := t.Context(), dial(t, admin(upsd.Addr))

	server, protocol, err := c.Version(ctx)
	require.NoError(t, err)
	require.Contains(t, server, "Network UPS Tools upsd 2.")
	require.Equal(t, "1.3", protocol)

	all, err := c.ListUPS(ctx)
	require.NoError(t, err)
	require.Equal(t, []nut.UPS{{"ups1", `The "ups1" UPS`}, {"ups2", `The "ups2" UPS`}}, all)

	vars, err := c.ListVar(ctx, "ups1")
	require.NoError(t, err)
	require.Contains(t, vars, nut.Var{Name: "ups.model", Value: `Rack #3 "B" \ end`})
	require.Contains(t, vars, nut.Var{Name: "ups.id", Value: ""})
	value, err := c.Get(ctx, "ups1", "ups.model")
	require.NoError(t, err)
	require.Equal(t, `Rack #3 "B" \ end`, value)
	value, err = c.Get(ctx, "UPS1", "ups.serial") // names know no case
	require.NoError(t, err)
	require.Equal(t, "000000123", value)

	several, err := c.GetSeveral(ctx, nut.Wanted{"ups1", []string{"ups.status", "battery.runtime", "battery.charge"}},
		nut.Wanted{"nosuch", []string{"ups.status", "ups.load"}}, nut.Wanted{"ups1", []string{"ups.serial"}})
	require.NoError(t, err)
	require.Equal(t, []nut.Var{{"ups.status", "OL CHRG"}, {"battery.charge", "87"}}, several[0].Vars)
	require.NoError(t, several[0].Err)
	require.ErrorIs(t, several[1].Err, nut.ErrUnknownUPS)
	require.Equal(t, nut.Found{Vars: []nut.Var{{"ups.serial", "000000123"}}}, several[2], "one that is refused does not trouble the others")

	commands, err := c.ListCmd(ctx, "ups1")
	require.NoError(t, err)
	require.Equal(t, []string{"shutdown.return", "test.battery.start"}, commands)
	writable, err := c.ListRW(ctx, "ups1")
	require.NoError(t, err)
	require.Contains(t, writable, nut.Var{Name: "ups.delay.shutdown", Value: "20"})
	require.NotContains(t, writable, nut.Var{Name: "ups.status", Value: "OL CHRG"})
	values, err := c.ListEnum(ctx, "ups1", "input.sensitivity")
	require.NoError(t, err)
	require.Equal(t, []string{"low", "high speed"}, values)
	ranges, err := c.ListRange(ctx, "ups1", "input.transfer.low")
	require.NoError(t, err)
	require.Equal(t, []nut.Range{{"160", "200"}}, ranges)
	kind, err := c.Type(ctx, "ups1", "ups.delay.shutdown")
	require.NoError(t, err)
	require.Equal(t, "RW", kind[0])
	text, err := c.Desc(ctx, "ups1", "battery.charge")
	require.NoError(t, err)
	require.NotEmpty(t, text)

	require.NoError(t, c.Set(ctx, "ups1", "ups.delay.shutdown", "60"))
	require.NoError(t, c.Set(ctx, "ups1", "ups.id", "rack 3 left"))
	upsd.Await("ups1", "ups.id", "rack 3 left")
	require.NoError(t, c.InstCmd(ctx, "ups1", "shutdown.return"))
	require.NoError(t, c.InstCmd(ctx, "ups1", "test.battery.start", "10"))
	var told [][]string
	for _, command := range driver.Commands() {
		told = append(told, command.Words)
	}
	require.Equal(t, [][]string{
		{"SET", "ups.delay.shutdown", "60"},
		{"SET", "ups.id", "rack 3 left"},
		{"INSTCMD", "shutdown.return"},
		{"INSTCMD", "test.battery.start", "10"},
	}, told)

	require.NoError(t, c.Login(ctx, "ups1"))
	n, err := c.NumLogins(ctx, "ups1")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	clients, err := c.ListClient(ctx, "ups1")
	require.NoError(t, err)
	require.Equal(t, []string{"127.0.0.1"}, clients)
	require.NoError(t, c.Primary(ctx, "ups1"))
	require.NoError(t, c.FSD(ctx, "ups2"))
	upsd.Await("ups2", "ups.status", "FSD OL")
	require.NoError(t, c.Close())
	peertest.Until(t, "the login to end", func() bool {
		answer, err := upsd.Ask("GET NUMLOGINS ups1")
		return err == nil && answer == "NUMLOGINS ups1 0"
	})
}

// Each ERR that upsd 2.8 can be brought to give. None of them costs the connection.
func TestErrorsOfUpsd(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups1", "gone", "stale"}})
	driver := upsd.Driver("ups1")
	driver.Writable("ups.id", 8)
	driver.Set("ups.id", "a")
	driver.Writable("input.sensitivity", 10, "low", "high")
	driver.Set("input.sensitivity", "low")
	driver.AddCommands("shutdown.return")
	upsd.Await("ups1", "input.sensitivity", "low")
	upsd.Driver("gone").Kill()
	upsd.AwaitError("gone", "DRIVER-NOT-CONNECTED")
	upsd.Driver("stale").Stale()
	upsd.AwaitError("stale", "DATA-STALE")

	ctx, c := t.Context(), dial(t, admin(upsd.Addr))
	nobody := dial(t, nut.Options{Address: upsd.Addr})
	nameOnly := dial(t, nut.Options{Address: upsd.Addr, Username: nuttest.Reader, Password: secret(nuttest.ReaderPassword)})
	get := func(c *nut.Client, ups, name string) error { _, err := c.Get(ctx, ups, name); return err }
	list := func(c *nut.Client, ups string) error { _, err := c.ListVar(ctx, ups); return err }
	several := func(c *nut.Client, ups string) error {
		found, err := c.GetSeveral(ctx, nut.Wanted{ups, []string{"ups.status", "battery.charge"}})
		if err != nil {
			return err
		}
		return found[0].Err
	}
	require.NoError(t, c.Set(ctx, "ups1", "ups.id", "b"), "from now on this connection is tracked")
	for what, step := range map[string]struct {
		want error
		do   func() error
	}{
		"get, unknown UPS":          {nut.ErrUnknownUPS, func() error { return get(c, "nosuch", "ups.status") }},
		"list, unknown UPS":         {nut.ErrUnknownUPS, func() error { return list(c, "nosuch") }},
		"several, unknown UPS":      {nut.ErrUnknownUPS, func() error { return several(c, "nosuch") }},
		"get, no such variable":     {nut.ErrVarNotSupported, func() error { return get(c, "ups1", "no.such") }},
		"get, driver gone":          {nut.ErrDriverNotConnected, func() error { return get(c, "gone", "ups.status") }},
		"list, driver gone":         {nut.ErrDriverNotConnected, func() error { return list(c, "gone") }},
		"get, stale":                {nut.ErrDataStale, func() error { return get(c, "stale", "ups.status") }},
		"several, stale":            {nut.ErrDataStale, func() error { return several(c, "stale") }},
		"command, stale":            {nut.ErrDataStale, func() error { return c.InstCmd(ctx, "stale", "shutdown.return") }},
		"set, read only":            {nut.ErrReadOnly, func() error { return c.Set(ctx, "ups1", "ups.status", "OL") }},
		"set, too long":             {nut.ErrTooLong, func() error { return c.Set(ctx, "ups1", "ups.id", "123456789") }},
		"set, not in the list":      {nut.ErrInvalidValue, func() error { return c.Set(ctx, "ups1", "input.sensitivity", "middle") }},
		"set, no such variable":     {nut.ErrVarNotSupported, func() error { return c.Set(ctx, "ups1", "no.such", "1") }},
		"command, not offered":      {nut.ErrCmdNotSupported, func() error { return c.InstCmd(ctx, "ups1", "load.off") }},
		"command, no user":          {nut.ErrUsernameRequired, func() error { return nobody.InstCmd(ctx, "ups1", "shutdown.return") }},
		"login, no user":            {nut.ErrUsernameRequired, func() error { return nobody.Login(ctx, "ups1") }},
		"command, no right":         {nut.ErrAccessDenied, func() error { return nameOnly.InstCmd(ctx, "ups1", "shutdown.return") }},
		"set, no right":             {nut.ErrAccessDenied, func() error { return nameOnly.Set(ctx, "ups1", "ups.id", "b") }},
		"login, no right":           {nut.ErrAccessDenied, func() error { return nameOnly.Login(ctx, "ups1") }},
		"primary, no right":         {nut.ErrAccessDenied, func() error { return nameOnly.Primary(ctx, "ups1") }},
		"forced shutdown, no right": {nut.ErrAccessDenied, func() error { return nameOnly.FSD(ctx, "ups1") }},
		"tracking, unknown id": {
			nut.ErrUnknown,
			func() error { _, err := c.Tracking(ctx, "2DDC5036-F665-4A34-A7E9-07D7B8A2B2A2"); return err },
		},
		"second login": {nut.ErrAlreadyLoggedIn, func() error {
			if err := c.Login(ctx, "ups1"); err != nil {
				return err
			}
			return c.Login(ctx, "ups1")
		}},
	} {
		t.Run(what, func(t *testing.T) {
			err := step.do()
			require.ErrorIs(t, err, step.want)
			var answer *nut.Error
			require.ErrorAs(t, err, &answer)
			require.NotErrorIs(t, err, nut.ErrClosed)
		})
	}
	for _, client := range []*nut.Client{c, nobody, nameOnly} {
		require.NoError(t, get(client, "ups1", "ups.status"))
	}

	_, err := nut.Dial(ctx, nut.Options{Address: upsd.Addr, TLS: &tls.Config{}})
	require.ErrorIs(t, err, nut.ErrFeatureNotConfigured)
}

// What the driver answers to a tracked command reaches the caller; without an answer, the context ends the wait.
func TestCommandsAreTracked(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{})
	driver := upsd.Driver("ups1")
	driver.AddCommands("shutdown.return")
	driver.Set("ready", "1")
	upsd.Await("ups1", "ready", "1")
	c := dial(t, admin(upsd.Addr))
	for code, want := range map[int]error{1: nut.ErrUnknown, 2: nut.ErrInvalidArgument, 3: nut.ErrFailed} {
		driver.Result(code)
		require.ErrorIs(t, c.InstCmd(t.Context(), "ups1", "shutdown.return"), want)
	}
	driver.Result(0)
	require.NoError(t, c.InstCmd(t.Context(), "ups1", "shutdown.return"))
	require.Len(t, driver.Commands(), 4)

	driver.Mute(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.InstCmd(ctx, "ups1", "shutdown.return"), context.DeadlineExceeded)
	driver.Mute(false)
	require.NoError(t, dial(t, admin(upsd.Addr)).InstCmd(t.Context(), "ups1", "shutdown.return"))
}

func TestValuesThatDriversDoNotSurviveAreRefused(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{})
	c := dial(t, admin(upsd.Addr))
	for _, value := range []string{`a"b`, `a\`, `a#b`, "a\nFSD ups1", "caffè"} {
		require.Error(t, c.Set(t.Context(), "ups1", "ups.id", value), "%q", value)
	}
	_, err := c.Get(t.Context(), "ups1\nFSD ups1", "ups.status")
	require.Error(t, err)
	require.Empty(t, upsd.Driver("ups1").Commands())
	value, err := c.Get(t.Context(), "ups1", "ups.status")
	require.NoError(t, err)
	require.Equal(t, "OL", value)
}

func TestVerifyCredentials(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{})
	as := func(user, password string) error {
		return nut.VerifyCredentials(t.Context(), nut.Options{Address: upsd.Addr, Username: user, Password: secret(password)}, "ups1")
	}
	require.NoError(t, as(nuttest.Admin, nuttest.AdminPassword), "blanks, quotes, backslash and # are quoted")
	require.NoError(t, as(nuttest.Viewer, nuttest.ViewerPassword))
	for _, err := range []error{
		as(nuttest.Admin, "sesame-open"), as("nobody", "sesame-open"), as(nuttest.Reader, nuttest.ReaderPassword),
	} {
		require.ErrorIs(t, err, nut.ErrAccessDenied)
		require.ErrorContains(t, err, "may neither LOGIN nor SET")
		require.NotContains(t, err.Error(), "sesame-open")
	}
	require.ErrorIs(t, nut.VerifyCredentials(t.Context(), admin(upsd.Addr), "nosuch"), nut.ErrUnknownUPS)
	upsd.Driver("ups1").Stale()
	upsd.AwaitError("ups1", "DATA-STALE")
	require.NoError(t, as(nuttest.Viewer, nuttest.ViewerPassword), "a UPS that is stale takes a LOGIN")
	upsd.Driver("ups1").OK()
	require.Empty(t, upsd.Driver("ups1").Commands(), "no driver was asked for anything")
	peertest.Until(t, "all to be logged out", func() bool {
		answer, err := upsd.Ask("GET NUMLOGINS ups1")
		return err == nil && answer == "NUMLOGINS ups1 0"
	})
}

func TestSTARTTLS(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{TLS: true})
	pem, err := os.ReadFile(upsd.CAFile)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(pem))
	with := func(config *tls.Config) nut.Options {
		o := admin(upsd.Addr)
		o.TLS, o.Timeout = config, 10*time.Second
		return o
	}

	c := dial(t, with(&tls.Config{RootCAs: pool}))
	value, err := c.Get(t.Context(), "ups1", "ups.status")
	require.NoError(t, err)
	require.Equal(t, "OL", value)
	vars, err := c.ListVar(t.Context(), "ups1")
	require.NoError(t, err)
	require.NotEmpty(t, vars)
	require.NoError(t, nut.VerifyCredentials(t.Context(), with(&tls.Config{RootCAs: pool, ServerName: "localhost"}), "ups1"))

	_, err = nut.Dial(t.Context(), with(&tls.Config{RootCAs: pool, ServerName: "ups.example"}))
	var wrongName x509.HostnameError
	require.ErrorAs(t, err, &wrongName)
	_, err = nut.Dial(t.Context(), with(&tls.Config{RootCAs: x509.NewCertPool()}))
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown)
}

func TestParseTarget(t *testing.T) {
	for target, want := range map[string][2]string{
		"ups":               {"ups", "localhost:3493"},
		"ups@nas":           {"ups", "nas:3493"},
		"a@127.0.0.1:34931": {"a", "127.0.0.1:34931"},
		"a@[::1]:34931":     {"a", "[::1]:34931"},
		"a@[::1]":           {"a", "[::1]:3493"},
		"a@fe80::1":         {"a", "[fe80::1]:3493"},
	} {
		ups, address, err := nut.ParseTarget(target)
		require.NoError(t, err, target)
		require.Equal(t, want, [2]string{ups, address}, target)
	}
	for _, target := range []string{"", "@host", "ups@host:1:2"} {
		_, _, err := nut.ParseTarget(target)
		require.Error(t, err, target)
	}
}

func TestDialSaysWhatFailed(t *testing.T) {
	_, err := nut.Dial(t.Context(), nut.Options{Address: "127.0.0.1:1"})
	require.ErrorContains(t, err, `cannot connect to NUT server "127.0.0.1:1"`)
	require.NotContains(t, err.Error(), "%!")
}
