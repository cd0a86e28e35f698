package runbook

import (
	"fmt"
	"strings"

	"ebbtide/internal/plan"
)

// Overseeing writes the node that puts off what a cluster does by itself that a connection leads to, as a line below nodes;
// "" if there is one already, or no such type. cluster is its name in its system; "" if there is only one. It depends on the
// hosts, as far as they can be told.
func (rb *Runbook) Overseeing(connection, typ, cluster string) string {
	family, _, _ := strings.Cut(typ, ".")
	var hosts, here []string
	for i := range rb.Nodes {
		d := &rb.Nodes[i]
		if d.Type == typ && (cluster == "" && d.Via == connection || cluster != "" && nameIn(d) == cluster) {
			return ""
		}
		if t, ok := rb.schema.Node(d.Type); ok && t.Kind == plan.Host && strings.HasPrefix(d.Type, family+".") {
			hosts = append(hosts, inYAML(d.ID))
			if d.Via == connection {
				here = append(here, inYAML(d.ID))
			}
		}
	}
	if len(here) > 0 { // others may be reached straight, or belong to another system
		hosts = here
	}
	if _, ok := rb.schema.Node(typ); !ok {
		return ""
	}
	id := "cluster"
	for n := 2; rb.declares(id); n++ {
		id = fmt.Sprintf("cluster-%d", n)
	}
	line := fmt.Sprintf("%s: {type: %s, via: %s", id, typ, inYAML(connection))
	if cluster != "" {
		line += fmt.Sprintf(", %s: %s", typ[strings.LastIndexByte(typ, '.')+1:], inYAML(cluster))
	}
	if len(hosts) > 0 {
		line += fmt.Sprintf(", depends_on: [%s]", strings.Join(hosts, ", "))
	}
	return line + "}"
}
