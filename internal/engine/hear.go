package engine

import (
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// hearing is one thing that a reading tells of what may have happened to a supply's output before it.
type hearing struct {
	when string // in words: docs/ENGINE.md is made from this table
	is   func(*Engine, int) bool
	then func(*Engine, int)
}

// hearings are asked in this order at each reading, and the first that is so is followed.
var hearings = [...]hearing{
	{"its output was cut, or is off on record, and is on again", isOnAfterCut, func(e *Engine, k int) { e.backOn(k, "its output is on again") }},
	{"its output is off, and it fails, is to be cut, or was told to: that is on record before anything else", goesOff, (*Engine).wentOff},
	{"its output is off, and nobody cut it", isOffUncut, (*Engine).noteOff},
	{"its output was off, and is on; meanwhile something was stopped that its cycle is to start: before or after it, nobody knows", isOnInDoubt, (*Engine).heardAgain},
	{"its output was off, and is on: at once, since nothing may be stopped on what was known before", isOnAgain, func(e *Engine, k int) { e.backOn(k, "its output was off") }},
	{"it is silent, and its battery may have given out meanwhile: what it feeds may have its power again when it is heard", mayGiveOut, func(e *Engine, k int) { e.supplies[k].lapse = mayBeOut }},
	{"it has been silent for long: its output may have been off", isDeaf, func(e *Engine, k int) { e.supplies[k].lapse = wasDeaf }},
	{"its battery may have given out while it was silent, or its mains failed then, or while Ebbtide was away, and it fails still, or again: what it feeds may be on its way up", isLitInDoubt, (*Engine).litInDoubt},
	{"Ebbtide was away, and it is on battery, as before", isOnBatteryStill, (*Engine).stillOnBattery},
	{"Ebbtide was away, and it has neither failed before nor fails now", isWellStill, func(e *Engine, k int) { e.supplies[k].lapse = noLapse }},
	{"it was silent for long, or Ebbtide was away, and it does not fail", isWellAgain, (*Engine).heardAgain},
}

// hear takes down what a reading says of the output, and what may have happened before it.
func (e *Engine) hear(k int) {
	s := &e.supplies[k]
	if s.lapse == justBack && s.state.SilentFor == 0 {
		s.lapse, e.shifted = noLapse, true
	}
	e.hearOff(s, e.standing(k))
	for at := range hearings {
		if h := hearings[at]; h.is(e, k) {
			h.then(e, k)
			return
		}
	}
}

// hearOff takes down what a reading says of an output that is off, or silence since its cut was due.
func (e *Engine) hearOff(s *supply, st *ledger.Standing) {
	s.output.habit = s.output.habit || s.state.SaysOff && st.Cycle < ledger.CutSent
	due := !s.cutDue.IsZero() && !e.now.Before(s.cutDue)
	if s.state.OutputOff || s.state.SaysOff && !s.output.habit || s.state.SilentFor > 0 && due {
		s.output.offSeen = true
	}
}

func (s *supply) isHeardOn() bool { return s.state.SilentFor == 0 && !s.state.OutputOff }
func (s *supply) saysOff() bool   { return s.state.SilentFor == 0 && s.state.OutputOff }

func isOnAfterCut(e *Engine, k int) bool {
	s := &e.supplies[k]
	cycle := e.standing(k).Cycle
	return s.isHeardOn() && !s.state.SaysOff && (cycle.IsDark() || cycle == ledger.CutProven && e.beliefs[s.node].seen.State == plan.Off)
}

func goesOff(e *Engine, k int) bool {
	s, st := &e.supplies[k], e.standing(k)
	return s.saysOff() && !st.Cycle.IsDark() && (st.Cycle != ledger.Uncut || st.IsOut())
}

func isOffUncut(e *Engine, k int) bool {
	s, st := &e.supplies[k], e.standing(k)
	return s.state.OutputOff && st.Cycle < ledger.CutSent
}

func isOnInDoubt(e *Engine, k int) bool {
	s, st := &e.supplies[k], e.standing(k)
	return s.lapse == wasOff && st.Cycle == ledger.Committed && s.isHeardOn()
}

func isOnAgain(e *Engine, k int) bool {
	s, st := &e.supplies[k], e.standing(k)
	return s.lapse == wasOff && st.Cycle == ledger.Uncut && s.isHeardOn()
}

func isDeaf(e *Engine, k int) bool {
	s := &e.supplies[k]
	return s.state.SilentFor > deafAfter && (s.lapse == noLapse || s.lapse == justBack || s.lapse == wereAway)
}

func mayGiveOut(e *Engine, k int) bool {
	s, st := &e.supplies[k], e.standing(k)
	return s.state.SilentFor > deafAfter && s.mayBeEmpty() && st.IsOut() && (s.lapse == noLapse || s.lapse == justBack || s.lapse == wasDeaf)
}

func isLitInDoubt(e *Engine, k int) bool {
	s := &e.supplies[k]
	failedSince := (s.lapse == wasDeaf || s.lapse == wereAway) && !e.standing(k).IsOut()
	return (s.lapse == mayBeOut || failedSince) && s.isHeardOn() && s.state.Failing()
}

func isOnBatteryStill(e *Engine, k int) bool {
	s := &e.supplies[k]
	return s.lapse == wereAway && s.isHeardOn() && s.state.Mains == power.MainsOnBattery
}

func isWellStill(e *Engine, k int) bool {
	s, st := &e.supplies[k], e.standing(k)
	return s.lapse == wereAway && s.state.SilentFor == 0 && !s.state.Failing() && !st.HasFailed()
}

func isWellAgain(e *Engine, k int) bool {
	s := &e.supplies[k]
	return (s.lapse == wasDeaf || s.lapse == wereAway || s.lapse == mayBeOut) && s.state.SilentFor == 0 && !s.state.Failing()
}

func (e *Engine) noteOff(k int) {
	if s := &e.supplies[k]; s.lapse != wasOff {
		s.lapse = wasOff
		s.tracker.Interrupt(e.now)
	}
}

// wentOff takes down that the output of a supply which fails, is to be cut or was told to is off: its battery has given out, or it has
// obeyed. That is on record, so that its return is one after a crash too.
func (e *Engine) wentOff(k int) {
	s := &e.supplies[k]
	s.output.offSeen = true
	why := "its output is off"
	switch working := e.nodes[s.node].work != nil; {
	case working && e.given(s.node):
		e.beliefs[s.node].seen.State = plan.Off
		e.prove(s.node, "", why)
	default:
		if e.standing(k).Cycle < ledger.CutSent {
			why = "its output went off before it was cut"
		}
		e.record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Dark, Power: ledger.Power{Supplies: []string{e.id(s.node)}}, Reason: why})
		if working {
			e.holdBack(s.node, why)
		}
	}
	e.askWhoAnswers(s.node)
}

// askWhoAnswers asks after all that an output which has gone off takes the power from: what they said before says nothing now.
func (e *Engine) askWhoAnswers(supply int) {
	for _, i := range e.estate.Dependents(supply) {
		if e.isCutOff(i) && probed(e.estate.Node(i)) {
			b := &e.beliefs[i]
			b.epoch, b.answer, b.asked = e.nextOp, plan.Unknown, false
			e.touch(i)
			e.probe(i)
		}
	}
}

// heardAgain follows a supply that was deaf and is on line: its load may have been off and on again meanwhile. Where
// nothing waits for its cycle that is taken for one. It may have failed without having been heard to.
func (e *Engine) heardAgain(k int) {
	if e.ledger.Outage != nil && e.standing(k).HasFailed() && e.standing(k).Cycle == ledger.Uncut {
		e.supplies[k].lapse = noLapse
		e.cycled(k, "it was not heard for a while, and its output may have been off")
		return
	}
	e.litInDoubt(k)
}

// litInDoubt takes down that the output of a supply may have been off and on again while it was not heard.
func (e *Engine) litInDoubt(k int) {
	e.supplies[k].lapse = noLapse
	if e.ledger.Outage != nil && !e.ledger.Outage.Drill.On() {
		e.record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Unseen, Power: ledger.Power{Supplies: []string{e.id(e.supplies[k].node)}, Carriers: e.carriers(k)}, Reason: "it was not heard for a while, and its output may have been off"})
	}
	e.renewLoad(k)
}
