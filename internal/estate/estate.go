// Package estate opens what a runbook names and asks it: which members its selectors have, what runs that no node covers,
// what a UPS offers, what state everything is in. It decides nothing and commands nothing; who does takes its nodes.
package estate

import (
	"errors"
	"fmt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/nut"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// Options say how an estate is opened.
type Options struct {
	Families []adapter.Family
	Secrets  adapter.Secrets
	// Over lays over each node, a supply's output and outlet too, what its user wants there: a log, a rehearsal (nil: nothing).
	Over func(id string, n adapter.Node) adapter.Node
	// Firmware is the UUID that the firmware of the machine has that all this runs on ("": not known), so that a survey can
	// tell if it is one of the estate's VMs.
	Firmware string
}

// Estate is the opened estate of one runbook. Its methods may be called at the same time.
type Estate struct {
	Runbook *runbook.Runbook
	schema  schema.Types
	secrets adapter.Secrets
	set     *registry.Registry
	here    string                  // Options.Firmware
	outputs map[string]adapter.Node // of the supplies, and their outlets, by id
}

// perConnection is how many calls a connection takes at a time that does not say it itself.
const perConnection = 16

// Open makes the connections and nodes of a runbook without mistakes. Nothing is dialled. All nodes say plain texts only
// and keep to their connection's limit.
func Open(rb *runbook.Runbook, o Options) (_ *Estate, err error) {
	if o.Over == nil {
		o.Over = func(_ string, n adapter.Node) adapter.Node { return n }
	}
	e := &Estate{Runbook: rb, schema: adapter.Schema(o.Families), secrets: o.Secrets, here: o.Firmware, outputs: map[string]adapter.Node{}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot open the estate of runbook %q: %w", rb.Name, err)
		}
	}()
	connections, nodes := rb.Declared()
	if e.set, err = registry.Open(o.Families, connections, nodes, o.Secrets); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.set.Close())
		}
	}()
	slots := map[string]chan struct{}{}
	for i := range rb.Connections {
		name := rb.Connections[i].Name
		slots[name] = make(chan struct{}, e.set.Concurrency(name, perConnection))
	}
	e.set.Decorate(func(decl schema.Node, n adapter.Node) adapter.Node {
		n = decorate.Clean(n)
		if shared, ok := slots[decl.Via]; ok {
			n = decorate.Limit(n, shared)
		}
		return o.Over(decl.ID, n)
	})
	for i := range rb.Supplies {
		s := &rb.Supplies[i]
		at, err := e.Server(s, true)
		if err != nil {
			return nil, err
		}
		e.outputs[s.ID] = o.Over(s.ID, decorate.Clean(nut.NewOutput(at, s.UPS, cutting(s))))
	}
	for _, out := range rb.Outlets() {
		at, err := e.Server(out.Supply, true)
		if err != nil {
			return nil, err
		}
		e.outputs[out.ID] = o.Over(out.ID, decorate.Clean(nut.NewOutlet(at, out.Supply.UPS, out.Name)))
	}
	return e, nil
}

// Node gives a node, an output or an outlet by its id.
func (e *Estate) Node(id string) (adapter.Node, bool) {
	if out, ok := e.outputs[id]; ok {
		return out, true
	}
	return e.set.Node(id)
}

// Compile makes the graph of the estate from what selectors cover. A selector that inventory lacks has no members.
func (e *Estate) Compile(inventory Inventory) (*runbook.Compiled, error) {
	whole := Inventory{}
	for _, id := range e.Selectors() {
		whole[id] = inventory[id]
	}
	return runbook.Compile(e.Runbook, e.schema, whole)
}

// Adopt makes the nodes of those members that have none yet, and gives why for each that can't be made.
func (e *Estate) Adopt(members map[string]runbook.Member) map[string]error {
	failed := map[string]error{}
	for id, m := range members {
		if _, there := e.set.Node(id); there {
			continue
		}
		if err := e.set.AddMember(id, m.Selector, m.MemberID); err != nil {
			failed[id] = err
		}
	}
	return failed
}

// Close ends all connections.
func (e *Estate) Close() error { return e.set.Close() }

// asked reports whether there is anything to ask of a node: what nobody commands and checks has no state.
func asked(n *plan.Node) bool {
	return n.Kind != plan.Manual && n.Kind != plan.Self && (n.Can != 0 || n.Healthy)
}
