package engine

import (
	"fmt"

	"ebbtide/internal/plan"
)

// order carries out an operator's command, or says why not. Both go on record.
func (e *Engine) order(o Order) {
	refusal := e.Refuses(o)
	if e.run == nil {
		if refusal != "" {
			e.notify(false, string(o.Verb)+" by "+o.By+" refused: "+refusal)
		}
		return
	}
	e.record(Record{Kind: Ordered, Order: o.Verb, By: o.By, Node: o.Node, Reason: refusal})
	if refusal != "" {
		e.notify(false, string(o.Verb)+" by "+o.By+" refused: "+refusal)
		return
	}
	e.notify(false, string(o.Verb)+" by "+o.By)
	r := e.run
	switch o.Verb {
	case Hold:
		r.hold = true
	case Resume:
		r.hold = false
		e.unpark()
	case Abort:
		r.aborted = true
		e.endDischarge("ended by " + o.By)
	case Go:
		r.hold, r.aborted = false, false
		for i := range e.supplies {
			if e.supplies[i].out {
				e.triggerAll(&e.supplies[i], "ordered by "+o.By)
			}
		}
		e.unpark()
	case Confirm:
		i, _ := e.estate.Index(o.Node)
		e.prove(i, "", "confirmed by "+o.By)
	case Skip:
		i, _ := e.estate.Index(o.Node)
		e.giveUp(i, "", "passed over by "+o.By)
	}
}

// Refuses tells why an order would not be carried out now, and what to do instead; "" if it would be.
func (e *Engine) Refuses(o Order) string {
	r := e.run
	switch {
	case r == nil:
		return "no outage is under way: all supplies are on line"
	case o.Verb == Confirm || o.Verb == Skip:
		i, known := e.estate.Index(o.Node)
		if !known {
			return fmt.Sprintf("no node is called %q", o.Node)
		}
		if x := e.nodes[i].exec; x == nil || x.phase != asking {
			return fmt.Sprintf("nobody was asked to do anything on %q now", o.Node)
		}
	case o.Verb == Hold && r.hold:
		return "it is on hold already"
	case o.Verb == Resume && !r.hold:
		return "it is not on hold"
	case e.discharging() && o.Verb != Abort:
		return "a battery is being drilled; use abort to end that"
	case e.inDrill() && o.Verb == Go:
		return "this is a drill, which goes on by itself; use abort to bring back at once what it has stopped"
	case o.Verb == Abort && r.goal == plan.Up:
		return "it is going up already; use hold to stop it"
	case o.Verb == Abort && r.noReturn:
		return "the point of no return is passed: the plan is finished and then reversed; use hold to stop it where it is"
	case o.Verb == Go && r.goal == plan.Up:
		return "it is going up: the recharge gate is not passed over by command"
	}
	return ""
}
