package engine

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// watch is what the engine follows of a supply, beside what is known of it.
type watch struct {
	turned    bool          // it is on record that its load comes back
	announced want.Pressure // the most that people were told of since it failed
	warned    silence       // and of its silence
	short     foresight.Short
	stages    [][]foresight.Sure // of each stage, and of each part of its condition, whether that holds for sure
	word      foresight.Word     // the newest reading
	lineAt    time.Time          // since when it is heard on line; zero: it is not
	still     time.Time          // when it went on record last that it is on battery still
	stuck     time.Time          // since when its mains are there and its output is off still; zero: they are not
	once
}

// once is what people were told of a supply, until it ends.
type once struct {
	cried  bool      // of an output that stays off
	shut   bool      // of a gate that stays shut
	back   time.Time // since when its mains are there and its gate is shut, silences aside; zero: it has not been shut
	ending ending    // that its battery gives out while their order keeps everything on, or the policy
}

// rest ends what a supply has told of its battery and was believed with its failure. What was told in many short ones is one more word in
// the next.
func (w *watch) rest() {
	w.short = foresight.Short{}
	for _, parts := range w.stages {
		for at := range parts {
			parts[at].Rest()
		}
	}
}

// forget drops what a supply has told of its battery and was believed, or was about to be: its output has been off since.
func (w *watch) forget() {
	w.short = foresight.Short{}
	for _, parts := range w.stages {
		clear(parts)
	}
}

// read takes one reading: it may open an outage, widen it, trigger stages, or open the gate.
func (e *Engine) read(r power.Reading) {
	at, known := e.Graph.Index(r.Supply)
	if !known || e.Ledger.SupplyOf[at] < 0 {
		return
	}
	k := e.Ledger.SupplyOf[at]
	s := &e.Supplies[k]
	if s.State.Mains == power.MainsOnBattery && r.Link == power.Fresh && r.Status.Has(power.OL) {
		e.Spent(s)
	}
	w := &e.watch[k]
	w.word = w.word.Next(e.Now, s.State.SilentFor == 0)
	e.Times[k].Ahead = min(w.word.After, lookAhead)
	s.Tracker.Observe(e.Now, e.maskTest(s, r))
	was, saidOff := s.State, s.SaysOff()
	s.State = s.Tracker.State(e.Now)
	e.assumeOut(k)
	s.Heard = s.Heard || s.State.SilentFor == 0
	s.Anew = was.SilentFor > belief.DeafAfter && s.State.SilentFor == 0
	e.tellOff(s, &was)
	e.tellStuck(k, r.Status)
	if s.State.SaysOff && e.IsOff(s.Node) { // it says so since its first word, which is no habit: a look says so too
		s.State.OutputOff = true
	}
	e.FollowFitness(s, &was)
	e.warnOfSilence(k)
	e.hear(k)
	e.HeardWell(k)
	e.AddFailoverLoad(s)
	e.chores()
	e.follow(k)
	e.keepStill(k)
	e.keepUnheard(k)
	e.followTest(s, r)
	if e.Ledger.Outage == nil {
		e.recondition()
		return
	}
	if s.SaysOff() != saidOff {
		e.TouchCaches()
	}
	if e.Standing(k).IsOut() {
		e.judgeTriggers(k)
	}
	e.judgeGate(k)
	e.recondition()
	e.judgePressure()
	e.release(k)
	e.CommitTogether()
}

// assumeOut takes a supply that fails on record, and has not been heard since a restart for a while, for one that is on battery.
func (e *Engine) assumeOut(k int) {
	s, st := &e.Supplies[k], e.Standing(k)
	if st.IsOut() && st.On && s.State.Mains == power.MainsUnknown && s.State.SilentFor > belief.DeafAfter {
		s.Tracker.AssumeOnBattery()
		s.State = s.Tracker.State(e.Now)
	}
}

// tellOff tells people of a supply that is on line and begins to say that its output is off. Some always do, so that nothing is done.
func (e *Engine) tellOff(s *belief.Supply, was *power.State) {
	isOnLine := func(st *power.State) bool { return st.Mains == power.MainsOnline && !st.OutputOff }
	cut := e.Standing(e.Ledger.SupplyOf[s.Node]).Cycle >= ledger.CutSent // which is why
	if !cut && isOnLine(was) && isOnLine(&s.State) && !was.SaysOff && s.State.SaysOff {
		e.Notify(true, e.ID(s.Node)+" is on line but reports that its output is off, which it did not before: Ebbtide does nothing about that; check whether its load has power")
	}
}

// tellStuck tells people, once, of an output that stays off although its mains are back: what it feeds waits for it.
func (e *Engine) tellStuck(k int, said power.Status) {
	s, w := &e.Supplies[k], &e.watch[k]
	switch {
	case !said.Has(power.OL) || !e.Standing(k).Cycle.IsDark():
		w.stuck, w.cried = time.Time{}, false
	case w.stuck.IsZero():
		w.stuck = e.Now
	case !w.cried && e.Now.Sub(w.stuck) >= stalledFor+s.OnDelay:
		w.cried = true
		id := e.ID(s.Node)
		e.Notify(true, "the mains of "+id+" are back, but its output is still off after "+english.Span(e.Now.Sub(w.stuck))+": nothing that it feeds comes back until someone switches it on")
	}
}

// silence is what people are told of while a supply is not heard, once each.
type silence uint8

const (
	noSilence silence = iota
	longSilent
	maybeEmpty // its battery may have given out meanwhile
)

// warnOfSilence tells people of a supply that is not heard: while it fails soon, and again when its battery may have given out; from one
// that was well no failure would be heard.
func (e *Engine) warnOfSilence(k int) {
	s := &e.Supplies[k]
	now, out := noSilence, e.Standing(k).IsOut()
	switch {
	case s.State.SilentFor == 0, s.IsUnheard():
	case out && s.MayBeEmpty():
		now = maybeEmpty
	case out && s.State.SilentFor >= silentFor, s.State.SilentFor >= quietFor:
		now = longSilent
	}
	if now <= e.watch[k].warned && (now != noSilence || s.State.SilentFor > 0) { // a person may have said that its power is back
		return
	}
	id, said := e.ID(s.Node), e.watch[k].warned
	e.watch[k].warned = now
	switch {
	case now == maybeEmpty:
		e.Notify(true, id+": "+s.State.String()+": its battery may have given out. If its own display says that it is on line but it still does not answer, run `ebbtide confirm "+id+"`. Machines that are on prove nothing: they may be running on its battery")
	case now == longSilent && out:
		e.Notify(true, id+": "+s.State.String()+"; the power failure is assumed to continue")
	case now == longSilent:
		e.Notify(true, id+": "+s.State.String()+"; a mains failure would go unnoticed, and nothing "+e.Would("is", "would be")+" started on it until it answers again")
	case said != noSilence:
		e.Notify(false, id+" answers again: "+e.Tells(s))
	}
}

// follow notes that a supply begins to fail, or returns. In a silence neither begins: a person may have said that its power is back.
func (e *Engine) follow(k int) {
	s := &e.Supplies[k]
	failing := s.State.SilentFor == 0 && (s.State.Failing() || e.IsUnfit(s))
	if failing && !e.Standing(k).IsOut() {
		e.leaveDrill() // which may close it, so that an outage opens
	}
	st := e.Standing(k)
	switch {
	case failing && e.Ledger.Outage == nil:
		e.openOutage(k)
	case failing && !st.IsOut():
		e.fails(k)
	case !failing && st.IsOut() && s.State.Mains == power.MainsOnline && s.State.SilentFor == 0 && s.State.OnlineFor >= power.ReturnAfter:
		e.comesBack(k)
	}
}

// fails takes a further failing supply into the outage, or one that fails again.
func (e *Engine) fails(k int) {
	s := &e.Supplies[k]
	id := e.ID(s.Node)
	again := e.Standing(k).HasFailed()
	if e.watch[k].turned || e.Ledger.Outage.Drill.Phase == ledger.DrillUp {
		reason := "power failure at " + id + " during the power-up"
		if again {
			reason = "another power failure at " + id + " during the power-up"
		}
		e.watch[k].turned = false
		e.Record(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Down, Supplies: []string{id}}, Reason: reason})
	}
	s.Gate = false
	e.watch[k].shut, e.watch[k].back, e.watch[k].still = false, time.Time{}, e.Now.Add(stillFirst-stillEvery)
	e.Record(ledger.Record{
		Kind: ledger.Mains, Cause: ledger.Failing,
		Power:  ledger.Power{Supplies: []string{id}, Off: s.SaysOff(), Unfit: !s.State.Failing(), Replace: s.State.ReplaceBattery},
		Reason: e.Tells(s),
	})
	e.failsOff(s)
	word := ", too: "
	if again {
		word = " again: "
		for i := range e.Beliefs {
			if e.Ledger.Outage.Scope[i] && e.RestsOff(i) {
				e.Probe(i)
			}
		}
	}
	if e.Standing(k).Cycle.IsOurs() && s.State.Mains == power.MainsOnline {
		e.Notify(false, id+" is on line and its output "+e.Would("is off, as commanded", "would be off"))
	} else {
		e.Notify(true, "power failure at "+id+word+e.Tells(s)+e.onHold("stopped for it"))
	}
	e.survey()
}

// onHold says what a hold that was given before keeps from being done, for people who may have forgotten it; "": nothing is held.
func (e *Engine) onHold(done string) string {
	if !e.Ledger.Outage.Orders.Hold {
		return ""
	}
	return "; the outage is already on hold, so nothing is " + done + ": `ebbtide resume` ends the hold"
}

// failsOff follows a supply whose output is off as it fails, which the record of that has said.
func (e *Engine) failsOff(s *belief.Supply) {
	if s.SaysOff() {
		s.Output.OffSeen = true
		e.askWhoAnswers(s.Node)
	}
}

// comesBack takes down that a supply has its mains again.
func (e *Engine) comesBack(k int) {
	s := &e.Supplies[k]
	id := e.ID(s.Node)
	e.watch[k].announced, e.watch[k].ending = want.NoPressure, notNear
	aborted := e.Standing(k).Fails == ledger.CalledOff
	e.Record(ledger.Record{
		Kind: ledger.Mains, Cause: ledger.Returned,
		Power: ledger.Power{Supplies: []string{id}, Replace: s.State.ReplaceBattery, Charge: s.Tracker.Holds()}, Reason: e.Tells(s),
	})
	held := e.onHold("started on it")
	e.Notify(held != "", id+" is back: "+e.Tells(s)+held)
	if aborted {
		e.Notify(false, "the abort is over for "+id+": a new failure is handled as usual")
	}
}

// backOn follows an output that was off for certain, and is on: what was sent to its load before is void, but for what another may have
// fed, which was dark when it was heard last and is silent: that may be on again. Nor for what another fed at this one's last word of being
// off, and did not by this one's word of being on: whether both were off at once nobody knows.
func (e *Engine) backOn(k int, why string) {
	wasDark := func(f int) bool {
		at := e.Ledger.SupplyOf[f]
		other := &e.Supplies[at]
		saidOff := !other.OffSince.IsZero() && !other.OffSince.After(e.Supplies[k].OffUntil)
		return at == k || e.Standing(at).Cycle.IsDark() && !other.Mute && saidOff
	}
	for _, i := range e.Cycled(k, why) {
		kept := slices.ContainsFunc(e.Graph.Sources(i), func(f int) bool { return !wasDark(f) })
		if !kept {
			e.VoidDown(i, "its power was off")
			e.LostPower(i, k)
		}
	}
}

// judgeGate opens or shuts the recharge gate of a supply whose mains are back. It is shut on bypass, where no battery stands behind what is
// started, and under an overload, which each further start makes worse.
func (e *Engine) judgeGate(k int) {
	s := &e.Supplies[k]
	s.FollowGate()
	bears := !s.State.Bypass && !s.State.Overload
	if !e.Live(k) || !bears {
		if s.Gate && !bears {
			e.Notify(true, e.ID(s.Node)+" is "+s.State.String()+": nothing more "+e.Would("is", "would be")+" started on it until that ends")
		}
		s.Gate = false
		isMet := e.Standing(k).Cycle != ledger.Committed || e.Policy.Restore.Holds(e.Facts(s))
		if e.Ledger.Outage != nil && (!bears || s.Condition == belief.Testing || !isMet) {
			e.tellShut(k)
		}
		return
	}
	if !s.Gate && e.GateOf(k) == belief.GateShut {
		s.Gate = e.Policy.Restore.Holds(e.Facts(s)) && !e.MayMeet(k)
		e.tellShut(k)
	}
}

// tellShut tells people, once, of a gate that stays shut long after the mains are back: it may wait for what a worn battery never has, or
// for a time on line that each silence of the UPS begins anew.
func (e *Engine) tellShut(k int) {
	s, w := &e.Supplies[k], &e.watch[k]
	switch {
	case s.State.Failing():
		w.back = time.Time{}
		return
	case w.back.IsZero():
		w.back = e.Now
	}
	if s.Gate || w.shut || e.Now.Sub(w.back) < shutFor || s.State.SilentFor > 0 || !e.AnythingAwayBehind(k) {
		return
	}
	w.shut = true
	if s.Condition != belief.Charging || s.State.Bypass || s.State.Overload {
		e.Notify(true, e.ID(s.Node)+" has mains power, but "+e.Would("nothing is", "nothing would be")+" started on it: waiting for "+e.GateText(s.Node)+". If that does not end, start what is needed by hand")
		return
	}
	silences := ""
	if s.State.OnlineFor < shutFor {
		silences = ", and each time it falls silent its time on line starts again from zero"
	}
	e.Notify(true, fmt.Sprintf("%s: %s, but its recharge gate is still closed%s. Condition: %s. If its battery can never meet that, change policy.restore, or start what is needed by hand", e.ID(s.Node), e.Tells(s), silences, e.Policy.Restore.String()))
}

// recondition finds anew how each supply is, and what can be started on it. Where that has changed, all wants are.
func (e *Engine) recondition() {
	fit := e.mayDrill()
	changed := e.Shifted || fit != e.DrillFit
	e.Shifted, e.Unheard, e.DrillFit = false, false, fit
	for k := range e.Supplies {
		s := &e.Supplies[k]
		unheard := e.IsToBeHeard(k)
		changed = changed || unheard != s.ToBeHeard
		s.ToBeHeard = unheard
		e.Unheard = e.Unheard || unheard
		off := e.Beliefs[s.Node].Seen.State == plan.Off || s.State.OutputOff
		unfit := e.IsUnfit(s)
		now := belief.ConditionOf(e.Standing(k), belief.ReadingOf(&s.State, unfit), off, e.GateOf(k))
		mute := s.State.SilentFor > 0
		changed = changed || now != s.Condition || unfit != s.Unfit || mute != s.Mute
		s.Unfit, s.Mute = unfit, mute
		vain := e.IsInVain(k)
		changed = changed || vain != s.InVain
		s.InVain = vain
		changed = e.FollowFeeding(k) || changed // after s.Mute
		s.FollowHunting(now, e.Standing(k).IsOut())
		s.Condition = now
	}
	if !changed {
		return
	}
	e.Refeed()
	e.TouchAll()
	for k := range e.Supplies {
		e.turnUp(k)
	}
}

// turnUp takes down that the gate of a supply is open, where there is something to bring back.
func (e *Engine) turnUp(k int) {
	s := &e.Supplies[k]
	o := e.Ledger.Outage
	if o == nil || s.Condition != belief.Ready || e.watch[k].turned || o.Drill.On() || e.JournalLost || !e.AnythingAwayBehind(k) {
		return
	}
	e.watch[k].turned = true
	id, says := e.ID(s.Node), map[bool]string{false: "now bringing back", true: "ready to bring back"}[o.Orders.Hold]
	e.Record(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{
		Goal: plan.Up, Supplies: []string{id}, Numbers: e.Numbers(s),
		Charge: s.Tracker.Holds(),
	}, Reason: "mains power is back and the recharge gate is open"})
	e.Notify(true, e.Would(says, "would now bring back")+" what "+id+" feeds: mains power is back and the recharge gate is open"+e.onHold("started on it"))
}
