package engine

import (
	"ebbtide/internal/belief"
	"ebbtide/internal/plan"
)

// renew begins a new epoch of a node, whose power may have come back, and asks after it.
func (e *Engine) renew(i int) {
	decl := e.Graph.Node(i)
	if decl.Kind == plan.Passive {
		e.Beliefs[i].Boots = e.Now.Add(belief.BootTime(decl))
	}
	if !belief.Probed(decl) || decl.Kind == plan.Supply {
		return
	}
	rising := e.Beliefs[i].Rising
	e.Beliefs[i].Settled = plan.Unknown
	e.Beliefs[i].Renew(e.nextOp)
	if e.Beliefs[i].Rising = rising; decl.Kind != plan.VM { // a VM comes up with its host, if that does
		e.Beliefs[i].Rising = e.Now.Add(belief.BootTime(decl))
		e.Beliefs[i].Boots = e.Beliefs[i].Rising
	}
	e.probe(i)
	e.Touch(i)
}

// renewLoad begins a new epoch of all that a supply feeds or carries: its power was lost, or may have been. Machines may be on
// their way up with it. What others carried meanwhile, with all that it needs, did not lose it.
func (e *Engine) renewLoad(k int) (renewed []int) {
	dark := e.Graph.Scope(func(f int) bool { other := e.Ledger.SupplyOf[f]; return other == k || !e.Carries(other) })
	for _, i := range e.Graph.Dependents(e.Supplies[k].Node) {
		if dark[i] {
			e.renew(i)
			renewed = append(renewed, i)
		}
	}
	return renewed
}
