package engine

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/plan"
)

// order carries out an operator's command, or says why not. Both go on record.
func (e *Engine) order(o Order) {
	refusal := e.Refuses(o)
	if e.ledger.outage == nil {
		if refusal != "" {
			e.notify(false, string(o.Verb)+" by "+o.By+" refused: "+refusal)
		}
		return
	}
	e.record(Record{Kind: Ordered, Word: Word{Order: o.Verb, By: o.By}, Step: Step{Node: o.Node}, Reason: refusal})
	if refusal != "" {
		e.notify(false, string(o.Verb)+" by "+o.By+" refused: "+refusal)
		return
	}
	e.notify(false, string(o.Verb)+" by "+o.By+e.aboutAbort(o.Verb))
	switch o.Verb {
	case Hold, Resume:
	case Abort:
		e.endTest("ended by " + o.By)
	case Go:
		for k := range e.supplies {
			if e.standing(k).out() {
				e.triggerEvery(k, "ordered by "+o.By)
			}
		}
	case Confirm:
		i, _ := e.estate.Index(o.Node)
		if k := e.ledger.supply[i]; k >= 0 {
			e.confirmMains(k, o.By)
			break
		}
		e.prove(i, "", "confirmed by "+o.By)
	case Skip:
		i, _ := e.estate.Index(o.Node)
		e.giveUp(i, "", "passed over by "+o.By)
	}
	if e.ledger.outage != nil { // an abort may have ended it
		e.judgePressure()
	}
}

// aboutAbort says what an abort holds for.
func (e *Engine) aboutAbort(verb OrderVerb) string {
	ids := e.ids(func(i int) bool { k := e.ledger.supply[i]; return k >= 0 && e.standing(k).fails == calledOff })
	if verb != Abort || len(ids) == 0 {
		return ""
	}
	return ": nothing more goes down for " + strings.Join(ids, ", ") + " until its mains are back; another UPS that fails is followed as any"
}

// Refuses says why an order would not be carried out now, and what to do instead; "" if it would be.
func (e *Engine) Refuses(o Order) string {
	run := e.ledger.outage
	switch {
	case run == nil:
		return "no outage is under way: all supplies are on line"
	case o.Verb == Confirm || o.Verb == Skip:
		return e.refusesWord(o)
	case run.drill.phase == drillBattery && o.Verb != Abort:
		return "a battery is being drilled; use abort to end that"
	case o.Verb == Hold || o.Verb == Resume:
		return run.refusesHold(o.Verb == Hold)
	case run.drill.on() && o.Verb == Go:
		return "this is a drill, which goes on by itself; use abort to bring back at once what it has stopped"
	case run.drill.phase == drillBattery:
		return ""
	case o.Verb == Abort:
		return e.refusesAbort()
	case o.Verb == Go && !e.anyGoesDown():
		return "it is going up: the recharge gate is not passed over by command"
	}
	return ""
}

func (o *outage) refusesHold(hold bool) string {
	switch {
	case hold && o.orders.hold:
		return "it is on hold already"
	case !hold && !o.orders.hold:
		return "it is not on hold"
	}
	return ""
}

// isAborted reports whether an operator has called off a drill, or what the failure of a supply takes down.
func (e *Engine) isAborted() bool {
	return e.ledger.outage.orders.abort || slices.ContainsFunc(e.ledger.outage.supplies, func(s standing) bool { return s.fails == calledOff })
}

func (e *Engine) refusesAbort() string {
	mayGoOn := func(s standing) bool { return s.dark() && s.fails != calledOff }
	switch {
	case e.committedSupply() >= 0:
		return "the point of no return is passed: the plan is finished and then reversed; use hold to stop it where it is"
	case !e.anyGoesDown():
		return "it is going up already; use hold to stop it"
	case e.isAborted() && !slices.ContainsFunc(e.ledger.outage.supplies, mayGoOn):
		return "it is aborted already"
	}
	return ""
}

// refusesWord says why a person's word on a step is not taken.
func (e *Engine) refusesWord(o Order) string {
	i, known := e.estate.Index(o.Node)
	if !known {
		return fmt.Sprintf("no node is called %q", o.Node)
	}
	k, w := e.ledger.supply[i], e.nodes[i].work
	switch {
	case k >= 0 && o.Verb == Confirm && e.standing(k).out() && e.supplies[k].state.SilentFor >= silentFor:
		return ""
	case k >= 0 && o.Verb == Confirm:
		return fmt.Sprintf("%q is heard, or does not fail: what it says itself counts", o.Node)
	case w == nil || w.phase != asking:
		return fmt.Sprintf("nobody was asked to do anything on %q now", o.Node)
	}
	return ""
}

// confirmMains takes a person's word that the power of a supply is back which failed and is not heard. What was on before may be started
// by hand, and is not stopped again; nothing is started on it by Ebbtide before it is heard.
func (e *Engine) confirmMains(k int, by string) {
	s := &e.supplies[k]
	id, why := e.id(s.node), "its power is back, as "+by+" confirms"
	if e.nodes[s.node].work != nil {
		e.holdBack(s.node, why)
	}
	e.cycled(k, why)
	e.record(Record{Kind: Mains, Cause: Returned, Power: Power{Supplies: []string{id}}, Reason: why})
	e.notify(true, id+" counts as back: nothing more is stopped for it, and nothing is started on it before it is heard")
}

// committedSupply gives a supply that is to be cut, or was, and is not back; -1 if there is none.
func (e *Engine) committedSupply() int {
	return slices.IndexFunc(e.ledger.outage.supplies, func(s standing) bool { return s.cycle.isOurs() })
}

// anyGoesDown reports whether anything is to go down: a supply fails, or a drill is on its way down.
func (e *Engine) anyGoesDown() bool {
	o := e.ledger.outage
	return o.drill.phase == drillDown || slices.ContainsFunc(o.supplies, func(s standing) bool { return s.dark() })
}

// goal is where most of an outage goes, for those who want it in one word.
func (e *Engine) goal() plan.Goal {
	if e.anyGoesDown() {
		return plan.Down
	}
	return plan.Up
}
