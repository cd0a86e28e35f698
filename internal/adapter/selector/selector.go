// Package selector has what nodes that stand for many have in common.
package selector

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Probe is the probe of a node that stands for many, which what names ("VMs"): on while any member is.
func Probe(ctx context.Context, s adapter.Selector, what string) (plan.Observation, error) {
	members, err := s.Members(ctx)
	if err != nil {
		return plan.Observation{}, err
	}
	on := 0
	for _, m := range members {
		if m.On {
			on++
		}
	}
	o := plan.Observation{State: plan.Off, Detail: fmt.Sprintf("%d of %d %s are on", on, len(members), what)}
	if on > 0 {
		o.State = plan.On
	}
	return o, nil
}

// Refuse is what a node that stands for many answers to a command.
func Refuse(v plan.Verb, what string) error {
	return fmt.Errorf("cannot %s the %s: %w: commands go to the members", v, what, adapter.ErrRefused)
}

// Covers reports whether a name is that of a member: the glob name fits it ("" fits all) and none of exclude does. The globs
// were checked with the runbook (runbook.CheckGlobs).
func Covers(name, glob string, exclude []string) bool {
	fits := func(glob string) bool {
		ok, _ := path.Match(glob, name)
		return ok
	}
	return (glob == "" || fits(glob)) && !slices.ContainsFunc(exclude, fits)
}

// Sort puts members into the order in which they are always listed: by name, then by ID.
func Sort(members []plan.Member) {
	slices.SortFunc(members, byName)
}

// SortRunning puts what runs into the same order.
func SortRunning(running []schema.Running) {
	slices.SortFunc(running, func(a, b schema.Running) int { return byName(a.Member, b.Member) })
}

func byName(a, b plan.Member) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
