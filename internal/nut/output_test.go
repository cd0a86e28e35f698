package nut_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nutsim"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
)

// A whole cut and return with the real upsd: the command reaches the driver with its name, once.
func TestOutputIsCutAndReturns(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{})
	driver := upsd.Driver("ups1")
	driver.AddCommands("load.off", "load.on", "shutdown.return")
	driver.Set("ups.status", "OB DISCHRG", "output.voltage", "230.0", "ups.delay.shutdown", "1", "ready", "1")
	upsd.Await("ups1", "ready", "1")
	node := nut.NewOutput(admin(upsd.Addr), "ups1", nut.Cutting{})
	require.Equal(t, plan.On, contracttest.Probe(t, node).State)

	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	seen := contracttest.Probe(t, node)
	require.Equal(t, plan.Stopping, seen.State)
	require.Greater(t, seen.RemainFor, time.Duration(0))
	require.LessOrEqual(t, seen.RemainFor, time.Second)
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}), "a cut that is under way is not given again")
	require.ErrorIs(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}), adapter.ErrBusy)

	// The UPS cuts its own network card as well: silence after the delay is the cut.
	driver.Kill()
	upsd.AwaitError("ups1", "DRIVER-NOT-CONNECTED")
	require.Equal(t, plan.Stopping, contracttest.Probe(t, node).State)
	peertest.Until(t, "the cut to be proven", func() bool { return contracttest.Probe(t, node).State == plan.Off })

	// It comes back dark although the mains are there.
	driver.Set("ups.status", "OL OFF", "output.voltage", "0.0")
	driver.Revive()
	upsd.Await("ups1", "ups.status", "OL OFF")
	require.Equal(t, plan.Off, contracttest.Probe(t, node).State)
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	driver.Set("ups.status", "OL", "output.voltage", "230.0")
	upsd.Await("ups1", "output.voltage", "230.0")
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}), "what is on needs no start")

	var told [][]string
	for _, command := range driver.Commands() {
		told = append(told, command.Words)
	}
	require.Equal(t, [][]string{{"INSTCMD", "shutdown.return"}, {"INSTCMD", "load.on"}}, told)
}

func TestOutputProbe(t *testing.T) {
	type vars []string
	for what, c := range map[string]struct {
		before vars // an earlier probe's
		now    vars
		want   plan.State
	}{
		"on line":                      {nil, vars{"ups.status", "OL"}, plan.On},
		"on battery":                   {nil, vars{"ups.status", "OB", "output.voltage", "230"}, plan.On},
		"bypass":                       {nil, vars{"ups.status", "BYPASS"}, plan.On},
		"off":                          {nil, vars{"ups.status", "OFF"}, plan.Off},
		"off on battery":               {nil, vars{"ups.status", "OB OFF"}, plan.Off},
		"off on line, unwitnessed":     {nil, vars{"ups.status", "OL OFF"}, plan.On},
		"off on line, with voltage":    {nil, vars{"ups.status", "OL OFF", "output.voltage", "230"}, plan.On},
		"off on line, without voltage": {nil, vars{"ups.status", "OL OFF", "output.voltage", "0.0"}, plan.Off},
		"off on line, as before":       {vars{"ups.status", "OB OFF"}, vars{"ups.status", "OL OFF"}, plan.Off},
		"off on line, with a constant": {
			vars{"ups.status", "OB OFF", "output.voltage", "230"},
			vars{"ups.status", "OL OFF", "output.voltage", "230"},
			plan.Off,
		},
		"off on line, voltage gone too": {
			vars{"ups.status", "OB OFF", "output.voltage", "0"},
			vars{"ups.status", "OL OFF", "output.voltage", "-"},
			plan.Off,
		},
		"off on line, a ghost voltage": {
			vars{"ups.status", "OB OFF", "output.voltage", "0"},
			vars{"ups.status", "OL OFF", "output.voltage", "40"},
			plan.Off,
		},
		"off on line, on bypass": {vars{"ups.status", "OB OFF"}, vars{"ups.status", "OL BYPASS OFF"}, plan.On},
		"off on line, voltage back": {
			vars{"ups.status", "OB OFF", "output.voltage", "0"},
			vars{"ups.status", "OL OFF", "output.voltage", "230"},
			plan.On,
		},
		"on line, off before":           {vars{"ups.status", "OB OFF"}, vars{"ups.status", "OL"}, plan.On},
		"no voltage on line":            {nil, vars{"ups.status", "OL", "output.voltage", "0"}, plan.On},
		"no voltage, no OL and no OB":   {nil, vars{"ups.status", "ALARM", "output.voltage", "0"}, plan.Off},
		"no voltage sensor, on battery": {nil, vars{"ups.status", "OB", "output.voltage", "0"}, plan.On},
		"voltage gone, on battery": {
			vars{"ups.status", "OB", "output.voltage", "230"},
			vars{"ups.status", "OB", "output.voltage", "0"},
			plan.Off,
		},
		"no status": {nil, vars{"battery.charge", "100"}, plan.Unknown},
		"waiting":   {nil, vars{"ups.status", "WAIT"}, plan.Unknown},
		"a timer that stands": {
			vars{"ups.status", "OL", "ups.timer.shutdown", "60"},
			vars{"ups.status", "OL", "ups.timer.shutdown", "60"},
			plan.On,
		},
		"a timer that falls": {
			vars{"ups.status", "OL", "ups.timer.shutdown", "60"},
			vars{"ups.status", "OL", "ups.timer.shutdown", "55"},
			plan.Stopping,
		},
		"a timer that is not running": {
			vars{"ups.status", "OL", "ups.timer.shutdown", "0"},
			vars{"ups.status", "OL", "ups.timer.shutdown", "-1"},
			plan.On,
		},
		"a timer that leaves its pretence": {
			vars{"ups.status", "OL", "ups.timer.shutdown", "65535"},
			vars{"ups.status", "OL", "ups.timer.shutdown", "20"},
			plan.On,
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := simulate(t)
			u := s.Add("a", "")
			node := nut.NewOutput(nut.Options{Address: s.Addr()}, "a", nut.Cutting{})
			if c.before != nil {
				u.Set(c.before...)
				contracttest.Probe(t, node)
			}
			u.Set(c.now...)
			seen := contracttest.Probe(t, node)
			require.Equal(t, c.want, seen.State, seen.Detail)
			require.NotEmpty(t, seen.Detail)
		})
	}
}

// TestOffOnLineIsAHabitOrMeant: many wait with their output once the mains are back, and say OL OFF; some always do,
// and some fell silent with it.
func TestOffOnLineIsAHabitOrMeant(t *testing.T) {
	const habit, off, plain, cut, due, silent = "OL OFF", "OB OFF", "OL", "cut", "due", "silent"
	for _, c := range []struct {
		said []string
		want plan.State
	}{
		{[]string{plain, off, habit}, plan.Off},
		{[]string{plain, off, habit, habit}, plan.Off},
		{[]string{plain, off, "WAIT", habit}, plan.Off},
		{[]string{plain, silent, habit}, plan.Off},
		{[]string{plain, cut, habit, silent, habit}, plan.Off},
		{[]string{plain, cut, habit, off, habit}, plan.Off},
		{[]string{plain, cut, habit, due, habit}, plan.Off},
		{[]string{habit, off}, plan.On},
		{[]string{habit, cut, due, habit}, plan.Stopping},
		{[]string{habit, "OL CAL", off, habit}, plan.On},
		{[]string{plain, off, habit, plain, habit}, plan.On},
		{[]string{habit, off, habit}, plan.On},
		{[]string{habit, silent, habit}, plan.On},
		{[]string{habit, plain, off, habit}, plan.Off},
	} {
		t.Run(strings.Join(c.said, ","), func(t *testing.T) {
			t.Parallel()
			s := simulate(t)
			u := s.Add("a", "")
			u.Set("ups.status", "OB", "ups.delay.shutdown", "1")
			u.OnCommand(func(string, string) error { return nil }, "shutdown.return")
			node := nut.NewOutput(nut.Options{Address: s.Addr(), Username: "admin", Password: secret("pass")}, "a", nut.Cutting{})
			var seen plan.Observation
			var told time.Time
			for _, status := range c.said {
				u.SetConnected(true)
				if status == cut || status == silent {
					require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
					told = time.Now()
				}
				switch status {
				case cut:
				case due:
					peertest.Until(t, "the cut to be due", func() bool { return time.Since(told) > time.Second })
				case silent:
					u.SetConnected(false)
					untilState(t, node, plan.Off)
				default:
					u.Set("ups.status", status)
					seen = contracttest.Probe(t, node)
				}
			}
			require.Equal(t, c.want, seen.State, seen.Detail)
		})
	}
}

// Silence proves nothing unless our own cut was accepted before it.
func TestOutputSilence(t *testing.T) {
	s := simulate(t)
	u := s.Add("a", "")
	u.Set("ups.status", "OB", "ups.delay.shutdown", "3600")
	u.OnCommand(func(string, string) error { return nil }, "shutdown.return")
	node := nut.NewOutput(nut.Options{Address: s.Addr(), Username: "admin", Password: secret("pass")}, "a", nut.Cutting{})
	for range 2 {
		u.SetStale(true)
		require.Equal(t, plan.Unreachable, contracttest.Probe(t, node).State)
		u.SetStale(false)
		u.SetConnected(false)
		require.Equal(t, plan.Unreachable, contracttest.Probe(t, node).State)
		u.SetConnected(true)
	}
	require.Equal(t, plan.Unreachable, contracttest.Probe(t, nut.NewOutput(nut.Options{Address: "127.0.0.1:1"}, "a", nut.Cutting{})).State)
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	u.SetConnected(false)
	seen := contracttest.Probe(t, node)
	require.Equal(t, plan.Stopping, seen.State)
	require.InDelta(t, time.Hour, seen.RemainFor, float64(time.Minute))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := node.Probe(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOutputErrors(t *testing.T) {
	s := simulate(t)
	u := s.Add("a", "")
	u.Set("ups.status", "OB")
	u.OnCommand(func(string, string) error { return nil }, "load.off", "shutdown.reboot", "beeper.off")
	asAdmin := nut.Options{Address: s.Addr(), Username: "admin", Password: secret("pass"), Timeout: 200 * time.Millisecond}
	do := func(o nut.Options, ups string, v plan.Verb) error {
		return nut.NewOutput(o, ups, nut.Cutting{}).Do(t.Context(), adapter.Command{Verb: v})
	}

	err := do(asAdmin, "a", plan.Cut)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "shutdown.return")
	require.ErrorContains(t, err, "load.off, shutdown.reboot")
	require.NotContains(t, err.Error(), "beeper")

	u.OnCommand(func(string, string) error { return errors.New("relay stuck") }, "shutdown.return")
	require.ErrorIs(t, do(asAdmin, "a", plan.Cut), adapter.ErrRefused)
	wrong := asAdmin
	wrong.Password = secret("sesame-open")
	err = do(wrong, "a", plan.Cut)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorIs(t, err, nut.ErrAccessDenied)
	require.NotContains(t, err.Error(), "sesame-open")
	require.ErrorIs(t, do(asAdmin, "nosuch", plan.Cut), adapter.ErrGone)
	for _, v := range []plan.Verb{plan.Protect, plan.Flush, plan.Stop, plan.Force, plan.Unprotect} {
		require.ErrorIs(t, do(asAdmin, "a", v), adapter.ErrRefused)
	}
	u.SetStale(true)
	require.ErrorIs(t, do(asAdmin, "a", plan.Cut), adapter.ErrUnreachable)
	u.SetStale(false)
	require.ErrorIs(t, do(nut.Options{Address: "127.0.0.1:1"}, "a", plan.Cut), adapter.ErrUnreachable)

	// A server that takes the command and gives no answer, or hangs up: nobody knows whether the cut was made.
	for _, fault := range []nutsim.Fault{{Delay: time.Hour}, {Drop: true}} {
		s.SetFault(func(request string) nutsim.Fault {
			if request == "INSTCMD a shutdown.return" {
				return fault
			}
			return nutsim.Fault{}
		})
		err = do(asAdmin, "a", plan.Cut)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		for _, sentinel := range []error{adapter.ErrUnreachable, adapter.ErrRefused, adapter.ErrBusy, adapter.ErrGone} {
			require.NotErrorIs(t, err, sentinel)
		}
	}
}

func TestOutputStartWaitsForTheMains(t *testing.T) {
	s := simulate(t)
	u := s.Add("a", "")
	given := make(chan string, 10)
	u.OnCommand(func(command, _ string) error { given <- command; return nil }, "load.on")
	node := nut.NewOutput(nut.Options{Address: s.Addr(), Username: "admin", Password: secret("pass")}, "a", nut.Cutting{})
	for _, status := range []string{"OFF", "OB OFF", "OL", "OB"} {
		u.Set("ups.status", status)
		require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}), status)
	}
	u.Set("ups.status", "OFF")
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}), "what is off needs no cut")
	require.Empty(t, given)
	u.Set("ups.status", "OL OFF", "output.voltage", "0")
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	require.Equal(t, "load.on", <-given)
	u.OnCommand(func(string, string) error { return nil }, "shutdown.return")
	require.ErrorIs(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}), adapter.ErrRefused)
}

// TestDelaysOfTheRunbookAreSetBeforeTheCut also shows that a UPS without such a variable is cut all the same.
func TestDelaysOfTheRunbookAreSetBeforeTheCut(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{})
	driver := upsd.Driver("ups1")
	driver.AddCommands("shutdown.return")
	driver.Set("ups.status", "OB", "ups.delay.shutdown", "20")
	driver.Writable("ups.delay.shutdown", 10)
	upsd.Await("ups1", "ups.delay.shutdown", "20")
	node := nut.NewOutput(admin(upsd.Addr), "ups1", nut.Cutting{Off: 45 * time.Second, On: time.Minute})
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	var heard []string
	for _, c := range driver.Commands() {
		heard = append(heard, strings.Join(c.Words, " "))
	}
	require.Equal(t, []string{"SET ups.delay.shutdown 45", "INSTCMD shutdown.return"}, heard)
}
