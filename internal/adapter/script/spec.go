// Package script is what all nodes have in common that are driven by commands of the runbook, wherever these run: the
// keys of their declaration, what their probe's output means, and what the exit status of a command means.
package script

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Spec are the keys of a node that is driven by commands. A key that is not given is a verb that the node can't do.
// What the probe must answer is told at Read; what the others' exit status means, at Node.Do.
type Spec struct {
	Probe     schema.Command `yaml:"probe" json:"probe,omitzero"`
	Protect   schema.Command `yaml:"protect" json:"protect,omitzero"`
	Flush     schema.Command `yaml:"flush" json:"flush,omitzero"`
	Stop      schema.Command `yaml:"stop" json:"stop,omitzero"`
	Force     schema.Command `yaml:"force" json:"force,omitzero"`
	Start     schema.Command `yaml:"start" json:"start,omitzero"`
	Unprotect schema.Command `yaml:"unprotect" json:"unprotect,omitzero"`
}

// Keyed is a command with the key that it stands at.
type Keyed struct {
	Key     string
	Command schema.Command
}

// All lists the commands that are given.
func (s *Spec) All() []Keyed {
	all := []Keyed{{"probe", s.Probe}}
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		all = append(all, Keyed{v.String(), s.Command(v)})
	}
	return slices.DeleteFunc(all, func(k Keyed) bool { return k.Command.IsZero() })
}

// Command gives the command of a verb.
func (s *Spec) Command(v plan.Verb) schema.Command {
	switch v {
	case plan.Protect:
		return s.Protect
	case plan.Flush:
		return s.Flush
	case plan.Stop:
		return s.Stop
	case plan.Force:
		return s.Force
	case plan.Start:
		return s.Start
	case plan.Unprotect:
		return s.Unprotect
	default:
		return schema.Command{}
	}
}

// Verbs tells which verbs have a command.
func (s *Spec) Verbs() plan.Verbs {
	var can plan.Verbs
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if !s.Command(v).IsZero() {
			can |= plan.VerbSet(v)
		}
	}
	return can
}

// Check finds verbs that nothing could prove.
func (s *Spec) Check() []error {
	var errs []error
	for _, v := range []plan.Verb{plan.Protect, plan.Flush, plan.Unprotect} {
		if s.Verbs().Has(v) && s.Probe.IsZero() {
			errs = append(errs, fmt.Errorf("%s needs a probe that prints protected=yes or no, and dirty=BYTES or clean=yes or no: "+
				"nothing else proves it", v))
		}
	}
	if s.Verbs().Has(plan.Protect) != s.Verbs().Has(plan.Unprotect) {
		errs = append(errs, errors.New("protect and unprotect need each other: what is changed for an outage must be changed back"))
	}
	return errs
}

// Times are the expected and longest times of the verbs where a runbook does not say.
func Times() map[plan.Verb]plan.Times {
	return map[plan.Verb]plan.Times{
		plan.Protect:   {Nominal: 2 * time.Second, Within: 30 * time.Second},
		plan.Flush:     {Nominal: 30 * time.Second, Within: 5 * time.Minute},
		plan.Stop:      {Nominal: time.Minute, Within: 5 * time.Minute},
		plan.Force:     {Nominal: 5 * time.Second, Within: time.Minute},
		plan.Start:     {Nominal: 3 * time.Minute, Within: 10 * time.Minute},
		plan.Unprotect: {Nominal: 2 * time.Second, Within: 30 * time.Second},
	}
}
