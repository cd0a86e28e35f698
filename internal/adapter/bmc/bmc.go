// Package bmc is what the management controllers of machines have in common, in whatever they are spoken to.
package bmc

import (
	"context"
	"fmt"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Controller is the management controller of one machine.
type Controller interface {
	adapter.Powered
	// Shutdown asks what runs on the machine to shut down, as a press of its power button does, and returns when the
	// command is accepted. A machine that is off is no error.
	Shutdown(ctx context.Context) error
}

type node struct {
	id   string
	ctrl Controller
}

// Node makes a node of a machine that is known by its controller alone.
func Node(id string, c Controller) adapter.Node { return node{id, c} }

// Probe asks the controller. One that does not answer says nothing about its machine.
func (n node) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := n.ctrl.Power(ctx)
	if err != nil {
		return plan.Observation{}, fmt.Errorf("cannot probe %q: %w", n.id, err)
	}
	return seen, nil
}

func (n node) Do(ctx context.Context, do adapter.Command) error {
	err := adapter.ErrRefused
	switch do.Verb {
	case plan.Stop:
		err = n.ctrl.Shutdown(ctx)
	case plan.Force:
		err = n.ctrl.PowerOff(ctx)
	case plan.Start:
		err = n.ctrl.PowerOn(ctx)
	default:
		err = fmt.Errorf("%w: a management controller can only stop, force and start", err)
	}
	if err != nil {
		return fmt.Errorf("cannot %s %q: %w", do.Verb, n.id, err)
	}
	return nil
}

// Traits are those of machines that are known by their controllers alone, reached by connections of type conn.
// What such a machine holds is not known, so that it is stopped like storage: only when all that uses it is proven off.
func Traits(name, conn string) schema.Traits {
	return schema.Traits{
		Name: name,
		Doc:  "a machine that only its management controller can manage",
		Kind: plan.Other,
		Via:  []string{conn},
		Can:  plan.VerbSet(plan.Stop, plan.Force, plan.Start),
		Times: map[plan.Verb]plan.Times{
			plan.Stop:  {Nominal: 90 * time.Second, Within: 5 * time.Minute},
			plan.Force: {Nominal: 10 * time.Second, Within: time.Minute},
			plan.Start: {Nominal: 3 * time.Minute, Within: 10 * time.Minute},
		},
		Risk: plan.ControlPlane,
	}
}
