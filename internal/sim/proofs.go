package sim

import (
	"context"
	"errors"
	"fmt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// What a node's own system and its BMC say is held together by the product's own code, and not by a model of it: both are
// modelled, as adapters.

// askBoth puts a node's BMC beside its own system, where it has one. What was held together before is forgotten.
func (s *simulation) askBoth(i int) {
	id := s.estate.Node(i).ID
	how, has := s.scenario.BMCs[id]
	if !has {
		return
	}
	decl := runbook.NodeDecl{ID: id, Wake: &runbook.Wake{Redfish: "bmc"}}
	proofs, err := adapter.Wake(system{s, i}, decl, func(string) (adapter.Conn, error) { return controller{s, i, how}, nil })
	if err != nil {
		panic(fmt.Sprintf("a BMC of the model can't be used: %v", err)) // it is a Powered, and has one way to wake
	}
	s.things[i].proofs = proofs
}

// give gives a command to a node: to its own system, or as its BMC has a part in it.
func (s *simulation) give(i int, do engine.Do) (engine.Outcome, string) {
	proofs := s.things[i].proofs
	if proofs == nil {
		return s.command(i, do.Verb, do.Settings)
	}
	err := proofs.Do(adapter.WithSettings(context.Background(), do.Settings), do.Verb)
	if err == nil {
		return engine.Done, ""
	}
	return outcomeOf(err), err.Error()
}

// look is what a probe of a node answers.
func (s *simulation) look(i int) (engine.Outcome, plan.Observation) {
	proofs := s.things[i].proofs
	if proofs == nil {
		return s.observe(i)
	}
	seen, err := proofs.Probe(context.Background())
	if err != nil {
		return outcomeOf(err), plan.Observation{}
	}
	return engine.Done, seen
}

// ends pairs the errors of an adapter with what the engine is told.
var ends = []struct {
	err     error
	outcome engine.Outcome
}{
	{adapter.ErrGone, engine.NoSuchThing},
	{adapter.ErrRefused, engine.Refused},
	{adapter.ErrBusy, engine.Busy},
	{adapter.ErrUnreachable, engine.Unreached},
}

func outcomeOf(err error) engine.Outcome {
	for _, e := range ends {
		if errors.Is(err, e.err) {
			return e.outcome
		}
	}
	return engine.TimedOut
}

func errorOf(outcome engine.Outcome, why string) error {
	if outcome == engine.Done {
		return nil
	}
	for _, e := range ends {
		if e.outcome == outcome {
			return fmt.Errorf("%s: %w", why, e.err)
		}
	}
	return errors.New(why)
}

// system is a node's own system as an adapter.
type system struct {
	s    *simulation
	node int
}

func (o system) Probe(context.Context) (plan.Observation, error) {
	outcome, seen := o.s.observe(o.node)
	return seen, errorOf(outcome, "no such thing")
}

func (o system) Do(ctx context.Context, v plan.Verb) error {
	outcome, why := o.s.command(o.node, v, adapter.Settings(ctx))
	return errorOf(outcome, why)
}

// controller is the BMC of a machine. It lives on the power that the machine stands by with.
type controller struct {
	s    *simulation
	node int
	how  BMC
}

func (c controller) Close() error { return nil }

func (c controller) answers() error {
	if c.how == NoAnswer || !c.s.powered(c.node) {
		return fmt.Errorf("the BMC does not answer: %w", adapter.ErrUnreachable)
	}
	return nil
}

func (c controller) Power(context.Context) (plan.Observation, error) {
	if err := c.answers(); err != nil {
		return plan.Observation{}, err
	}
	on := c.s.things[c.node].state != plan.Off
	if c.how == AlwaysOn || c.how == Well && on {
		return plan.Observation{State: plan.On}, nil
	}
	return plan.Observation{State: plan.Off}, nil
}

func (c controller) PowerOn(context.Context) error {
	if err := c.answers(); err != nil {
		return err
	}
	if c.how != Well {
		return nil // another machine is
	}
	outcome, why := c.s.start(c.node, c.s.took(c.node, plan.Start))
	return errorOf(outcome, why)
}

func (c controller) PowerOff(context.Context) error {
	if err := c.answers(); err != nil {
		return err
	}
	if c.how == Well {
		c.s.stop(c.node, c.s.took(c.node, plan.Force), false)
	}
	return nil
}
