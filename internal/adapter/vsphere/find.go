package vsphere

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
)

// sight is how a connection sees a VM.
type sight struct {
	vm
	host   string // the name of its host
	closed bool   // that host is in maintenance mode: nothing starts there
	gone   bool   // it is known to have been there, and is not any more
}

// find looks the VM up in what the watch of c knows.
func (n *vmNode) find(_ context.Context, c *Conn) (*sight, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	inv := c.inventory
	inv.mu.Lock()
	defer inv.mu.Unlock()
	t := inv.tables
	refs := t.byUUID[n.uuid]
	switch {
	case n.name == "":
	case n.known != "" && c != n.conns[0]:
		refs = t.byUUID[n.known] // another VM may have the same name here
	default:
		if refs = t.named(n.name); len(refs) == 0 {
			refs = t.byUUID[n.known] // it was renamed
		}
	}
	switch {
	case len(refs) == 1:
		m := t.vms[refs[0]]
		if n.name != "" && m.uuid != "" {
			n.known = m.uuid
		}
		return t.sight(m), nil
	case len(refs) > 1:
		return nil, fmt.Errorf("%w: %w", adapter.ErrRefused, t.ambiguous(n.name, refs))
	case inv.agent:
		return nil, errElsewhere
	case n.uuid != "" || n.known != "":
		return &sight{gone: true}, nil
	default:
		return nil, fmt.Errorf("%w: none of this name is visible to %q: check the name, and that the account may see it",
			adapter.ErrGone, c.spec.Username)
	}
}

// ask finds the VM and asks for its state anew.
func (n *vmNode) ask(ctx context.Context, c *Conn) (*sight, error) {
	known, err := n.find(ctx, c)
	if err != nil || known.gone {
		return known, err
	}
	b, err := c.fresh(ctx, known.ref)
	if err != nil {
		return nil, err
	}
	c.inventory.mu.Lock()
	defer c.inventory.mu.Unlock()
	switch m, ok := b.vms[known.ref]; {
	case ok:
		m.secondary = known.secondary
		return c.inventory.tables.sight(&m), nil
	case c.inventory.agent:
		return nil, errElsewhere
	default:
		return &sight{gone: true}, nil
	}
}

// sight is a VM with what is known of its host.
func (t *tables) sight(m *vm) *sight {
	s := &sight{vm: *m}
	if h := t.hosts[m.host]; h != nil {
		s.host, s.closed = h.name, h.maintenance
	}
	return s
}

// named lists the VMs that a name or path stands for.
func (t *tables) named(name string) []ref {
	if refs := t.primaries(name); len(refs) > 0 || !strings.Contains(name, "/") {
		return refs
	}
	var refs []ref
	for _, r := range t.primaries(baseName(name)) {
		if strings.HasSuffix(t.path(t.vms[r]), "/"+strings.TrimPrefix(name, "/")) {
			refs = append(refs, r)
		}
	}
	return refs
}

// primaries lists the VMs of a name, less the secondaries of fault-tolerant ones, which have the name of their primary.
func (t *tables) primaries(name string) []ref {
	refs := t.byName[name]
	if len(refs) < 2 {
		return refs
	}
	return slices.DeleteFunc(slices.Clone(refs), func(r ref) bool { return t.vms[r].secondary })
}
