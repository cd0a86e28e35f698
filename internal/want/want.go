package want

import (
	"slices"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Step is one step of the way down or the way up.
type Step struct {
	*plan.Step
	Goal  plan.Goal
	stage int // of the way down: its place in the ledger's stages
}

// Stand is how a step stands, as far as those that come after it are concerned: the worst of them counts.
type Stand uint8

// How a step may stand, best first.
const (
	Proven   Stand = iota // done, or there is nothing to do
	Unproven              // a VM that was given up: its host may take it along, by a recorded decision
	Lost                  // anything else that was given up, or waits for such a thing
	Pending               // not ended yet
)

// JudgeStep finds how a step stands.
func (e *Wants) JudgeStep(id int) Stand {
	s := &e.Course.Steps[id]
	switch {
	case s.Milestone:
		return e.Worst(id)
	case s.Goal == plan.Up:
		return e.judgeUp(id)
	case !e.GoesDown(s.Node):
		return Proven
	case s.Verb == plan.Cut:
		return e.judgeCut(s.Node)
	case s.Verb == plan.Protect && e.IsLeft(s.Node): // and so is what stands on it alone
		return Proven
	case e.IsDone(id):
		if s.Verb == plan.Flush {
			return e.Worst(id) // what stands behind it waits for all that may write through it, too
		}
		return Proven
	case e.Under[s.Node] == id, !e.Entry(s.Node).GivenUp.Has(s.Verb), e.Graph.Node(s.Node).Kind == plan.Self:
		return Pending
	}
	return givenUpStand(e.Graph.Node(s.Node), s.Verb)
}

// IsDone reports whether nothing is to be done any more in a step of the way down.
func (e *Wants) IsDone(id int) bool {
	s := &e.Course.Steps[id]
	i := s.Node
	entry := e.Entry(i)
	switch e.Graph.Node(i).Kind {
	case plan.Manual:
		return entry.Shown == ledger.ShownOff || entry.GivenUp.Has(plan.Stop)
	case plan.Self:
		return entry.Shown == ledger.ShownOff // it was told, and there is nothing to look at: it goes now
	default:
	}
	switch {
	case e.isOffFor(i, s.Verb), e.HasNoPower(i), s.Verb != plan.Protect && e.IsCutOff(i) && !e.RunsOn(i, s.stage),
		s.Verb == plan.Flush && e.isGroundOff(i):
		return true
	case e.Under[i] == id, s.Verb == plan.Stop:
		return false
	case s.Verb == plan.Protect && e.StaysProtected(i), s.Verb == plan.Flush && e.StaysClean(i):
		return true
	}
	return e.Holds(i, s.Verb, entry.CommandedBy(s.Verb)) && (s.Verb != plan.Protect || !e.LateMayCome(i))
}

// isOffFor reports whether a node is off, so that nothing is to be done in a step: what may have come up unseen is protected first.
func (e *Wants) isOffFor(i int, verb plan.Verb) bool {
	return e.IsOff(i) && (verb != plan.Protect || e.StaysOff(i))
}

// isGroundOff reports whether what a cache keeps its data on is off: there is nothing to flush it to.
func (e *Wants) isGroundOff(i int) bool {
	return slices.ContainsFunc(e.Graph.Needs(i), func(d int) bool { return e.Graph.Node(d).Can.Has(plan.Stop) && e.IsOff(d) })
}

// judgeCut is JudgeStep for the cut of an output.
func (e *Wants) judgeCut(i int) Stand {
	k := e.Ledger.SupplyOf[i]
	st := e.Standing(k)
	switch {
	case st.Cycle >= ledger.CutProven:
		return Proven
	case e.Under[i] >= 0:
		return Pending
	case st.Cycle == ledger.Uncut && e.Beliefs[i].Seen.State == plan.Off:
		return Proven // its battery has given out
	case e.Entry(i).GivenUp.Has(plan.Cut):
		return Lost
	}
	return Pending
}

// givenUpStand says what an unproven end of a step means for the steps after it. A cache that can't be protected, a person's
// step that was passed over, and an outlet that stays on keep nothing else from going on.
func givenUpStand(n *plan.Node, verb plan.Verb) Stand {
	switch {
	case verb == plan.Protect, n.Kind == plan.Manual, n.Kind == plan.Outlet && verb == plan.Stop:
		return Proven
	case n.Kind == plan.VM && verb != plan.Start:
		return Unproven
	default:
		return Lost
	}
}

// Worst gives the worst stand of the steps that come right before a step. What was found to wait last is asked first, so
// that a step with many before it is not a burden.
func (e *Wants) Worst(id int) Stand {
	c := &e.Course
	before := c.Steps[id].After
	if len(before) == 0 {
		return Proven
	}
	base := c.base(id)
	if at := c.WaitsAt[id]; c.Stands[base+before[at]] == Pending {
		return Pending
	}
	worst := Proven
	for at, b := range before {
		st := c.Stands[base+b]
		if st == Pending {
			c.WaitsAt[id] = at
			return Pending
		}
		worst = max(worst, st)
	}
	return worst
}

// tolerates reports whether a step may be made although one before it was given up. A VM may, and a host takes its VMs along; storage and
// everything else that is strict may when nothing but the time for that is left.
func (e *Wants) tolerates(s *Step, worst Stand) bool {
	kind := e.Graph.Node(s.Node).Kind
	switch {
	case worst == Proven:
		return true
	case worst == Pending || s.Verb != plan.Stop:
		return false
	case kind == plan.VM:
		return true
	default:
		return kind == plan.Host && worst == Unproven || e.IsLastCall(s.Node)
	}
}

// IsLastCall reports whether the time is left for a node's own stop and no more: what uses it and was given up is not waited for any
// longer. It would lose its power while on, and those with it (docs/adr/0025). What switches power off would do no better, and Ebbtide's
// own machine goes after all else.
func (e *Wants) IsLastCall(i int) bool {
	n := e.Graph.Node(i)
	return e.Press[i] == LastCall && (n.Kind == plan.VM || n.Kind == plan.Host || n.Kind == plan.Other && !n.Switches)
}

// WaitsFor says what a step waits for: nothing, if its turn has come.
func (e *Wants) WaitsFor(id int) Why {
	s := &e.Course.Steps[id]
	o := e.Ledger.Outage
	switch {
	case o == nil || s.Milestone || e.Course.Stands[id] == Proven:
		return Why{Code: NothingToDo}
	case e.Under[s.Node] >= 0:
		return Why{Code: UnderWay, Node: s.Node}
	case !o.Snapped || belief.Probed(e.Graph.Node(s.Node)) && o.Scope[s.Node] && !o.Nodes[s.Node].Snap.Taken():
		return Why{Code: NotInSnapshot, Node: s.Node}
	case !e.Looked(s.Node), s.Verb == plan.Stop && e.SilenceWillTell(s.Node):
		return Why{Code: NotLooked, Node: s.Node}
	case e.Pause[s.Node].After(e.Now):
		return Why{Code: Pausing, Node: s.Node, Until: e.Pause[s.Node]}
	case s.Goal == plan.Down:
		return e.waitsDown(id)
	}
	return e.waitsUp(id)
}

// waitsDown is WaitsFor on the way down.
func (e *Wants) waitsDown(id int) Why {
	if why := e.waitsToLeave(id); why.Code != NothingElse {
		return why
	}
	s := &e.Course.Steps[id]
	if s.Verb == plan.Cut {
		if why := e.waitsToCut(s.Node); why.Code != NothingElse {
			return why
		}
	}
	hurry := e.Press[s.Node]
	if s.Verb == plan.Flush && hurry >= ReserveReached && !e.IsDone(id) || s.Verb == plan.Cut && hurry >= CutNow {
		return Why{Code: NothingElse}
	}
	if worst := e.Worst(id); !e.tolerates(s, worst) {
		return Why{Code: whyBefore(worst), Node: e.firstBefore(id, worst), step: id + 1}
	}
	return Why{Code: NothingElse}
}

// waitsToLeave says what speaks against taking a node down at all, beside what comes before it.
func (e *Wants) waitsToLeave(id int) Why {
	s := &e.Course.Steps[id]
	o := e.Ledger.Outage
	entry := &o.Nodes[s.Node]
	switch {
	case !e.GoesDown(s.Node):
		return Why{Code: NothingToDo}
	case entry.GivenUp.Has(s.Verb):
		return Why{Code: GivenUp, Node: s.Node, verb: s.Verb}
	case o.Orders.Abort, !e.IsDue(s) && e.WasAborted(s.Node):
		return Why{Code: WasAborted}
	case !e.IsDue(s):
		return e.waitsForStage(s)
	case o.Orders.Hold:
		return Why{Code: OnHold}
	case e.UnheardFor(s.Node) >= 0:
		return Why{Code: SupplyUnheard, Node: e.Supplies[e.UnheardFor(s.Node)].Node}
	case !e.IsDark(s.Node) && s.Verb != plan.Protect && (s.Verb != plan.Flush || e.Press[s.Node] < ReserveReached), e.IsBackUnheard(s.Node):
		return Why{Code: MaybeBack, Node: s.Node}
	case o.Drill.Phase == ledger.DrillDown && !e.DrillFit:
		return Why{Code: DrillUnfit}
	}
	return Why{Code: NothingElse}
}

// whyBefore is the code of what keeps a step back that comes before it.
func whyBefore(worst Stand) WhyCode {
	if worst == Pending {
		return OthersFirst
	}
	return NotProven
}

// andOthers says what a step waits for beside the first: others that have not ended, and one that was given up, which holds it up for good.
func (e *Wants) andOthers(id int) string {
	more := ""
	if e.pendingBefore(id) > 1 {
		more = " and others"
	}
	for _, stand := range []Stand{Lost, Unproven} {
		if i := e.firstBefore(id, stand); i >= 0 {
			was := ": a step was given up"
			if e.Observes {
				was = ": a step would have been given up"
			}
			return more + "; " + e.ID(i) + was
		}
	}
	return more
}

// pendingBefore counts the steps before one that have not ended.
func (e *Wants) pendingBefore(id int) (n int) {
	c := &e.Course
	for _, b := range c.Steps[id].After {
		switch at := c.base(id) + b; {
		case c.Stands[at] != Pending:
		case c.Steps[at].Milestone:
			n += e.pendingBefore(at)
		default:
			n++
		}
	}
	return n
}

// firstBefore names a node before a step that stands so, -1 if it is none.
func (e *Wants) firstBefore(id int, worst Stand) int {
	c := &e.Course
	for _, b := range c.Steps[id].After {
		if c.Stands[c.base(id)+b] != worst {
			continue
		}
		if at := c.Steps[c.base(id)+b]; at.Milestone {
			return e.firstBefore(c.base(id)+b, worst)
		}
		return c.Steps[c.base(id)+b].Node
	}
	return -1
}

// waitsToCut says what speaks against cutting an output, beside what it feeds.
func (e *Wants) waitsToCut(i int) Why {
	k := e.Ledger.SupplyOf[i]
	switch {
	case e.Supplies[k].Mute:
		return Why{Code: SupplySilent, Node: i}
	case e.Supplies[k].State.OutputOff:
		return Why{Code: MaybeBack, Node: i} // there is nothing to cut
	case e.Supplies[k].Unfit:
		return Why{Code: SupplyUnfit, Node: i} // it is on line, and would come back at once, into the heat or the brown-out
	case !e.CarriesLost(i):
		return Why{Code: CutUseless, Node: i}
	}
	return Why{Code: NothingElse}
}

// IsDue reports whether a step of the way down is to be made now.
func (e *Wants) IsDue(s *Step) bool {
	o := e.Ledger.Outage
	if o.Drill.Phase == ledger.DrillDown && o.Drill.In[s.Node] {
		return true
	}
	return o.Lost[s.Node] && o.Due[s.stage][s.Node]
}

// waitsForStage says what a step waits for whose stage has not begun: that, or whether its power is back.
func (e *Wants) waitsForStage(s *Step) Why {
	if !e.IsDark(s.Node) {
		return Why{Code: MaybeBack, Node: s.Node}
	}
	return Why{Code: StageNotBegun, stage: s.stage}
}

// GoesWithItsHost reports whether the host that a node runs on is on its way down, to be started again: what shows as on now does not
// stay so.
func (e *Wants) GoesWithItsHost(i int) bool {
	host := e.HostOf(i)
	if host < 0 || !e.Goes(host) {
		return false
	}
	start := e.Course.Find(host, plan.Start, plan.Up)
	return start >= 0 && e.Course.Stands[start] == Pending
}

// SilenceWillTell reports whether a node was off, on record, before Ebbtide was away or its power may have come back, does not answer, and
// will be proven off by that soon; or took its stop, and will be as soon as a supply is heard. It is not told to stop a second time, unless
// time is short.
func (e *Wants) SilenceWillTell(i int) bool {
	n := e.Entry(i)
	was := n.Shown == ledger.ShownOff && (!e.ResumedAt.IsZero() || n.Lit == ledger.PoweredAgain)
	return e.Press[i] == NoPressure && (was && e.SilenceMayTell(i) || e.AwaitsWord(i))
}

// SilenceMayTell reports whether a node that took a stop does not answer, and will be proven off by that soon: when it has had the time to
// boot.
func (e *Wants) SilenceMayTell(i int) bool {
	b, decl := &e.Beliefs[i], e.Graph.Node(i)
	if decl.OffAfter == 0 || !e.AcceptedStop(i) || b.Proof != belief.NoProof {
		return false
	}
	if b.Silent.IsZero() {
		return b.AskedAt.Before(b.UpUntil()) && e.IsMute(i) // by what was asked, not by the clock
	}
	return b.AskedAt.Sub(b.Silent) < decl.OffAfter+FailedLook
}
