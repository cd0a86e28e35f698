package nut

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Var is one variable of a UPS. Values are text: GET TYPE tells nothing of use (driver.name is a NUMBER).
type Var struct{ Name, Value string }

// UPS is one UPS that a server offers.
type UPS struct{ Name, Description string }

// Range is one span of values that a variable takes.
type Range struct{ Min, Max string }

// ListUPS lists the server's UPSes, those whose driver is not running too.
func (c *Client) ListUPS(ctx context.Context) ([]UPS, error) {
	var all []UPS
	err := c.list(ctx, 2, func(w []string) { all = append(all, UPS{w[0], w[1]}) }, "UPS")
	return all, c.failed(err, "list the UPSes")
}

// ListVar lists all variables of a UPS.
func (c *Client) ListVar(ctx context.Context, ups string) ([]Var, error) {
	var vars []Var
	err := c.list(ctx, 2, func(w []string) { vars = append(vars, Var{w[0], w[1]}) }, "VAR", ups)
	return vars, c.failed(err, "list the variables of UPS %q", ups)
}

// ListRW lists the variables that can be set.
func (c *Client) ListRW(ctx context.Context, ups string) ([]Var, error) {
	var vars []Var
	err := c.list(ctx, 2, func(w []string) { vars = append(vars, Var{w[0], w[1]}) }, "RW", ups)
	return vars, c.failed(err, "list the writable variables of UPS %q", ups)
}

// ListCmd lists the instant commands.
func (c *Client) ListCmd(ctx context.Context, ups string) ([]string, error) {
	all, err := c.column(ctx, "CMD", ups)
	return all, c.failed(err, "list the commands of UPS %q", ups)
}

// ListClient lists the addresses that are logged in to a UPS.
func (c *Client) ListClient(ctx context.Context, ups string) ([]string, error) {
	all, err := c.column(ctx, "CLIENT", ups)
	return all, c.failed(err, "list the clients of UPS %q", ups)
}

// ListEnum lists the values that a variable can be set to; none if it takes others too.
func (c *Client) ListEnum(ctx context.Context, ups, name string) ([]string, error) {
	all, err := c.column(ctx, "ENUM", ups, name)
	return all, c.failed(err, "list the values of %q of UPS %q", name, ups)
}

// ListRange lists the spans of values that a variable can be set to; none if it has no bounds.
func (c *Client) ListRange(ctx context.Context, ups, name string) ([]Range, error) {
	var all []Range
	err := c.list(ctx, 2, func(w []string) { all = append(all, Range{w[0], w[1]}) }, "RANGE", ups, name)
	return all, c.failed(err, "list the ranges of %q of UPS %q", name, ups)
}

func (c *Client) column(ctx context.Context, what ...string) ([]string, error) {
	var all []string
	err := c.list(ctx, 1, func(w []string) { all = append(all, w[0]) }, what...)
	return all, err
}

// Get reads one variable.
func (c *Client) Get(ctx context.Context, ups, name string) (string, error) {
	value, err := c.single(ctx, "VAR", ups, name)
	return value, c.failed(err, "read %q of UPS %q", name, ups)
}

// Wanted are variables of one UPS.
type Wanted struct {
	UPS   string
	Names []string
}

// Found is the answer to a Wanted: the variables that the UPS has, in the order in which they were wanted.
type Found struct {
	Vars []Var
	Err  error // the server's ERR answer to any of them, an *Error, but for those that the UPS lacks; nil: none
}

// GetSeveral reads variables of several UPSes in one go: all questions are sent before the first answer is read, so
// that it takes one round trip. It gives one Found for each Wanted; the error says that there are none.
func (c *Client) GetSeveral(ctx context.Context, wanted ...Wanted) ([]Found, error) {
	var text strings.Builder
	for _, w := range wanted {
		for _, name := range w.Names {
			request, err := line("GET", "VAR", w.UPS, name)
			if err != nil {
				return nil, c.failed(err, "read %q of UPS %q", name, w.UPS)
			}
			text.WriteString(request)
		}
	}
	found := make([]Found, len(wanted))
	err := c.talk(ctx, text.String(), func() error {
		for i, w := range wanted {
			var err error
			if found[i], err = c.found(w); err != nil {
				return fmt.Errorf("of UPS %q: %w", w.UPS, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, c.failed(err, "read the variables")
	}
	return found, nil
}

// found reads the answers about one UPS. The error says that they can't be read.
func (c *Client) found(w Wanted) (Found, error) {
	var f Found
	for _, name := range w.Names {
		rest, err := c.answer("VAR", w.UPS, name)
		var answer *Error
		switch {
		case err == nil && len(rest) == 1:
			f.Vars = append(f.Vars, Var{name, rest[0]})
		case err == nil:
			return f, protocolError(strings.Join(rest, " "), "one value")
		case errors.Is(err, ErrVarNotSupported):
		case errors.As(err, &answer): // the other answers follow all the same
			f.Err = c.failed(err, "read UPS %q", w.UPS)
		default:
			return f, err
		}
	}
	return f, nil
}

// single asks a GET that is answered by the words repeated and one value.
func (c *Client) single(ctx context.Context, what ...string) (string, error) {
	var value string
	text, err := line(append([]string{"GET"}, what...)...)
	if err != nil {
		return "", err
	}
	err = c.talk(ctx, text, func() error {
		rest, err := c.answer(what...)
		if err != nil {
			return err
		}
		if len(rest) != 1 {
			return protocolError(strings.Join(rest, " "), "one value")
		}
		value = rest[0]
		return nil
	})
	return value, err
}

// NumLogins tells how many clients are logged in to a UPS.
func (c *Client) NumLogins(ctx context.Context, ups string) (int, error) {
	text, err := c.single(ctx, "NUMLOGINS", ups)
	if err != nil {
		return 0, c.failed(err, "count the logins of UPS %q", ups)
	}
	n, err := strconv.Atoi(text)
	return n, c.failed(err, "count the logins of UPS %q", ups)
}

// Desc gives the server's description of a variable.
func (c *Client) Desc(ctx context.Context, ups, name string) (string, error) {
	text, err := c.single(ctx, "DESC", ups, name)
	return text, c.failed(err, "read the description of %q of UPS %q", name, ups)
}

// Type gives the words that the server says of a variable's type: RW, STRING:64, ENUM, RANGE, NUMBER.
func (c *Client) Type(ctx context.Context, ups, name string) ([]string, error) {
	words, err := c.say(ctx, []string{"TYPE", ups, name}, "GET", "TYPE", ups, name)
	return words, c.failed(err, "read the type of %q of UPS %q", name, ups)
}

// Version gives the server's name and version, and that of the protocol ("1.3").
func (c *Client) Version(ctx context.Context) (server, protocol string, err error) {
	for _, ask := range []struct {
		verb string
		into *string
	}{{"VER", &server}, {"NETVER", &protocol}} {
		err := c.talk(ctx, ask.verb+"\n", func() error {
			text, err := c.readLine()
			if err != nil {
				return err
			}
			if e := parseError(text); e != nil {
				return e
			}
			*ask.into = text
			return nil
		})
		if err != nil {
			return "", "", c.failed(err, "ask for the version")
		}
	}
	return server, protocol, nil
}

// Login counts this connection among those that the UPS feeds, until it is closed. A primary upsmon waits for all of
// them before it lets the UPS cut the power.
func (c *Client) Login(ctx context.Context, ups string) error {
	return c.failed(c.ok(ctx, "LOGIN", ups), "log in to UPS %q", ups)
}

// Primary claims to be the UPS's primary: the right to FSD. Servers before 2.8 know it as MASTER.
func (c *Client) Primary(ctx context.Context, ups string) error {
	err := c.ok(ctx, "PRIMARY", ups)
	if errors.Is(err, ErrUnknownCommand) {
		err = c.ok(ctx, "MASTER", ups)
	}
	return c.failed(err, "become primary of UPS %q", ups)
}

// FSD sets the forced-shutdown flag. Nothing but a restart of upsd takes it back.
func (c *Client) FSD(ctx context.Context, ups string) error {
	return c.failed(c.ok(ctx, "FSD", ups), "set forced shutdown of UPS %q", ups)
}

// failed says what could not be done; nil for nil.
func (c *Client) failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s at NUT server %q: %w", fmt.Sprintf(format, args...), c.address, err)
}
