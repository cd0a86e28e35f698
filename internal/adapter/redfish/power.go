package redfish

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// states are the power states of a machine (ComputerSystem, PowerState).
var states = map[schemas.PowerState]plan.State{
	schemas.OnPowerState: plan.On, schemas.OffPowerState: plan.Off, schemas.PoweringOnPowerState: plan.Starting,
	schemas.PoweringOffPowerState: plan.Stopping,
}

// Power reads the machine's power state.
func (c *conn) Power(ctx context.Context) (plan.Observation, error) {
	s, err := c.system(ctx)
	if err != nil {
		return plan.Observation{}, fmt.Errorf("%s: %w", c.base, err)
	}
	seen := plan.Observation{State: states[s.PowerState], Detail: fmt.Sprintf("its controller says %q", s.PowerState)}
	if seen.State == plan.Unknown {
		seen.Detail = fmt.Sprintf("its controller reports a power state that is neither on nor off (%q)", s.PowerState)
	}
	return seen, nil
}

// PowerOn powers the machine on.
func (c *conn) PowerOn(ctx context.Context) error {
	return c.reset(ctx, []plan.State{plan.On, plan.Starting}, schemas.OnResetType, schemas.ForceOnResetType)
}

// PowerOff takes the machine's power away.
func (c *conn) PowerOff(ctx context.Context) error {
	return c.reset(ctx, []plan.State{plan.Off}, schemas.ForceOffResetType)
}

// Shutdown asks the machine's system to shut down. PushPowerButton is not used for it: it starts a machine that is off.
func (c *conn) Shutdown(ctx context.Context) error {
	return c.reset(ctx, []plan.State{plan.Off, plan.Stopping}, schemas.GracefulShutdownResetType)
}

// reset gives the first of the commands that the controller takes, unless the machine is in one of the states already:
// many controllers refuse what is so.
func (c *conn) reset(ctx context.Context, already []plan.State, commands ...schemas.ResetType) error {
	if err := c.command(ctx, already, commands); err != nil {
		return fmt.Errorf("%s: %w", c.base, err)
	}
	return nil
}

func (c *conn) command(ctx context.Context, already []plan.State, commands []schemas.ResetType) error {
	s, err := c.system(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(already, states[s.PowerState]) {
		return nil
	}
	offered, err := s.GetSupportedResetTypes()
	if err != nil || len(offered) == 0 {
		offered = commands // it does not say: it is tried
	}
	for _, command := range commands {
		if slices.Contains(offered, command) {
			_, err := s.Reset(command)
			return c.explain(ctx, err, true)
		}
	}
	words := make([]string, len(offered))
	for i, o := range offered {
		words[i] = string(o)
	}
	return fmt.Errorf("%w: it has no %s for this machine: it has %s", adapter.ErrRefused, commands[0], english.List(words, 9))
}

// explain turns an error into one of the port, with a hint where there is one. Of a command that was sent and not
// answered nobody knows whether it was done.
func (c *conn) explain(ctx context.Context, err error, sent bool) error {
	var answer *schemas.Error
	var op *net.OpError
	switch {
	case err == nil, errors.Is(err, adapter.ErrRefused):
		return err
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.As(err, &answer) && answer.HTTPReturnedStatusCode != 0:
		return c.explainAnswer(answer, sent)
	case certificate.Refused(err):
		return fmt.Errorf("%w: %v; if it was renewed, check it and put its SHA-256 into thumbprint", adapter.ErrRefused,
			err) //nolint:errorlint // only the sentinel is for others
	case !sent, errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: %v", adapter.ErrUnreachable,
			err) //nolint:errorlint // a deadline inside it would read as if nobody knew what was done
	}
	return fmt.Errorf("no answer, so it is unknown whether it was done (%v): %w", err, //nolint:errorlint // as above
		context.DeadlineExceeded)
}

// explainAnswer says what an answer means that is not a success.
func (c *conn) explainAnswer(answer *schemas.Error, sent bool) error {
	code := answer.HTTPReturnedStatusCode
	said := fmt.Sprintf("it answers %d %s", code, http.StatusText(code))
	if text := message(answer); text != "" {
		said += ": " + text
	}
	switch {
	case code == http.StatusUnauthorized:
		c.forget()
		return c.lockout.Refused(fmt.Errorf("%w: %q may not log in (%s): check the password, and that the controller allows HTTP Basic "+
			"authentication", adapter.ErrRefused, c.spec.Username, said))
	case code == http.StatusForbidden:
		return fmt.Errorf("%w: %s; the account needs the privilege ConfigureComponents (role Operator; on iLO \"Virtual Power and "+
			"Reset\", on iDRAC \"System Control\")", adapter.ErrRefused, said)
	case code == http.StatusConflict, code == http.StatusLocked, code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return fmt.Errorf("%w: %s; the controller or the machine is in the middle of something", adapter.ErrBusy, said)
	case code == http.StatusNotFound:
		// A controller that boots has no machines yet: not found never means gone.
		return fmt.Errorf("%w: %s; it may still be starting, or does not speak Redfish at this address", adapter.ErrBusy, said)
	case code >= 500 && code != http.StatusNotImplemented && sent:
		return fmt.Errorf("%s, so it is unknown whether it was done: %w", said, context.DeadlineExceeded)
	case code >= 500 && code != http.StatusNotImplemented:
		return fmt.Errorf("%w: %s", adapter.ErrBusy, said)
	}
	return fmt.Errorf("%w: %s", adapter.ErrRefused, said)
}

// message is what a controller says for people.
func message(answer *schemas.Error) string {
	text := answer.Message
	if len(answer.ExtendedInfos) > 0 && answer.ExtendedInfos[0].Message != "" {
		text = answer.ExtendedInfos[0].Message
	}
	return printable.Text(strings.TrimSpace(text), 200)
}
