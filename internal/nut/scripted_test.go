package nut_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nutsim"
)

func simulate(t *testing.T) *nutsim.Server {
	t.Helper()
	s, err := nutsim.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	s.AddUser(nutsim.User{Name: "admin", Password: "pass", Set: true, FSD: true, Commands: true, Upsmon: true})
	return s
}

// watch makes a fault hook that lets all requests pass and reports them.
func watch(requests chan<- string) func(string) nutsim.Fault {
	return func(request string) nutsim.Fault {
		requests <- request
		return nutsim.Fault{}
	}
}

func answerAll(text string) func(string) nutsim.Fault {
	return func(string) nutsim.Fault { return nutsim.Fault{Answer: text} }
}

// A line that comes after its time-out must never be taken for another UPS's answer (go.nut returned a's OL for b).
func TestLateAnswerIsNeverAnotherOnes(t *testing.T) {
	s := simulate(t)
	s.Add("a", "").Set("ups.status", "OL")
	s.Add("b", "").Set("ups.status", "OB LB")
	late := make(chan struct{})
	s.SetFault(func(request string) nutsim.Fault {
		if request != "GET VAR a ups.status" {
			return nutsim.Fault{}
		}
		close(late)
		return nutsim.Fault{Delay: 150 * time.Millisecond}
	})
	c := dial(t, nut.Options{Address: s.Addr(), Timeout: 100 * time.Millisecond})
	_, err := c.Get(t.Context(), "a", "ups.status")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	<-late
	s.SetFault(nil)
	for range 3 {
		_, err = c.Get(t.Context(), "b", "ups.status")
		require.ErrorIs(t, err, nut.ErrClosed)
		require.ErrorIs(t, err, context.DeadlineExceeded, "and it says why")
	}
	value, err := dial(t, nut.Options{Address: s.Addr()}).Get(t.Context(), "b", "ups.status")
	require.NoError(t, err)
	require.Equal(t, "OB LB", value)
}

func TestBrokenAnswersCloseTheConnection(t *testing.T) {
	list := func(c *nut.Client) error { _, err := c.ListVar(context.Background(), "a"); return err }
	get := func(c *nut.Client) error { _, err := c.Get(context.Background(), "a", "ups.status"); return err }
	several := func(c *nut.Client) error {
		_, err := c.GetSeveral(context.Background(), nut.Wanted{"a", []string{"ups.status", "ups.load"}})
		return err
	}
	kind := func(c *nut.Client) error { _, err := c.Type(context.Background(), "a", "x"); return err }
	login := func(c *nut.Client) error { return c.Login(context.Background(), "a") }
	for what, fault := range map[string]struct {
		answer string
		do     func(*nut.Client) error
	}{
		"another UPS":            {"VAR b ups.status \"OL\"\n", get},
		"another variable":       {"VAR a ups.load \"1\"\n", get},
		"no value":               {"VAR a ups.status\n", get},
		"two values":             {"VAR a ups.status \"OL\" \"OB\"\n", get},
		"open quote":             {"VAR a ups.status \"OL\n", get},
		"open backslash":         {"VAR a ups.status \"OL\\\n", get},
		"glued quote":            {"VAR a ups.status \"OL\"CHRG\n", get},
		"empty line":             {"\n", get},
		"garbage":                {"\x00\xff\xfe{}\n", get},
		"endless line":           {strings.Repeat("x", 1<<20), get},
		"OK":                     {"OK\n", get},
		"several, other UPS":     {"VAR a ups.status \"OL\"\nVAR b ups.load \"1\"\n", several},
		"several, wrong order":   {"VAR a ups.load \"1\"\nVAR a ups.status \"OL\"\n", several},
		"list, only its end":     {"END LIST VAR a\n", list},
		"list, other UPS":        {"BEGIN LIST VAR b\nEND LIST VAR b\n", list},
		"list, item of another":  {"BEGIN LIST VAR a\nVAR b x \"1\"\nEND LIST VAR a\n", list},
		"list, short item":       {"BEGIN LIST VAR a\nVAR a x\nEND LIST VAR a\n", list},
		"list, unquoted garbage": {"BEGIN LIST VAR a\nVAR a x \"1\nEND LIST VAR a\n", list},
		"list, end of another":   {"BEGIN LIST VAR a\nEND LIST VAR b\n", list},
		"list, error inside":     {"BEGIN LIST VAR a\nERR DATA-STALE\n", list},
		"list, too many lines":   {"BEGIN LIST VAR a\n" + strings.Repeat("VAR a x \"1\"\n", 10_001), list},
		"list, too many bytes":   {"BEGIN LIST VAR a\n" + strings.Repeat("VAR a x \""+strings.Repeat("y", 8000)+"\"\n", 200), list},
		"type of another":        {"TYPE a y RW\n", kind},
		"login, no answer to it": {"VAR a ups.status \"OL\"\n", login},
	} {
		t.Run(what, func(t *testing.T) {
			s := simulate(t)
			s.Add("a", "").Set("ups.status", "OL", "ups.load", "10")
			c := dial(t, nut.Options{Address: s.Addr()})
			s.SetFault(func(string) nutsim.Fault { return nutsim.Fault{Answer: fault.answer} })
			err := fault.do(c)
			require.ErrorIs(t, err, nut.ErrProtocol)
			require.Less(t, len(err.Error()), 400)
			s.SetFault(nil)
			require.ErrorIs(t, get(c), nut.ErrClosed)
		})
	}
}

func TestCutAnswers(t *testing.T) {
	for what, answer := range map[string]string{
		"nothing": "", "half a line": "BEGIN LI", "half a list": "BEGIN LIST VAR a\nVAR a x \"1\"\n",
	} {
		t.Run(what, func(t *testing.T) {
			s := simulate(t)
			s.Add("a", "").Set("ups.status", "OL")
			c := dial(t, nut.Options{Address: s.Addr(), Timeout: 5 * time.Second})
			s.SetFault(func(string) nutsim.Fault { return nutsim.Fault{Answer: answer, Drop: true} })
			_, err := c.ListVar(t.Context(), "a")
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			_, err = c.Get(t.Context(), "a", "ups.status")
			require.ErrorIs(t, err, nut.ErrClosed)
		})
	}
}

// An answer that drips in can't hold a call longer than its time-out, and the caller's end is heard at once.
func TestNoAnswerHoldsACallForEver(t *testing.T) {
	s := simulate(t)
	s.Add("a", "").Set("ups.status", "OL")
	s.SetFault(func(string) nutsim.Fault { return nutsim.Fault{Delay: time.Hour} })

	began := time.Now()
	_, err := dial(t, nut.Options{Address: s.Addr(), Timeout: 100 * time.Millisecond}).ListVar(t.Context(), "a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "no answer within 0.1s")
	require.Less(t, time.Since(began), 5*time.Second)

	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the outage is over")
	c := dial(t, nut.Options{Address: s.Addr(), Timeout: time.Hour})
	asked := make(chan struct{})
	s.SetFault(func(string) nutsim.Fault { close(asked); return nutsim.Fault{Delay: time.Hour} })
	go func() { <-asked; cancel(reason) }()
	_, err = c.Get(ctx, "a", "ups.status")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, reason)
	s.SetFault(nil)
	_, err = c.Get(t.Context(), "a", "ups.status")
	require.ErrorIs(t, err, nut.ErrClosed)
}

// A context that is over costs no connection, as nothing was asked.
func TestEndedContextAsksNothing(t *testing.T) {
	s := simulate(t)
	s.Add("a", "").Set("ups.status", "OL")
	c := dial(t, nut.Options{Address: s.Addr()})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Get(ctx, "a", "ups.status")
	require.ErrorIs(t, err, context.Canceled)
	value, err := c.Get(t.Context(), "a", "ups.status")
	require.NoError(t, err)
	require.Equal(t, "OL", value)
}

// Callers take turns: each gets the answer to its own question (go.nut mixed up 3 of 1600).
func TestConcurrentCallersGetTheirOwnAnswers(t *testing.T) {
	s := simulate(t)
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		s.Add(name, "").Set("ups.id", "this is "+name)
	}
	c := dial(t, nut.Options{Address: s.Addr()})
	errs := make(chan error, len(names))
	for _, name := range names {
		go func() {
			for range 200 {
				value, err := c.Get(t.Context(), name, "ups.id")
				if err != nil || value != "this is "+name {
					errs <- err
					t.Errorf("%s got %q", name, value)
					return
				}
			}
			errs <- nil
		}()
	}
	for range names {
		require.NoError(t, <-errs)
	}
}

func TestUnknownCodesAreKept(t *testing.T) {
	s := simulate(t)
	c := dial(t, nut.Options{Address: s.Addr()})
	s.SetFault(func(string) nutsim.Fault { return nutsim.Fault{Answer: "ERR TEAPOT short and stout\n"} })
	_, err := c.Get(t.Context(), "a", "x")
	var answer *nut.Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, nut.Error{Code: "TEAPOT", Extra: "short and stout"}, *answer)
	require.NotErrorIs(t, err, nut.ErrUnknown)
	s.SetFault(func(string) nutsim.Fault { return nutsim.Fault{Answer: "ERR\n"} })
	_, err = c.NumLogins(t.Context(), "a")
	require.ErrorAs(t, err, &answer)
	require.NotErrorIs(t, err, nut.ErrClosed)
}

// Servers without TRACKING say OK when the driver was handed the command, and older ones know MASTER only.
func TestOlderServers(t *testing.T) {
	s := simulate(t)
	u := s.Add("a", "")
	u.Set("ups.status", "OL")
	given := make(chan string, 1)
	u.OnCommand(func(command, parameter string) error { given <- command + parameter; return nil }, "shutdown.return")
	s.SetFault(func(request string) nutsim.Fault {
		if request == "SET TRACKING ON" {
			return nutsim.Fault{Answer: "ERR FEATURE-NOT-SUPPORTED\n"}
		}
		if strings.HasPrefix(request, "PRIMARY") {
			return nutsim.Fault{Answer: "ERR UNKNOWN-COMMAND\n"}
		}
		return nutsim.Fault{}
	})
	c := dial(t, nut.Options{Address: s.Addr(), Username: "admin", Password: secret("pass")})
	require.NoError(t, c.InstCmd(t.Context(), "a", "shutdown.return"))
	require.Equal(t, "shutdown.return", <-given)
	require.NoError(t, c.Primary(t.Context(), "a"))
}

// The simulator answers as upsd does, as far as Ebbtide asks.
func TestSimulatorAnswersLikeUpsd(t *testing.T) {
	s := simulate(t)
	u := s.Add("a", `rack "3"`)
	u.Set("ups.status", "OL", "ups.delay.shutdown", "20")
	u.Writable("ups.delay.shutdown")
	failing := io.ErrUnexpectedEOF
	u.OnCommand(func(_, parameter string) error {
		if parameter == "fail" {
			return failing
		}
		u.Set("ups.status", "OFF")
		return nil
	}, "shutdown.return")
	ctx, c := t.Context(), dial(t, nut.Options{Address: s.Addr(), Username: "admin", Password: secret("pass")})
	all, err := c.ListUPS(ctx)
	require.NoError(t, err)
	require.Equal(t, []nut.UPS{{Name: "a", Description: `rack "3"`}}, all)
	require.NoError(t, c.Set(ctx, "a", "ups.delay.shutdown", "60"))
	require.Equal(t, "60", u.Get("ups.delay.shutdown"))
	require.ErrorIs(t, c.Set(ctx, "a", "ups.status", "OB"), nut.ErrReadOnly)
	require.ErrorIs(t, c.InstCmd(ctx, "a", "shutdown.return", "fail"), nut.ErrFailed)
	require.ErrorIs(t, c.InstCmd(ctx, "a", "load.off"), nut.ErrCmdNotSupported)
	require.NoError(t, c.Login(ctx, "a"))
	clients, err := c.ListClient(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, []string{"127.0.0.1"}, clients)
	require.NoError(t, c.FSD(ctx, "a"))
	status, err := c.Get(ctx, "a", "ups.status")
	require.NoError(t, err)
	require.Equal(t, "FSD OL", status)
	require.NoError(t, c.InstCmd(ctx, "a", "shutdown.return"))
	require.Equal(t, "OFF", u.Get("ups.status"))
	u.SetStale(true)
	_, err = c.ListVar(ctx, "a")
	require.ErrorIs(t, err, nut.ErrDataStale)
	u.SetConnected(false)
	_, err = c.Get(ctx, "a", "ups.status")
	require.ErrorIs(t, err, nut.ErrDriverNotConnected)
	require.ErrorIs(t, nut.VerifyCredentials(ctx, nut.Options{Address: s.Addr(), Username: "admin", Password: secret("wrong")}, "a"),
		nut.ErrAccessDenied)
}
