package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// host is a proxmox.node.
type host struct {
	conn *conn
	name string
}

func (h *host) path() string { return "/nodes" + seg(h.name) }

// Probe reports whether the node answers. No answer is no proof that it is off: it is Unreachable only where the others say
// so, or nothing at all comes back from any of them; a node that refuses connections still runs.
func (h *host) Probe(ctx context.Context) (plan.Observation, error) {
	err := h.conn.get(ctx, h.path()+"/status", nil)
	if err == nil {
		return plan.Observation{State: plan.On, Detail: "answers"}, nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return plan.Observation{}, fmt.Errorf("cannot probe node %q: %w", h.name, err)
	}
	if seen, ok := reach.Seen(err, false); ok {
		return seen, nil
	}
	far, away := errors.AsType[*away](err)
	if !away {
		return plan.Observation{}, fmt.Errorf("cannot probe node %q: %w", h.name, err)
	}
	seen := plan.Observation{State: plan.Unknown, Detail: strings.Join(strings.Fields(err.Error()), " ")}
	if far.silent() {
		seen.State = plan.Unreachable
	}
	return seen, nil
}

// Do shuts the node down: with Stop only when no guest runs on it, with Force whatever runs on it. Proxmox itself then
// asks those guests to shut down first.
func (h *host) Do(ctx context.Context, do adapter.Command) error {
	if !nodeVerbs.Has(do.Verb) {
		return fmt.Errorf("cannot %s node %q: %w: Proxmox can only shut a node down; give it up.wake to start it", do.Verb, h.name,
			adapter.ErrRefused)
	}
	err := h.free(ctx, do.Verb)
	if err == nil {
		err = h.conn.call(ctx, http.MethodPost, h.path()+"/status", url.Values{"command": {"shutdown"}}, nil)
		var none *unanswered
		if errors.As(err, &none) && ctx.Err() == nil {
			err = nil // it went down before it could say so
		}
	}
	if err != nil {
		return fmt.Errorf("cannot %s node %q: %w", do.Verb, h.name, err)
	}
	return nil
}

// free asks the node itself what runs on it.
func (h *host) free(ctx context.Context, v plan.Verb) error {
	if v == plan.Force {
		return nil
	}
	var running []string
	for _, kind := range []string{"qemu", "lxc"} {
		var list []resource
		if err := h.conn.get(ctx, h.path()+"/"+kind, &list); err != nil {
			return err
		}
		for _, r := range list {
			if r.Status == "running" {
				running = append(running, fmt.Sprintf("%s (%d)", r.Name, r.VMID))
			}
		}
	}
	if len(running) == 0 {
		return nil
	}
	slices.Sort(running)
	return fmt.Errorf("%w: %s still running on it: %s", adapter.ErrBusy, english.CountAre(len(running), "guest"), english.List(running, 6))
}
