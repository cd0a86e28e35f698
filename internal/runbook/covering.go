package runbook

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// plainWord is what stands in YAML without quotes and is text all the same.
var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// Covering writes the node that would cover a VM that a connection lists, as a line below nodes; "" if no type would.
func (rb *Runbook) Covering(connection string, m *schema.Running) string {
	at := slices.IndexFunc(rb.Connections, func(d ConnectionDecl) bool { return d.Name == connection })
	if at < 0 {
		return ""
	}
	kind := slices.IndexFunc(rb.schema.Nodes, func(t schema.AnyNodeType) bool {
		return t.Kind == plan.VM && !t.Selects && slices.Contains(t.Via, rb.Connections[at].Type)
	})
	if kind < 0 {
		return ""
	}
	typ := &rb.schema.Nodes[kind]
	id := cmp.Or(strings.TrimSpace(strings.NewReplacer("/", "-", "=", "-").Replace(m.Name)), "vm")
	if m.Twin || m.Name == "" {
		id += "-" + m.ID[:min(len(m.ID), 8)] // so much of a UUID tells a few apart
	}
	for base, n := id, 2; rb.declares(id); n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	line := fmt.Sprintf("%s: {type: %s, via: %s", inYAML(id), typ.Name, inYAML(connection))
	switch key := rb.schema.IDKey(typ.Name); {
	case m.Twin || m.Name == "" || strings.Contains(m.Name, "/"): // as a name, the last would be read as a path
		line += fmt.Sprintf(", %s: %s", key, idInYAML(typ, key, m.ID))
	case id != m.Name:
		line += fmt.Sprintf(", %s: %s", typ.Name[strings.LastIndexByte(typ.Name, '.')+1:], inYAML(m.Name))
	}
	if m.Keys != "" {
		line += ", " + m.Keys
	}
	if needs := rb.needs(connection, m); len(needs) > 0 {
		for i := range needs {
			needs[i] = inYAML(needs[i])
		}
		line += fmt.Sprintf(", depends_on: [%s]", strings.Join(needs, ", "))
	}
	return line + "}"
}

// needs tells what a VM would have to depend on: its host, and what stands between it and its host.
func (rb *Runbook) needs(connection string, m *schema.Running) []string {
	host := rb.HostCalled(m.Host)
	if m.Host == "" {
		host = rb.behind(connection)
	}
	needs := []string{host, rb.under(m.Under, host)}
	if host != "" && rb.dependsOn(needs[1], host) {
		needs = needs[1:]
	}
	return slices.DeleteFunc(slices.Compact(needs), func(id string) bool { return id == "" })
}

// under finds the declared node of a type that a VM on a host depends on: the only one, or of several the one that itself
// depends on that host; "" if there is none.
func (rb *Runbook) under(typ, host string) string {
	var all, near []string
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		if typ == "" || d.Type != typ {
			continue
		}
		all = append(all, d.ID)
		if host != "" && rb.dependsOn(d.ID, host) {
			near = append(near, d.ID)
		}
	}
	for _, found := range [][]string{all, near} {
		if len(found) == 1 {
			return found[0]
		}
	}
	return ""
}

// dependsOn reports whether a declared node depends on another one, at once or by others.
func (rb *Runbook) dependsOn(id, on string) bool {
	next, seen := []string{id}, map[string]bool{}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		i := slices.IndexFunc(rb.Nodes, func(d NodeDecl) bool { return d.ID == at })
		if i < 0 || seen[at] {
			continue
		}
		seen[at] = true
		needs := rb.labelled(rb.Nodes[i].DependsOn)
		if slices.Contains(needs, on) {
			return true
		}
		next = append(next, needs...)
	}
	return false
}

// labelled adds the nodes that are named by their labels.
func (rb *Runbook) labelled(refs []string) []string {
	all := slices.Clone(refs)
	for i := range rb.Nodes {
		for _, l := range rb.Nodes[i].Labels {
			if slices.Contains(refs, l.Key+"="+l.Value) {
				all = append(all, rb.Nodes[i].ID)
			}
		}
	}
	return all
}

func (rb *Runbook) declares(id string) bool {
	return slices.ContainsFunc(rb.Nodes, func(d NodeDecl) bool { return d.ID == id })
}

// HostCalled finds the declared host that an inventory knows by a name; "" if there is none.
func (rb *Runbook) HostCalled(name string) string {
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		if t, ok := rb.schema.Node(d.Type); ok && t.Kind == plan.Host &&
			(strings.EqualFold(nameIn(d), name) || strings.EqualFold(d.ID, name)) {
			return d.ID
		}
	}
	return ""
}

// behind finds the one node that all VMs that are reached through a connection depend on: their host, where an inventory
// names none. "" if there is none, or several.
func (rb *Runbook) behind(connection string) string {
	var common []string
	first := true
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		if t, ok := rb.schema.Node(d.Type); d.Via != connection || !ok || t.Kind != plan.VM {
			continue
		}
		if first {
			first, common = false, slices.Clone(d.DependsOn)
		}
		common = slices.DeleteFunc(common, func(id string) bool { return !slices.Contains(d.DependsOn, id) })
	}
	if len(common) != 1 {
		return ""
	}
	return common[0]
}

// idInYAML writes the ID of a VM as the specs of a type have it: as text, or as a number.
func idInYAML(t *schema.AnyNodeType, key, id string) string {
	if field, ok := specField(t.Spec(), key); ok && field.Kind() != reflect.String {
		return id
	}
	return inYAML(id)
}

// inYAML writes a word so that YAML reads it as text.
func inYAML(word string) string {
	if plainWord.MatchString(word) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"},
		strings.ToLower(word)) {
		return word
	}
	return strconv.Quote(word)
}
