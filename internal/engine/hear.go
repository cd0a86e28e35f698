package engine

import (
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
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
	{"its output is off, and it fails, is to be cut, or was told to go off: that goes on record before anything else", goesOff, (*Engine).wentOff},
	{"since it was first heard, on battery, it reported its output off, and has just stopped doing so: that was not one of its quirks, and the next reading finds the output on again", wasMeant, (*Engine).tookOff},
	{"its output is off, and nobody cut it", isOffUncut, (*Engine).noteOff},
	{"its output was off and is on; meanwhile something was stopped that its cycle is to start: whether before or after it, is unknown", isOnInDoubt, (*Engine).heardAgain},
	{"its output was off and is on: handled at once, since nothing may be stopped because of what was known before", isOnAgain, func(e *Engine, k int) { e.backOn(k, "its output was off") }},
	{"it is silent, and its battery may have given out meanwhile: what it feeds may have its power again when it is heard", mayGiveOut, func(e *Engine, k int) { e.Supplies[k].Lapse = belief.MayBeOut }},
	{"it has been silent for long: its output may have been off", isDeaf, func(e *Engine, k int) { e.Supplies[k].Lapse = belief.WasDeaf }},
	{"Ebbtide was not running, or it was silent for long, and it is on battery, as before; or its mains are back so soon after a restart that it has not given out, or are there as before", hasCarriedOn, (*Engine).carriedOn},
	{"its battery may have given out while it was silent, or its mains failed then or while Ebbtide was not running, and it is still failing, or failing again: what it feeds may be starting up", isLitInDoubt, (*Engine).litInDoubt},
	{"Ebbtide was not running for a while that its battery would have lasted for, and it neither failed before nor fails now", isWellStill, func(e *Engine, k int) { e.Supplies[k].Lapse = belief.NoLapse }},
	{"it was silent for long, or Ebbtide was not running, and it is not failing", isWellAgain, (*Engine).heardAgain},
}

// hear takes down what a reading says of the output, and what may have happened before it.
func (e *Engine) hear(k int) {
	s := &e.Supplies[k]
	was := s.Lapse
	defer func() { e.Shifted = e.Shifted || s.Lapse != was }() // what waited for that is judged anew
	if e.Standing(k).Cycle.IsDark() {
		e.watch[k].forget()
	}
	isTold := func() {
		if s.Lapse == belief.JustBack && s.State.SilentFor == 0 {
			s.Lapse = belief.NoLapse
		}
	}
	e.hearOff(s, e.Standing(k))
	for at := range hearings {
		if h := hearings[at]; h.is(e, k) {
			isTold()
			h.then(e, k)
			return
		}
	}
	isTold()
}

// hearOff takes down what a reading says of an output that is off, or silence since its cut was due.
func (e *Engine) hearOff(s *belief.Supply, st *ledger.Standing) {
	s.Output.Habit = s.Output.Habit || s.State.SaysOff && st.Cycle < ledger.CutSent
	due := !s.CutDue.IsZero() && !e.Now.Before(s.CutDue)
	if s.State.OutputOff || s.State.SaysOff && !s.Output.Habit || s.State.SilentFor > 0 && due {
		s.Output.OffSeen = true
	}
	if s.SaysOff() || s.State.SilentFor > 0 {
		s.OffUntil = e.Now
	}
	switch {
	case !s.SaysOff():
		s.OffSince = time.Time{}
	case s.OffSince.IsZero():
		s.OffSince = e.Now
	}
}

func isOnAfterCut(e *Engine, k int) bool {
	s := &e.Supplies[k]
	cycle := e.Standing(k).Cycle
	return s.IsHeardOn() && !s.State.SaysOff && (cycle.IsDark() || cycle == ledger.CutProven && e.Beliefs[s.Node].Seen.State == plan.Off)
}

func goesOff(e *Engine, k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	return s.SaysOff() && !st.Cycle.IsDark() && (st.Cycle != ledger.Uncut || st.IsOut())
}

func wasMeant(e *Engine, k int) bool {
	s := &e.Supplies[k]
	return s.State.WasOff && s.Lapse != belief.JustBack && !e.Standing(k).Cycle.IsDark() // a look has not shown it on already
}

func isOffUncut(e *Engine, k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	return s.State.OutputOff && st.Cycle < ledger.CutSent
}

func isOnInDoubt(e *Engine, k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	return s.Lapse == belief.WasOff && st.Cycle == ledger.Committed && s.IsHeardOn()
}

func isOnAgain(e *Engine, k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	return s.Lapse == belief.WasOff && st.Cycle == ledger.Uncut && s.IsHeardOn()
}

func isDeaf(e *Engine, k int) bool {
	s := &e.Supplies[k]
	return s.State.SilentFor > e.DeafAfter(k) && (s.Lapse == belief.NoLapse || s.Lapse == belief.JustBack || s.Lapse == belief.WereAway)
}

func mayGiveOut(e *Engine, k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	return s.State.SilentFor > belief.DeafAfter && s.MayBeEmpty() && st.IsOut() &&
		(s.Lapse == belief.NoLapse || s.Lapse == belief.JustBack || s.Lapse == belief.WasDeaf)
}

func isLitInDoubt(e *Engine, k int) bool {
	s := &e.Supplies[k]
	unheard := s.Lapse == belief.WasDeaf || s.Lapse == belief.WereAway // its mains failed since, or may have been back meanwhile
	return (s.Lapse == belief.MayBeOut || unheard) && s.IsHeardOn() && s.State.Failing()
}

func hasCarriedOn(e *Engine, k int) bool {
	s := &e.Supplies[k]
	return s.Lapse.IsUnheard() && s.IsHeardOn() && (e.Standing(k).IsOut() && e.HasCarriedOn(k) || e.HasStayedOn(k))
}

// carriedOn follows that. A gate that was open before stays so where its mains can't have failed meanwhile, but for a moment.
func (e *Engine) carriedOn(k int) {
	s := &e.Supplies[k]
	wasOpen := e.Standing(k).Passed != ledger.NotPassed
	s.Gate = s.Gate || wasOpen && e.HasStayedOn(k) && e.UnheardSince(k) <= belief.DeafAfter
	e.CarriedOn(k)
}

func isWellStill(e *Engine, k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	isWell := s.State.SilentFor == 0 && !s.State.Failing() && !st.HasFailed()
	isShort := func() bool { return e.Ledger.Outage == nil || e.IsSetBack(k) || e.UnheardSince(k) <= e.DeafAfter(k) }
	return s.Lapse == belief.WereAway && isWell && isShort()
}

func isWellAgain(e *Engine, k int) bool {
	s := &e.Supplies[k]
	return s.Lapse.IsUnheard() && s.State.SilentFor == 0 && !s.State.Failing()
}

func (e *Engine) noteOff(k int) {
	if s := &e.Supplies[k]; s.Lapse != belief.WasOff {
		s.Lapse = belief.WasOff
		s.Tracker.Interrupt(e.Now)
	}
}

// tookOff takes down that an output was off, which its supply had said. Of one that was not heard for a while nobody knows whether it came
// on before what only its cycle starts was stopped.
func (e *Engine) tookOff(k int) {
	s, st := &e.Supplies[k], e.Standing(k)
	inDoubt := st.Cycle == ledger.Committed && s.Anew
	if inDoubt || st.Cycle == ledger.Uncut && !st.IsOut() {
		e.noteOff(k)
		return
	}
	e.wentOff(k)
}

// wentOff takes down that the output of a supply which fails, is to be cut or was told to is off: its battery has given out, or it has
// obeyed. That is on record, so that its return is one after a crash too.
func (e *Engine) wentOff(k int) {
	s := &e.Supplies[k]
	s.Output.OffSeen = true
	why := "its output is off"
	switch working := e.Under[s.Node] >= 0; {
	case working && e.Given(s.Node):
		e.Beliefs[s.Node].Seen.State = plan.Off
		e.Prove(s.Node, "", why)
	default:
		if e.Standing(k).Cycle < ledger.CutSent {
			why = "its output went off before it was cut"
		}
		e.Record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Dark, Power: ledger.Power{Supplies: []string{e.ID(s.Node)}}, Reason: why})
		if working {
			e.HoldBack(s.Node, why)
		}
	}
	e.askWhoAnswers(s.Node)
}

// askWhoAnswers asks after all that an output which has gone off takes the power from: what they said before says nothing now.
func (e *Engine) askWhoAnswers(supply int) {
	for _, i := range e.Graph.Dependents(supply) {
		if e.IsCutOff(i) && belief.Probed(e.Graph.Node(i)) {
			b := &e.Beliefs[i]
			b.Epoch, b.Answer, b.Asked = e.NextOp, plan.Unknown, false
			e.Touch(i)
			e.Probe(i)
		}
	}
}

// heardAgain follows a supply that was deaf and is on line: its load may have been off and on again meanwhile. Where
// nothing waits for its cycle that is taken for one. It may have failed without having been heard to.
func (e *Engine) heardAgain(k int) {
	if e.Ledger.Outage != nil && e.Standing(k).HasFailed() && e.Standing(k).Cycle == ledger.Uncut {
		e.Supplies[k].Lapse = belief.NoLapse
		e.Cycled(k, "it was silent for a while, and its output may have been off")
		e.survey()
		return
	}
	e.litInDoubt(k)
}

// litInDoubt takes down that the output of a supply may have been off and on again while it was not heard.
func (e *Engine) litInDoubt(k int) {
	e.Supplies[k].Lapse = belief.NoLapse
	if e.Ledger.Outage != nil && !e.Ledger.Outage.Drill.On() {
		e.Record(ledger.Record{
			Kind: ledger.Mains, Cause: ledger.Unseen,
			Power: ledger.Power{
				Supplies: []string{e.ID(e.Supplies[k].Node)}, Carriers: e.Carriers(k),
				Charge: e.Supplies[k].Tracker.Holds(),
			}, Reason: "it was silent for a while, and its output may have been off",
		})
	}
	e.RenewLoad(k)
	if e.Ledger.Outage != nil {
		e.survey()
	}
}
