package engine

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// supply is what is known of one UPS beside its standing on record: its readings, and what follows from them.
type supply struct {
	node      int
	tracker   *power.Tracker
	state     power.State
	condition condition
	output    output
	lapse     lapse
	gate      bool // its recharge gate is open, if it has one
	voice
	fitness
	cutDue time.Time // when the cut that counts down is due, as far as it says
}

// watch is what the engine follows of a supply, beside what is known of it.
type watch struct {
	turned bool     // it is on record that its load comes back
	told   pressure // the most that people were told of since it failed
	warned silence  // and of its silence
	burden          // as its last reading has it
	readAt time.Time
	ahead  time.Duration // to the next poll: as long as to the last one, lookAhead at most
}

// voice is whether a supply is heard.
type voice struct {
	mute      bool // it is not heard now
	anew      bool // this is its first word after a silence: what is reckoned of its battery is of that still
	toBeHeard bool // before anything begins on what it feeds: see isToBeHeard
}

// fitness is whether a supply that is on line is too hot or browned out for what the policy allows.
type fitness struct {
	harmful bool // as its last reading has it: see isUnfit
	unfit   bool // as its condition has it
	sags    bool // its input is browned out, for however short a time, and the policy watches that: nothing is started on it
}

// burden is how short the time is that a supply's battery leaves.
type burden struct {
	pressure pressure // of the battery
	onLoad   pressure // of what hangs on it
	trusted  bool     // it is counted on, beside other feeds: it does not fail, or is heard and gives power
	gone     bool     // its output has gone off: there is no hurry any more
}

// output is what a supply's words about its output are worth, and what they were since its last cut.
type output struct {
	offSeen bool      // it was off since the last cut was due: its readings said so, or said nothing
	habit   bool      // it says OFF although nothing was cut
	onAt    time.Time // when a look last showed it on, or counting down
}

// lapse is what may have happened to a supply's load unseen.
type lapse uint8

const (
	noLapse  lapse = iota
	wereAway       // Ebbtide was not there
	wasDeaf        // it was not heard for a while: its output may have been off
	mayBeOut       // its battery may have given out while it was not heard
	wasOff         // its output was off, and nobody had cut it
	justBack       // its output came on, and no reading since has said whether its mains are back
)

// read takes one reading: it may open an outage, widen it, trigger stages, or open the gate.
func (e *Engine) read(r power.Reading) {
	at, known := e.estate.Index(r.Supply)
	if !known || e.ledger.SupplyOf[at] < 0 {
		return
	}
	k := e.ledger.SupplyOf[at]
	s := &e.supplies[k]
	if s.state.Mains == power.MainsOnBattery && r.Link == power.Fresh && r.Status.Has(power.OL) {
		e.spent(s)
	}
	w := &e.watch[k]
	w.ahead, w.readAt = min(max(0, e.now.Sub(w.readAt)), lookAhead), e.now
	s.tracker.Observe(e.now, e.maskTest(s, r))
	was, saidOff := s.state, s.saysOff()
	s.state = s.tracker.State(e.now)
	s.anew = was.SilentFor > deafAfter && s.state.SilentFor == 0
	e.tellOff(s, &was)
	if s.state.SaysOff && e.isOff(s.node) { // it says so since its first word, which is no habit: a look says so too
		s.state.OutputOff = true
	}
	e.followFitness(s, &was)
	e.warnOfSilence(k)
	e.hear(k)
	e.addFailoverLoad(s)
	e.chores()
	e.follow(k)
	e.followTest(s, r)
	if e.ledger.Outage == nil {
		e.recondition()
		return
	}
	if s.saysOff() != saidOff {
		e.touchDarkCaches()
	}
	if e.standing(k).IsOut() {
		e.judgeTriggers(k)
	}
	e.judgeGate(k)
	e.recondition()
	e.judgePressure()
	e.release(k)
}

// tellOff tells people of a supply that is on line and begins to say that its output is off. Some always do, so that nothing is done.
func (e *Engine) tellOff(s *supply, was *power.State) {
	isOnLine := func(st *power.State) bool { return st.Mains == power.MainsOnline && !st.OutputOff }
	if isOnLine(was) && isOnLine(&s.state) && !was.SaysOff && s.state.SaysOff {
		e.notify(true, e.id(s.node)+" is on line and says that its output is off, which it did not before: nothing is done for that; see whether its load has power")
	}
}

// silence is what people are told of while a supply is not heard, once each.
type silence uint8

const (
	noSilence silence = iota
	longSilent
	maybeEmpty // its battery may have given out meanwhile
)

// warnOfSilence tells people of a supply that is not heard: while it fails soon, and again when its battery may have given out; from one that
// was well no failure would be heard.
func (e *Engine) warnOfSilence(k int) {
	s := &e.supplies[k]
	now, out := noSilence, e.standing(k).IsOut()
	switch {
	case s.state.SilentFor == 0, s.isUnheard():
	case out && s.mayBeEmpty():
		now = maybeEmpty
	case out && s.state.SilentFor >= silentFor, s.state.SilentFor >= quietFor:
		now = longSilent
	}
	if now <= e.watch[k].warned && now != noSilence {
		return
	}
	id, said := e.id(s.node), e.watch[k].warned
	e.watch[k].warned = now
	switch {
	case now == maybeEmpty:
		e.notify(true, id+" is "+s.state.String()+": its battery may have given out. If its power is back, and it can't be heard, say so: `ebbtide confirm "+id+"`")
	case now == longSilent && out:
		e.notify(true, id+" is "+s.state.String()+": it is taken to fail still")
	case now == longSilent:
		e.notify(true, id+" is "+s.state.String()+": a failure of its mains would not be heard")
	case said != noSilence:
		e.notify(false, id+" is heard again: "+e.tells(s))
	}
}

// mayBeEmpty reports whether the battery of a supply that fails and is not heard may have given out: by what is reckoned, or, where nothing
// is known of it, after a while.
func (s *supply) mayBeEmpty() bool {
	if left := s.state.Left; left.Known {
		return left.Value <= 0
	}
	return s.state.LowBattery || s.state.SilentFor > lowBatteryLeft
}

// standing is how a supply stands in the open outage; the zero one while there is none.
func (e *Estate) standing(k int) *ledger.Standing {
	if e.ledger.Outage == nil {
		return &e.well
	}
	return &e.ledger.Outage.Supplies[k]
}

// follow notes that a supply begins to fail, or returns. In a silence neither begins: a person may have said that its power is back.
func (e *Engine) follow(k int) {
	s := &e.supplies[k]
	failing := s.state.SilentFor == 0 && (s.state.Failing() || e.isUnfit(s))
	if failing && !e.standing(k).IsOut() {
		e.leaveDrill() // which may close it, so that an outage opens
	}
	st := e.standing(k)
	switch {
	case failing && e.ledger.Outage == nil:
		e.openOutage(k)
	case failing && !st.IsOut():
		e.fails(k)
	case !failing && st.IsOut() && s.state.Mains == power.MainsOnline && s.state.SilentFor == 0 && s.state.OnlineFor >= returnAfter:
		e.comesBack(k)
	}
}

// isUnfit reports whether a stage that stops something holds for a supply that is on line: what speaks of the battery does
// not hold there, a brown-out and the temperature do.
func (e *Estate) isUnfit(s *supply) bool { return s.harmful }

// followFitness finds whether a supply is unfit after a reading. While it is, it is not on line for what waits to be started on it, and a
// sensor that says nothing any more says what it said: it may have died of the heat.
func (e *Estate) followFitness(s *supply, was *power.State) {
	if s.harmful && !s.state.Temperature.Known {
		s.state.Temperature = was.Temperature
	}
	wasUnfit := s.harmful || s.sags // until now, as far as anybody knows
	s.harmful, s.sags = e.harms(s), e.watchesMains && s.state.BrownoutFor > 0
	if wasUnfit || s.harmful || s.sags {
		s.tracker.Interrupt(e.now)
		s.state.OnlineFor = 0
	}
}

// harms finds isUnfit, once for each state of a supply.
func (e *Estate) harms(s *supply) bool {
	if !e.watchesMains || s.state.Mains != power.MainsOnline || s.state.Calibrating {
		return false
	}
	f := power.Facts{State: s.state}
	return e.policy.Shutdown.Holds(f) || slices.ContainsFunc(e.policy.Shed, func(st power.Stage) bool { return st.When.Holds(f) })
}

// watchesMains reports whether anything but a battery that runs down may stop something by a policy.
func watchesMains(p *power.Policy) bool {
	ofBattery := []power.Kind{power.OnBattery, power.SlackBelow, power.RuntimeBelow, power.ChargeBelow, power.LowBattery, power.SilentOnBattery}
	watches := func(c power.Condition) bool {
		return slices.ContainsFunc(c.Needs(), func(kind power.Kind) bool { return !slices.Contains(ofBattery, kind) })
	}
	return watches(p.Shutdown) || slices.ContainsFunc(p.Shed, func(st power.Stage) bool { return watches(st.When) })
}

// fails takes a further failing supply into the outage, or one that fails again.
func (e *Engine) fails(k int) {
	s := &e.supplies[k]
	id := e.id(s.node)
	again := e.standing(k).HasFailed()
	if e.watch[k].turned || e.ledger.Outage.Drill.Phase == ledger.DrillUp {
		reason := id + " fails during the power-up"
		if again {
			reason = id + " fails again during the power-up"
		}
		e.watch[k].turned = false
		e.record(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Down, Supplies: []string{id}}, Reason: reason})
	}
	s.gate = false
	e.record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Failing, Power: ledger.Power{Supplies: []string{id}, Off: s.saysOff(), Replace: s.state.ReplaceBattery}, Reason: e.tells(s)})
	e.failsOff(s)
	word := " fails too: "
	if again {
		word = " fails again: "
	}
	e.notify(true, "power failure: "+id+word+e.tells(s))
	e.survey()
}

// failsOff follows a supply whose output is off as it fails, which the record of that has said.
func (e *Engine) failsOff(s *supply) {
	if s.saysOff() {
		s.output.offSeen = true
		e.askWhoAnswers(s.node)
	}
}

// comesBack takes down that a supply has its mains again.
func (e *Engine) comesBack(k int) {
	s := &e.supplies[k]
	id := e.id(s.node)
	e.watch[k].told = noPressure
	aborted := e.standing(k).Fails == ledger.CalledOff
	e.record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Returned, Power: ledger.Power{Supplies: []string{id}, Replace: s.state.ReplaceBattery}, Reason: e.tells(s)})
	e.notify(false, id+" is back: "+e.tells(s))
	if aborted {
		e.notify(false, "the abort is over for "+id+": a new failure of it is followed as any")
	}
}

// cycled takes down that a supply's output was off, or may have been, and is on: what hangs on it is looked at anew.
func (e *Engine) cycled(k int, why string) (renewed []int) {
	s := &e.supplies[k]
	s.lapse, s.cutDue = justBack, time.Time{}
	if s.state.Mains == power.MainsOnline && s.state.SilentFor == 0 {
		s.lapse = noLapse
	}
	e.record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Cycled, Power: ledger.Power{Supplies: []string{e.id(s.node)}, Carriers: e.carriers(k)}, Reason: why})
	e.watch[k].burden = burden{trusted: e.watch[k].trusted} // until its next reading
	e.pressNodes()
	if e.beliefs[s.node].seen.State == plan.Off { // that was before
		e.beliefs[s.node].renew(e.nextOp)
		e.probe(s.node)
	}
	return e.renewLoad(k)
}

// backOn follows an output that was off for certain, and is on: what was sent to its load before is void.
func (e *Engine) backOn(k int, why string) {
	wasDark := func(f int) bool {
		other := e.ledger.SupplyOf[f]
		return other == k || e.standing(other).Cycle.IsDark()
	}
	for _, i := range e.cycled(k, why) {
		kept := slices.ContainsFunc(e.estate.Sources(i), func(f int) bool { return !wasDark(f) })
		if w := e.nodes[i].work; w != nil && !kept && w.phase != asking && e.course.steps[w.step].goal == plan.Down {
			e.holdBack(i, "its power was off")
		}
	}
}

// tells says how a supply is, and what of the policy holds for one that is on line.
func (e *Estate) tells(s *supply) string {
	text := s.state.String()
	if !e.isUnfit(s) {
		return text
	}
	f := power.Facts{State: s.state}
	for _, st := range e.policy.Shed {
		if st.When.Holds(f) {
			return text + ", and " + st.When.Because(f)
		}
	}
	return text + ", and " + e.policy.Shutdown.Because(f)
}

// live reports whether a supply feeds its load from the mains: heard, on line, not browned out, not in a test, and not on its way to be cut.
func (e *Estate) live(k int) bool {
	s, st := &e.supplies[k], e.standing(k)
	return !st.IsDark() && !s.sags && !s.state.Calibrating && !s.state.OutputOff && s.state.SilentFor == 0 && s.state.Mains == power.MainsOnline
}

// judgeGate opens or shuts the recharge gate of a supply whose mains are back. It does not open on bypass, where no battery stands behind
// what is started, nor under an overload.
func (e *Engine) judgeGate(k int) {
	s := &e.supplies[k]
	if !e.live(k) {
		s.gate = false
		return
	}
	if !s.gate && e.gateOf(k) == gateShut && !s.state.Bypass && !s.state.Overload {
		s.gate = e.policy.Restore.Holds(e.facts(s))
	}
}

// gateOf gives how the recharge gate of a supply is.
func (e *Estate) gateOf(k int) gate {
	switch {
	case e.supplies[k].gate:
		return gateOpen
	case e.supplies[k].sags, e.standing(k).HasFailed(), e.ledger.Outage != nil && !e.resumedAt.IsZero():
		return gateShut
	}
	return noGate
}

// recondition finds anew how each supply is, and what can be started on it. Where that has changed, all wants are.
func (e *Engine) recondition() {
	fit := e.mayDrill()
	changed := e.shifted || fit != e.drillFit
	e.shifted, e.unheard, e.drillFit = false, false, fit
	for k := range e.supplies {
		s := &e.supplies[k]
		unheard := e.isToBeHeard(k)
		changed = changed || unheard != s.toBeHeard
		s.toBeHeard = unheard
		e.unheard = e.unheard || unheard
		off := e.beliefs[s.node].seen.State == plan.Off || s.state.OutputOff
		unfit := e.isUnfit(s)
		now := conditionOf(e.standing(k), readingOf(&s.state, unfit), off, e.gateOf(k))
		mute := s.state.SilentFor > 0
		changed = changed || now != s.condition || unfit != s.unfit || mute != s.mute
		s.unfit, s.mute = unfit, mute
		s.condition = now
	}
	if !changed {
		return
	}
	e.refeed()
	e.touchAll()
	for k := range e.supplies {
		e.turnUp(k)
	}
}

// refeed finds which nodes may be started as far as power goes: each has a feed on which things may be started, or none of
// its own, and so has all that it needs.
func (e *Estate) refeed() {
	e.firm = e.estate.Scope(func(i int) bool {
		k := e.ledger.SupplyOf[i]
		return k >= 0 && e.standing(k).IsDark() && e.supplies[k].condition != returning && e.supplies[k].lapse != justBack
	})
	for i := range e.beliefs {
		feeds := e.estate.Feeds(i)
		ok := len(feeds) == 0 || slices.ContainsFunc(feeds, func(f int) bool {
			k := e.ledger.SupplyOf[f]
			return k >= 0 && e.supplies[k].condition.starts()
		})
		for _, d := range e.estate.Needs(i) {
			ok = ok && (e.estate.Node(d).Kind == plan.Supply || e.fed[d])
		}
		if e.estate.Node(i).Kind == plan.Supply {
			k := e.ledger.SupplyOf[i]
			ok = k >= 0 && e.supplies[k].condition.starts()
		}
		e.fed[i] = ok
	}
}

// turnUp takes down that the gate of a supply is open, where there is something to bring back.
func (e *Engine) turnUp(k int) {
	s := &e.supplies[k]
	o := e.ledger.Outage
	if o == nil || s.condition != ready || e.watch[k].turned || o.Drill.On() || e.journalLost || !e.anythingAway() {
		return
	}
	e.watch[k].turned = true
	id := e.id(s.node)
	e.record(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up, Supplies: []string{id}, Numbers: e.numbers(s)}, Reason: "mains are back and the gate is open"})
	e.notify(true, "now bringing back what "+id+" feeds: mains are back and the gate is open")
}

// anythingAway reports whether anything of the outage is to be brought back.
func (e *Estate) anythingAway() bool {
	o := e.ledger.Outage
	for i := range o.Nodes {
		if o.Scope[i] && (o.Nodes[i].Snap.On() && !e.isOn(i) || o.Nodes[i].IsChanged()) {
			return true
		}
	}
	return false
}

// release gives up the cycle of a supply that waits for what can't be proven, with its mains back and the gate open but
// for that: it is no reason to keep the rest down.
func (e *Engine) release(k int) {
	s, st := &e.supplies[k], e.standing(k)
	if st.Cycle != ledger.Committed || st.IsOut() || s.state.Mains != power.MainsOnline || s.state.SilentFor > 0 || e.now.Sub(e.movedAt) < stalledFor {
		return
	}
	if e.ledger.Outage.Orders.Hold || !e.policy.Restore.Holds(e.facts(s)) || e.worksUnder(s.node) {
		return
	}
	id := e.id(s.node)
	why := "its cut can't come: what it waits for is not proven off; what only its power cycle starts needs a person"
	e.record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Released, Power: ledger.Power{Supplies: []string{id}}, Reason: why})
	e.notify(true, id+" is not cut: "+why)
}

// worksUnder reports whether a step is under way on anything that a supply feeds.
func (e *Engine) worksUnder(supply int) bool {
	return e.nodes[supply].work != nil || slices.ContainsFunc(e.estate.Dependents(supply), func(i int) bool { return e.nodes[i].work != nil })
}

// isUnheard reports whether nothing was heard of a supply since Ebbtide began, and may be yet: one that never answers is silent.
func (s *supply) isUnheard() bool {
	return s.state.Supply == "" || s.state.Mains == power.MainsUnknown && !s.state.OutputOff && s.state.SilentFor <= deafAfter
}

// isToBeHeard reports whether there is no reading of a supply since Ebbtide began, or it was cut before that and has not been
// looked at since.
func (e *Estate) isToBeHeard(k int) bool {
	if e.ledger.Outage == nil {
		return false
	}
	s := &e.supplies[k]
	return s.isUnheard() || e.standing(k).Cycle >= ledger.CutSent && !e.looked(s.node)
}

// unheardFor gives a supply whose word may change where a node goes, and that is to be heard before anything begins on it; -1 if
// there is none. What is lost with supplies that were heard goes down whatever another one says. Of a node that no supply feeds, as
// far as anybody knows, each may.
func (e *Estate) unheardFor(i int) int {
	if !e.unheard {
		return -1
	}
	if len(e.losses[i]) == 0 {
		return slices.IndexFunc(e.supplies, func(s supply) bool { return s.toBeHeard })
	}
	awaited := -1
	for _, loss := range e.losses[i] {
		at := slices.IndexFunc(loss, func(k int) bool { return e.supplies[k].toBeHeard })
		if at >= 0 {
			awaited = loss[at]
		} else if !slices.ContainsFunc(loss, func(k int) bool { return !e.standing(k).IsDark() }) {
			return -1
		}
	}
	return awaited
}
