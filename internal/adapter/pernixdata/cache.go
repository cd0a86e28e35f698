package pernixdata

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/plan"
)

// cache is a pernixdata.cache.
type cache struct {
	id   string
	conn *conn
	on   powershell.Shell
	spec *CacheSpec
}

// Probe asks FVP for its VMs. What can't be asked or read is not proven.
func (c *cache) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := c.run(ctx, look, nil)
	if err != nil {
		return plan.Observation{}, fmt.Errorf("cannot probe %q: %w", c.id, powershell.Asked(err))
	}
	return observe(seen.VMs), nil
}

// policies are the words for policies within what Get-PrnxAccelerationPolicy prints.
var policies = regexp.MustCompile(`WRITE_[A-Z_]+`)

// writesThrough reports whether FVP says that it is so and nothing else.
func (m vm) writesThrough() bool {
	words := policies.FindAllString(m.Effective, -1)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return w != "WRITE_THROUGH" })
}

// destaged reports whether nothing is left to be written to the storage.
func (m vm) destaged() bool {
	left, err := strconv.ParseFloat(m.Left, 64)
	return err == nil && left == 0
}

// observe says what the state of the VMs means. While one writes back, each of those is in the settings; after that
// every VM has to be seen in write-through, and destaged.
func observe(vms []vm) plan.Observation {
	if len(vms) == 0 {
		return plan.Observation{State: plan.Unknown, Detail: "FVP knows no VM that is selected, or the account may not see it"}
	}
	if writing := writingBack(vms); len(writing) > 0 {
		o := plan.Observation{State: plan.On, Protected: plan.No, Clean: plan.No}
		var kept int
		o.Settings, kept = settingsOf(writing)
		o.Detail = fmt.Sprintf("%d of %d VMs write back", len(writing), len(vms))
		if over := len(writing) - kept; over > 0 {
			o.Detail += fmt.Sprintf("; %d of them are more than the record holds and would stay in write-through: divide them among "+
				"several nodes", over)
		}
		return o
	}
	o := plan.Observation{State: plan.On, Protected: plan.Yes, Clean: plan.Yes}
	var notes []string
	for _, m := range vms {
		switch {
		case m.Error != "":
			o.Protected, o.Clean = plan.NotKnown, plan.No
			notes = append(notes, fmt.Sprintf("%s: %s", m.Name, m.Error))
		case !m.writesThrough():
			o.Protected, o.Clean = plan.NotKnown, plan.No
			notes = append(notes, fmt.Sprintf("%s is in policy %q (exclude it if FVP does not accelerate it)", m.Name,
				strings.TrimSpace(m.Effective)))
		case !m.destaged():
			o.Clean = plan.No
			notes = append(notes, fmt.Sprintf("%s has %q s to destage", m.Name, m.Left))
		}
	}
	if more := len(notes) - 3; more > 0 {
		notes = append(notes[:3], fmt.Sprintf("%d more", more))
	}
	o.Detail = strings.Join(notes, "; ")
	return o
}

func writingBack(vms []vm) []vm {
	return slices.DeleteFunc(slices.Clone(vms), func(m vm) bool { return m.Policy != writeBack })
}

// Do takes every VM that writes back to write-through, or those on record back to what they were. FVP destages by itself:
// a Flush is for what has come to write back since.
func (c *cache) Do(ctx context.Context, do adapter.Command) error {
	var err error
	switch do.Verb {
	case plan.Protect, plan.Flush:
		_, err = c.run(ctx, through, nil)
	case plan.Unprotect:
		err = c.giveBack(ctx, parseSettings(do.Settings))
	default:
		err = fmt.Errorf("%w: it is a cache and has no such verb", adapter.ErrRefused)
	}
	if err != nil {
		return fmt.Errorf("cannot %s %q: %w", do.Verb, c.id, err)
	}
	return nil
}

// giveBack lets VMs write back as they did. Of what is not on record nobody knows how it was: that stays in write-through,
// which is slower and loses nothing.
func (c *cache) giveBack(ctx context.Context, was map[string]peers) error {
	seen, err := c.run(ctx, look, nil)
	if err != nil {
		return powershell.Asked(err)
	}
	if len(was) == 0 {
		return fmt.Errorf("%w: it is not on record which VMs wrote back: they stay in write-through; Set-PrnxAccelerationPolicy gives "+
			"each its write-back again", adapter.ErrRefused)
	}
	var vms []vm
	for _, m := range seen.VMs {
		set, ok := was[mark(m.ID)]
		if !ok || m.Policy == writeBack && set == (peers{m.Peers, m.External}) {
			continue
		}
		vms = append(vms, vm{ID: m.ID, Name: m.Name, Peers: set.near, External: set.external})
	}
	if len(vms) == 0 {
		return nil
	}
	_, err = c.run(ctx, back, vms)
	return err
}
