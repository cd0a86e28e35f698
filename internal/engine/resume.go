package engine

import (
	"fmt"
	"slices"

	"ebbtide/internal/plan"
)

// Restored makes an engine that goes on with the open outage whose records are given, oldest first. It trusts no
// record about the state of the world: its first event (Started) asks after everything before anything is commanded.
// It fails if a record names a node that the estate no longer has.
func Restored(s Settings, records []Record) (*Engine, error) {
	e := New(s)
	for i := range records {
		if err := e.fold(&records[i]); err != nil {
			return nil, fmt.Errorf("cannot resume outage %q at record %d: %w", records[i].Outage, records[i].Seq, err)
		}
	}
	return e, nil
}

// fold takes one record of the past.
func (e *Engine) fold(rec *Record) error {
	if rec.Kind == Opened {
		e.run = &run{id: rec.Outage, goal: plan.Down, scope: make([]bool, e.estate.Len())}
		e.lastOutage = rec.Outage
	}
	r := e.run
	if r == nil {
		return fmt.Errorf("the outage does not begin with its %q record", Opened)
	}
	r.seq = rec.Seq
	e.nextOp = max(e.nextOp, rec.Op)
	at := -1
	if rec.Node != "" {
		i, known := e.estate.Index(rec.Node)
		if !known {
			return fmt.Errorf("node %q is in the journal but not in the runbook: start with the runbook that the outage began with", rec.Node)
		}
		at = i
	}
	if rec.Verb != nil && (*rec.Verb == plan.Discharge || *rec.Verb == plan.EndDischarge) {
		r.battery.fold(rec)
		return nil
	}
	switch rec.Kind {
	case Opened:
		for _, ns := range rec.Nodes {
			if i, known := e.estate.Index(ns.Node); known {
				e.nodes[i].wasUp = true
			}
		}
		if rec.Mode == ModeDrill {
			return e.foldDrill(rec)
		}
		return e.foldSupplies(rec.Supplies)
	case Mains:
		if r.goal == plan.Up { // one that fails turns the outage down first
			e.foldBack(rec.Supplies)
			return nil
		}
		return e.foldSupplies(rec.Supplies)
	case Snapshot, Widened:
		r.snapped = true
		for _, ns := range rec.Nodes {
			i, known := e.estate.Index(ns.Node)
			if !known {
				return fmt.Errorf("node %q is in the snapshot but not in the runbook: start with the runbook that the outage began with", ns.Node)
			}
			e.nodes[i].snapshot(&ns)
		}
	case Triggered:
		st := r.stage(rec.Stage)
		st.reason = rec.Reason
		for _, id := range rec.Supplies {
			if i, known := e.estate.Index(id); known {
				st.supplies = append(st.supplies, i)
			}
		}
		st.due = e.estate.Scope(func(i int) bool {
			return slices.Contains(st.supplies, i)
		})
	case Intent, Asked:
		e.foldIntent(at, rec)
	case Proven:
		e.nodes[at].did(*rec.Verb)
		e.nodes[at].open = nil
	case Failed:
		e.nodes[at].bad |= plan.VerbSet(*rec.Verb)
		e.nodes[at].loose = e.nodes[at].loose || *rec.Verb == plan.Unprotect && rec.Attempt > 0
		e.nodes[at].open = nil
	case HeldBack:
		e.nodes[at].open = nil
	case Reopened:
		if rec.Verb != nil { // its protection
			e.nodes[at].done &^= plan.VerbSet(plan.Protect, plan.Flush)
		} else {
			e.nodes[at].done &^= plan.VerbSet(plan.Stop, plan.Cut, plan.Start)
		}
		if rec.Verb != nil || r.goal == plan.Up || e.supplyAt(at) != nil {
			e.nodes[at].falls++
		}
	case NoReturn:
		r.noReturn = true
		for _, id := range rec.Supplies {
			if i, known := e.estate.Index(id); known && e.supplyAt(i) != nil {
				e.cycle(e.supplyAt(i))
			}
		}
	case Turned:
		r.goal = rec.Goal
		for i := range e.nodes {
			e.nodes[i].done, e.nodes[i].bad = 0, 0
		}
		if rec.Goal == plan.Down {
			r.stages, r.drill = nil, nil // a drill turns down for mains that fail alone
		} else {
			r.aborted = false
			e.foldBack(rec.Supplies)
		}
		r.noReturn = false
		e.uncommit()
	case Ordered:
		e.foldOrder(rec)
	case Closed:
		e.run = nil
		for i := range e.supplies {
			e.supplies[i].failed = false
		}
		e.uncommit()
	case Accepted:
		switch n := &e.nodes[at]; {
		case n.open == nil:
		case rec.Outcome == TimedOut:
			n.loose = n.loose || *rec.Verb == plan.Unprotect
		case rec.Outcome == Done:
			n.open.accepted, n.accepted = true, n.open.verb == plan.Stop
		case rec.Outcome == Unreached && !n.open.heard:
			n.open = nil // as if it had not been given: it holds no place, and its step begins anew
		}
	case Gap, Spent:
	}
	return nil
}

func (e *Engine) foldSupplies(ids []string) error {
	for _, id := range ids {
		i, known := e.estate.Index(id)
		if !known {
			return fmt.Errorf("supply %q is in the journal but not in the runbook: start with the runbook that the outage began with", id)
		}
		if s := e.supplyAt(i); s != nil {
			// It counts as failing until a reading says otherwise: missing data never makes anything better.
			s.failed, s.out = true, true
			e.run.drill = nil
		}
	}
	scope := e.estate.Scope(func(i int) bool { s := e.supplyAt(i); return s != nil && s.failed })
	for i := range scope {
		e.run.scope[i] = e.run.scope[i] || scope[i]
	}
	return nil
}

// foldBack notes supplies that were back: should the next reading say that they fail, they fail again.
func (e *Engine) foldBack(ids []string) {
	for _, id := range ids {
		if i, known := e.estate.Index(id); known && e.supplyAt(i) != nil {
			e.supplyAt(i).out = false
		}
	}
}

func (e *Engine) foldIntent(at int, rec *Record) {
	n := &e.nodes[at]
	x := &exec{goal: e.run.goal, verb: *rec.Verb, rung: *rec.Verb, attempt: rec.Attempt, cause: rec.Cause, reason: rec.Reason, phase: proving, resumed: true, given: true, heard: n.open != nil, blind: rec.State != nil}
	if x.rung == plan.Force {
		x.verb = plan.Stop
	}
	if rec.Kind == Asked {
		x.phase = asking
	}
	switch x.verb {
	case plan.Stop, plan.Cut, plan.Protect:
		n.touched = true
	case plan.Flush, plan.Start, plan.Unprotect, plan.Force, plan.Discharge, plan.EndDischarge:
	}
	n.open = x
}

func (e *Engine) foldOrder(rec *Record) {
	if rec.Reason != "" {
		return // was refused
	}
	switch rec.Order {
	case Hold:
		e.run.hold = true
	case Resume:
		e.run.hold = false
	case Abort:
		e.run.aborted = true
	case Go:
		e.run.hold, e.run.aborted = false, false
	case Confirm, Skip: // their Proven or Failed record says it
	}
}

// resumeIntents takes up again every step whose intent had no result: the survey has asked after it, and what it shows
// decides whether the command is given again. It returns their nodes, to be judged when the progress has been built.
func (e *Engine) resumeIntents() []int {
	var resumed []int
	for i := range e.nodes {
		n, decl := &e.nodes[i], e.estate.Node(i)
		x := n.open
		n.open = nil
		if x == nil || n.exec != nil {
			continue
		}
		if decl.Kind == plan.Self { // it went down and is up again: it is us
			n.done |= plan.VerbSet(plan.Stop)
			continue
		}
		n.loose = n.loose || x.verb == plan.Unprotect // nobody knows whether it is on its way
		x.since = e.now
		x.deadline = e.now.Add(decl.Time(x.rung).Within)
		// Where it answered right before the intent (its guard asked), silence since counts as after an accepted stop: the
		// crash may have lost no more than the answer.
		n.accepted = n.accepted || x.verb == plan.Stop && !x.blind
		x.blind = false
		n.exec = x
		e.arm(i)
		resumed = append(resumed, i)
	}
	return resumed
}
