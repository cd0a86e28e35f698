package want

import "ebbtide/internal/plan"

// judgeUp is JudgeStep for the way up.
func (e *Wants) judgeUp(id int) Stand {
	s := &e.Course.Steps[id]
	isBack, isGivenUp := e.IsBack(id), e.Entry(s.Node).GivenUp.Has(s.Verb)
	switch {
	case s.Verb == plan.Unprotect && (isBack || isGivenUp): // it stands as its start does, for what runs on a host
		return e.Worst(id)
	case isBack:
		return e.carries(s)
	case isGivenUp:
		return givenUpStand(e.Graph.Node(s.Node), s.Verb)
	}
	if worst := e.Worst(id); worst != Proven && worst != Pending {
		return Lost
	}
	return Pending
}

// carries tells what comes after a node that is back, or has nothing to come back to: what came up by itself, or was off, carries nothing
// before all that it stands on is on.
func (e *Wants) carries(s *Step) Stand {
	worst := Proven
	for _, d := range e.Ground(s.Node, true) {
		if !e.ComesBack(d) {
			continue
		}
		if start := e.Course.Find(d, plan.Start, plan.Up); start >= 0 {
			worst = max(worst, e.Course.Stands[start])
		}
	}
	return worst
}

// IsBack reports whether nothing is to be done any more in a step of the way up.
func (e *Wants) IsBack(id int) bool {
	s := &e.Course.Steps[id]
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
	case node.Kind == plan.Manual:
		return !e.ComesUp(i)
	case !e.Entry(i).Snap.On():
		return true
	}
	return e.IsOn(i) && !e.GoesDown(i) && !e.GoesWithItsHost(i) && e.Under[i] != id
}

// waitsUp is WaitsFor on the way up.
func (e *Wants) waitsUp(id int) Why {
	s := &e.Course.Steps[id]
	o := e.Ledger.Outage
	switch {
	case e.GoesDown(s.Node):
		return Why{Code: PowerLost, Node: s.Node}
	case o.Nodes[s.Node].GivenUp.Has(s.Verb):
		return Why{Code: GivenUp, Node: s.Node, verb: s.Verb}
	case e.Course.Stands[id] != Pending:
		return Why{Code: NotProven, Node: e.firstBefore(id, e.Course.Stands[id])}
	case o.Orders.Hold:
		return Why{Code: OnHold}
	case e.JournalLost:
		return Why{Code: NoJournal}
	case e.UnheardFor(s.Node) >= 0:
		return Why{Code: SupplyUnheard, Node: e.Supplies[e.UnheardFor(s.Node)].Node}
	case !e.Fed[s.Node] && s.Verb == plan.Start && e.OwesCycle(s.Node):
		return Why{Code: CycleOwed, Node: s.Node}
	case !e.Fed[s.Node]:
		return Why{Code: GateShut, Node: e.UnfedBy(s.Node)}
	}
	if worst := e.Worst(id); worst != Proven {
		return Why{Code: whyBefore(worst), Node: e.firstBefore(id, worst), step: id + 1}
	}
	return Why{Code: NothingElse}
}

// StandsBehindGivenUp reports whether anything that was on, or is to be put back, waits for what was given up on its way up: that may
// settle by itself, as storage does that takes an hour over its pool, and nothing would start the rest once the outage is over. What is
// gone does not come by itself. Or whether who would start it could not be reached, and has not answered since.
func (e *Wants) StandsBehindGivenUp() bool {
	o, waits, mayCome := e.Ledger.Outage, false, false
	for id := range e.Course.Steps {
		s := &e.Course.Steps[id]
		if s.Milestone || s.Goal != plan.Up || !o.Scope[s.Node] {
			continue
		}
		switch n := &o.Nodes[s.Node]; {
		case s.Verb == plan.Start && !n.Snap.On(), s.Verb == plan.Unprotect && !e.ToPutBack(s.Node):
		case n.GivenUp.Has(plan.Start):
			mayCome = mayCome || e.Beliefs[s.Node].Answer != plan.Gone
			waits = waits || n.Untried.Has(plan.Start) && e.IsMute(s.Node)
		case e.Course.Stands[id] == Lost:
			waits = true
		}
	}
	return waits && mayCome
}
