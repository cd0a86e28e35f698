package engine

import (
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
)

// View makes a copy of what the engine knows.
func (e *Engine) View() View {
	v := View{Journal: !e.journalLost, Reserve: e.policy.Reserve, Tail: e.estimate.Tail}
	if e.known {
		v.PlanLeft, v.PlanLikely, v.Critical = e.estimate.At(pessimistic), e.estimate.At(0.5), e.estimate.Critical
	}
	if o := e.ledger.Outage; o != nil {
		v.Drill = o.Drill.On()
		v.Outage, v.Goal, v.Hold, v.Aborted, v.NoReturn = o.ID, e.goal(), o.Orders.Hold, e.isAborted(), e.committedSupply() >= 0
	}
	for k := range e.supplies {
		v.Supplies = append(v.Supplies, e.viewOf(k))
	}
	for i := range e.nodes {
		n, decl := &e.nodes[i], e.estate.Node(i)
		nv := NodeView{ID: decl.ID, Type: decl.Type, Group: decl.Group, Seen: e.beliefs[i].seen, SeenAt: e.beliefs[i].seenAt}
		nv.Waits, nv.Why = e.whyOf(i)
		if e.beliefs[i].answer != e.beliefs[i].seen.State && !e.isOff(i) {
			nv.Seen.State = e.beliefs[i].answer
		}
		if n.work != nil {
			nv.Doing = n.work.rung.String()
		}
		nv.InScope = e.ledger.Outage != nil && e.ledger.Outage.Scope[i]
		if v.Waiting == "" {
			v.Waiting = nv.Why
		}
		v.Nodes = append(v.Nodes, nv)
	}
	v.Waiting = e.waiting(v.Waiting)
	return v
}

// waiting says what an outage waits for, in one sentence.
func (e *Engine) waiting(first string) string {
	o := e.ledger.Outage
	switch {
	case o == nil:
		return ""
	case e.testing():
		return e.said
	case !o.Snapped || e.surveying > 0:
		return "asking what is on"
	}
	for k := range e.supplies {
		if c := e.supplies[k].condition; !c.carries() || c == charging {
			id := e.id(e.supplies[k].node)
			if c == charging && first != "" {
				return "waiting for " + e.gateText(e.supplies[k].node)
			}
			if first == "" {
				return "waiting for " + id + ", which is " + c.String()
			}
		}
	}
	return first
}

// whyOf says what a node waits for; "" if it waits for nothing.
func (e *Engine) whyOf(i int) (WhyCode, string) {
	if e.ledger.Outage == nil {
		return NothingToDo, ""
	}
	for _, id := range e.course.of[i] {
		if e.course.stands[id] == proven || e.course.steps[id].Milestone {
			continue
		}
		why := e.waitsFor(id)
		if why.Code == NothingElse {
			why.node = i
		}
		if text := e.text(why); text != "" {
			return why.Code, text
		}
	}
	return NothingToDo, ""
}

func (e *Engine) viewOf(k int) SupplyView {
	s := &e.supplies[k]
	v := SupplyView{
		ID: e.id(s.node), State: s.state, Text: s.state.String(), Failing: e.standing(k).IsOut(), Cut: e.standing(k).Cycle == ledger.CutProven || e.standing(k).Cycle == ledger.WentDark, Gate: s.gate,
		Slack: e.slack(s), Why: e.why(s), Views: s.state.Outlook.Told(), Deadlines: e.deadlines(s),
	}
	if v.Slack.Known {
		v.Odds = power.Known(e.givesOut(s))
	}
	return v
}
