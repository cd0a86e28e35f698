package hyperv

import (
	"context"
	"errors"
	"fmt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// host is a hyperv.host.
type host struct {
	on   powershell.Shell
	name string
}

// running is what still runs.
type running struct {
	Service string   `json:"service"`
	On      []string `json:"on"`
	Volumes []volume `json:"volumes"` // of a cluster: those that its hosts share
}

func (r running) err(what string) error {
	if len(r.On) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s still running %s: %s", adapter.ErrBusy, english.CountAre(len(r.On), "VM"), what, english.List(r.On, 6))
}

// Probe reports whether the host answers. No answer is no proof that it is off: it is Unreachable only where nothing at all
// comes back.
func (n *host) Probe(ctx context.Context) (plan.Observation, error) {
	var r running
	err := lookHost.run(ctx, n.on, wanted{}, &r)
	if err == nil {
		return plan.Observation{State: plan.On, Detail: "answers, " + english.CountAre(len(r.On), "VM") + " on"}, nil
	}
	if seen, ok := reach.Seen(err, false); ok && !errors.Is(ctx.Err(), context.Canceled) {
		return seen, nil
	}
	return plan.Observation{}, fmt.Errorf("cannot probe host %q: %w", n.name, powershell.Asked(err))
}

// Do shuts Windows down: with Stop only when no VM runs on it, with Force whatever runs on it, which is not asked: where its storage is
// lost Get-VM may never end.
func (n *host) Do(ctx context.Context, do adapter.Command) error {
	if !hostVerbs.Has(do.Verb) {
		return fmt.Errorf("cannot %s host %q: %w: Windows can only be shut down; give it up.wake to start it", do.Verb, n.name,
			adapter.ErrRefused)
	}
	var err error
	if do.Verb == plan.Stop {
		var r running
		if err = powershell.Asked(lookHost.run(ctx, n.on, wanted{}, &r)); err == nil {
			err = r.err("on it")
		}
	}
	if err == nil {
		err = stopHost.run(ctx, n.on, wanted{}, nil)
		if powershell.Unknown(err) && ctx.Err() == nil {
			err = nil // it went down before it could say so
		}
	}
	if err != nil {
		return fmt.Errorf("cannot %s host %q: %w", do.Verb, n.name, err)
	}
	return nil
}
