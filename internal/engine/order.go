package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// order carries out an operator's command, or says why not. Both go on record.
func (e *Engine) order(o Order) {
	refusal := e.Refuses(o)
	if e.Ledger.Outage == nil {
		if refusal != "" {
			e.Notify(false, string(o.Verb)+" by "+o.By+" refused: "+refusal)
		}
		return
	}
	e.Record(ledger.Record{
		Kind: ledger.Ordered, Word: ledger.Word{Order: o.Verb, By: o.By}, Step: ledger.Step{Node: o.Node},
		Reason: refusal,
	})
	if refusal != "" {
		e.Notify(false, string(o.Verb)+" by "+o.By+" refused: "+refusal)
		return
	}
	e.Notify(false, string(o.Verb)+" by "+o.By+e.aboutAbort(o.Verb)+e.aboutHold(o.Verb))
	switch o.Verb {
	case ledger.Hold, ledger.Resume:
	case ledger.Abort:
		e.endTest("ended by " + o.By)
	case ledger.Go:
		for k := range e.Supplies {
			if e.Standing(k).IsOut() {
				e.TriggerEvery(k, "ordered by "+o.By)
			}
		}
	case ledger.Confirm:
		i, _ := e.Graph.Index(o.Node)
		if k := e.Ledger.SupplyOf[i]; k >= 0 {
			e.confirmMains(k, o.By)
			break
		}
		e.Prove(i, "", "confirmed by "+o.By)
	case ledger.Skip:
		i, _ := e.Graph.Index(o.Node)
		e.GiveUp(i, ledger.Skipped, "skipped by "+o.By)
	}
	if e.Ledger.Outage != nil { // an abort may have ended it
		e.judgePressure()
	}
}

// aboutAbort says what an abort holds for.
func (e *Engine) aboutAbort(verb ledger.OrderVerb) string {
	ids := e.ids(func(i int) bool { k := e.Ledger.SupplyOf[i]; return k >= 0 && e.Standing(k).Fails == ledger.CalledOff })
	if verb != ledger.Abort || len(ids) == 0 {
		return ""
	}
	return e.Would(": nothing more is shut down for ", ": nothing more would be shut down for ") + strings.Join(ids, ", ") + " until mains power is back there; a power failure at any other UPS is handled as usual"
}

// aboutHold says what a hold comes too late for.
func (e *Engine) aboutHold(verb ledger.OrderVerb) string {
	ids := e.ids(func(i int) bool {
		k := e.Ledger.SupplyOf[i]
		return k >= 0 && e.Supplies[k].Condition == belief.CutArmed
	})
	if verb != ledger.Hold || len(ids) == 0 {
		return ""
	}
	return ": the cut of " + strings.Join(ids, ", ") + " is already on its way and goes ahead anyway"
}

// Refuses says why an order would not be carried out now, and what to do instead; "" if it would be.
func (e *Engine) Refuses(o Order) string {
	run := e.Ledger.Outage
	switch {
	case run == nil:
		return "no outage is under way: all supplies are on line"
	case o.Verb == ledger.Confirm || o.Verb == ledger.Skip:
		return e.refusesWord(o)
	case run.Drill.Phase == ledger.DrillBattery && o.Verb != ledger.Abort:
		return "a battery drill is under way; use abort to end it"
	case o.Verb == ledger.Hold || o.Verb == ledger.Resume:
		return refusesHold(run, o.Verb == ledger.Hold)
	case run.Drill.On() && o.Verb == ledger.Go:
		return "this is a drill, which proceeds on its own; use abort to bring back at once what it has stopped"
	case run.Drill.Phase == ledger.DrillBattery:
		return ""
	case o.Verb == ledger.Abort:
		return e.refusesAbort()
	case o.Verb == ledger.Go && !e.AnyGoesDown():
		return "nothing is being shut down any more, and no command overrides the recharge gate"
	}
	return ""
}

func refusesHold(o *ledger.Outage, hold bool) string {
	switch {
	case hold && o.Orders.Hold:
		return "it is already on hold"
	case !hold && !o.Orders.Hold:
		return "it is not on hold"
	}
	return ""
}

// isAborted reports whether an operator has called off a drill, or what the failure of a supply takes down.
func (e *Engine) isAborted() bool {
	return e.Ledger.Outage.Orders.Abort || slices.ContainsFunc(e.Ledger.Outage.Supplies,
		func(s ledger.Standing) bool { return s.Fails == ledger.CalledOff })
}

func (e *Engine) refusesAbort() string {
	mayGoOn := func(s ledger.Standing) bool { return s.IsDark() && s.Fails != ledger.CalledOff }
	mayTurn := func(s ledger.Standing) bool {
		return s.IsOut() && s.Fails != ledger.CalledOff && s.Cycle == ledger.Uncut
	}
	switch {
	case e.CommittedSupply() >= 0 && !slices.ContainsFunc(e.Ledger.Outage.Supplies, mayTurn):
		const hold = "; use hold to stop it where it is"
		return e.Would("the point of no return has been passed: the shutdown is carried through, and then everything is brought back", "the point of no return would be passed: the shutdown would be carried through, and then everything brought back") + hold
	case !e.AnyGoesDown():
		return "nothing is being shut down any more; use hold to stop the power-up"
	case e.isAborted() && !slices.ContainsFunc(e.Ledger.Outage.Supplies, mayGoOn):
		return "it has already been aborted"
	}
	return ""
}

// refusesWord says why a person's word on a step is not taken.
func (e *Engine) refusesWord(o Order) string {
	i, known := e.Graph.Index(o.Node)
	if !known {
		return fmt.Sprintf("there is no node %q", o.Node)
	}
	k := e.Ledger.SupplyOf[i]
	switch {
	case k >= 0 && o.Verb == ledger.Confirm && e.Standing(k).IsOut() && e.Supplies[k].State.SilentFor >= silentFor:
		return ""
	case k >= 0 && o.Verb == ledger.Confirm && e.Standing(k).IsOut() && e.Supplies[k].State.SilentFor > 0:
		return fmt.Sprintf("%q has been silent for only %s: it can be confirmed after %s", o.Node, english.Span(e.Supplies[k].State.SilentFor.Truncate(time.Second)), english.Span(silentFor))
	case k >= 0 && o.Verb == ledger.Confirm:
		return fmt.Sprintf("%q answers, or has not failed: its own report counts", o.Node)
	case !e.AsksAPerson(i):
		return fmt.Sprintf("no manual step is waiting on %q now", o.Node)
	}
	return ""
}

// confirmMains takes a person's word that the power of a supply is back which failed and is not heard. What was on before may be started
// by hand, and is not stopped again; nothing is started on it by Ebbtide before it is heard.
func (e *Engine) confirmMains(k int, by string) {
	s := &e.Supplies[k]
	id, why := e.ID(s.Node), "its power is back, as confirmed by "+by
	if e.Under[s.Node] >= 0 {
		e.HoldBack(s.Node, why)
	}
	e.Cycled(k, why)
	e.Record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Returned, Power: ledger.Power{Supplies: []string{id}}, Reason: why})
	e.Notify(true, id+" counts as back: nothing more "+e.Would("is stopped for it, and nothing is", "would be stopped for it, and nothing")+" started on it until it answers again")
}

// hasBegun reports whether the way down has begun for a supply that fails, or that is off or to be cut, with one of these stages.
func (e *Engine) hasBegun(from int) bool {
	return slices.ContainsFunc(e.Ledger.Outage.Supplies, func(s ledger.Standing) bool {
		return s.Cycle != ledger.Uncut || s.IsDark() && slices.Contains(s.Stages[from:], true)
	})
}

// goal is where most of an outage goes, for those who want it in one word.
func (e *Engine) goal() plan.Goal {
	if e.AnyGoesDown() {
		return plan.Down
	}
	return plan.Up
}
