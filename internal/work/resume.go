package work

import (
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Resume takes up again every step whose intent had no result: what a look shows decides whether the command is given
// again. A machine that was told to stop may have come up again meanwhile, unseen.
func (e *Works) Resume() {
	for i := range e.nodes {
		entry := e.Entry(i)
		e.Beliefs[i].Epoch = e.NextOp
		switch entry.Lit {
		case ledger.Unlit:
		case ledger.PoweredAgain:
			e.Beliefs[i].Rising = e.Beliefs[i].Boots // a VM comes up with its host, if that does
		case ledger.SeenStarting:
			e.Beliefs[i].Rising = e.Now.Add(belief.BootTime(e.Graph.Node(i)))
		}
		e.resumeStop(i)
		if entry.Late {
			e.Beliefs[i].Undoing = e.Now.Add(e.Graph.Node(i).Time(plan.Unprotect).Within)
			e.armIdle(i)
		}
		if entry.Last.Open {
			e.resumeStep(i)
		}
	}
}

// resumeStop takes up what is known of a stop that a node took, or may have. What refused it may do it all the same.
func (e *Works) resumeStop(i int) {
	entry := e.Entry(i)
	last := entry.Last
	if entry.Shown == ledger.ShownOff && e.AcceptedStop(i) { // it has gone, on record
		e.Beliefs[i].Departure = belief.Leaving
	}
	isStop := last.Verb == plan.Stop && (last.Taken || last.Reach() != ledger.NotReached && last.Answer != ledger.WasObeyed)
	if isStop && entry.Shown == ledger.WasTold {
		e.Beliefs[i].Falling = e.Now.Add(2 * belief.ProofStands)
		away := e.Now.Sub(e.AwayFrom)
		ago := func(at time.Time) time.Time { // no clock tells for how long Ebbtide was away: it may have been set meanwhile
			return e.Now.Add(-max(0, e.AwayFrom.Sub(at)))
		}
		if !last.Asked.IsZero() {
			e.obeys(i, plan.Stop, ago(last.Asked))
		}
		if last.Answer != ledger.WasUnreached || last.Asked.IsZero() { // else that power-off did not come to it
			e.obeys(i, last.Rung, ago(e.takenAt(&last)))
		}
		e.Beliefs[i].Adrift = max(0, away)
		if away < 0 || last.At.After(e.AwayFrom) { // it was set back: all of that time may be over
			e.Beliefs[i].Adrift = max(0, e.Beliefs[i].Obeying.Sub(e.Now))
		}
		e.armIdle(i)
	}
}

// takenAt gives when a stop was taken, at the latest: one whose answer is on no record was by when it had to be answered.
func (e *Works) takenAt(stop *ledger.Command) time.Time {
	by := stop.At.Add(AcceptWithin)
	switch {
	case stop.Answer != ledger.NoAnswer:
		return stop.At
	case by.Before(e.AwayFrom):
		return by
	}
	return e.AwayFrom
}

// resumeStep takes up the step of a node whose command had no result.
func (e *Works) resumeStep(i int) {
	n, decl, last := &e.nodes[i], e.Graph.Node(i), e.Entry(i).Last
	goal := plan.Down
	if last.Verb == plan.Start || last.Verb == plan.Unprotect {
		goal = plan.Up
	}
	id := e.Course.Find(i, last.Verb, goal)
	// Of what reached nobody, or was refused, nothing is under way: it passes all that comes before it once more. So does a Protect that a
	// late Unprotect may undo: what shows it protected may be of before that. And what is us is up again.
	isIdle := last.Reach() <= ledger.InVain || last.Verb == plan.Protect && e.Entry(i).Late
	if id < 0 || isIdle || decl.Kind == plan.Self {
		verb, state := last.Verb, plan.On
		if isIdle {
			state = plan.Unknown
		}
		e.Record(ledger.Record{
			Kind: ledger.HeldBack, Step: ledger.Step{Node: decl.ID, Verb: &verb, Attempt: last.Attempt, State: &state},
			Reason: "Ebbtide was restarted before the outcome was known",
		})
		return
	}
	if last.Verb == plan.Start {
		e.Beliefs[i].Rising = e.Now.Add(lostStart(decl, last.Answer))
	}
	w := &work{
		step: id, verb: last.Verb, rung: last.Rung, phase: proving, answer: last.Answer, resumed: true,
		pace:  pace{since: e.Now, sent: e.Now, deadline: e.Now.Add(max(decl.Time(last.Rung).Within, FirstLook))},
		force: force{last.Cause, last.Reason},
	}
	if last.Verb == plan.Unprotect { // it may have been so already when it was told
		w.from, e.Beliefs[i].Undoing = w.deadline, w.deadline
	}
	if decl.Kind == plan.Manual {
		w.phase = asking
	}
	n.work, e.Under[i] = w, w.step
	e.Working++
	if last.Reach() != ledger.NotReached {
		w.placed = true
		e.Course.Slots.Take(i)
		e.count(i, last.Rung == plan.Stop)
	}
	e.arm(i)
}

// lostStart is for how long something may look off that was told to start in the life before. Who runs a VM shows soon whether it was, if
// the answer to that was lost; a machine shows nothing before it has booted.
func lostStart(decl *plan.Node, answer ledger.Answer) time.Duration {
	boots := belief.BootTime(decl)
	if decl.Kind != plan.VM || answer != ledger.NoAnswer {
		return boots
	}
	return min(boots, shownWithin)
}
