package engine

import (
	"slices"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// inquiry is what was asked of how long the rest of the plan takes.
type inquiry struct {
	asked    time.Time // when the newest estimate was asked for
	serial   int
	question []part // what it was asked of
	weighs   bool   // slack was weighed then: see weighsSlack
}

// part is what a question says of a node.
type part uint8

const (
	notAsked   part = iota // it is no part of what is asked
	askedDown              // nothing is left to take down of it
	askedUp                // it is to be taken down
	askedBegun             // a step of that is under way
)

// estimated takes an estimate.
func (e *Engine) estimated(ev Estimated) {
	if e.Answered(foresight.Estimate(ev)) {
		e.beginTest()
	}
}

// askForEstimate asks how long the rest of the plan takes. The engine goes on without the answer.
func (e *Engine) askForEstimate() {
	e.asked, e.weighs = e.Now, e.weighsSlack()
	e.serial++
	ask := effect.Estimate{Serial: e.serial, Scope: make([]string, 0, len(e.Beliefs)), Down: make([]string, 0, len(e.Beliefs))}
	e.question = slices.Grow(e.question[:0], len(e.Beliefs))
	for i := range e.Beliefs {
		p := e.partOf(i)
		if e.question = append(e.question, p); p == notAsked {
			continue
		}
		ask.Scope = append(ask.Scope, e.ID(i))
		if !e.IsDown(i) {
			ask.Down = append(ask.Down, e.ID(i))
		}
		if begun, is := e.Underway(i); is && p == askedBegun {
			ask.Running = append(ask.Running, begun)
		}
	}
	e.Out = append(e.Out, ask)
}

// renewEstimate asks again how long the rest of the plan takes, unless it would be the same question, which has the same answer:
// where no step is under way, the time alone changes nothing.
func (e *Engine) renewEstimate() {
	if e.isAnswered() {
		e.asked = e.Now
		return
	}
	e.askForEstimate()
}

// isAnswered reports whether the newest estimate is the answer to what would be asked now.
func (e *Engine) isAnswered() bool {
	if !e.Known || e.Estimate.Serial != e.serial || e.weighs != e.weighsSlack() || len(e.question) != len(e.Beliefs) {
		return false
	}
	for i, was := range e.question {
		if p := e.partOf(i); p != was || p == askedBegun {
			return false
		}
	}
	return true
}

// partOf finds what is asked of a node.
func (e *Engine) partOf(i int) part {
	if !e.concerns(i) {
		return notAsked
	}
	if _, is := e.Underway(i); is {
		return askedBegun
	}
	if e.IsDown(i) {
		return askedDown
	}
	return askedUp
}

// WeighsSlack reports whether slack may decide anything by the newest estimate that was asked for.
func (e *Engine) WeighsSlack() bool { return e.weighs }

// weighsSlack reports whether a supply is on battery, or fails on record from before a restart, for which the shutdown was not triggered.
// That of one that fails from now on is weighed after ten seconds of it (power.SlackBelow), and by then a newer estimate is there.
func (e *Engine) weighsSlack() bool {
	for k := range e.Supplies {
		if (e.Supplies[k].State.Mains == power.MainsOnBattery || e.Standing(k).IsOut()) &&
			!e.HasBegun(plan.ShutdownStage, &e.Supplies[k]) {
			return true
		}
	}
	return false
}
