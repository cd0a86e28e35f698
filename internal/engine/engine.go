// Package engine decides: when an outage begins, what goes down in which order, what is proven, when things may come
// back. It is a pure function of its events: Apply takes what happened and returns what to do. It reads no clock,
// starts nothing and writes nothing; the shell (package runner), the simulator and the replay all drive the same code.
//
// There are four kinds of state, each with one way to change. What is durable is the ledger (package ledger), which changes by its records
// alone. What is believed (package belief) is evidence, which ends with what it was seen in. What is wanted is a function of both (package
// want): which step has its turn, and what the others wait for; and so is how short the time for it is (package foresight). Work (package
// work) is the one step under way on a node, from the evidence for its command to its proof.
//
// Here is what happens: look.go takes what was seen, supply.go and hear.go what a supply says; what is shown to be otherwise goes on record
// (correct.go); evaluate.go takes up the steps whose turn has come. trigger.go judges when a stage begins, outage.go opens, follows and
// closes an outage, drill.go runs a part of the plan on purpose, discharge.go a battery, refuse.go says when neither begins, order.go takes
// the orders of operators, foresee.go asks how long the rest takes, view.go shows what is known, and check.go holds the engine against
// itself.
package engine

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
	"ebbtide/internal/work"
)

// Engine is the state of one estate. It is not safe for concurrent use.
type Engine struct {
	work.Works
	settings Settings
	watch    []watch // per supply
	test     *test   // of a battery that is under way, nil: none is
	said     string  // the last thing said about what it waits for
	surveys
	inquiry
	timetable
}

// surveys are who is asked whether it is on.
type surveys struct {
	surveying  int       // nodes that the survey waits for
	askedAgain bool      // it has asked once more after what was off long ago
	awaited    []awaited // per node
}

// timetable is what is due when.
type timetable struct {
	sweepAt  time.Time
	lookAt   time.Time // when given-up nodes and cut supplies are looked at next
	settleBy time.Time // until when what was given up on its way up may come by itself; zero: nothing stands behind such a thing
	closing  time.Time // since when everything looks as if the outage were over; zero: it does not
}

// Timings of the engine's own that are no policy.
const (
	sweepEvery   = 5 * time.Minute  // looks at all nodes while all is well
	stalledFor   = 2 * time.Minute  // a plan past the point of no return may stand still, with mains back
	silentFor    = time.Minute      // a failing supply that says nothing for so long is told of
	quietFor     = 5 * time.Minute  // and so is one that was well
	shutFor      = 2 * time.Hour    // a recharge gate that is shut for so long with the mains there is told of
	settleFor    = 30 * time.Minute // what was given up on its way up may come by itself, and what stands on it after it
	cutMargin    = 15 * time.Second // how much longer than it said a UPS may take for its cut
	slowestAgain = 2 * time.Minute  // between two looks at what was given up, or does not answer
	askEstimate  = 5 * time.Second  // at most one estimate in so long
	lookAhead    = 15 * time.Second // a poll is expected to come within so long
)

// Settings are what the engine is made for.
type Settings struct {
	Estate   *plan.Estate
	Policy   power.Policy
	Supplies []power.Supply
	Members  map[string][]plan.Member // selectors as they were expanded into the estate, for the record
	Mode     ledger.Mode
	Newest   string // the newest outage on record, if any: the next id sorts after it, whatever the clock says
}

// New makes an engine for an estate on which no outage is open.
func New(s Settings) *Engine {
	e := &Engine{Works: work.New()}
	e.load(s)
	return e
}

func (e *Engine) load(s Settings) {
	n := s.Estate.Len()
	e.settings = s
	lost := e.JournalLost
	wants := want.New(belief.New(e.settings.Estate, &e.settings.Policy, e.settings.Supplies, max(e.Ledger.Newest, s.Newest)))
	wants.Observes = s.Mode == ledger.ModeObserve
	e.Load(foresight.New(wants, e.serial))
	e.JournalLost = lost
	e.awaited, e.watch = make([]awaited, n), make([]watch, len(e.Supplies))
	for k := range e.watch {
		for _, when := range s.Policy.Conditions() {
			e.watch[k].stages = append(e.watch[k].stages, make([]foresight.Sure, when.Parts()))
		}
	}
	e.inquiry = inquiry{serial: e.serial} // an answer that is on its way is of the estate before
}

// Restored makes an engine that goes on with the open outage whose records are given, oldest first. It trusts no record about
// the state of the world: its first event (Started) asks after everything before anything is commanded. It fails if a record
// names a node that the estate no longer has.
func Restored(s Settings, records []ledger.Record) (*Engine, error) {
	e := New(s)
	for i := range records {
		if err := e.Ledger.Apply(&records[i]); err != nil {
			return nil, fmt.Errorf("cannot resume outage %q at record %d: %w", records[i].Outage, records[i].Seq, err)
		}
	}
	e.NextOp = e.Ledger.Op
	for i := range slices.Backward(records) {
		e.AwayFrom = records[i].At
		if records[i].Kind != ledger.Gap { // a life that came to nothing more has heard nobody
			break
		}
	}
	return e, nil
}

// Apply is the only way in. It takes one event that happened at now and returns, in the order in which they must be carried
// out, the effects that follow. It never blocks, reads no clock, starts no goroutine, and given the same engine and the same
// arguments returns the same effects.
func (e *Engine) Apply(now time.Time, ev Event) []effect.Effect {
	e.Begin(now)
	switch ev := ev.(type) {
	case Started:
		e.ForgetPower()
		e.started()
	case Read:
		e.read(ev.Reading)
	case Finished:
		e.finished(ev)
	case Observed:
		e.observed(ev)
	case Woke: // the timers below are all there is to do
		e.Woke()
	case Order:
		e.order(ev)
	case Drill:
		e.beginDrill(ev)
	case Estimated:
		e.estimated(ev)
	case JournalLost:
		e.JournalLost = true
		e.Notify(true, "the journal can't be written: "+ev.Detail+"; a shutdown continues, a power-up will not start")
	case JournalBack:
		e.JournalLost = false
		e.Record(ledger.Record{Kind: ledger.Gap, Reason: "the journal could not be written for a while"})
		e.TouchAll()
	case Reload:
		e.reload(ev)
	}
	e.Ring()
	e.recondition()
	e.evaluate()
	if e.HurryDue && e.Ledger.Outage != nil {
		e.Hurry()
		e.evaluate()
	}
	for e.RecallStray() {
		e.evaluate()
	}
	e.followOutage()
	e.SetWake()
	return e.Out
}

// Settings gives what the engine runs on now: after a Reload, the new ones.
func (e *Engine) Settings() Settings { return e.settings }

// started asks after everything once. A resumed engine takes up what its journal left open.
func (e *Engine) started() {
	e.Life = e.Ledger.Op
	if e.Ledger.Outage != nil {
		e.MovedAt, e.ResumedAt = e.Now, e.Now
		for k := range e.Supplies {
			e.WereAway(k)
			e.assume(k) // by what is on record of before
		}
		e.Record(ledger.Record{Kind: ledger.Gap, Reason: "Ebbtide is running again after an interruption"})
		if e.Ledger.Outage.Drill.Phase == ledger.DrillDown { // nobody was there to see what it did
			e.DrillEnds = "Ebbtide was not running"
		}
		e.resumeTest()
	}
	if e.Ledger.Outage != nil {
		e.Resume()
		e.recondition()
		e.TouchAll()
	}
	if e.Ledger.Outage != nil && !e.testing() {
		e.survey()
	}
	for i := range e.Beliefs {
		e.Probe(i)
	}
	e.sweepAt = e.Now.Add(sweepEvery)
	e.askForEstimate()
}

// assume takes over what is on record of a supply from before Ebbtide was away.
func (e *Engine) assume(k int) {
	t, st := e.Supplies[k].Tracker, e.Standing(k)
	charged := time.Duration(0)
	if !st.Charges.IsZero() && !st.IsOut() {
		charged = max(0, e.AwayFrom.Sub(st.Charges))
	}
	t.AssumeCharge(st.Charge, charged)
	if st.At.IsZero() {
		return
	}
	ago := e.Now.Sub(st.At)
	if e.IsSetBack(k) {
		ago = -1 // nobody knows
	}
	t.TakeUp(e.Now, st.Carried, ago)
}

// reload takes a new estate and policy, while no outage is open.
func (e *Engine) reload(ev Reload) {
	if e.Ledger.Outage != nil {
		return
	}
	s, old := e.settings, e.Estate
	s.Estate, s.Policy, s.Supplies, s.Members = ev.Estate, ev.Policy, ev.Supplies, ev.Members
	e.load(s)
	e.Keep(&old, s.Supplies)
	e.recondition()
	e.started()
}

// finished takes the answer to a Do or a Probe.
func (e *Engine) finished(ev Finished) {
	i, ok := e.Claim(ev.Op)
	switch {
	case !ok:
	case e.testCommanded(ev):
	case e.Asked(i) == ev.Op:
		e.answered(i, ev)
	case e.Commanded(i, ev.Op, ev.Outcome, ev.Detail) && ev.Outcome == ledger.NoSuchThing:
		e.see(i, plan.Observation{State: plan.Gone, Detail: ev.Detail}, ev.Op+1, e.Now)
	}
}
