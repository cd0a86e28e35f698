package sim

import (
	"errors"
	"fmt"

	"ebbtide/internal/runbook"
)

// Load reads a scenario and makes it ready to run: with the runbook that is given, or with its own if rb is nil. The
// problems tell what is wrong in either text, by position; the error is about the two together.
func Load(name string, src []byte, rb *runbook.Runbook, schema runbook.Schema) (Scenario, runbook.Problems, error) {
	var doc Document
	problems := runbook.ReadDocument(name, src, "a scenario", &doc)
	if problems.HasErrors() {
		return Scenario{}, problems, fmt.Errorf("cannot read scenario %s: it has mistakes", name)
	}
	switch {
	case rb == nil && doc.Runbook == "":
		return Scenario{}, problems, fmt.Errorf("cannot use scenario %s: it has no runbook of its own: name a runbook", name)
	case rb == nil:
		var own runbook.Problems
		rb, own = runbook.Load(name+" (runbook)", []byte(doc.Runbook), schema)
		if problems = append(problems, own...); own.HasErrors() {
			return Scenario{}, problems, fmt.Errorf("cannot use scenario %s: its runbook has mistakes", name)
		}
	}
	compiled, err := runbook.Compile(rb, schema, doc.Inventory())
	if err != nil {
		return Scenario{}, problems, fmt.Errorf("cannot use scenario %s: %w", name, err)
	}
	compiled.Estate.Prepare()
	sc, errs := doc.Build(compiled)
	if len(errs) > 0 {
		return Scenario{}, problems, fmt.Errorf("cannot use scenario %s: %w", name, errors.Join(errs...))
	}
	return sc, problems, nil
}
