package runbook

import (
	"maps"
	"slices"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Coverage tells what belongs to which node.
type Coverage struct {
	ids    map[string]string     // node ids by what their VMs are known by, see Known
	copies map[string][]sighting // the same by what any system may know them by: a UUID
	names  map[string]string     // of single nodes, by their names in their systems: with their connection, and without
	hosts  *hostNames
}

// sighting is where the inventory saw the VM of a node.
type sighting struct{ node, host string }

// Coverage looks at the nodes of a runbook and at the members that its selectors were compiled with.
func (c *Compiled) Coverage(rb *Runbook) *Coverage {
	k := &Coverage{ids: map[string]string{}, copies: map[string][]sighting{}, names: map[string]string{}, hosts: &c.hosts}
	via := map[string]string{} // by selector
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		t, ok := rb.schema.Node(d.Type)
		switch id := lasting(&rb.schema, d); {
		case ok && t.Selects:
			via[d.ID] = d.Via
		case id != "":
			k.known(c, d.Via, id, d.ID)
		default:
			k.names[d.Via+"/"+nameIn(d)] = d.ID
			if _, taken := k.names["/"+nameIn(d)]; !taken {
				k.names["/"+nameIn(d)] = d.ID
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Members)) {
		m := c.Members[id]
		k.known(c, via[m.Selector], m.MemberID, id)
	}
	return k
}

func (k *Coverage) known(c *Compiled, connection, id, node string) {
	k.ids[Known(connection, id)] = node
	if uuid := strings.ToLower(id); isUUID(uuid) {
		k.copies[uuid] = append(k.copies[uuid], sighting{node, c.hosts.of(connection, c.runsOn[node])})
	}
}

// Node finds the node that something belongs to which a connection lists: by its ID, or else by its name, on that system or
// on another one, as of a VM that is a node by its own SSH server. "": none does, and nothing would take it down.
func (k *Coverage) Node(connection string, m plan.Member) string {
	for _, id := range []string{
		k.ids[Known(connection, m.ID)], k.elsewhere(connection, &m), k.names[connection+"/"+m.Name], k.names["/"+m.Name],
	} {
		if id != "" {
			return id
		}
	}
	return ""
}

// elsewhere finds the node of a VM that another connection leads to as well: one of its UUID that is not known to run on another host.
// A copy has the UUID of what it was made from.
func (k *Coverage) elsewhere(connection string, m *plan.Member) string {
	host := k.hosts.of(connection, m.Host)
	for _, s := range k.copies[strings.ToLower(m.ID)] {
		if s.host == "" || host == "" || s.host == host || k.hosts.declared(s.host) != k.hosts.declared(host) {
			return s.node
		}
	}
	return ""
}

// Identity is the same for what two connections list where that is one VM, as far as is known: of one UUID, and on one host.
func (k *Coverage) Identity(connection string, m plan.Member) string {
	if host := k.hosts.of(connection, m.Host); host != "" && isUUID(strings.ToLower(m.ID)) {
		return Known(host, m.ID)
	}
	return Known(connection, m.ID)
}

// Known is what something is known by that a connection leads to. That is its own to that connection: two Proxmox hosts both have a guest 100,
// and two ESXi hosts may both have a VM of a UUID, as a copy has that of what it was made from. What two connections lead to may so be two
// nodes: a VM that is asked to stop twice is better than one that is never asked.
func Known(connection, id string) string { return connection + "/" + strings.ToLower(id) }

// hostNames are what an inventory may call the hosts that a runbook declares.
type hostNames struct {
	byName map[string]string   // their ids, by their name or id, in lower case
	byVia  map[string][]string // their ids, by the connection that they are reached through
}

// of gives the id of the declared host that a connection calls so, or, if there is none, the name, in lower case. A connection by which a
// single host is reached leads to that host, whatever it calls it.
func (h *hostNames) of(connection, name string) string {
	name = strings.ToLower(name)
	if id, ok := h.byName[name]; ok {
		return id
	}
	if name != "" && len(h.byVia[connection]) == 1 {
		return h.byVia[connection][0]
	}
	return name
}

func (h *hostNames) declared(host string) bool {
	_, ok := h.byName[strings.ToLower(host)]
	return ok
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
