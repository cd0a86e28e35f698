package nut

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
)

// unit is one UPS at its server. Each call uses a connection of its own: nothing has to be mended after a restart of
// upsd.
type unit struct {
	options Options
	ups     string
}

func (u unit) vars(ctx context.Context) ([]Var, error) {
	c, err := Dial(ctx, u.options)
	if err != nil {
		return nil, err
	}
	vars, err := c.ListVar(ctx, u.ups)
	return vars, errors.Join(err, c.Close())
}

func valueOf(vars []Var, name string) string {
	for _, v := range vars {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// session opens a connection, reads the UPS and lets do act. What says what for ("cut the output of"). Until then no
// command was given, so every failure but the caller's own end is ErrUnreachable or ErrRefused.
func (u unit) session(ctx context.Context, what string, do func(c *Client, vars []Var) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot %s UPS %q: %w", what, u.ups, err)
		}
	}()
	c, err := Dial(ctx, u.options)
	if err != nil {
		return unsent(ctx, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	vars, err := c.ListVar(ctx, u.ups)
	if err != nil {
		return unsent(ctx, err)
	}
	return do(c, vars)
}

// unsent sorts a failure from before a command was given.
func unsent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return classed(err, adapter.ErrUnreachable)
}

// classed adds the sentinel of an ERR answer to err, or otherwise the given one.
func classed(err, otherwise error) error {
	var answer *Error
	switch {
	case errors.Is(err, ErrDriverNotConnected), errors.Is(err, ErrDataStale):
		return fmt.Errorf("%w: %w", err, adapter.ErrUnreachable)
	case errors.Is(err, ErrUnknownUPS):
		return fmt.Errorf("%w: %w", err, adapter.ErrGone)
	case errors.As(err, &answer):
		return fmt.Errorf("%w: %w", err, adapter.ErrRefused)
	}
	return fmt.Errorf("%w: %w", err, otherwise)
}

// offers refuses where the UPS lists none of the commands, and gives the first that it lists. Those that begin like one of
// them are named.
func (u unit) offers(ctx context.Context, c *Client, commands ...string) (string, error) {
	all, err := c.ListCmd(ctx, u.ups)
	if err != nil {
		return "", unsent(ctx, err)
	}
	return first(all, commands...)
}

// first gives the first of the wanted commands that a UPS has.
func first(all []string, wanted ...string) (string, error) {
	for _, cmd := range wanted {
		if slices.Contains(all, cmd) {
			return cmd, nil
		}
	}
	has := "it has no command for its output"
	if list := related(all); len(list) > 0 {
		has = "it has " + strings.Join(list, ", ")
	}
	return "", fmt.Errorf("the UPS lacks the command %s (%s): enable it in its driver, or change the runbook: %w",
		strings.Join(wanted, " or "), has, adapter.ErrRefused)
}

// related are the commands for a UPS's output and its outlets.
func related(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(cmd string) bool {
		return !strings.HasPrefix(cmd, "shutdown.") && !strings.HasPrefix(cmd, "load.") && !strings.HasPrefix(cmd, "outlet.")
	})
}

// command gives an instant command, with its parameter if there is one. If no answer comes, nobody knows whether the UPS took it: a
// context error.
func (u unit) command(ctx context.Context, c *Client, command string, parameter ...string) error {
	err := c.InstCmd(ctx, u.ups, command, parameter...)
	if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return classed(err, context.DeadlineExceeded)
}
