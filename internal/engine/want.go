package engine

import (
	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Wants are derived and never stored as truth: what a node is to come to, which of its steps is next, and what that waits
// for, follow from the ledger, the beliefs and the conditions of the supplies, whenever they are asked for.

// step is one step of the way down or the way up.
type step struct {
	*plan.Step
	goal  plan.Goal
	stage int // of the way down: its place in the ledger's stages
}

// stand is how a step stands, as far as those that come after it are concerned: the worst of them counts.
type stand uint8

const (
	proven   stand = iota // done, or there is nothing to do
	unproven              // a VM that was given up: its host may take it along, by a recorded decision
	lost                  // anything else that was given up, or waits for such a thing
	pending               // not ended yet
)

// judgeStep finds how a step stands.
func (e *Engine) judgeStep(id int) stand {
	s := &e.course.steps[id]
	switch {
	case s.Milestone:
		return e.worst(id)
	case s.goal == plan.Up:
		return e.judgeUp(id)
	case !e.GoesDown(s.Node):
		return proven
	case s.Verb == plan.Cut:
		return e.judgeCut(s.Node)
	case e.isDone(id):
		if s.Verb == plan.Flush {
			return e.worst(id) // what stands behind it waits for all that may write through it, too
		}
		return proven
	case e.nodes[s.Node].work != nil && e.nodes[s.Node].work.step == id, !e.Entry(s.Node).GivenUp.Has(s.Verb), e.Graph.Node(s.Node).Kind == plan.Self:
		return pending
	}
	return givenUpStand(e.Graph.Node(s.Node), s.Verb)
}

// isDone reports whether nothing is to be done any more in a step of the way down.
func (e *Engine) isDone(id int) bool {
	s := &e.course.steps[id]
	i := s.Node
	entry := e.Entry(i)
	switch e.Graph.Node(i).Kind {
	case plan.Person:
		return entry.Shown == ledger.ShownOff || entry.GivenUp.Has(plan.Stop)
	case plan.Self:
		return entry.Shown == ledger.ShownOff // it was told, and there is nothing to look at: it goes now
	default:
	}
	switch {
	case e.IsOff(i), e.HasNoPower(i), s.Verb == plan.Stop && e.IsCutOff(i) && !e.RunsOn(i, s.stage):
		return true
	case e.nodes[i].work != nil && e.nodes[i].work.step == id, s.Verb == plan.Stop:
		return false
	case s.Verb == plan.Protect && e.StaysProtected(i), s.Verb == plan.Flush && e.StaysClean(i):
		return true
	}
	return e.Holds(i, s.Verb, entry.CommandedBy(s.Verb)) && (s.Verb != plan.Protect || !e.LateMayCome(i))
}

// judgeCut is judgeStep for the cut of an output.
func (e *Engine) judgeCut(i int) stand {
	k := e.Ledger.SupplyOf[i]
	st := e.Standing(k)
	switch {
	case st.Cycle >= ledger.CutProven:
		return proven
	case e.nodes[i].work != nil:
		return pending
	case st.Cycle == ledger.Uncut && e.Beliefs[i].Seen.State == plan.Off:
		return proven // its battery has given out
	case e.Entry(i).GivenUp.Has(plan.Cut):
		return lost
	}
	return pending
}

// judgeUp is judgeStep for the way up.
func (e *Engine) judgeUp(id int) stand {
	s := &e.course.steps[id]
	switch {
	case e.isBack(id):
		return proven
	case e.Entry(s.Node).GivenUp.Has(s.Verb):
		return givenUpStand(e.Graph.Node(s.Node), s.Verb)
	}
	if worst := e.worst(id); worst != proven && worst != pending {
		return lost
	}
	return pending
}

// isBack reports whether nothing is to be done any more in a step of the way up.
func (e *Engine) isBack(id int) bool {
	s := &e.course.steps[id]
	i, node := s.Node, e.Graph.Node(s.Node)
	switch {
	case node.Kind == plan.Supply: // whether a feed is back is asked when its load is to start
		return true
	case !e.Ledger.Outage.Scope[i]:
		return true
	case s.Verb == plan.Unprotect:
		return !e.ToPutBack(i)
	case node.Kind == plan.Passive && node.Healthy:
		return e.IsOn(i)
	case node.Kind == plan.Person:
		return !e.ComesUp(i)
	case !e.Entry(i).Snap.On():
		return true
	}
	return e.IsOn(i) && !e.GoesDown(i) && !e.goesWithItsHost(i) && (e.nodes[i].work == nil || e.nodes[i].work.step != id)
}

// givenUpStand says what an unproven end of a step means for the steps after it. A cache that can't be protected, a person's
// step that was passed over, and an outlet that stays on keep nothing else from going on.
func givenUpStand(n *plan.Node, verb plan.Verb) stand {
	switch {
	case verb == plan.Protect, verb == plan.Unprotect, n.Kind == plan.Person, n.Kind == plan.Outlet && verb == plan.Stop:
		return proven
	case n.Kind == plan.VM && verb != plan.Start:
		return unproven
	default:
		return lost
	}
}

// worst gives the worst stand of the steps that come right before a step. What was found to wait last is asked first, so
// that a step with many before it is not a burden.
func (e *Engine) worst(id int) stand {
	c := &e.course
	before := c.steps[id].After
	if len(before) == 0 {
		return proven
	}
	base := c.base(id)
	if at := c.waitsAt[id]; c.stands[base+before[at]] == pending {
		return pending
	}
	worst := proven
	for at, b := range before {
		st := c.stands[base+b]
		if st == pending {
			c.waitsAt[id] = at
			return pending
		}
		worst = max(worst, st)
	}
	return worst
}

// tolerates reports whether a step may be made although one before it was given up. Storage and everything else that is
// strict never may; a VM may, and a host takes its VMs along.
func (e *Engine) tolerates(s *step, worst stand) bool {
	kind := e.Graph.Node(s.Node).Kind
	switch {
	case worst == proven:
		return true
	case worst == pending || s.Verb != plan.Stop:
		return false
	case kind == plan.VM:
		return true
	default:
		return kind == plan.Host && worst == unproven
	}
}

// waitsFor says what a step waits for: nothing, if its turn has come.
func (e *Engine) waitsFor(id int) Why {
	s := &e.course.steps[id]
	o := e.Ledger.Outage
	switch {
	case o == nil || s.Milestone || e.course.stands[id] == proven:
		return Why{Code: NothingToDo}
	case e.nodes[s.Node].work != nil:
		return Why{Code: UnderWay, node: s.Node}
	case !o.Snapped || belief.Probed(e.Graph.Node(s.Node)) && o.Scope[s.Node] && !o.Nodes[s.Node].Snap.Taken():
		return Why{Code: NotInSnapshot, node: s.Node}
	case !e.Looked(s.Node), s.Verb == plan.Stop && e.silenceWillTell(s.Node):
		return Why{Code: NotLooked, node: s.Node}
	case e.nodes[s.Node].pause.After(e.Now):
		return Why{Code: Pausing, node: s.Node, Until: e.nodes[s.Node].pause}
	case s.goal == plan.Down:
		return e.waitsDown(id)
	}
	return e.waitsUp(id)
}

// waitsDown is waitsFor on the way down.
func (e *Engine) waitsDown(id int) Why {
	if why := e.waitsToLeave(id); why.Code != NothingElse {
		return why
	}
	s := &e.course.steps[id]
	if s.Verb == plan.Cut {
		if why := e.waitsToCut(s.Node); why.Code != NothingElse {
			return why
		}
	}
	hurry := e.press[s.Node]
	if s.Verb == plan.Flush && hurry >= reserveReached && !e.isDone(id) || s.Verb == plan.Cut && hurry >= cutNow {
		return Why{Code: NothingElse}
	}
	if worst := e.worst(id); !e.tolerates(s, worst) {
		return Why{Code: whyBefore(worst), node: e.firstBefore(id, worst)}
	}
	return Why{Code: NothingElse}
}

// waitsToLeave says what speaks against taking a node down at all, beside what comes before it.
func (e *Engine) waitsToLeave(id int) Why {
	s := &e.course.steps[id]
	o := e.Ledger.Outage
	entry := &o.Nodes[s.Node]
	switch {
	case !e.GoesDown(s.Node):
		return Why{Code: NothingToDo}
	case entry.GivenUp.Has(s.Verb):
		return Why{Code: GivenUp, node: s.Node, verb: s.Verb}
	case o.Orders.Abort, !e.isDue(s) && e.WasAborted(s.Node):
		return Why{Code: WasAborted}
	case !e.isDue(s):
		return Why{Code: StageNotBegun, stage: s.stage}
	case o.Orders.Hold:
		return Why{Code: OnHold}
	case e.UnheardFor(s.Node) >= 0:
		return Why{Code: SupplyUnheard, node: e.Supplies[e.UnheardFor(s.Node)].Node}
	case !e.IsDark(s.Node) && s.Verb != plan.Protect && (s.Verb != plan.Flush || e.press[s.Node] < reserveReached), e.IsBackUnheard(s.Node):
		return Why{Code: MaybeBack, node: s.Node}
	case o.Drill.Phase == ledger.DrillDown && !e.drillFit:
		return Why{Code: DrillUnfit}
	}
	return Why{Code: NothingElse}
}

// whyBefore is the code of what keeps a step back that comes before it.
func whyBefore(worst stand) WhyCode {
	if worst == pending {
		return OthersFirst
	}
	return NotProven
}

// firstBefore names a node before a step that stands so, -1 if it is none.
func (e *Engine) firstBefore(id int, worst stand) int {
	c := &e.course
	for _, b := range c.steps[id].After {
		if c.stands[c.base(id)+b] != worst {
			continue
		}
		if at := c.steps[c.base(id)+b]; at.Milestone {
			return e.firstBefore(c.base(id)+b, worst)
		}
		return c.steps[c.base(id)+b].Node
	}
	return -1
}

// waitsToCut says what speaks against cutting an output, beside what it feeds.
func (e *Engine) waitsToCut(i int) Why {
	k := e.Ledger.SupplyOf[i]
	switch {
	case e.Supplies[k].Mute:
		return Why{Code: SupplySilent, node: i}
	case e.Supplies[k].State.OutputOff:
		return Why{Code: MaybeBack, node: i} // there is nothing to cut
	case e.Supplies[k].Unfit:
		return Why{Code: SupplyUnfit, node: i} // it is on line, and would come back at once, into the heat or the brown-out
	case !e.CarriesLost(i):
		return Why{Code: CutUseless, node: i}
	}
	return Why{Code: NothingElse}
}

// waitsUp is waitsFor on the way up.
func (e *Engine) waitsUp(id int) Why {
	s := &e.course.steps[id]
	o := e.Ledger.Outage
	switch {
	case e.GoesDown(s.Node):
		return Why{Code: PowerLost, node: s.Node}
	case o.Nodes[s.Node].GivenUp.Has(s.Verb):
		return Why{Code: GivenUp, node: s.Node, verb: s.Verb}
	case e.course.stands[id] != pending:
		return Why{Code: NotProven, node: e.firstBefore(id, e.course.stands[id])}
	case o.Orders.Hold:
		return Why{Code: OnHold}
	case e.journalLost:
		return Why{Code: NoJournal}
	case e.UnheardFor(s.Node) >= 0:
		return Why{Code: SupplyUnheard, node: e.Supplies[e.UnheardFor(s.Node)].Node}
	case !e.Fed[s.Node]:
		return Why{Code: GateShut, node: e.UnfedBy(s.Node)}
	}
	if worst := e.worst(id); worst != proven {
		return Why{Code: whyBefore(worst), node: e.firstBefore(id, worst)}
	}
	return Why{Code: NothingElse}
}

// isDue reports whether a step of the way down is to be made now.
func (e *Engine) isDue(s *step) bool {
	o := e.Ledger.Outage
	if o.Drill.Phase == ledger.DrillDown && o.Drill.In[s.Node] {
		return true
	}
	return o.Lost[s.Node] && o.Due[s.stage][s.Node]
}
