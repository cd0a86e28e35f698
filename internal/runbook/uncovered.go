package runbook

import (
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Coverage tells what belongs to which node.
type Coverage struct {
	ids   map[string]string // node ids by what their VMs are known by, see Known
	names map[string]string // of single nodes, by their names in their systems: with their connection, and without
}

// Coverage looks at the nodes of a runbook and at the members that its selectors were compiled with.
func (c *Compiled) Coverage(rb *Runbook) *Coverage {
	k := &Coverage{ids: map[string]string{}, names: map[string]string{}}
	via := map[string]string{} // by selector
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		t, ok := rb.schema.Node(d.Type)
		switch id := lasting(&rb.schema, d); {
		case ok && t.Selects:
			via[d.ID] = d.Via
		case id != "":
			k.ids[Known(d.Via, id)] = d.ID
		default:
			k.names[d.Via+"/"+nameIn(d)] = d.ID
			if _, taken := k.names["/"+nameIn(d)]; !taken {
				k.names["/"+nameIn(d)] = d.ID
			}
		}
	}
	for id, m := range c.Members {
		k.ids[Known(via[m.Selector], m.MemberID)] = id
	}
	return k
}

// Node finds the node that something belongs to which a connection lists: by its ID, or else by its name, on that system or
// on another one, as of a VM that is a node by its own SSH server. "": none does, and nothing would take it down.
func (k *Coverage) Node(connection string, m plan.Member) string {
	for _, id := range []string{k.ids[Known(connection, m.ID)], k.names[connection+"/"+m.Name], k.names["/"+m.Name]} {
		if id != "" {
			return id
		}
	}
	return ""
}

// Known is what something is known by that a connection leads to. A UUID is the same whoever tells it; any other ID is one
// of that system alone: two Proxmox hosts both have a guest 100.
func Known(connection, id string) string {
	id = strings.ToLower(id)
	if isUUID(id) {
		return id
	}
	return connection + "/" + id
}

// isUUID reports whether an ID has the form of a UUID.
func isUUID(id string) bool {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(id) != len(form) {
		return false
	}
	for i, c := range id {
		if (form[i] == '-') != (c == '-') || c != '-' && !strings.ContainsRune("0123456789abcdef", c) {
			return false
		}
	}
	return true
}

// lasting is what a declaration says that its node is known by for good; "" if it names it only.
func lasting(types *schema.Types, d *NodeDecl) string {
	return specText(d.Spec, types.IDKey(d.Type))
}
