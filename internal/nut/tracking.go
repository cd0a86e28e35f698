package nut

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ebbtide/internal/nut/wire"
)

type trackingMode uint8

const (
	trackingUnasked trackingMode = iota
	trackingOn
	trackingOff // the server has none: OK means that the driver was handed the command, no more
)

// trackingPoll is how often a running command is asked for.
const trackingPoll = 100 * time.Millisecond

// Set changes a variable and waits until the driver says that it did, where the server tracks it, or ctx ends: then
// nobody knows. The value must not hold a quote, a backslash or a #: drivers up to 2.8.0 repeat them unescaped, which cuts
// the value or takes the driver down.
func (c *Client) Set(ctx context.Context, ups, name, value string) error {
	if strings.ContainsAny(value, `"\#`) {
		return c.failed(errors.New(`the value holds ", \ or #, which crash NUT drivers`), "set %q of UPS %q", name, ups)
	}
	return c.failed(c.tracked(ctx, "SET", "VAR", ups, name, value), "set %q of UPS %q", name, ups)
}

// InstCmd gives an instant command, with a parameter if there is one, and waits like Set.
func (c *Client) InstCmd(ctx context.Context, ups, cmd string, param ...string) error {
	words := append([]string{"INSTCMD", ups, cmd}, param...)
	return c.failed(c.tracked(ctx, words...), "give command %q to UPS %q", cmd, ups)
}

// Tracking asks what became of a command: done, still running (done false, no error), or failed, as an *Error. An id is
// good for the connection that it came from only: upsd gives the same ones again after a restart.
func (c *Client) Tracking(ctx context.Context, id string) (done bool, err error) {
	text, err := line("GET", "TRACKING", id)
	if err == nil {
		err = c.talk(ctx, text, func() error {
			words, err := c.answer()
			if err != nil {
				return err
			}
			switch said := strings.Join(words, " "); said {
			case "SUCCESS":
				done = true
			case "PENDING":
			default:
				return protocolError(said, "SUCCESS or PENDING")
			}
			return nil
		})
	}
	return done, c.failed(err, "ask what became of command %q", id)
}

// tracked gives a command and waits for its end.
func (c *Client) tracked(ctx context.Context, words ...string) error {
	text, err := line(words...)
	if err != nil {
		return err
	}
	var rest []string
	err = c.talk(ctx, "", func() error {
		if err := c.turnOnTracking(); err != nil {
			return err
		}
		if err := c.send(text); err != nil {
			return err
		}
		rest, err = c.answer("OK")
		if err == nil && tracks(rest) && wire.Check(rest[1]) != nil {
			err = protocolError(rest[1], "an id that can be asked for")
		}
		return err
	})
	if err != nil {
		return err
	}
	if !tracks(rest) {
		return nil // OK alone: the server does not track it
	}
	return c.await(ctx, rest[1])
}

// tracks reports whether what follows OK is the id of a command that goes on.
func tracks(rest []string) bool { return len(rest) == 2 && rest[0] == "TRACKING" }

// turnOnTracking asks for it once in a connection. It must have the turn.
func (c *Client) turnOnTracking() error {
	if c.tracking != trackingUnasked {
		return nil
	}
	if err := c.send("SET TRACKING ON\n"); err != nil {
		return err
	}
	_, err := c.answer("OK")
	var answer *Error
	switch {
	case err == nil:
		c.tracking = trackingOn
	case errors.As(err, &answer):
		c.tracking = trackingOff
	default:
		return err
	}
	return nil
}

func (c *Client) await(ctx context.Context, id string) error {
	tick := time.NewTicker(trackingPoll)
	defer tick.Stop()
	for {
		done, err := c.Tracking(ctx, id)
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the driver had not said whether it was done: %w", ended(ctx))
		}
	}
}
