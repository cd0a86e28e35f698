package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/engine"
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
	return fmt.Sprintf("cannot use runbook %q: %d mistakes, the first in line %d: %s", e.File, n, e.Problems[first].Line, e.Problems[first].Message)
}

// Hint says what a person can do.
func (e *MistakesError) Hint() string {
	return fmt.Sprintf("see all of them with: ebbtide check %s", e.File)
}

// loadRunbook reads and checks the runbook of the settings.
func (d *Daemon) loadRunbook() (*runbook.Runbook, error) {
	file := d.options.Config.Runbook
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the runbook: %w", err)
	}
	rb, problems := runbook.Load(file, src, adapter.Schema(d.options.Families))
	if problems.HasErrors() {
		return nil, &MistakesError{File: file, Problems: problems}
	}
	for _, p := range problems {
		d.log.Warn("the runbook has a warning", "warning", p.Message, "file", p.File, "line", p.Line, "hint", p.Hint)
	}
	return rb, nil
}

// site is one runbook with its opened estate.
type site struct {
	rb         *runbook.Runbook
	compiled   *runbook.Compiled
	digest     string // of the whole down plan
	set        *adapter.Set
	outputs    map[string]adapter.Node // of the supplies, and their outlets, by id
	rehearsals *rehearsals
	inventory  inventory
	blind      []string // selectors that have never answered: they have no members
}

// inventory is what selectors cover, by their node id.
type inventory map[string][]plan.Member

func (s *site) node(id string) (adapter.Node, bool) {
	if out, ok := s.outputs[id]; ok {
		return out, true
	}
	return s.set.Node(id)
}

func (s *site) close() error { return s.set.Close() }

// openSite opens what a runbook names. Selectors are asked for their members; where one does not answer, known has
// those that it had last, and if not it has none until it answers: better than names that nobody can command. With
// frozen known is not to change: an outage is open that began with it.
func (d *Daemon) openSite(ctx context.Context, rb *runbook.Runbook, known inventory, frozen bool) (_ *site, err error) {
	s := &site{rb: rb, outputs: map[string]adapter.Node{}, rehearsals: &rehearsals{}}
	s.set, err = adapter.Open(d.options.Families, rb.Connections, rb.Nodes, d.secrets)
	if err != nil {
		return nil, fmt.Errorf("cannot open the estate of runbook %q: %w", rb.Name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.set.Close())
		}
	}()
	d.decorate(s)
	for i := range rb.Supplies {
		out, err := d.output(s, &rb.Supplies[i])
		if err != nil {
			return nil, err
		}
		s.outputs[rb.Supplies[i].ID] = out
	}
	for _, o := range rb.Outlets() {
		if s.outputs[o.ID], err = d.outlet(s, o); err != nil {
			return nil, err
		}
	}
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
func (d *Daemon) compile(s *site, known, live inventory) error {
	next := inventory{}
	var blind []string
	for _, id := range s.selectors() {
		members, ok := live[id]
		if !ok {
			members, ok = known[id]
		}
		if !ok {
			blind = append(blind, id)
		}
		next[id] = members
	}
	compiled, err := runbook.Compile(s.rb, adapter.Schema(d.options.Families), next)
	if err != nil {
		return err
	}
	compiled.Supplies = d.learned.supplies(compiled.Supplies, time.Now())
	for id, m := range compiled.Members {
		if _, there := s.set.Node(id); there {
			continue
		}
		if err := s.set.AddMember(id, m.Selector, m.MemberID); err != nil {
			d.log.Error("a member can't be commanded", keyNode, id, keyError, err)
		}
	}
	for _, w := range compiled.Warnings {
		d.log.Warn("the inventory is not what the runbook expects", "warning", w.Message, "file", w.File, "line", w.Line)
	}
	for _, id := range blind {
		if !slices.Contains(s.blind, id) {
			d.log.Error("a selector has not answered: what it stands for is neither watched nor taken down until it does", keyNode, id)
		}
	}
	s.compiled, s.inventory, s.blind, s.digest = compiled, next, blind, compiled.Estate.Plan(plan.Down, nil).Digest()
	return nil
}

// reloaded is the event that gives the engine this site.
func (s *site) reloaded() engine.Reload {
	return engine.Reload{Estate: s.compiled.Estate, Policy: s.compiled.Policy, Supplies: s.compiled.Supplies, Members: s.inventory}
}
