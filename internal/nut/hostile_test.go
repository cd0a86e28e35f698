package nut

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostile serves one connection: before it hears anything, and after each line that it hears, it says the next of its
// answers, whatever was asked. When it has no more it closes the connection.
func hostile(conn net.Conn, answers []string) {
	heard := make(chan struct{}, 1024)
	go func() { // it always listens, so that no client waits to be heard
		defer close(heard)
		for in := bufio.NewReader(conn); ; {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			select {
			case heard <- struct{}{}:
			default:
			}
		}
	}()
	for _, answer := range answers {
		if _, err := io.WriteString(conn, answer); err != nil {
			break
		}
		<-heard
	}
	_ = conn.Close()
	for range heard { // until the listener has ended
	}
}

// FuzzHostileServer lets the real client talk to a server that says what it likes, when it likes. Every call ends, with
// a sound answer or an error; after an error that is no answer the connection is closed and stays so.
func FuzzHostileServer(f *testing.F) {
	const next = "\x00" // parts the server's answers
	for _, seed := range []string{
		"", "\x00OK\n\x00OK\n\x00BEGIN LIST VAR a\nVAR a ups.status \"OL\"\nEND LIST VAR a\n\x00VAR a ups.status \"OL\"\nERR " +
			"VAR-NOT-SUPPORTED\n",
		"OK\nOK\nOK\n", "\x00OK\n\x00OK\n\x00ERR DATA-STALE\n\x00ERR DRIVER-NOT-CONNECTED\nERR DATA-STALE\n\x00OK\n\x00OK TRACKING " +
			"1\n\x00PENDING\n\x00SUCCESS\n",
		"\x00ERR ACCESS-DENIED\n", "\x00OK STARTTLS\n\x00\x16\x03\x01", "\x00OK STARTTLS\nOK\n",
		"\x00OK\n\x00OK\n\x00BEGIN LIST VAR a\n" + strings.Repeat("VAR a x \"1\"\n", 50),
		"\x00OK\n\x00OK\n\x00" + strings.Repeat("x", maxLine+1), "\x00OK\n\x00OK\n\x00VAR a ups.status \"\\",
		"\x00OK\n\x00OK\n\x00BEGIN LIST VAR a\nEND LIST VAR a\n\x00VAR a ups.status \"OB\"\nVAR a battery.charge \"1e999\"\n\x00VAR a " +
			"ups.status \"OB\" \"LB\"\n",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, script string, secure bool) {
		ours, theirs := net.Pipe()
		ended := make(chan struct{})
		go func() { hostile(theirs, strings.Split(script, next)); close(ended) }()
		o := Options{
			Address: "fuzz:3493", Username: "u", Password: func() (string, error) { return "hunter2", nil },
			Timeout: 10 * time.Millisecond,
		}
		if secure {
			o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		ctx, cancel := context.WithTimeout(t.Context(), o.Timeout)
		defer cancel()
		c, err := open(ctx, ours, o)
		if err != nil {
			require.NotContains(t, err.Error(), "hunter2")
			<-ended
			return
		}
		require.False(t, secure, "no fuzzer shows a certificate")
		ask(t, c)
		require.NoError(t, c.Close())
		<-ended
	})
}

// ask asks a server all that Ebbtide asks.
func ask(t *testing.T, c *Client) {
	for _, call := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"list", func(ctx context.Context) error {
			vars, err := c.ListVar(ctx, "a")
			require.LessOrEqual(t, len(vars), maxListLines)
			ReadingFrom("a", vars)
			return err
		}},
		{"several", func(ctx context.Context) error {
			found, err := c.GetSeveral(ctx, Wanted{"a", []string{varStatus, varCharge}})
			if err != nil {
				return err
			}
			require.LessOrEqual(t, len(found[0].Vars), 2)
			ReadingFrom("a", found[0].Vars)
			return found[0].Err
		}},
		{"command", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Millisecond) // who answers PENDING is asked again
			defer cancel()
			return c.InstCmd(ctx, "a", "shutdown.return")
		}},
		{"login", func(ctx context.Context) error { return c.Login(ctx, "a") }},
		{"version", func(ctx context.Context) error { _, _, err := c.Version(ctx); return err }},
	} {
		err := call.do(t.Context())
		var answer *Error
		if err == nil || errors.As(err, &answer) {
			continue
		}
		require.NotContains(t, err.Error(), "hunter2")
		if errors.Is(err, context.DeadlineExceeded) && c.closed == nil {
			continue // it was between two questions
		}
		require.Error(t, c.closed, call.what)
		require.ErrorIs(t, c.Login(t.Context(), "a"), ErrClosed, call.what)
	}
}
