package nut

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// outlet is a switched outlet, or group of outlets, of a UPS as a node of the estate.
type outlet struct {
	unit
	name string // "2", "group.1"
}

// NewOutlet makes the node of an outlet, by its name in NUT: "2" for outlet.2, "group.1" for outlet.group.1. It knows Stop,
// which switches it off, and Start; what the UPS says in outlet.N.status proves them.
func NewOutlet(o Options, ups, name string) adapter.Node {
	return &outlet{unit{options: o, ups: ups}, name}
}

func (o *outlet) variable(name string) string { return "outlet." + o.name + "." + name }

// Probe tells what the UPS says of the outlet, and Off of one whose UPS says that its whole output is.
func (o *outlet) Probe(ctx context.Context) (plan.Observation, error) {
	vars, err := o.vars(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return plan.Observation{}, err
	case errors.Is(err, ErrUnknownUPS):
		return plan.Observation{State: plan.Gone, Detail: err.Error()}, nil
	case err != nil:
		return plan.Observation{State: plan.Unreachable, Detail: err.Error()}, nil
	}
	return o.judge(vars), nil
}

func (o *outlet) judge(vars []Var) plan.Observation {
	status := power.ParseStatus(bare(valueOf(vars, varStatus)))
	if status.Has(power.OFF) && !status.Has(power.OL) {
		return plan.Observation{State: plan.Off, Detail: fmt.Sprintf("the UPS says %s", status)}
	}
	switch said := bare(valueOf(vars, o.variable("status"))); strings.ToLower(said) {
	case "on":
		return plan.Observation{State: plan.On}
	case "off":
		return plan.Observation{State: plan.Off}
	default:
		return plan.Observation{State: plan.Unknown, Detail: fmt.Sprintf("the UPS says %q of %s", said, o.variable("status"))}
	}
}

// Do switches the outlet, unless the UPS says that it is so already.
func (o *outlet) Do(ctx context.Context, do adapter.Command) error {
	switch do.Verb {
	case plan.Stop:
		return o.turn(ctx, plan.Off, "off")
	case plan.Start:
		return o.turn(ctx, plan.On, "on")
	case plan.Protect, plan.Flush, plan.Force, plan.Cut, plan.Unprotect, plan.Discharge, plan.EndDischarge:
	}
	return fmt.Errorf("cannot %s outlet %s of UPS %q: it can only be stopped and started: %w", do.Verb, o.name, o.ups, adapter.ErrRefused)
}

func (o *outlet) turn(ctx context.Context, want plan.State, word string) error {
	return o.session(ctx, fmt.Sprintf("switch %s outlet %s of", word, o.name), func(c *Client, vars []Var) error {
		if o.judge(vars).State == want {
			return nil
		}
		if strings.EqualFold(bare(valueOf(vars, o.variable("switchable"))), "no") {
			return fmt.Errorf("it is not switchable: take it out of fed_by: %w", adapter.ErrRefused)
		}
		command, err := o.offers(ctx, c, o.commands(word)...)
		if err != nil {
			return err
		}
		return o.command(ctx, c, command)
	})
}

// commands are those that switch it on or off, the better first.
func (o *outlet) commands(word string) []string {
	return []string{o.variable("load." + word), o.variable("load." + word + ".delay")}
}
