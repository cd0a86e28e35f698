package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
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
			members = append(members, plan.Member{ID: strconv.Itoa(r.VMID), Name: r.Name, Host: r.Node, On: r.Status == "running"})
		}
	}
	adapter.SortMembers(members)
	return members, nil
}

// covers tells whether everything in the spec applies to a guest. The globs were checked with the runbook.
func (s *GuestsSpec) covers(r *resource) bool {
	sel := s.Select
	switch {
	case sel.Pool != "" && r.Pool != sel.Pool, sel.Node != "" && r.Node != sel.Node:
		return false
	case sel.Tag != "" && !slices.Contains(strings.FieldsFunc(r.Tags, func(c rune) bool { return strings.ContainsRune(";, ", c) }), sel.Tag):
		return false
	}
	return adapter.Covers(r.Name, sel.Name, s.Exclude)
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
	return adapter.ProbeMany(ctx, n, "guests")
}

// Do is refused: commands go to the members.
func (n *guests) Do(_ context.Context, v plan.Verb) error {
	return adapter.RefuseMany(v, "guests of "+n.spec.Select.String())
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
