package vsphere

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/selector"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// vmsNode is a vsphere.vms.
type vmsNode struct {
	conns []*Conn // via, then fallbacks of the members
	spec  *VMsSpec
}

// Members lists the VMs that the selection covers now, by name.
func (n *vmsNode) Members(ctx context.Context) ([]plan.Member, error) {
	members, err := n.members(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the VMs of %s: %w", n.spec.Select, err)
	}
	return members, nil
}

func (n *vmsNode) members(ctx context.Context) ([]plan.Member, error) {
	c := n.conns[0]
	if err := c.settle(ctx, false); err != nil {
		return nil, err
	}
	var tagged map[ref]bool
	if n.spec.Select.Tag != "" {
		var err error
		if tagged, err = c.tagged(ctx, n.spec.Select.Tag); err != nil {
			return nil, err
		}
	}
	servers := c.serversOf(ctx)
	inv := c.inventory
	inv.mu.Lock()
	defer inv.mu.Unlock()
	t := inv.tables
	if folder := n.spec.Select.Folder; folder != "" && !t.hasFolder(folder) {
		return nil, fmt.Errorf("%w: no folder %q is visible to %q", adapter.ErrRefused, folder, c.spec.Username)
	}
	var members []plan.Member
	for _, m := range t.vms {
		// A VM without a readable configuration has no UUID: its host has lost it, and nothing can be done with it.
		if m.countable() && n.spec.covers(t, m, tagged) {
			members = append(members, t.member(m, servers))
		}
	}
	selector.Sort(members)
	return members, nil
}

// countable reports whether a VM is one that can be worked with and that nobody else looks after.
func (m *vm) countable() bool {
	return !m.template && !m.secondary && m.uuid != "" && !isVCLS(m.name, m.managedBy)
}

// member is a VM with its host, its datastores and what serves these.
func (t *tables) member(m *vm, servers map[ref][]string) plan.Member {
	member := plan.Member{ID: m.uuid, Name: m.name, On: m.power == types.VirtualMachinePowerStatePoweredOn}
	if h := t.hosts[m.host]; h != nil {
		member.Host = h.name
	}
	for _, s := range m.stores {
		member.Storage = append(append(member.Storage, t.stores[s]), servers[s]...)
	}
	slices.Sort(member.Storage)
	member.Storage = slices.Compact(member.Storage)
	return member
}

// Everything lists the VMs that are on, whether a node covers them or not.
func (c *Conn) Everything(ctx context.Context) ([]schema.Running, error) {
	if err := c.settle(ctx, false); err != nil {
		return nil, fmt.Errorf("cannot list what runs: %w", err)
	}
	inv := c.inventory
	inv.mu.Lock()
	defer inv.mu.Unlock()
	var running []schema.Running
	for _, m := range inv.tables.vms {
		if m.countable() && m.power == types.VirtualMachinePowerStatePoweredOn {
			running = append(running, schema.Running{Member: inv.tables.member(m, nil), Under: "vsphere.cluster"})
		}
	}
	selector.SortRunning(running)
	return running, nil
}

// covers reports whether everything in the spec applies to a VM. The globs were checked with the runbook.
func (s *VMsSpec) covers(t *tables, m *vm, tagged map[ref]bool) bool {
	if !selector.Covers(m.name, s.Select.Name, s.Exclude) {
		return false
	}
	if s.Select.Tag != "" && !tagged[m.ref] {
		return false
	}
	return s.Select.Folder == "" || t.inFolder(m.parent, s.Select.Folder)
}

// inFolder reports whether a place is a folder of that name or path, or below one.
func (t *tables) inFolder(at ref, folder string) bool {
	p := t.places[at]
	for range maxDepth { // a server may say that two folders lie in each other
		if p == nil || t.isFolder(p, folder) {
			return p != nil
		}
		p = t.places[p.parent]
	}
	return false
}

func (t *tables) isFolder(p *place, folder string) bool {
	if !strings.Contains(folder, "/") {
		return p.name == folder
	}
	if !strings.HasSuffix(folder, "/"+p.name) { // the common case, without making the path
		return false
	}
	whole := "/" + p.name
	up := t.places[p.parent]
	for range maxDepth {
		if up == nil {
			break
		}
		whole = "/" + up.name + whole
		up = t.places[up.parent]
	}
	if strings.HasPrefix(folder, "/") {
		return whole == folder
	}
	return strings.HasSuffix(whole, "/"+folder)
}

func (t *tables) hasFolder(folder string) bool {
	for _, p := range t.places {
		if t.isFolder(p, folder) {
			return true
		}
	}
	return false
}

// Member gives the node of one member.
func (n *vmsNode) Member(id string) (adapter.Node, error) { return newVM(n.conns, "", id), nil }

// Probe counts: on while any member is.
func (n *vmsNode) Probe(ctx context.Context) (plan.Observation, error) {
	return selector.Probe(ctx, n, "VMs")
}

// Do is refused: commands go to the members.
func (n *vmsNode) Do(_ context.Context, do adapter.Command) error {
	return selector.Refuse(do.Verb, "VMs of "+n.spec.Select.String())
}

func (s Selection) String() string {
	var parts []string
	for _, p := range []struct{ key, value string }{{"tag", s.Tag}, {"folder", s.Folder}, {"name", s.Name}} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", p.key, p.value))
		}
	}
	return strings.Join(parts, ", ")
}
