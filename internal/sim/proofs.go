package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/wake"
	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
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
	decl := schema.Node{ID: id, Wake: &schema.Wake{Redfish: "bmc"}}
	proofs, err := wake.With(system{s, i}, decl, func(string) (adapter.Conn, error) { return controller{s, i, how}, nil })
	if err != nil {
		panic(fmt.Sprintf("a BMC of the model can't be used: %v", err)) // it is a Powered, and has one way to wake
	}
	s.nodes[i].proofs = proofs
}

// give gives a command to a node: to its own system, or as its BMC has a part in it.
func (s *simulation) give(i int, do effect.Do) (ledger.Outcome, string) {
	proofs := s.nodes[i].proofs
	if proofs == nil {
		return s.command(i, do.Verb, do.Settings)
	}
	err := proofs.Do(context.Background(), adapter.Command{Verb: do.Verb, Settings: do.Settings})
	if err == nil {
		return ledger.Done, ""
	}
	return outcomeOf(err), err.Error()
}

// look is what a probe of a node answers.
func (s *simulation) look(i int) (ledger.Outcome, plan.Observation) {
	proofs := s.nodes[i].proofs
	if proofs == nil {
		return s.observe(i)
	}
	seen, err := proofs.Probe(context.Background())
	if err != nil {
		return outcomeOf(err), plan.Observation{}
	}
	return ledger.Done, seen
}

// ends pairs the errors of an adapter with what the engine is told.
var ends = []struct {
	err     error
	outcome ledger.Outcome
}{
	{adapter.ErrGone, ledger.NoSuchThing},
	{adapter.ErrRefused, ledger.Refused},
	{adapter.ErrBusy, ledger.Busy},
	{adapter.ErrUnreachable, ledger.Unreached},
}

func outcomeOf(err error) ledger.Outcome {
	for _, e := range ends {
		if errors.Is(err, e.err) {
			return e.outcome
		}
	}
	return ledger.TimedOut
}

func errorOf(outcome ledger.Outcome, why string) error {
	if outcome == ledger.Done {
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
	return seen, errorOf(outcome, "does not exist")
}

func (o system) Do(_ context.Context, do adapter.Command) error {
	outcome, why := o.s.command(o.node, do.Verb, do.Settings)
	return errorOf(outcome, why)
}

// controller is the BMC of a machine. It lives on the power that the machine stands by with.
type controller struct {
	s    *simulation
	node int
	how  BMC
}

const (
	bmcBehind = 10 * time.Second // a BMC that is out of date is so much behind
	bmcFitful = 3                // a fitful one answers one question in so many
)

// flip is a change of a machine's power.
type flip struct {
	at  time.Time
	was bool // on
}

func (c controller) Close() error { return nil }

func (c controller) answers() error {
	t := &c.s.nodes[c.node]
	t.asked++
	if c.how == NoAnswer || c.how == Fitful && t.asked%bmcFitful != 0 || !c.s.powered(c.node) || c.s.cutOff(c.node) ||
		t.state == plan.Gone {
		c.s.meet(MetBMCSilent)
		return fmt.Errorf("the BMC does not answer: %w", adapter.ErrUnreachable)
	}
	return nil
}

// says is what it makes of the power of its machine.
func (c controller) says() (on bool) {
	t := &c.s.nodes[c.node]
	is := t.state != plan.Off
	switch c.how {
	case AlwaysOn:
		on = true
	case AlwaysOff:
	case Contrary:
		on = !is
	case OutOfDate:
		on = t.wasOnAt(c.s.now.Add(-bmcBehind))
	default:
		on = is
	}
	switch {
	case on == is:
	case c.how == OutOfDate:
		c.s.meet(MetBMCOutOfDate)
	default:
		c.s.meet(MetBMCWrong)
	}
	return on
}

// wasOnAt reports whether a machine had its power on at a time.
func (t *simNode) wasOnAt(at time.Time) bool {
	for _, f := range t.flips {
		if f.at.After(at) {
			return f.was
		}
	}
	return t.state != plan.Off
}

func (c controller) Power(context.Context) (plan.Observation, error) {
	if err := c.answers(); err != nil {
		return plan.Observation{}, err
	}
	if c.says() {
		return plan.Observation{State: plan.On}, nil
	}
	return plan.Observation{State: plan.Off}, nil
}

// ours reports whether it acts on its own machine, and not on another's.
func (c controller) ours() bool { return c.how != AlwaysOn && c.how != AlwaysOff }

// PowerOn does nothing where the BMC takes its machine for on: no command is sent then.
func (c controller) PowerOn(context.Context) error {
	if err := c.answers(); err != nil {
		return err
	}
	if c.says() || !c.ours() {
		return nil
	}
	outcome, why := c.s.start(c.node, c.s.took(c.node, plan.Start))
	return errorOf(outcome, why)
}

// PowerOff does nothing where the BMC takes its machine for off. It needs nothing of the machine's own system.
func (c controller) PowerOff(context.Context) error {
	if err := c.answers(); err != nil {
		return err
	}
	if !c.says() || !c.ours() {
		return nil
	}
	if c.s.nodes[c.node].state == plan.Starting {
		c.s.become(c.node, plan.Stopping)
	}
	c.s.stop(c.node, c.s.took(c.node, plan.Force), false)
	return nil
}
