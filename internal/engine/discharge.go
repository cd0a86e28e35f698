package engine

import (
	"fmt"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/english"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/work"
)

// A drill of a supply's battery: the UPS's own test runs it down under its load to a floor, and nothing else is touched. While
// it runs, what the UPS calls "on battery" is on purpose, and counts as calibrating. How far it is stands in the ledger
// (batteryTest); here is what is not durable.

// test is the test of a battery that is under way.
type test struct {
	node    int // of the supply
	floor   float64
	scope   []bool // what an outage of the supply would take down: its shutdown must stay possible
	phase   testPhase
	serial  int       // of the estimate that is waited for
	op      ledger.Op // of the command under way
	since   time.Time
	toldAt  time.Time // when it was first told to end; zero: it was not
	retry   retry
	resumed bool // it began before a crash: a part of it was seen by nobody
	last    power.Reading
	why     string // it ends
	account account
}

// retry is when the UPS is told again, and how long that is after the last time.
type retry struct {
	at    time.Time
	pause time.Duration
}

// account is what a battery gave in the whole test, once that is known.
type account struct {
	gave power.Discharge
	made bool
}

type testPhase uint8

const (
	estimating  testPhase = iota // asks how long a shutdown takes
	beginning                    // told to the UPS, which does not discharge yet
	running                      // discharges
	endingTest                   // told to end
	testIsEnded                  // proven
)

const (
	leastFloor    = 20.0             // percent: less leaves too little for an outage
	mostFloor     = 95.0             //
	leastFall     = 5.0              // percent: a smaller discharge tells nothing
	beginWithin   = time.Minute      // for a UPS to discharge after it took the command, and for an estimate
	excusedFor    = 30 * time.Second // after it was told to end, a supply that is still on battery has no excuse
	excusedAgain  = 10 * time.Second // and after a restart, where it may not have been told before
	endAgainAfter = 5 * time.Second  // a UPS that goes on is told again, then more rarely
	endAgainSlow  = time.Minute
	giveUpEnding  = 2 * time.Minute // in an outage, with more important things to do
)

const discharges = power.OB | power.CAL | power.DISCHRG

// testing reports whether the open run is the drill of a battery, and no supply has failed in it.
func (e *Engine) testing() bool {
	return e.Ledger.Outage != nil && e.Ledger.Outage.Drill.Phase == ledger.DrillBattery && e.test != nil
}

func (e *Engine) newTest(node int) *test {
	return &test{node: node, scope: e.Graph.Scope(func(i int) bool { return i == node })}
}

// concerns reports whether a node counts for the estimate of how long the rest of the plan takes.
func (e *Engine) concerns(i int) bool {
	switch {
	case e.Ledger.Outage == nil:
		return true
	case e.testing():
		return e.test.scope[i]
	}
	return e.Ledger.Outage.Scope[i]
}

// refusesDischarge tells why a battery is not drilled now; "" if it would be.
func (e *Engine) refusesDischarge(d Drill) string {
	at, known := e.Graph.Index(d.Supply)
	if !known || e.Ledger.SupplyOf[at] < 0 {
		return fmt.Sprintf("there is no supply %q; see `ebbtide status` for the supplies", d.Supply)
	}
	st := &e.Supplies[e.Ledger.SupplyOf[at]].State
	need := e.Graph.Plan(plan.Down, func(i int) bool { return e.newTest(at).scope[i] && !e.IsDown(i) }).Schedule().Total + e.Policy.Reserve
	switch {
	case d.Floor < leastFloor || d.Floor > mostFloor:
		return fmt.Sprintf("a floor of %.0f%% is not accepted; give one from %.0f%% to %.0f%%", d.Floor, leastFloor, mostFloor)
	case st.ReplaceBattery:
		return d.Supply + " reports that its battery needs replacing; replace it first"
	case st.Bypass, st.Overload:
		return d.Supply + " is on bypass or overloaded; a test could drop its load: fix that first"
	case !st.Charge.Known || !st.Left.Known:
		return d.Supply + " does not report its charge, or it is unknown how long it lasts; give it a curve in the runbook, or drill it by hand"
	case st.Charge.Value < d.Floor+leastFall:
		return fmt.Sprintf("%s is charged to %.0f%%, too close to the floor; wait until it is charged, or give a lower --floor", d.Supply, st.Charge.Value)
	case st.Left.Value*d.Floor/st.Charge.Value < need.Seconds():
		return fmt.Sprintf("at %.0f%% %s would last about %s, and a shutdown with the reserve needs %s; give a higher --floor",
			d.Floor, d.Supply, span(st.Left.Value*d.Floor/st.Charge.Value), english.Span(need))
	}
	return ""
}

// span writes whole seconds for people.
func span(s float64) string { return english.Span(time.Duration(s) * time.Second) }

// openTest opens the drill of a battery. It begins when it is known how long a shutdown takes.
func (e *Engine) openTest(d Drill) {
	at, _ := e.Graph.Index(d.Supply)
	if !e.open(ledger.Record{
		Opening: ledger.Opening{Mode: ledger.ModeDrill, Scope: []string{d.Supply}}, Word: ledger.Word{By: d.By},
		Reason: fmt.Sprintf("ordered by %s: the battery, down to %.0f%%", d.By, d.Floor),
	}) {
		return
	}
	e.test = e.newTest(at)
	e.test.floor, e.test.since = d.Floor, e.Now
	e.Notify(false, fmt.Sprintf("drill by %s: the battery of %s, down to %.0f%%", d.By, d.Supply, d.Floor))
	e.askForEstimate()
	e.test.serial = e.serial
}

// beginTest tells the UPS to discharge, once the estimate for it is there and leaves enough at the floor.
func (e *Engine) beginTest() {
	if !e.testing() || e.test.phase != estimating || e.Estimate.Serial < e.test.serial {
		return
	}
	if e.JournalLost {
		e.endTest("the journal can't be written, so the drill would be forgotten after a crash")
		return
	}
	b := e.test
	st := &e.Supplies[e.Ledger.SupplyOf[b.node]].State
	atFloor := st.Left.Value * b.floor / max(st.Charge.Value, 1)
	if need := e.shutdownNeeds(); atFloor < need.Seconds() {
		e.closeOutage(fmt.Sprintf("nothing was done: at %.0f%% %s would last about %s, and a shutdown with the reserve may need %s; give a higher --floor",
			b.floor, e.ID(b.node), span(atFloor), english.Span(need)))
		return
	}
	b.phase, b.since = beginning, e.Now
	e.tellTest(plan.Discharge, "")
}

// shutdownNeeds is the battery time that must be left at any moment: a whole shutdown at its p95, and the reserve.
func (e *Engine) shutdownNeeds() time.Duration {
	return e.Estimate.At(foresight.Pessimistic) + e.Policy.Reserve
}

func (e *Engine) tellTest(verb plan.Verb, reason string) {
	b := e.test
	b.retry.pause = min(max(2*b.retry.pause, endAgainAfter), endAgainSlow)
	b.op, b.retry.at = e.NewOp(b.node), e.Now.Add(b.retry.pause)
	if e.Record(ledger.Record{Kind: ledger.Intent, Step: ledger.Step{Op: b.op, Node: e.ID(b.node), Verb: &verb}, Reason: reason}) {
		e.Out = append(e.Out, effect.Do{Op: b.op, Node: e.ID(b.node), Verb: verb, Within: work.AcceptWithin})
	}
}

// testCommanded takes the answer to one of these commands, and reports whether it was one.
func (e *Engine) testCommanded(ev Finished) bool {
	if e.test == nil || e.test.op != ev.Op {
		return false
	}
	b := e.test
	b.op = 0
	verb := plan.EndDischarge
	if b.phase == beginning {
		verb = plan.Discharge
	}
	if ev.Outcome == ledger.Done {
		return true
	}
	e.Record(ledger.Record{
		Kind: ledger.Accepted, Step: ledger.Step{Op: ev.Op, Node: e.ID(b.node), Verb: &verb, Outcome: ev.Outcome},
		Reason: ev.Detail,
	})
	switch {
	case b.phase != beginning: // its readings say whether it ended
	case ev.Outcome == ledger.TimedOut:
		e.endTest("it is unknown whether it accepted the command")
	default:
		e.Record(ledger.Record{Kind: ledger.Failed, Step: ledger.Step{Node: e.ID(b.node), Verb: &verb}, Reason: ev.Detail})
		e.closeOutage("nothing was done: "+ev.Detail, ledger.NodeState{Node: e.ID(b.node), State: e.Beliefs[b.node].Seen.State})
	}
	return true
}

// maskTest reads a supply's words in the light of its test: on battery on purpose is calibrating. That holds no longer when
// its input voltage says that the mains are really gone, or when it goes on long after it was told to end,
// nor where it is on record as failing.
func (e *Engine) maskTest(s *belief.Supply, r power.Reading) power.Reading {
	if e.test == nil || e.test.node != s.Node || e.test.phase == estimating || e.Standing(e.Ledger.SupplyOf[s.Node]).IsOut() {
		return r
	}
	b := e.test
	if r.Link != power.Fresh || r.Status == 0 || r.Status.Has(power.WAIT) {
		if b.inexcusable(e.Now) && b.last.Status.Has(power.OB) && !s.State.Failing() {
			return b.last // its last word was "on battery", and that is no test any more
		}
		return r
	}
	if r.Status&discharges == 0 && b.phase >= running && !b.account.made { // before the reading that ends it
		b.account.gave, b.account.made = s.Tracker.Discharge(e.Now)
		s.Tracker.Told()
	}
	return b.reads(e.Now, r, s.Tracker.HasNoInput(&r))
}

// reads takes a fresh reading, which may tell that there is no input.
func (b *test) reads(now time.Time, r power.Reading, noInput bool) power.Reading {
	switch {
	case noInput, b.inexcusable(now) && r.Status.Has(power.OB):
		r.Status = r.Status&^(power.CAL|power.OL) | power.OB
	case r.Status.Has(power.OB), r.Status.Has(power.DISCHRG) && !r.Status.Has(power.OL):
		r.Status |= power.CAL
	}
	b.last = r
	if b.last.Status = r.Status &^ power.CAL; r.Status&discharges != 0 && !r.Status.Has(power.OL) {
		b.last.Status |= power.OB
	}
	return r
}

// inexcusable reports whether a supply that is still on battery can't be in its test any more.
func (b *test) inexcusable(now time.Time) bool {
	return !b.toldAt.IsZero() && now.Sub(b.toldAt) >= excusedFor
}

// followTest takes a reading of the supply whose battery is drilled, as the UPS gave it.
func (e *Engine) followTest(s *belief.Supply, r power.Reading) {
	if e.test == nil || e.test.node != s.Node {
		return
	}
	b := e.test
	fresh := r.Link == power.Fresh && r.Status != 0 && !r.Status.Has(power.WAIT)
	discharges := fresh && r.Status&discharges != 0
	switch b.phase {
	case estimating:
		if e.Now.Sub(b.since) > beginWithin {
			e.closeOutage("nothing was done: how long a shutdown takes could not be estimated")
		}
	case beginning:
		switch {
		case discharges:
			verb := plan.Discharge
			e.Record(ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: e.ID(b.node), Verb: &verb}, Reason: r.Status.String()})
			b.phase, b.since = running, e.Now
		case e.Now.Sub(b.since) > beginWithin:
			e.endTest("it accepted the command but does not discharge")
		}
	case running:
		if why := e.enough(s, r, fresh, discharges); why != "" {
			e.endTest(why)
			return
		}
		e.said = fmt.Sprintf("%s is being discharged on purpose: now at %.0f%%, down to %.0f%%", e.ID(b.node), r.Charge.Value, b.floor)
	case endingTest:
		e.followEnding(fresh, discharges)
	case testIsEnded:
	}
}

// enough says why a battery is discharged no further; "": it is.
func (e *Engine) enough(s *belief.Supply, r power.Reading, fresh, discharges bool) string {
	b := e.test
	left, need := s.State.Left, e.shutdownNeeds()
	switch {
	case !fresh:
		return "it fell silent"
	case !discharges:
		return "it ended by itself"
	case r.Status.Has(power.LB):
		return "it reports a low battery"
	case r.Charge.Known && r.Charge.Value <= b.floor:
		return fmt.Sprintf("the floor is reached at %.0f%%", r.Charge.Value)
	case !s.State.Charge.Known || !left.Known:
		return "its charge, or how long it lasts, is no longer known"
	case left.Value < need.Seconds():
		return fmt.Sprintf("about %s is left, and a shutdown with the reserve may need %s", span(left.Value), english.Span(need))
	}
	return ""
}

// endTest tells a UPS to end its test; without one it does nothing.
func (e *Engine) endTest(why string) {
	b := e.test
	switch {
	case b == nil || b.phase >= endingTest:
	case b.phase == estimating:
		b.phase = testIsEnded
		if e.testing() {
			e.closeOutage("nothing was done: " + why)
		} else {
			e.test = nil
		}
	default:
		b.phase, b.why, b.toldAt, b.retry.pause = endingTest, why, e.Now, 0
		e.tellTest(plan.EndDischarge, why)
	}
}

// followEnding waits for the UPS to be back on the mains, and tells it again while it is not.
func (e *Engine) followEnding(fresh, discharges bool) {
	b := e.test
	verb := plan.EndDischarge
	switch {
	case fresh && !discharges:
		e.Record(ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: e.ID(b.node), Verb: &verb}, Reason: b.last.Status.String()})
		e.endedTest()
	case !e.testing() && e.Now.Sub(b.toldAt) > giveUpEnding:
		e.Record(ledger.Record{
			Kind: ledger.Failed, Step: ledger.Step{Node: e.ID(b.node), Verb: &verb},
			Reason: "it is still on battery, in an outage",
		})
		e.test = nil
	case b.op == 0 && !e.Now.Before(b.retry.at):
		if e.testing() {
			e.say(e.ID(b.node) + " was told to end its test but is not back on line yet")
		}
		e.tellTest(plan.EndDischarge, b.why)
	}
}

// endedTest writes down what the battery gave, and closes the drill.
func (e *Engine) endedTest() {
	b := e.test
	if !e.testing() {
		e.test = nil // the outage that came of it has an account of its own
		return
	}
	reason := "the battery was discharged: " + b.why
	if d := b.account.gave; b.account.made && !b.resumed {
		e.Record(ledger.Record{Kind: ledger.Spent, Power: ledger.Power{Supplies: []string{e.ID(b.node)}, Discharge: &d}})
		reason = fmt.Sprintf("the battery went from %.0f%% to %.0f%% in %s: %s", d.From, d.To, english.Span(d.Took), b.why)
	}
	e.closeOutage(reason)
}

// resumeTest ends a test that a crash left running: that comes before anything else.
func (e *Engine) resumeTest() {
	d := &e.Ledger.Outage.Drill
	if d.Battery == ledger.NotBegun && d.Phase != ledger.DrillBattery {
		return
	}
	if d.Battery == ledger.TestEnded {
		if d.Phase == ledger.DrillBattery {
			e.closeOutage("the battery was discharged; Ebbtide was not running when that ended")
		}
		return
	}
	e.test = e.newTest(d.Supply)
	e.test.resumed = true
	was := d.Battery
	switch {
	case was == ledger.TestTold:
		e.test.phase = beginning
	case was >= ledger.TestRuns:
		e.test.phase = running
	}
	e.endTest("Ebbtide was not running")
	switch { // in an outage it has had its time, or most of it if it may not have been told
	case e.testing():
	case was == ledger.EndTold:
		e.test.toldAt = e.test.toldAt.Add(excusedAgain - excusedFor)
	case was == ledger.EndToldAgain:
		e.test.toldAt = e.test.toldAt.Add(-excusedFor)
	}
}
