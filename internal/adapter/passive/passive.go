// Package passive serves the nodes that Ebbtide gives no commands to: what drops when its power goes, and what a
// person does.
package passive

import (
	"context"
	"fmt"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/healthcheck"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Family serves the node types "passive" and "manual".
func Family() adapter.Family {
	person := plan.VerbSet(plan.Stop, plan.Start)
	return adapter.Family{
		Nodes: []schema.AnyNodeType{
			schema.NodeType[schema.NoKeys]{
				Traits: schema.Traits{
					Name: "passive",
					Doc:  "needs no shutdown and drops when its supplies are cut: a switch, a monitor",
					Kind: plan.Passive,
				},
				ByHand: func(*schema.Node, *schema.NoKeys, func(string) manual.Endpoint) manual.Procedure {
					return manual.Procedure{On: []manual.Instruction{{Say: "Its lights are on."}}}
				},
			}.Any(),
			schema.NodeType[schema.NoKeys]{
				Traits: schema.Traits{
					Name: "manual",
					Doc:  "a manual step: asked for, then confirmed or skipped",
					Kind: plan.Manual,
					Can:  person,
					Times: map[plan.Verb]plan.Times{
						plan.Stop:  {Nominal: 2 * time.Minute, Within: 10 * time.Minute},
						plan.Start: {Nominal: 2 * time.Minute, Within: 30 * time.Minute},
					},
				},
				ByHand: func(*schema.Node, *schema.NoKeys, func(string) manual.Endpoint) manual.Procedure {
					is := []manual.Instruction{{Say: "You have seen it yourself."}}
					return manual.Procedure{Off: is, On: is}
				},
			}.Any(),
		},
		Open: func(d schema.Node, _ adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
			if d.Type == "manual" {
				return node{d.ID, person, "only a person can tell"}, nil
			}
			if len(d.Healthy) > 0 {
				return checked{node{id: d.ID}, d.Healthy}, nil
			}
			return node{id: d.ID, why: "it has no health checks"}, nil
		},
	}
}

type node struct {
	id  string
	can plan.Verbs
	why string
}

// Probe says that the state is unknown: nobody can be asked.
func (n node) Probe(ctx context.Context) (plan.Observation, error) {
	if ctx.Err() != nil {
		return plan.Observation{}, context.Cause(ctx)
	}
	return plan.Observation{State: plan.Unknown, Detail: n.why}, nil
}

// Do accepts a person's verbs and does nothing: the engine asks the person, and the person's word is the proof.
func (n node) Do(ctx context.Context, do adapter.Command) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !n.can.Has(do.Verb) {
		return fmt.Errorf("cannot %s %q: %w: it takes no commands", do.Verb, n.id, adapter.ErrRefused)
	}
	return nil
}

// checked is a passive node with health checks: the only thing that can tell whether it is on.
type checked struct {
	node
	checks []schema.HealthCheck
}

// Probe says On if all checks pass, and Unknown if not: it may be off, or on and ill.
func (c checked) Probe(ctx context.Context) (plan.Observation, error) {
	if ctx.Err() != nil {
		return plan.Observation{}, context.Cause(ctx)
	}
	seen := plan.Observation{State: plan.Unknown}
	seen.Healthy, seen.Detail = healthcheck.Check(ctx, c.checks)
	if seen.Healthy == plan.Yes {
		seen.State = plan.On
	}
	return seen, nil
}
