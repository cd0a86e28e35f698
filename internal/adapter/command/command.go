// Package command drives nodes by local programs: whatever has a command-line tool on the machine that runs Ebbtide.
package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/adapter/script"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Family serves the node type "command".
func Family() adapter.Family {
	return adapter.Family{
		Nodes: []schema.AnyNodeType{schema.NodeType[script.Spec]{
			Traits: schema.Traits{
				Name:     "command",
				Doc:      "driven by programs on the machine that runs Ebbtide, each a list of a program and its arguments",
				Kind:     plan.Other,
				Anything: true,
				Times:    script.Times(),

				MaySwitch: true,
			},
			Verbs: (*script.Spec).Verbs,
			Check: check,
			ByHand: func(_ *schema.Node, s *script.Spec, _ func(string) manual.Endpoint) manual.Procedure {
				return s.ByHand("On the machine that runs Ebbtide, or another that has the program and the keys:",
					schema.Command.Shell)
			},
		}.Any()},
		Open: func(d schema.Node, _ adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
			return &script.Node{ID: d.ID, Spec: *d.Spec.(*script.Spec), Run: run, Look: unknown}, nil
		},
	}
}

func check(s *script.Spec) []error {
	errs := s.Check()
	if s.Probe.IsZero() && s.Verbs().Has(plan.Stop) {
		errs = append(errs, errors.New("stop needs a probe: nothing else proves that it is off"))
	}
	for _, c := range s.All() {
		if c.Command.Line != "" {
			errs = append(errs, fmt.Errorf("%s must be a list of a program and its arguments: there is no shell here; write [sh, -c, %q] "+
				"if you want one", c.Key, c.Command.Line))
		}
	}
	return errs
}

// run runs a local program. One that can't be run at all is refused: repeating it does not help.
func run(ctx context.Context, c schema.Command, stdin string) (process.Result, error) {
	res, err := process.Run(ctx, c.Argv, stdin)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return res, fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	return res, err
}

func unknown(context.Context) (plan.Observation, error) {
	return plan.Observation{State: plan.Unknown, Detail: "it has no probe"}, nil
}
