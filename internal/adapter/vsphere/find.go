package vsphere

import (
	"context"
	"fmt"
	"strings"

	"ebbtide/internal/adapter"
)

// sight is how a connection sees a VM.
type sight struct {
	vm
	host string // the name of its host
	gone bool   // it is known to have been there, and is not any more
}

// find looks the VM up in what the watch of c knows.
func (n *vmNode) find(_ context.Context, c *Conn) (sight, error) {
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
		m := *t.vms[refs[0]]
		if n.name != "" && m.uuid != "" {
			n.known = m.uuid
		}
		return sight{vm: m, host: t.hostName(m.host)}, nil
	case len(refs) > 1:
		return sight{}, fmt.Errorf("%w: %w", adapter.ErrRefused, t.ambiguous(n.name, refs))
	case inv.agent:
		return sight{}, errElsewhere
	case n.uuid != "" || n.known != "":
		return sight{gone: true}, nil
	default:
		return sight{}, fmt.Errorf("%w: none of this name is visible to %q: check the name, and that the account may see it", adapter.ErrGone, c.spec.Username)
	}
}

// ask finds the VM and asks for its state anew.
func (n *vmNode) ask(ctx context.Context, c *Conn) (sight, error) {
	known, err := n.find(ctx, c)
	if err != nil || known.gone {
		return known, err
	}
	b, err := c.fresh(ctx, known.ref)
	if err != nil {
		return sight{}, err
	}
	c.inventory.mu.Lock()
	defer c.inventory.mu.Unlock()
	switch m, ok := b.vms[known.ref]; {
	case ok:
		return sight{vm: m, host: c.inventory.tables.hostName(m.host)}, nil
	case c.inventory.agent:
		return sight{}, errElsewhere
	default:
		return sight{gone: true}, nil
	}
}

func (t *tables) hostName(r ref) string {
	if h := t.hosts[r]; h != nil {
		return h.name
	}
	return ""
}

// named lists the VMs that a name or path stands for.
func (t *tables) named(name string) []ref {
	if refs := t.byName[name]; len(refs) > 0 || !strings.Contains(name, "/") {
		return refs
	}
	var refs []ref
	for _, r := range t.byName[baseName(name)] {
		if strings.HasSuffix(t.path(t.vms[r]), "/"+strings.TrimPrefix(name, "/")) {
			refs = append(refs, r)
		}
	}
	return refs
}
