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
	verbs := func(any) plan.Verbs { return plan.VerbSet(plan.Stop, plan.Force, plan.Start) }
	return adapter.Family{
		Nodes: []schema.NodeType{
			{Name: "fake", Doc: "a node in memory", Verbs: verbs},
			{Name: "fake.many", Doc: "all nodes in memory", Selects: true, Member: "fake", Verbs: verbs},
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
