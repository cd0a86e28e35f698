package nut

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ebbtide/internal/english"
	"ebbtide/internal/nut/wire"
)

// Client is one connection to a NUT server. Its methods may be called at the same time; they take turns.
//
// An *Error is an answer and leaves the connection well. After anything else (no answer in time, a cut line, an answer to
// another question) the connection is closed, as a late line would be taken for the answer to the next question, and
// every later call returns ErrClosed with the reason.
type Client struct {
	address string
	timeout time.Duration
	turn    chan struct{} // holds a token while somebody talks

	// The rest belongs to who has the turn.
	conn     net.Conn
	in       *bufio.Reader
	closed   error // why, once it is
	tracking trackingMode
}

// ErrClosed says that the connection was closed before, by Close or by an earlier failure.
var ErrClosed = errors.New("the connection is closed")

const (
	maxListLines = 10_000
	maxListBytes = 1 << 20
)

// line makes a command line. Words that need no quotes go without, as simple servers expect it.
func line(words ...string) (string, error) {
	var b strings.Builder
	for i, word := range words {
		if err := wire.Check(word); err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		if plain(word) {
			b.WriteString(word)
		} else {
			b.WriteString(wire.Quote(word))
		}
	}
	b.WriteByte('\n')
	return b.String(), nil
}

func plain(word string) bool {
	const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return word != "" && strings.Trim(word, plainBytes) == ""
}

// talk sends text and lets read take the answers, all within the client's time-out and ctx. What read returns decides:
// an *Error or nil leaves the connection well, anything else closes it.
func (c *Client) talk(ctx context.Context, text string, read func() error) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ended(ctx)
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if c.closed != nil {
		return fmt.Errorf("%w: %w", ErrClosed, c.closed)
	}
	err := c.exchange(ctx, text, read)
	var answer *Error
	if err == nil || errors.As(err, &answer) {
		return err
	}
	err = c.explain(ctx, err)
	c.closed = err
	_ = c.conn.Close() // it is of no more use, whatever Close says
	return err
}

func (c *Client) exchange(ctx context.Context, text string, read func() error) error {
	// the context interrupts by itself: were its deadline the connection's too, the connection's could come first, and what failed for want
	// of time would count as a server that does not answer
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = c.conn.SetDeadline(time.Unix(1, 0)) // a closed connection needs no interrupting
	})
	defer func() {
		if !stop() {
			<-interrupted // else it could interrupt the next exchange
		}
	}()
	if err := c.send(text); err != nil {
		return err
	}
	return read()
}

func (c *Client) send(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(c.conn, text)
	return err
}

// explain says in plain words why an exchange failed.
func (c *Client) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no answer within %s: %w", english.Span(c.timeout), context.DeadlineExceeded)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// ended gives the context's error with its cause: errors.Is finds both.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() { //nolint:errorlint // the same error, not one of its kind
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// readLine reads one line without its end.
func (c *Client) readLine() (string, error) {
	b, err := c.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, maxLine)
	}
	if err != nil {
		return "", err
	}
	return printable(strings.TrimSuffix(string(b[:len(b)-1]), "\r")), nil
}

// printable replaces what can't be seen, but tabs, which drivers do send: what a server says ends up in logs and on
// terminals.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r != '\t' && !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, text)
}

// answer reads one line that is not ERR and splits it; it must begin with the words of want.
func (c *Client) answer(want ...string) ([]string, error) {
	text, err := c.readLine()
	if err != nil {
		return nil, err
	}
	return parseAnswer(text, want...)
}

// parseAnswer reads an answer. The words of want are what the server must repeat, else the answer belongs to another
// question. It gives the words after them.
func parseAnswer(text string, want ...string) ([]string, error) {
	if e := parseError(text); e != nil {
		return nil, e
	}
	words, err := wire.Split(text)
	if err != nil || !begins(words, want) {
		return nil, protocolError(text, fmt.Sprintf("%q", strings.Join(want, " ")))
	}
	return words[len(want):], nil
}

// begins compares without regard to case: upsd repeats names as they were asked, others as they know them.
func begins(words, want []string) bool {
	if len(words) < len(want) {
		return false
	}
	for i, w := range want {
		if !strings.EqualFold(words[i], w) {
			return false
		}
	}
	return true
}

// ok sends a command whose answer is OK, with or without words after it.
func (c *Client) ok(ctx context.Context, words ...string) error {
	_, err := c.say(ctx, []string{"OK"}, words...)
	return err
}

// say sends a command whose answer is one line that begins with want, and gives the words after that.
func (c *Client) say(ctx context.Context, want []string, words ...string) (rest []string, err error) {
	text, err := line(words...)
	if err != nil {
		return nil, err
	}
	err = c.talk(ctx, text, func() error {
		rest, err = c.answer(want...)
		return err
	})
	return rest, err
}

// list sends a LIST command. Each line of the answer repeats what and its arguments; take gets the words after that, of
// which there must be at least least.
func (c *Client) list(ctx context.Context, least int, take func(words []string), what ...string) error {
	text, err := line(append([]string{"LIST"}, what...)...)
	if err != nil {
		return err
	}
	return c.talk(ctx, text, func() error {
		if rest, err := c.answer(append([]string{"BEGIN", "LIST"}, what...)...); err != nil {
			return err
		} else if len(rest) > 0 {
			return protocolError(strings.Join(rest, " "), "the end of the line")
		}
		return c.items(least, take, what)
	})
}

func (c *Client) items(least int, take func(words []string), what []string) error {
	end := append([]string{"END", "LIST"}, what...)
	size := 0
	for range maxListLines {
		text, err := c.readLine()
		if err != nil {
			return err
		}
		if size += len(text); size > maxListBytes {
			return fmt.Errorf("%w: a list of more than %d bytes", ErrProtocol, maxListBytes)
		}
		words, err := wire.Split(text)
		if err != nil {
			return protocolError(text, "an item of the list")
		}
		if begins(words, end) && len(words) == len(end) {
			return nil
		}
		if !begins(words, what) || len(words) < len(what)+least {
			return protocolError(text, fmt.Sprintf("an item %q", strings.Join(what, " ")))
		}
		take(words[len(what):])
	}
	return fmt.Errorf("%w: a list of more than %d lines", ErrProtocol, maxListLines)
}

// Close takes leave and closes the connection. Calls that wait for an answer end with an error.
func (c *Client) Close() error {
	var err error
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
		if c.closed != nil {
			return nil
		}
		// Politeness: a server that does not hear it drops the login with the connection.
		if e := c.conn.SetWriteDeadline(time.Now().Add(c.timeout)); e == nil {
			_, _ = io.WriteString(c.conn, "LOGOUT\n")
		}
		c.closed = errors.New("closed by us")
		err = c.conn.Close()
	default:
		err = c.conn.Close() // who has the turn notes why it is closed
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("cannot close the connection to NUT server %q: %w", c.address, err)
	}
	return nil
}
