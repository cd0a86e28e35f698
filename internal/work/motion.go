package work

import (
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// setInMotion follows what the answer to a command means for the time in which its node may be on its way.
func (e *Works) setInMotion(i int, outcome ledger.Outcome) {
	b, rung := &e.Beliefs[i], e.nodes[i].work.rung
	took := outcome == ledger.Done || outcome == ledger.TimedOut
	switch {
	case rung.TakesDown():
		e.setOnItsWayDown(i, outcome)
	case rung == plan.Unprotect && took:
		b.Undoing = e.Now.Add(e.Graph.Node(i).Time(rung).Within)
	case rung == plan.Start && outcome == ledger.Refused: // what refuses may do it all the same
		b.Rising, b.Boots = b.Boots, e.Now.Add(belief.BootTime(e.Graph.Node(i)))
	case rung == plan.Start && took: // from when it was taken
		b.Rising = e.Now.Add(belief.BootTime(e.Graph.Node(i)))
	case rung == plan.Start: // it was not told
		b.Rising = b.Boots
	}
}

func (e *Works) setOnItsWayDown(i int, outcome ledger.Outcome) {
	b := &e.Beliefs[i]
	switch outcome {
	case ledger.Busy, ledger.Unreached:
		b.Falling = time.Time{}
	case ledger.TimedOut: // it may be on its way to it still
		e.mayGo(i)
	case ledger.Done:
		b.Departure = belief.NotSeen
		fallthrough
	default: // from when it was taken; and one that refuses may do it all the same
		b.Falling = e.Now.Add(belief.ProofStands)
		e.obeys(i, e.Last(i).Rung, e.nodes[i].work.sent)
	}
}

// mayGo follows a command to go down of which nobody knows whether it was taken: its node may be on its way to it still.
func (e *Works) mayGo(i int) {
	e.Beliefs[i].Falling = e.Now.Add(2 * belief.ProofStands)
	e.obeys(i, e.Last(i).Rung, e.nodes[i].work.sent)
}

// obeys follows a stop, sent then, that a node may be at: until it is off it may show as on, as most machines do that answer for
// themselves, and guests as their hosts tell of them.
func (e *Works) obeys(i int, rung plan.Verb, sent time.Time) {
	b := &e.Beliefs[i]
	if until := sent.Add(e.Graph.Node(i).Time(rung).Within); rung != plan.Cut && until.After(b.Obeying) {
		b.Obeying, b.Told, b.Adrift = until, sent, 0
	}
}
