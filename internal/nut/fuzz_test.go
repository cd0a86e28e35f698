package nut

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzResponse gives a client any bytes as the answers to its questions. Whatever they are, a call ends with what was
// asked for or with an error, and what is not an ERR answer is the end of the connection.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		"VAR a ups.status \"OL\"\n", "ERR DATA-STALE\n", "ERR\n", "BEGIN LIST VAR a\nVAR a x \"1\"\nEND LIST VAR a\n",
		"BEGIN LIST VAR a\nEND LIST VAR a\n", "END LIST VAR a\n", "VAR a ups.status \"\\#\\\"\\\\\"\r\n", "TYPE a ups.status RW\n", "OK\n",
		"OK TRACKING 1-2\nSUCCESS\n", "NUMLOGINS a 1\n", "\xff\x00\n", "VAR a ups.status OL", "VAR b ups.status \"OB\"\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for name, call := range map[string]func(context.Context, *Client) error{
			"list": func(ctx context.Context, c *Client) error { _, err := c.ListVar(ctx, "a"); return err },
			"get": func(ctx context.Context, c *Client) error {
				value, err := c.Get(ctx, "a", "ups.status")
				if err == nil {
					ReadingFrom("a", []Var{{varStatus, value}, {varCharge, value}, {varRuntime, value}})
					prefix := strings.ToUpper("VAR a ups.status")
					require.True(t, strings.HasPrefix(strings.ToUpper(strings.Join(strings.Fields(strings.NewReplacer(`"`, "", `\`,
						"").Replace(answer)), " ")), prefix))
				}
				return err
			},
			"several": func(ctx context.Context, c *Client) error {
				found, err := c.GetSeveral(ctx, Wanted{"a", []string{varStatus, varCharge}})
				if err != nil {
					return err
				}
				require.LessOrEqual(t, len(found[0].Vars), 2)
				return found[0].Err
			},
			"set": func(ctx context.Context, c *Client) error {
				ctx, cancel := context.WithTimeout(ctx, time.Millisecond) // an answer PENDING is asked for again
				defer cancel()
				err := c.Set(ctx, "a", "x", "1")
				if errors.Is(err, context.DeadlineExceeded) {
					return nil
				}
				return err
			},
			"type": func(ctx context.Context, c *Client) error { _, err := c.Type(ctx, "a", varStatus); return err },
		} {
			c := &Client{address: "fuzz", timeout: time.Minute, turn: make(chan struct{}, 1)}
			c.conn = &scripted{answer: strings.NewReader(answer)}
			c.in = bufio.NewReaderSize(c.conn, maxLine)
			err := call(t.Context(), c)
			var refused *Error
			if err != nil && !errors.As(err, &refused) {
				require.Error(t, c.closed, name)
				require.ErrorIs(t, c.Login(t.Context(), "a"), ErrClosed, name)
			}
		}
	})
}

// scripted is a connection that answers with what it was given, and then ends.
type scripted struct {
	net.Conn
	answer io.Reader
}

func (s *scripted) Read(b []byte) (int, error)       { return s.answer.Read(b) }
func (s *scripted) Write(b []byte) (int, error)      { return len(b), nil }
func (s *scripted) SetDeadline(time.Time) error      { return nil }
func (s *scripted) SetWriteDeadline(time.Time) error { return nil }
func (s *scripted) Close() error                     { return nil }
