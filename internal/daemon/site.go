package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/estate"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// MistakesError says that a runbook can't be used. Problems.Text shows all of it.
type MistakesError struct {
	File     string
	Problems runbook.Problems
}

func (e *MistakesError) Error() string {
	n := e.Problems.Count(runbook.Error)
	first := slices.IndexFunc(e.Problems, func(p runbook.Problem) bool { return p.Severity == runbook.Error })
	return fmt.Sprintf("cannot use runbook %q: %s, the first in line %d: %s", e.File, english.Count(n, "mistake"), e.Problems[first].Line,
		e.Problems[first].Message)
}

// Hint says what a person can do.
func (e *MistakesError) Hint() string {
	return fmt.Sprintf("`ebbtide check %s` lists all of them", e.File)
}

// site is one runbook with its opened estate.
type site struct {
	*estate.Estate
	compiled   *runbook.Compiled
	digest     string // of the whole down plan
	rehearsals *rehearsals
	inventory  estate.Inventory
	blind      []string // selectors that have never answered: they have no members
	edited     bool     // the runbook's file says something else, and is taken over when the open outage is over
}

// openSite opens what a runbook names. Selectors are asked for their members; where one does not answer, known has
// those that it had last, and if not it has none until it answers: better than names that nobody can command. With
// frozen known is not to change: an outage is open that began with it.
func (d *Daemon) openSite(ctx context.Context, rb *inForce, known estate.Inventory, frozen bool) (_ *site, err error) {
	s := &site{rehearsals: &rehearsals{}, edited: rb.edited}
	s.Estate, err = estate.Open(rb.Runbook, estate.Options{
		Families: d.options.Families, Secrets: d.secrets,
		Over: d.over(rb.Runbook, s.rehearsals),
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	live := d.askSelectors(ctx, s, func(id string) bool {
		_, has := known[id]
		return !frozen || !has
	})
	if err := d.compile(s, known, live); err != nil {
		return nil, err
	}
	return s, nil
}

// compile makes the estate from the newest inventory: what was learnt now, else what was known.
func (d *Daemon) compile(s *site, known, live estate.Inventory) error {
	next := estate.Inventory{}
	var blind []string
	for _, id := range s.Selectors() {
		members, ok := live[id]
		if !ok {
			members, ok = known[id]
		}
		if !ok {
			blind = append(blind, id)
		}
		next[id] = members
	}
	compiled, err := s.Compile(next)
	if err != nil {
		return err
	}
	compiled.Supplies = d.learned.supplies(compiled.Supplies, time.Now())
	for id, err := range s.Adopt(compiled.Members) {
		d.log.Error("a member can't be commanded", keyNode, id, keyError, err)
	}
	for _, w := range compiled.Warnings {
		d.log.Warn("the inventory differs from what the runbook expects", "warning", w.Message, "file", w.File, "line", w.Line)
	}
	for _, id := range blind {
		if !slices.Contains(s.blind, id) {
			d.log.Error("a selector has not answered: what it covers is neither watched nor shut down until it does", keyNode, id)
		}
	}
	s.compiled, s.inventory, s.blind, s.digest = compiled, next, blind, compiled.Estate.Plan(plan.Down, nil).Digest()
	return nil
}

// reloaded is the event that gives the engine this site.
func (s *site) reloaded() engine.Reload {
	return engine.Reload{Estate: s.compiled.Estate, Policy: s.compiled.Policy, Supplies: s.compiled.Supplies, Members: s.inventory}
}
