package runbook

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/plan"
)

// plainWord is what stands in YAML without quotes and is text all the same.
var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// Covering writes the node that would cover a VM that a connection lists, as a line below nodes; "" if no type would.
func (rb *Runbook) Covering(connection string, m plan.Member) string {
	at := slices.IndexFunc(rb.Connections, func(d ConnectionDecl) bool { return d.Name == connection })
	if at < 0 {
		return ""
	}
	kind := slices.IndexFunc(rb.schema.Nodes, func(t NodeType) bool {
		return t.Kind == plan.VM && !t.Selects && slices.Contains(t.Via, rb.Connections[at].Type)
	})
	if kind < 0 {
		return ""
	}
	typ := rb.schema.Nodes[kind].Name
	id := strings.TrimSpace(strings.NewReplacer("/", "-", "=", "-").Replace(m.Name))
	for base, n := id, 2; rb.declares(id); n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	line := fmt.Sprintf("%s: {type: %s, via: %s", inYAML(id), typ, inYAML(connection))
	switch {
	case strings.Contains(m.Name, "/"): // as a name it would be read as a path
		line += ", uuid: " + inYAML(m.ID)
	case id != m.Name:
		line += fmt.Sprintf(", %s: %s", typ[strings.LastIndexByte(typ, '.')+1:], inYAML(m.Name))
	}
	host := rb.hostCalled(m.Host)
	if m.Host == "" {
		host = rb.behind(connection)
	}
	if host != "" {
		line += fmt.Sprintf(", depends_on: [%s]", inYAML(host))
	}
	return line + "}"
}

func (rb *Runbook) declares(id string) bool {
	return slices.ContainsFunc(rb.Nodes, func(d NodeDecl) bool { return d.ID == id })
}

// hostCalled finds the declared host that an inventory knows by a name; "" if there is none.
func (rb *Runbook) hostCalled(name string) string {
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		if t, ok := rb.schema.Node(d.Type); ok && t.Kind == plan.Host && (strings.EqualFold(nameIn(d), name) || strings.EqualFold(d.ID, name)) {
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

// inYAML writes a word so that YAML reads it as text.
func inYAML(word string) string {
	if plainWord.MatchString(word) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(word)) {
		return word
	}
	return strconv.Quote(word)
}
