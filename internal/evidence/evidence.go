// Package evidence gathers what the outages and drills on record have shown: how long things took, what batteries gave,
// and when each thing was last really stopped and started. What follows from it is learned in forecast and power.
package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/forecast"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/timeline"
)

// kept is how many runs of a verb on a node, and how many discharges of a supply, are kept: the newest. Older ones
// count for little beside them.
const kept = 32

// Evidence is what closed outages have shown. The zero Evidence has seen none. It is not safe for concurrent use.
type Evidence struct {
	Outages int                      // that it is from
	Members map[string][]plan.Member // of selectors, as the newest outage with any had them

	runs     map[run][]forecast.Sample
	drained  map[string][]power.Discharge // by supply
	returned map[string]time.Time         // by node
}

type run struct {
	node string
	verb plan.Verb
}

// Add takes one closed outage, in any order. Each may be given once.
func (e *Evidence) Add(tl *timeline.Timeline) {
	if e.runs == nil {
		e.runs, e.drained, e.returned = map[run][]forecast.Sample{}, map[string][]power.Discharge{}, map[string]time.Time{}
	}
	e.Outages++
	for _, s := range tl.Samples() {
		k := run{s.Node, s.Verb}
		e.runs[k] = newest(e.runs[k], s, func(s forecast.Sample) time.Time { return s.At })
	}
	for _, d := range tl.Drained() {
		if !d.Tells() {
			continue
		}
		e.drained[d.Supply] = newest(e.drained[d.Supply], d.Discharge, func(d power.Discharge) time.Time { return d.At })
	}
	for node, at := range tl.Returned() {
		if at.After(e.returned[node]) {
			e.returned[node] = at
		}
	}
}

// newest adds to a list, oldest first, that keeps no more than the newest.
func newest[T any](list []T, one T, at func(T) time.Time) []T {
	i, _ := slices.BinarySearchFunc(list, one, func(a, b T) int { return at(a).Compare(at(b)) })
	list = slices.Insert(list, i, one)
	return list[max(0, len(list)-kept):]
}

// Samples lists the runs that were seen. find tells what a node is, nil if it is not known: see Finder.
func (e *Evidence) Samples(find func(node string) *plan.Node) []forecast.Sample {
	var all []forecast.Sample
	for k, runs := range e.runs {
		n := find(k.node)
		for _, s := range runs {
			if n != nil {
				s.Type, s.Nominal = n.Type, n.Time(s.Verb).Nominal
			}
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b forecast.Sample) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Verb, b.Verb))
	})
	return all
}

// Runs counts the runs of a verb on a node that are kept, and those of them that did not end by themselves.
func (e *Evidence) Runs(node string, verb plan.Verb) (all, hung int) {
	runs := e.runs[run{node, verb}]
	for _, s := range runs {
		if s.Hung {
			hung++
		}
	}
	return len(runs), hung
}

// Nodes makes a node of each that was seen, for where there is no runbook: it can what it did, and takes as long as half of
// its runs took. Each is a type of its own.
func (e *Evidence) Nodes() []plan.Node {
	nodes := map[string]*plan.Node{}
	for k, runs := range e.runs {
		n := nodes[k.node]
		if n == nil {
			n = &plan.Node{ID: k.node, Type: k.node, Attempts: 1}
			nodes[k.node] = n
		}
		var took []time.Duration
		for _, s := range runs {
			if !s.Hung {
				took = append(took, s.Took)
			}
		}
		slices.Sort(took)
		n.Can |= plan.VerbSet(k.verb)
		n.Times[k.verb].Within = unbounded
		if len(took) > 0 {
			n.Times[k.verb].Nominal = took[len(took)/2]
		}
	}
	var list []plan.Node
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		list = append(list, *nodes[id])
	}
	return list
}

// unbounded is the time limit of a node that no runbook bounds.
const unbounded = 1000 * time.Hour

// Supplies lists the supplies whose batteries were seen to give something.
func (e *Evidence) Supplies() []string { return slices.Sorted(maps.Keys(e.drained)) }

// Capacity tells what has been proven of a supply's battery now.
func (e *Evidence) Capacity(supply string, now time.Time) power.Capacity {
	return power.LearnCapacity(e.drained[supply], now)
}

// Newest is when the newest of all that was seen happened; the zero time if nothing was.
func (e *Evidence) Newest() time.Time {
	var at time.Time
	for _, runs := range e.runs {
		at = later(at, runs[len(runs)-1].At)
	}
	for _, past := range e.drained {
		at = later(at, past[len(past)-1].At)
	}
	for _, back := range e.returned {
		at = later(at, back)
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Returned tells when a node was last stopped and started again, without force; the zero time if it never was.
func (e *Evidence) Returned(node string) time.Time { return e.returned[node] }

// Source is where outages are on record: a journal, or a daemon that has it open.
type Source interface {
	Outages() ([]journal.Outage, error)
	Records(id string) ([]ledger.Record, error)
}

// Read gathers the evidence of all closed outages, the newest first, one at a time, until ctx ends. An outage that can't
// be read is left out: the error says which, and why, and the evidence is of the others. The error of a ctx that has
// ended says how many were not read.
func Read(ctx context.Context, from Source) (*Evidence, error) {
	e := &Evidence{}
	list, err := from.Outages()
	errs := []error{err}
	for i, o := range slices.Backward(list) {
		if o.Open {
			continue
		}
		if ctx.Err() != nil {
			errs = append(errs, fmt.Errorf("cannot learn from %s: %w", english.Count(i+1, "older outage"), context.Cause(ctx)))
			break
		}
		records, err := from.Records(o.ID)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot learn from outage %q: %w", o.ID, err))
			continue
		}
		tl := timeline.Fold(records)
		e.Add(&tl)
		if len(records) > 0 && len(e.Members) == 0 {
			e.Members = records[0].Members
		}
	}
	return e, errors.Join(errs...)
}

// Finder finds the nodes of an estate. What one of its selectors had for a member once is like one that it has now.
func Finder(estate *plan.Estate) func(node string) *plan.Node {
	groups := map[string]*plan.Node{}
	for i := range estate.Len() {
		if n := estate.Node(i); n.Group != "" {
			groups[n.Group] = n
		}
	}
	return func(node string) *plan.Node {
		if i, ok := estate.Index(node); ok {
			return estate.Node(i)
		}
		group, _, _ := strings.Cut(node, "/")
		return groups[group]
	}
}
