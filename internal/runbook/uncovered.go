package runbook

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Coverage tells what belongs to which node.
type Coverage struct {
	known *sightings
	names map[string]string // of single nodes, by their names in their systems: with their connection, and without
}

// Coverage looks at the nodes of a runbook and at the members that its selectors were compiled with.
func (c *Compiled) Coverage(rb *Runbook) *Coverage {
	k := &Coverage{known: &sightings{hosts: c.hosts.clone(), of: map[string][]sighting{}}, names: map[string]string{}}
	via := map[string]string{} // by selector
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		t, ok := rb.schema.Node(d.Type)
		switch id := lasting(&rb.schema, d); {
		case ok && t.Selects:
			via[d.ID] = d.Via
		case id != "":
			k.known.add(d.ID, d.Via, id, c.runsOn[d.ID])
		default:
			k.names[d.Via+"/"+nameIn(d)] = d.ID
			if _, taken := k.names["/"+nameIn(d)]; !taken {
				k.names["/"+nameIn(d)] = d.ID
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Members)) {
		m := c.Members[id]
		k.known.add(id, via[m.Selector], m.MemberID, c.runsOn[id])
	}
	return k
}

// MayBeOne reports whether what two connections list may be one thing: one ID through one connection, or one UUID on what is not known to
// be two hosts.
func (k *Coverage) MayBeOne(connection string, m plan.Member, other string, n plan.Member) bool {
	id := strings.ToLower(m.ID)
	return id == strings.ToLower(n.ID) &&
		(connection == other || isUUID(id) && !k.known.hosts.areTwo(sighting{connection: connection, host: m.Host}, other, n.Host))
}

// Lists notes a host that a connection lists something on.
func (k *Coverage) Lists(connection, host string) { k.known.hosts.lists(connection, host) }

// Node finds the node that something belongs to which a connection lists: by its ID, or else by its name, on that system or
// on another one, as of a VM that is a node by its own SSH server. "": none does, and nothing would take it down.
func (k *Coverage) Node(connection string, m plan.Member) string {
	return cmp.Or(k.known.node(connection, m.ID, m.Host), k.names[connection+"/"+m.Name], k.names["/"+m.Name])
}

// Identity is the same for what two connections list where that is one VM, as far as is known.
func (k *Coverage) Identity(connection string, m plan.Member) string {
	if host := k.known.hosts.named(connection, m.Host); host != "" && isUUID(strings.ToLower(m.ID)) {
		return strings.ToLower(m.ID) + " on " + host
	}
	return connection + "/" + strings.ToLower(m.ID)
}

// sightings are nodes by what their systems know them by. A UUID may be known to several, as to a vCenter and to the host that a VM runs
// on; and two VMs may have one, since a copy has that of what it was made from. Any other ID is one of its system alone: two Proxmox hosts
// both have a guest 100.
type sightings struct {
	hosts *hostNames
	of    map[string][]sighting // by ID
}

// sighting is a node as a connection leads to it, on a host as that calls it, as far as is known.
type sighting struct{ node, connection, host string }

func (s *sightings) add(node, connection, id, host string) {
	id = strings.ToLower(id)
	s.of[id] = append(s.of[id], sighting{node, connection, host})
}

// node finds what is known by an ID on a host; "": nothing is. Through one connection an ID stands for one thing. Through two, a UUID does
// where the hosts are not known to be two.
func (s *sightings) node(connection, id, host string) string {
	id = strings.ToLower(id)
	elsewhere := ""
	for _, one := range s.of[id] {
		if one.connection == connection {
			return one.node
		}
		if elsewhere == "" && isUUID(id) && !s.hosts.areTwo(one, connection, host) {
			elsewhere = one.node
		}
	}
	return elsewhere
}

// hostNames are what an inventory may call the hosts that a runbook declares.
type hostNames struct {
	byName map[string]string   // their ids, by their name or id, in lower case
	byVia  map[string][]string // their ids, by the connection that they are reached through
	listed map[string][]string // the hosts that a connection lists something on, as it calls them, in lower case
}

// clone gives one that may learn of more.
func (h *hostNames) clone() *hostNames {
	listed := make(map[string][]string, len(h.listed))
	for connection, names := range h.listed {
		listed[connection] = slices.Clone(names)
	}
	return &hostNames{h.byName, h.byVia, listed}
}

// lists notes a host that a connection lists something on.
func (h *hostNames) lists(connection, host string) {
	host = strings.ToLower(host)
	if host != "" && !slices.Contains(h.listed[connection], host) {
		h.listed[connection] = append(h.listed[connection], host)
	}
}

// named gives the id of the declared host that a connection calls so, or, if there is none, the name, in lower case. A connection by which
// a single host is reached, and that lists no second one, leads to that host, whatever it calls itself.
func (h *hostNames) named(connection, name string) string {
	name = strings.ToLower(name)
	if id, ok := h.byName[name]; ok {
		return id
	}
	if name != "" && len(h.byVia[connection]) == 1 && len(h.listed[connection]) <= 1 {
		return h.byVia[connection][0]
	}
	return name
}

// areTwo reports whether what two connections call two hosts is known to be two. One that is declared may be what another connection calls
// otherwise, unless that one lists it by its own name too.
func (h *hostNames) areTwo(one sighting, connection, name string) bool {
	a, b := h.named(one.connection, one.host), h.named(connection, name)
	_, isA := h.byName[strings.ToLower(a)]
	_, isB := h.byName[strings.ToLower(b)]
	return a != "" && b != "" && a != b && (isA == isB || h.hasListed(one.connection, b) || h.hasListed(connection, a))
}

// hasListed reports whether a connection has listed something on a host of this id or name.
func (h *hostNames) hasListed(connection, host string) bool {
	return slices.ContainsFunc(h.listed[connection], func(name string) bool { return h.named(connection, name) == host })
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
