package engine

import (
	"ebbtide/internal/belief"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// View makes a copy of what the engine knows.
func (e *Engine) View() View {
	v := View{Journal: !e.JournalLost, Reserve: e.Policy.Reserve, Tail: e.Estimate.Tail}
	if e.Known {
		v.PlanLeft, v.PlanLikely, v.Critical = e.Estimate.At(foresight.Pessimistic), e.Estimate.At(0.5), e.Estimate.Critical
	}
	if o := e.Ledger.Outage; o != nil {
		v.Drill, v.Begun, v.Whole = o.Drill.On(), e.hasBegun(0), e.hasBegun(len(e.Ledger.Stages)-1)
		v.Outage, v.Goal, v.Hold, v.Aborted, v.NoReturn = o.ID, e.goal(), o.Orders.Hold, e.isAborted(), e.CommittedSupply() >= 0
	}
	for k := range e.Supplies {
		v.Supplies = append(v.Supplies, e.viewOf(k))
	}
	asks := false
	for i := range e.Beliefs {
		decl := e.Graph.Node(i)
		nv := NodeView{ID: decl.ID, Type: decl.Type, Group: decl.Group, Seen: e.Beliefs[i].Seen, SeenAt: e.Beliefs[i].SeenAt}
		nv.Probed = belief.Probed(decl)
		why, text := e.whyOf(i)
		nv.Waits, nv.Why = why.Code, text
		nv.Asks = nv.Waits == want.PersonAsked && nv.Why != ""
		if e.Beliefs[i].Answer != e.Beliefs[i].Seen.State && !e.IsOff(i) {
			nv.Seen.State = e.Beliefs[i].Answer
		}
		nv.Doing = e.Doing(i)
		nv.InScope = e.Ledger.Outage != nil && e.Ledger.Outage.Scope[i]
		if v.Waiting == "" || nv.Asks && !asks { // who is asked is told that first
			v.Waiting = e.root(why, text)
		}
		asks = asks || nv.Asks
		v.Nodes = append(v.Nodes, nv)
	}
	v.Waiting = e.waiting(v.Waiting, asks)
	return v
}

// waiting says what an outage waits for, in one sentence.
func (e *Engine) waiting(first string, asks bool) string {
	o := e.Ledger.Outage
	switch {
	case o == nil:
		return ""
	case e.testing():
		return e.said
	case !o.Snapped || e.surveying > 0:
		return "checking what is on"
	case asks:
		return first
	}
	for k := range e.Supplies {
		if c := e.Supplies[k].Condition; !c.Carries() || c == belief.Charging {
			id := e.ID(e.Supplies[k].Node)
			if c == belief.Charging && first != "" && e.AnythingAwayBehind(k) {
				return "waiting for " + e.GateText(e.Supplies[k].Node)
			}
			if first == "" {
				return "waiting for " + id + ", which is " + c.String()
			}
		}
	}
	if i := e.MayGoLate(); first == "" && i >= 0 {
		return "waiting to see whether " + e.ID(i) + " " + e.Would("still carries out", "would still carry out") + " the stop that it accepted: if so, it " + e.Would("is", "would be") + " started again"
	}
	return first
}

// root follows what a node waits for to what that waits for in turn: the last of them is what holds them all up.
func (e *Engine) root(why want.Why, text string) string {
	for range e.Beliefs {
		if why.Code != want.OthersFirst || why.Node < 0 {
			break
		}
		next, said := e.whyOf(why.Node)
		if said == "" {
			break
		}
		why, text = next, said
	}
	return text
}

// whyOf says what a node waits for; "" if it waits for nothing.
func (e *Engine) whyOf(i int) (want.Why, string) {
	if e.Ledger.Outage == nil {
		return want.Why{Code: want.NothingToDo}, ""
	}
	if e.AsksAPerson(i) {
		return want.Why{Code: want.PersonAsked, Node: i}, e.AskedFor(i)
	}
	if why := e.PutOff(i); why.Code != want.NothingToDo {
		return why, e.Text(why)
	}
	for _, id := range e.Course.Of[i] {
		s := &e.Course.Steps[id]
		isSo := s.Goal == plan.Up && e.IsBack(id) || s.Goal == plan.Down && e.IsDone(id)
		if e.Course.Stands[id] == want.Proven || s.Milestone || isSo {
			continue
		}
		why := e.WaitsFor(id)
		if why.Code == want.NothingElse {
			why.Node = i
		}
		if text := e.Text(why); text != "" {
			return why, text
		}
	}
	return want.Why{Code: want.NothingToDo}, ""
}

func (e *Engine) viewOf(k int) SupplyView {
	s := &e.Supplies[k]
	state := s.State
	if e.Observes && e.Standing(k).Cycle >= ledger.CutSent { // its cut was only rehearsed, and what it says of its output with that
		state.OutputOff, state.SaysOff = false, false
	}
	v := SupplyView{
		ID: e.ID(s.Node), State: state, Text: state.String(), Failing: e.Standing(k).IsOut(),
		Cut: e.Standing(k).Cycle == ledger.CutProven || e.Standing(k).Cycle == ledger.WentDark, Gate: s.Gate,
		Slack: e.Slack(s), Why: e.WhyNotYet(s), Views: s.State.Outlook.Told(), Deadlines: e.Deadlines(s),
	}
	if v.Slack.Known {
		v.Odds = power.Known(e.GivesOut(s))
	}
	return v
}
