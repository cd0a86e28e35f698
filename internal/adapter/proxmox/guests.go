package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/selector"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// guests is a proxmox.guests.
type guests struct {
	conn *conn
	spec *GuestsSpec
}

// Members lists the guests that the selection covers now, by name.
func (n *guests) Members(ctx context.Context) ([]plan.Member, error) {
	list, err := n.conn.all(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the guests of %s: %w", n.spec.Select, err)
	}
	var members []plan.Member
	for _, r := range list {
		if r.Template == 0 && n.spec.covers(&r) {
			members = append(members, r.member())
		}
	}
	selector.Sort(members)
	return members, nil
}

func (r *resource) member() plan.Member {
	return plan.Member{ID: strconv.Itoa(r.VMID), Name: r.Name, Host: r.Node, On: r.Status == "running"}
}

// Everything lists the VMs and containers that are on, whether a node covers them or not.
func (c *conn) Everything(ctx context.Context) ([]schema.Running, error) {
	list, err := c.all(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list what runs: %w", err)
	}
	var running []schema.Running
	for _, r := range list {
		if m := r.member(); m.On && r.Template == 0 {
			running = append(running, schema.Running{Member: m, Under: "proxmox.cluster"})
		}
	}
	selector.SortRunning(running)
	return running, nil
}

// Find tells the VM that is on and whose firmware says a UUID. A container has no firmware.
func (c *conn) Find(ctx context.Context, firmware string) (id string, err error) {
	list, err := c.all(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot list what runs: %w", err)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, concurrency)
	for i := range list {
		r := &list[i]
		if r.Type != "qemu" || !r.member().On {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			is, wrong := c.hasFirmware(ctx, r, firmware)
			mu.Lock()
			defer mu.Unlock()
			if is {
				id = r.member().ID
			}
			if wrong != nil {
				err = wrong
			}
		})
	}
	all.Wait()
	if id != "" {
		return id, nil // what one of the others would have said does not matter
	}
	return "", err
}

func (c *conn) hasFirmware(ctx context.Context, r *resource, firmware string) (bool, error) {
	var config struct {
		SMBIOS string `json:"smbios1"` // uuid=…,and=more
	}
	if err := c.get(ctx, r.path()+"/config", &config); err != nil {
		return false, fmt.Errorf("cannot read the configuration of guest %d: %w", r.VMID, err)
	}
	return slices.ContainsFunc(strings.Split(config.SMBIOS, ","), func(part string) bool {
		uuid, ok := strings.CutPrefix(part, "uuid=")
		return ok && selector.SameFirmware(uuid, firmware)
	}), nil
}

// covers reports whether everything in the spec applies to a guest. The globs were checked with the runbook.
func (s *GuestsSpec) covers(r *resource) bool {
	sel := s.Select
	switch {
	case sel.Pool != "" && r.Pool != sel.Pool, sel.Node != "" && r.Node != sel.Node:
		return false
	case sel.Tag != "" && !slices.Contains(strings.FieldsFunc(r.Tags,
		func(c rune) bool { return strings.ContainsRune(";, ", c) }), sel.Tag):
		return false
	}
	return selector.Covers(r.Name, sel.Name, s.Exclude)
}

// Member gives the node of one member.
func (n *guests) Member(id string) (adapter.Node, error) {
	vmid, err := strconv.Atoi(id)
	if err != nil {
		return nil, fmt.Errorf("%q is not the number of a guest: %w", id, err)
	}
	return &guest{conn: n.conn, vmid: vmid, grace: cmp.Or(n.spec.Grace, defaultGrace)}, nil
}

// Probe counts: on while any member is.
func (n *guests) Probe(ctx context.Context) (plan.Observation, error) {
	return selector.Probe(ctx, n, "guests")
}

// Do is refused: commands go to the members.
func (n *guests) Do(_ context.Context, do adapter.Command) error {
	return selector.Refuse(do.Verb, "guests of "+n.spec.Select.String())
}

func (s Selection) String() string {
	var parts []string
	for _, p := range []struct{ key, value string }{{"tag", s.Tag}, {"pool", s.Pool}, {"node", s.Node}, {"name", s.Name}} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", p.key, p.value))
		}
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ", ")
}
