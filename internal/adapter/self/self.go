// Package self serves the machine that runs Ebbtide: it goes last.
package self

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Spec are the keys of a node of type "self".
type Spec struct {
	Stop []string `yaml:"stop" json:"stop,omitempty"` // program and its arguments; systemctl -i poweroff if not given
}

// Family serves the node type "self". Unless armed, its stop is refused and nothing is run, whatever asks for it.
func Family(armed bool) adapter.Family {
	return adapter.Family{
		Nodes: []schema.AnyNodeType{schema.NodeType[Spec]{
			Traits: schema.Traits{
				Name:  "self",
				Doc:   "the machine that runs Ebbtide: powered off last, after the supplies' delayed cut is set",
				Kind:  plan.Self,
				Can:   plan.VerbSet(plan.Stop),
				Times: map[plan.Verb]plan.Times{plan.Stop: {Nominal: 30 * time.Second, Within: 2 * time.Minute}},
			},
			Check: func(s *Spec) []error {
				if len(s.Stop) > 0 && s.Stop[0] == "" {
					return []error{errors.New("stop names no program")}
				}
				return nil
			},
			ByHand: byHand,
		}.Any()},
		Open: func(d schema.Node, _ adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
			n := node{id: d.ID, stop: d.Spec.(*Spec).stop(), armed: armed}
			if len(d.Spec.(*Spec).Stop) == 0 {
				n.logind = &logind{ask: canPowerOff}
			}
			return n, nil
		},
	}
}

// stop is the command that powers this machine off.
func (s *Spec) stop() []string {
	if len(s.Stop) > 0 {
		return s.Stop
	}
	// A lock against shutting down (a package upgrade may hold one) does not keep the power on. From systemd 257 on it
	// stands in root's way too unless it is told to be ignored.
	return []string{"systemctl", "-i", "poweroff"}
}

func byHand(_ *schema.Node, spec *Spec, _ func(string) manual.Endpoint) manual.Procedure {
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop: {{
				Say:  "At the machine that runs Ebbtide, as root, after the cut of its supplies has been ordered:",
				Type: schema.Command{Argv: spec.stop()}.Shell(),
			}},
		},
		Off: []manual.Instruction{{Say: "Its power light is dark."}},
		On:  []manual.Instruction{{Say: "Ebbtide answers, and continues the restore by itself:", Type: "ebbtide status"}},
	}
}

type node struct {
	id     string
	stop   []string
	armed  bool
	logind *logind // nil: the runbook names a stop of its own, about which nobody can be asked
}

// Probe says On: whoever can ask is running. Where logind would not let our user power this machine off, it cautions.
func (n node) Probe(ctx context.Context) (plan.Observation, error) {
	seen := plan.Observation{State: plan.On, Detail: "this machine"}
	if n.logind != nil {
		seen.Caution = n.logind.caution(ctx)
	}
	if ctx.Err() != nil {
		return plan.Observation{}, context.Cause(ctx)
	}
	return seen, nil
}

// Do powers this machine off.
func (n node) Do(ctx context.Context, do adapter.Command) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case do.Verb != plan.Stop:
		return fmt.Errorf("cannot %s %q: %w: the machine that runs Ebbtide can only be stopped", do.Verb, n.id, adapter.ErrRefused)
	case !n.armed:
		return fmt.Errorf("cannot stop %q: %w: Ebbtide is not armed", n.id, adapter.ErrRefused)
	}
	res, err := process.Run(ctx, n.stop, "")
	if err != nil {
		return fmt.Errorf("cannot stop %q: %w", n.id, err)
	}
	if res.Code != 0 {
		return fmt.Errorf("cannot stop %q: %w: %q exited with %d", n.id, adapter.ErrRefused, n.stop[0], res.Code)
	}
	return nil
}
