package sim

import (
	"errors"
	"fmt"
	"reflect"

	"ebbtide/internal/forecast"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// Load reads a scenario and makes it ready to run: with the runbook that is given, or with its own if rb is nil. The
// problems tell what is wrong in either text, by position; the error is about the two together.
func Load(name string, src []byte, rb *runbook.Runbook, types schema.Types) (Scenario, runbook.Problems, error) {
	sc, problems, err := (&Loader{Schema: types, Runbook: rb}).Load(name, src)
	sc.forecaster = nil // it may be run several times at once
	return sc, problems, err
}

// Loader loads scenarios of one runbook, one after another: that is compiled anew only where its selectors have other members. What it
// loads is to be run one at a time.
type Loader struct {
	Schema  schema.Types
	Runbook *runbook.Runbook // nil: each scenario has its own

	compiled *runbook.Compiled
	members  map[string][]plan.Member
	trials   int
	foresees *forecast.Forecaster
}

// Load is as the function.
func (l *Loader) Load(name string, src []byte) (Scenario, runbook.Problems, error) {
	var doc Document
	problems := runbook.ReadDocument(name, src, "a scenario", &doc)
	if problems.HasErrors() {
		return Scenario{}, problems, fmt.Errorf("cannot read scenario %s: it has mistakes", name)
	}
	rb := l.Runbook
	switch {
	case rb == nil && doc.Runbook == "":
		return Scenario{}, problems, fmt.Errorf("cannot use scenario %s: it has no runbook of its own: name a runbook", name)
	case rb == nil:
		var own runbook.Problems
		rb, own = runbook.Load(name+" (runbook)", []byte(doc.Runbook), l.Schema)
		if problems = append(problems, own...); own.HasErrors() {
			return Scenario{}, problems, fmt.Errorf("cannot use scenario %s: its runbook has mistakes", name)
		}
	}
	compiled, err := l.compile(rb, doc.Inventory())
	if err != nil {
		return Scenario{}, problems, fmt.Errorf("cannot use scenario %s: %w", name, err)
	}
	sc, errs := doc.Build(compiled)
	if len(errs) > 0 {
		return Scenario{}, problems, fmt.Errorf("cannot use scenario %s: %w", name, errors.Join(errs...))
	}
	if trials := estimateTrials(&sc); l.foresees == nil || trials != l.trials {
		l.trials, l.foresees = trials, forecast.New(nil, trials)
	}
	sc.forecaster = l.foresees
	return sc, problems, nil
}

func (l *Loader) compile(rb *runbook.Runbook, members map[string][]plan.Member) (*runbook.Compiled, error) {
	if l.compiled != nil && rb == l.Runbook && reflect.DeepEqual(members, l.members) {
		return l.compiled, nil
	}
	compiled, err := runbook.Compile(rb, l.Schema, members)
	if err != nil {
		return nil, err
	}
	compiled.Estate.Prepare()
	l.compiled, l.members, l.foresees = compiled, members, nil
	return compiled, nil
}
