package work

import (
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// commit puts on record, before a command that only a power cycle takes back, which supplies are to be cut and to come back:
// those that fail and feed the node. From here on what goes dark with them is finished before it is reversed.
func (e *Works) commit(i int, verb plan.Verb) {
	decl := e.Graph.Node(i)
	if verb != plan.Cut && decl.Kind != plan.Self && !decl.ByPower || e.InDrill(i) {
		return
	}
	first := e.CommittedSupply() < 0
	ids := e.toCommit(i)
	if len(ids) == 0 {
		return
	}
	e.noReturn(i, verb, ids, "", "")
	if first {
		e.Notify(true, "point of no return: the shutdown "+
			e.Would("is carried through before anything is brought back", "would be carried through before anything was brought back"))
	}
}

// noReturn puts on record that supplies are to be cut and to come back, since a node is stopped, or to be.
func (e *Works) noReturn(i int, verb plan.Verb, ids []string, cause ledger.Cause, reason string) {
	id := e.ID(i)
	e.Record(ledger.Record{
		Kind: ledger.NoReturn, Power: ledger.Power{Supplies: ids}, Step: ledger.Step{Node: id, Verb: &verb},
		Cause: cause, Reason: reason,
	})
	for k := range e.Supplies { // their loads have to be off before they can be cut
		if slices.Contains(ids, e.ID(e.Supplies[k].Node)) {
			e.TriggerEvery(k, id+" is stopped, and only a power cycle of what feeds it can start it again")
		}
	}
}

// toCommit names the supplies that fail, whose cycle has not begun, and that a node gets its power from; all of those if nobody knows
// which.
func (e *Works) toCommit(i int) []string {
	feeds := e.Graph.Feeds(i)
	var ids []string
	for k := range e.Supplies {
		s, st := &e.Supplies[k], e.Standing(k)
		concerned := s.Node == i || slices.Contains(feeds, s.Node) || len(feeds) == 0 && e.Graph.Node(i).Kind != plan.Supply
		if concerned && st.IsOut() && st.Cycle == ledger.Uncut {
			ids = append(ids, e.ID(s.Node))
		}
	}
	return ids
}

// putsOff puts off a cut that can't be made yet, and reports whether it did. Those of what feeds one thing are made at once.
func (e *Works) putsOff(i int) bool {
	switch {
	case e.mayBeMade(i):
		for _, u := range e.mayComeUp(i) {
			e.Probe(u)
		}
		e.backOff(i, slowestRetry)
	case e.mayBeDeaf(i):
		e.backOff(i, slowestRetry)
	case e.earlyFor(i) >= 0, e.meetsLater(i):
		e.backOff(i, belief.FirstRetry)
	default:
		return false
	}
	return true
}

// PutOff says why a cut or a stop whose turn has come is put off: there is nothing to do about it if it is not.
func (e *Works) PutOff(i int) want.Why {
	w := e.nodes[i].work
	switch {
	case w == nil:
		return want.Why{Code: want.NothingToDo}
	case w.verb != plan.Cut || w.phase != backingOff:
		return e.hesitates(i)
	}
	if u := e.earlyFor(i); u >= 0 {
		return want.Why{Code: want.CutTogether, Node: u}
	}
	if e.mayBeMade(i) {
		return want.Why{Code: want.MaybeCut, Node: i}
	}
	return want.Why{Code: want.Pausing, Node: i, Until: w.next}
}

// mayBeMade reports whether a cut from before a crash may have been made while nobody looked: the mains and the output are
// there, and what the return of its power starts may still be on its way up. It is given twice the time that this is expected
// to take, since a second cut would hit it. One that is seen to be up again proves the cut.
func (e *Works) mayBeMade(i int) bool {
	s, w := &e.Supplies[e.Ledger.SupplyOf[i]], e.nodes[i].work
	return w.resumed && e.Press[i] < want.CutNow && s.State.Mains == power.MainsOnline && len(e.mayComeUp(i)) > 0
}

// mayComeUp gives what a cut from before a crash, if it was made, may be starting still.
func (e *Works) mayComeUp(supply int) []int {
	return slices.DeleteFunc(e.CycledBy(supply), func(u int) bool {
		return !e.Now.Before(e.ResumedAt.Add(belief.BootTime(e.Graph.Node(u))))
	})
}

// SettleCut finds that a cut from before a crash was made while nobody looked: the mains are there, the output is on, and
// something that only its return starts, and that was off, is on.
func (e *Works) SettleCut(i int) {
	s := &e.Supplies[e.Ledger.SupplyOf[i]]
	if e.Beliefs[i].Seen.State != plan.On || s.State.Mains != power.MainsOnline {
		return
	}
	if !slices.ContainsFunc(e.CycledBy(i), e.ShowsUp) {
		return
	}
	e.Prove(i, "", "a node that only the return of its power starts is on again: the output was cut and has come back")
	e.Cycled(e.Ledger.SupplyOf[i], "it was cut and came back unobserved")
}

// mayBeDeaf reports of the supply that our own machine hangs on that another cut still counts down while its mains are there.
// Some UPSes take such a cut and do not make it, which nobody would see and mend once our own machine is off.
func (e *Works) mayBeDeaf(own int) bool {
	self, needed := e.Lifeline()
	if self < 0 || !needed[own] || e.Press[own] >= want.CutNow {
		return false
	}
	for k := range e.Supplies {
		s := &e.Supplies[k]
		if !needed[s.Node] && s.Condition == belief.CutArmed && s.State.Mains == power.MainsOnline && s.State.SilentFor == 0 {
			e.Probe(s.Node)
			return true
		}
	}
	return false
}

// outletsFirst reports whether an outlet of a supply is to be switched off before its cut, which was begun when there was no time for that.
func (e *Works) outletsFirst(supply int) bool {
	return slices.ContainsFunc(e.Graph.Users(supply), func(u int) bool {
		stop := e.Course.Find(u, plan.Stop, plan.Down)
		return e.Graph.Node(u).Kind == plan.Outlet && stop >= 0 && e.GoesDown(u) && e.ShowsUp(u) && e.Course.Stands[stop] == want.Pending
	})
}

// wouldReturn reports whether our own machine would come back after it is powered off: something else starts it, or it loses
// its power and gets it back. As long as one of its supplies stays, it would stay off; and so it would if one that is off came
// back while it goes down. A cut that is on record counts once a look of this life has seen it count down: it may have been made,
// and be why Ebbtide runs again. It counts until it is due: after that it was made, or was not.
func (e *Works) wouldReturn(self int) bool {
	stays := func(f int) bool {
		k := e.Ledger.SupplyOf[f]
		if k < 0 {
			return true
		}
		s := &e.Supplies[k]
		onBattery := s.State.Mains == power.MainsOnBattery && !s.State.OutputOff && s.State.SilentFor == 0
		// on until then: the mains may be back before
		empties := !e.Graph.Node(f).Can.Has(plan.Cut) && (s.State.LowBattery || e.Press[f] >= want.CutNow)
		goes := onBattery && (s.Condition == belief.Dark || empties)
		armed := s.Condition == belief.CutArmed && e.Beliefs[f].Seen.State == plan.Stopping && e.Now.Before(s.CutDue)
		return !armed && !goes
	}
	return !e.Graph.Node(self).ByPower || !slices.ContainsFunc(e.Graph.Feeds(self), stays) && e.areOffAtOnce(e.Graph.Feeds(self))
}

// areOffAtOnce reports whether outputs whose cuts count down will all be off for a moment: none may be on again before each other one is
// off.
func (e *Works) areOffAtOnce(feeds []int) bool {
	for _, f := range feeds {
		_, on := e.goesOff(f)
		for _, other := range feeds {
			if latest, _ := e.goesOff(other); other != f && !on.IsZero() && !latest.Before(on) {
				return false
			}
		}
	}
	return true
}

// goesOff gives when an output whose cut counts down is off at the latest, and when it may be on again at the earliest: its battery may
// give out before the cut is due, and mains that are away may be back any moment, so that it does not; or, of one that is off, its delay
// after that. Zero: it neither counts down nor is off.
func (e *Works) goesOff(f int) (latest, on time.Time) {
	s := &e.Supplies[e.Ledger.SupplyOf[f]]
	switch {
	case s.Condition == belief.Dark && s.State.Mains == power.MainsOnBattery:
		return e.Now, e.Now.Add(s.LeastOff())
	case s.Condition != belief.CutArmed:
		return latest, on
	}
	latest, on = s.CutDue, s.CutDue.Add(s.LeastOff())
	if s.State.Mains != power.MainsOnBattery {
		return latest, on
	}
	in := func(left power.Figure) time.Time { return e.Now.Add(time.Duration(left.Value * float64(time.Second))) }
	emptied := on // what has given out is on again its delay after its mains are back, which may be at once
	switch left := s.State.Left; {
	case left.Known:
		emptied = in(left).Add(s.OnDelay)
	case s.State.LowBattery:
		emptied = e.Now.Add(s.OnDelay)
	}
	if emptied.Before(on) {
		on = emptied
	}
	return latest, on
}

// Lifeline finds Ebbtide's own machine, -1 if it is not declared, and all that it needs.
func (e *Works) Lifeline() (self int, needed []bool) {
	self, needed = -1, make([]bool, len(e.Beliefs))
	for i := len(e.Beliefs) - 1; i >= 0; i-- { // what a node needs comes before it
		if e.Graph.Node(i).Kind == plan.Self {
			self, needed[i] = i, true
		}
		if needed[i] {
			for _, j := range e.Graph.Needs(i) {
				needed[j] = true
			}
		}
	}
	return self, needed
}

// Cycled takes down that a supply's output was off, or may have been, and is on: what hangs on it is looked at anew.
func (e *Works) Cycled(k int, why string) (renewed []int) {
	s := &e.Supplies[k]
	s.Lapse, s.CutDue = belief.JustBack, time.Time{}
	if s.State.Mains == power.MainsOnline && s.State.SilentFor == 0 {
		s.Lapse = belief.NoLapse
	}
	e.Record(ledger.Record{
		Kind: ledger.Mains, Cause: ledger.Cycled,
		Power: ledger.Power{Supplies: []string{e.ID(s.Node)}, Carriers: e.Carriers(k), Charge: s.Tracker.Holds()}, Reason: why,
	})
	e.Times[k] = foresight.Time{Trusted: e.Times[k].Trusted, Ahead: e.Times[k].Ahead} // until its next reading
	e.PressNodes()
	if e.Beliefs[s.Node].Seen.State == plan.Off { // that was before
		e.Beliefs[s.Node].Renew(e.NextOp)
		e.Probe(s.Node)
	}
	return e.RenewLoad(k)
}

// Trigger begins a stage for a supply, unless it has begun.
func (e *Works) Trigger(at, k int, reason string) {
	if e.Standing(k).Stages[at] {
		return
	}
	s := &e.Supplies[k]
	id, stage := e.ID(s.Node), e.Ledger.Stages[at]
	e.Record(ledger.Record{
		Kind: ledger.Triggered, Power: ledger.Power{Stage: stage, Supplies: []string{id}, Numbers: e.Numbers(s)},
		Reason: reason,
	})
	starts, held := e.Would(" starts for ", " would start for "), ""
	if e.Ledger.Outage.Orders.Hold {
		starts, held = " is due for ", "; the outage is on hold, so nothing is done for it: `ebbtide resume` ends the hold"
	}
	e.Notify(stage == plan.ShutdownStage, "stage "+string(stage)+starts+id+": "+reason+" ("+e.Tells(s)+")"+held)
}

// TriggerEvery starts the shutdown, and with it every stage that comes before it.
func (e *Works) TriggerEvery(k int, reason string) {
	for at := range e.Ledger.Stages {
		e.Trigger(at, k, reason)
	}
}

// IsBeingCut reports whether a supply's output is about to go off, or is off. A cut from before a crash may have been made since,
// or may have reached nobody: it counts once a look of this life has seen it count down.
func (e *Works) IsBeingCut(k int) bool {
	i := e.Supplies[k].Node
	w, seen := e.nodes[i].work, e.Beliefs[i].Seen.State
	stale := w != nil && w.resumed && seen != plan.Stopping && !belief.IsDown(seen)
	return e.Standing(k).Cycle >= ledger.CutSent && !stale
}

// Spent puts what a battery gave on record: when its stretch ends, and before its output is cut.
func (e *Works) Spent(s *belief.Supply) {
	d, ok := s.Tracker.Discharge(e.Now)
	if !ok || e.Ledger.Outage == nil {
		return
	}
	s.Tracker.Told()
	e.Record(ledger.Record{Kind: ledger.Spent, Power: ledger.Power{Supplies: []string{e.ID(s.Node)}, Discharge: &d}})
}
