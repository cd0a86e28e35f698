package runbook

import (
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ProcedureOf tells what a person does to a declared node, with its wake and its health checks.
func (rb *Runbook) ProcedureOf(types *schema.Types, d *NodeDecl) manual.Procedure {
	var h manual.Procedure
	if t, ok := types.Node(d.Type); ok && t.ByHand != nil {
		h = t.ByHand(&d.Node, func(connection string) manual.Endpoint { return rb.EndpointOf(types, connection) })
	}
	if h.Do == nil {
		h.Do = map[plan.Verb][]manual.Instruction{}
	}
	if w := d.Wake; w != nil {
		h.Do[plan.Start] = w.ByHand(func(connection string) manual.Endpoint { return rb.EndpointOf(types, connection) })
	}
	for _, c := range d.Healthy {
		h.On = append(h.On, c.ByHand())
	}
	return h
}

// EndpointOf tells where a person reaches a declared connection.
func (rb *Runbook) EndpointOf(types *schema.Types, connection string) manual.Endpoint {
	for i := range rb.Connections {
		c := &rb.Connections[i]
		if t, ok := types.Connection(c.Type); ok && c.Name == connection && t.Endpoint != nil {
			return t.Endpoint(c.Spec)
		}
	}
	return manual.Endpoint{}
}
