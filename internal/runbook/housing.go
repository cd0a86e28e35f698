package runbook

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Housing says what is wrong with how a runbook treats a VM that a system itself runs in, a vCenter's own, as the connection
// to that system lists it. node is the one that covers it, and selector the one that node is a member of; "" if there is
// none. All that is reached through the connection alone must go before it, and it must be reached by another way.
func (rb *Runbook) Housing(connection string, m *schema.Running, node, selector string) []Remark {
	remark := func(section, name, message, hint string) []Remark {
		return []Remark{{Severity: Warning, Section: section, Name: name, Message: message, Hint: hint}}
	}
	way := rb.straight(connection, m.Host)
	write := "declare a connection straight to its host, and under nodes, write, with that for NAME: "
	if way != "" {
		write = "under nodes, write: "
	}
	write += rb.houseLine(connection, way, m) + "; let what is reached through " + connection + " depend on it"
	switch {
	case node == "":
		return remark(SectionConnections, connection,
			fmt.Sprintf("%[2]s itself runs in VM %[1]q, and no node covers it: nothing shuts it down, and it keeps its host on", m.Name,
				connection), write)
	case selector != "":
		return remark(SectionNodes, selector,
			fmt.Sprintf("%[2]s itself runs in %[1]s, which is stopped with the others: what is stopped after it can no longer be queried",
				node, connection),
			fmt.Sprintf("exclude %q from %s, and %s", m.Name, selector, write))
	}
	at := slices.IndexFunc(rb.Nodes, func(d NodeDecl) bool { return d.ID == node })
	if at < 0 {
		return nil
	}
	const straight = "a connection straight to its host"
	var all []Remark
	if d := &rb.Nodes[at]; d.Via == connection && !hasFallback(d.Spec) {
		all = remark(SectionNodes, node, fmt.Sprintf("%[2]s itself runs in %[1]s, which is reached through it: when it stops, nothing "+
			"can prove that it is off, or start it", node, connection),
			"write via: "+strings.TrimPrefix(way+", "+straight, ", "))
	}
	var needs, late []string
	for i := range rb.Nodes {
		switch d := &rb.Nodes[i]; {
		case d.ID == node || d.Via != connection || hasFallback(d.Spec):
		case rb.dependsOn(node, d.ID):
			needs = append(needs, d.ID)
		case !rb.dependsOn(d.ID, node):
			late = append(late, d.ID)
		}
	}
	if len(needs) > 0 {
		all = append(all, remark(SectionNodes, node,
			fmt.Sprintf("%[2]s itself runs in %[1]s, which needs %[3]s: reached through %[4]s alone, nothing shuts down what goes after it",
				node, connection, english.List(needs, 4), connection),
			"write for each of them via: or fallback: with "+straight)...)
	}
	if len(late) > 0 {
		all = append(all, remark(SectionNodes, node,
			fmt.Sprintf("%[2]s itself runs in %[1]s, which may be off before %[3]s: reached through %[4]s alone, they can no longer be queried", node, connection, english.List(late, 4), connection),
			fmt.Sprintf("add depends_on: [%s] to them, so that they go before it; or fallback: with %s, each", node, straight))...)
	}
	return all
}

// houseLine writes the node of such a VM.
func (rb *Runbook) houseLine(connection, way string, m *schema.Running) string {
	one := *m
	one.Under, one.Keys = "", "risk: "+plan.ControlPlane.String() // what stands over the hosts needs it
	if way != "" {
		return rb.Covering(way, &one)
	}
	return strings.Replace(rb.Covering(connection, &one), "via: "+inYAML(connection), "via: NAME", 1)
}

// straight finds the connection of the same type that leads to a host past another one; "" if none is known to.
func (rb *Runbook) straight(past, host string) string {
	typ := func(name string) string {
		for i := range rb.Connections {
			if rb.Connections[i].Name == name {
				return rb.Connections[i].Type
			}
		}
		return ""
	}
	called := rb.HostCalled(host)
	for i := range rb.Nodes {
		if d := &rb.Nodes[i]; d.ID == called {
			for _, way := range []string{d.Via, specText(d.Spec, "fallback"), called} {
				if way != past && typ(way) == typ(past) {
					return way
				}
			}
		}
	}
	return ""
}

// through lists the connections by which a declaration is reached: that of its via, and those that this leads through.
func (rb *Runbook) through(i int) []string {
	through := []string{rb.Nodes[i].Via}
	for _, ref := range rb.refs {
		if strings.HasPrefix(ref.path, "connections."+rb.Nodes[i].Via+".") {
			through = append(through, ref.name)
		}
	}
	return through
}

// hasFallback reports whether a node names a connection for when its own does not answer.
func hasFallback(spec any) bool {
	field, ok := specField(spec, "fallback")
	return ok && (field.Kind() == reflect.String || field.Kind() == reflect.Slice) && field.Len() > 0
}
