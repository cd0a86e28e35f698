package engine

import (
	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// survey asks after every node of the outage that is in no snapshot. Nothing is commanded on a node before it is in one.
func (e *Engine) survey() {
	o := e.Ledger.Outage
	for i := range e.Beliefs {
		if o.Scope[i] && !o.Nodes[i].Snap.Taken() && belief.Probed(e.Graph.Node(i)) {
			e.askInSurvey(i)
		}
	}
	for _, i := range e.outsiders() {
		e.askInSurvey(i)
	}
	e.endSurvey()
}

// awaited is which answer of a node the survey waits for.
type awaited uint8

const (
	notAwaited awaited = iota
	firstWord
	secondWord
)

func (e *Engine) askInSurvey(i int) {
	if e.awaited[i] != notAwaited || !belief.Probed(e.Graph.Node(i)) {
		return
	}
	e.awaited[i] = firstWord
	e.surveying++
	e.Probe(i)
}

// surveyed notes that a node that the survey waits for has answered, or failed to. What is off for the snapshot has said so twice in its
// survey: what it said before is of before, and one look proves nothing. The same holds for what is on again as the outage ends.
func (e *Engine) surveyed(i int) {
	snap, answer := &e.Entry(i).Snap, e.Beliefs[i].Answer
	isAgain := answer == plan.On && snap.On() && !e.IsOn(i) // it was mute
	switch {
	case e.awaited[i] == notAwaited:
		return
	case e.awaited[i] == firstWord && (belief.IsDown(answer) && !snap.Taken() || isAgain):
		e.awaited[i] = secondWord
		e.Probe(i)
		return
	}
	e.awaited[i] = notAwaited
	e.surveying--
	e.endSurvey()
}

// unsurvey has the survey wait for a node again whose newest answer is asked for once more: what it said before is in doubt.
func (e *Engine) unsurvey(i int) {
	if e.surveying > 0 && e.awaited[i] == notAwaited && !e.Entry(i).Snap.Taken() {
		e.awaited[i] = secondWord
		e.surveying++
	}
}

// asksOldAgain asks again, once, what was off for the snapshot so long ago, while slow ones were waited for, that it may be up by itself.
func (e *Engine) asksOldAgain() bool {
	for i := range e.Beliefs {
		isDown := belief.IsDown(e.Beliefs[i].Answer) && !e.Entry(i).Snap.Taken() && e.Ledger.Outage.Scope[i]
		if !e.askedAgain && isDown && e.IsOld(i, belief.ProofStands) {
			e.askInSurvey(i)
		}
	}
	e.askedAgain = e.surveying > 0
	return e.askedAgain
}

// endSurvey makes the snapshot when all answers are in: what was on is what comes back. The first snapshot of a node counts
// until the outage is over.
func (e *Engine) endSurvey() {
	o := e.Ledger.Outage
	if e.surveying > 0 || e.asksOldAgain() {
		return
	}
	lostOutput := e.Graph.Scope(func(s int) bool {
		k := e.Ledger.SupplyOf[s]
		return e.Beliefs[s].Seen.State == plan.Off || k >= 0 && e.Supplies[k].State.OutputOff
	})
	var fresh []ledger.NodeState
	for i := range e.Beliefs {
		if entry := &o.Nodes[i]; o.Scope[i] && !entry.Snap.Taken() && belief.Probed(e.Graph.Node(i)) {
			fresh = append(fresh, e.SnapshotOf(i, lostOutput[i] || e.HostDropped(i)))
		}
	}
	switch {
	case !o.Snapped:
		e.Record(ledger.Record{Kind: ledger.Snapshot, Nodes: fresh})
	case len(fresh) > 0:
		e.Record(ledger.Record{Kind: ledger.Widened, Power: ledger.Power{Supplies: e.FailedSupplies()}, Nodes: fresh})
	default:
		return
	}
	e.heedOutsiders()
}

// foundOn takes a node into the snapshot that could not be asked when that was made, and answers before it has been stopped:
// what is on now was on then, and is brought back, unless it may have come up with its power since.
func (e *Engine) foundOn(i int) {
	n, b := e.Entry(i), &e.Beliefs[i]
	if !n.Snap.Silent() || n.Snap.On() || n.Shown == ledger.ShownOff || n.Shown == ledger.ShownOn || b.Answer != plan.On || !e.IsDark(i) ||
		n.Snap.Past || e.MayHaveCycled(i) {
		return
	}
	late := ledger.NodeState{Node: e.ID(i), State: b.Answer, Protected: b.Seen.Protected, Settings: b.Seen.Settings}
	if n.IsTouched() && late.Protected == plan.Yes || n.Late && late.Protected == plan.No { // our own doing, it may be
		late.Protected, late.Settings = plan.NotKnown, ""
	}
	e.Record(ledger.Record{Kind: ledger.Widened, Nodes: []ledger.NodeState{late}})
}
