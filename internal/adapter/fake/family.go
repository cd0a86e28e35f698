package fake

import (
	"fmt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Family serves the node types "fake" and "fake.many" from the estate, for tests of what opens a whole runbook. A
// node of type "fake" is the one of its id, which must have been added before.
func (e *Estate) Family() adapter.Family {
	can := plan.VerbSet(plan.Stop, plan.Force, plan.Start)
	of := func(t schema.Traits) schema.AnyNodeType { return schema.NodeType[schema.NoKeys]{Traits: t}.Any() }
	return adapter.Family{
		Nodes: []schema.AnyNodeType{
			of(schema.Traits{Name: "fake", Doc: "a node in memory", Can: can}),
			of(schema.Traits{Name: "fake.many", Doc: "all nodes in memory", Selects: true, Member: "fake", Can: can}),
		},
		Open: func(d schema.Node, _ adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
			if d.Type == "fake.many" {
				return e.Selector(), nil
			}
			if n := e.Node(d.ID); n != nil {
				return n, nil
			}
			return nil, fmt.Errorf("the fake estate has no %q", d.ID)
		},
	}
}
