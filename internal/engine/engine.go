// Package engine decides: when an outage begins, what goes down in which order, what is proven, when things may come
// back. It is a pure function of its events: Apply takes what happened and returns what to do. It reads no clock,
// starts nothing and writes nothing; the shell (package runner), the simulator and the replay all drive the same code.
//
// There are four kinds of state, each with one way to change. What is durable is the ledger (package ledger), which changes by its records
// alone. What is believed (package belief) is evidence, which ends with what it was seen in: look.go asks, epoch.go ends it. What is shown
// to be otherwise goes on record (correct.go, hear.go). What is wanted is a function of both (package want): which step has its turn, and
// what the others wait for; evaluate.go takes them up. Work (work.go) is the one step under way on a node: guard.go collects evidence before it, package
// permit holds its command against the rules, step.go carries it through command and proof, ladder.go through what follows when it has none.
//
// Around them: trigger.go judges when a stage begins, outage.go opens, follows and closes an outage, cycle.go takes a
// supply through its power cycle, drill.go runs a part of the plan on purpose, discharge.go a battery, refuse.go says when
// neither begins, order.go takes the orders of operators, foresee.go reckons the time that is left, view.go shows what is
// known, and check.go holds the engine against itself.
package engine

import (
	"fmt"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
)

// Engine is the state of one estate. It is not safe for concurrent use.
type Engine struct {
	foresight.Foresight
	settings Settings
	nodes    []node
	watch    []watch // per supply
	haste
	rehearsal
	inquiry
	clockwork
}

// haste is how short the time is, and who is to be hurried.
type haste struct {
	hurryDue bool
	graceful []int // nodes that are being stopped without force, in the order in which that began
}

// rehearsal is what is known of a drill beside what is on record.
type rehearsal struct {
	test      *test  // of a battery that is under way, nil: none is
	drillEnds string // why it goes no further, though nobody has ordered its end
}

// node is what is known of a node beside what is on record.
type node struct {
	question question
	work     *work     // the step under way, nil: none is
	nextLook time.Time // when a given-up node is looked at again
	timer    int       // numbers its timers: an older one is void
	graceful bool      // it is being stopped without force
	awaited  awaited   // by the survey
}

// clockwork is the time, what is under way, and what comes of an event.
type clockwork struct {
	out       []effect.Effect
	ops       map[ledger.Op]int // operations under way: their node
	nextOp    ledger.Op
	surveying int     // nodes that the survey waits for
	working   int     // nodes that have a step under way
	said      string  // the last thing said about what it waits for
	refused   string  // the last record that was refused
	strays    []*work // steps that have gone a way that their table does not have
	shifted   bool    // the standing of a supply has changed in this event
	timetable
}

// timetable is what is due when, and when something happened last.
type timetable struct {
	timers   plan.Queue[timer]
	wakeAt   time.Time
	sweepAt  time.Time
	lookAt   time.Time // when given-up nodes and cut supplies are looked at next
	movedAt  time.Time // when a command was last given or a step ended
	settleBy time.Time // until when what was given up on its way up may come by itself; zero: nothing stands behind such a thing
	closing  time.Time // since when everything looks as if the outage were over; zero: it does not
}

// timer is when a node wants to be served.
type timer struct {
	at     time.Time
	node   int
	number int
}

// Timings of the engine's own that are no policy.
const (
	acceptWithin = 30 * time.Second       // for a system to accept a command
	probeWithin  = 10 * time.Second       // for a look to be answered
	firstLook    = 500 * time.Millisecond // after an accepted command; then growing to
	slowestLook  = 5 * time.Second
	slowestRetry = 15 * time.Second
	guardRounds  = 3                // so often they are asked
	sweepEvery   = 5 * time.Minute  // looks at all nodes while all is well
	stalledFor   = 2 * time.Minute  // a plan past the point of no return may stand still, with mains back
	silentFor    = time.Minute      // a failing supply that says nothing for so long is told of
	quietFor     = 5 * time.Minute  // and so is one that was well
	shutFor      = 2 * time.Hour    // a recharge gate that is shut for so long with the mains there is told of
	settleFor    = 30 * time.Minute // what was given up on its way up may come by itself, and what stands on it after it
	cutMargin    = 15 * time.Second // how much longer than it said a UPS may take for its cut
	askEstimate  = 5 * time.Second  // at most one estimate in so long
	lookAhead    = 15 * time.Second // a poll is expected to come within so long
)

// New makes an engine for an estate on which no outage is open.
func New(s Settings) *Engine {
	e := &Engine{clockwork: clockwork{ops: map[ledger.Op]int{}, timetable: timetable{timers: plan.NewQueue(timer.before)}}}
	e.load(s)
	return e
}

func (e *Engine) load(s Settings) {
	n := s.Estate.Len()
	e.settings = s
	lost := e.JournalLost
	wants := want.New(belief.New(e.settings.Estate, &e.settings.Policy, e.settings.Supplies, max(e.Ledger.Newest, s.Newest)))
	e.Foresight = foresight.New(wants, s.Mode == ledger.ModeObserve, e.serial)
	e.JournalLost = lost
	e.nodes, e.watch = make([]node, n), make([]watch, len(e.Supplies))
	e.inquiry = inquiry{serial: e.serial} // an answer that is on its way is of the estate before
}

func (t timer) before(u timer) bool {
	if !t.at.Equal(u.at) {
		return t.at.Before(u.at)
	}
	if t.node != u.node {
		return t.node < u.node
	}
	return t.number < u.number
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
	e.nextOp = e.Ledger.Op
	return e, nil
}

// Apply is the only way in. It takes one event that happened at now and returns, in the order in which they must be carried
// out, the effects that follow. It never blocks, reads no clock, starts no goroutine, and given the same engine and the same
// arguments returns the same effects.
func (e *Engine) Apply(now time.Time, ev Event) []effect.Effect {
	e.Now, e.out = now, nil
	switch ev := ev.(type) {
	case Started:
		e.forgetPower()
		e.started()
	case Read:
		e.read(ev.Reading)
	case Finished:
		e.finished(ev)
	case Observed:
		e.observed(ev)
	case Woke: // the timers below are all there is to do
		e.wakeAt = time.Time{}
	case Order:
		e.order(ev)
	case Drill:
		e.beginDrill(ev)
	case Estimated:
		e.estimated(ev)
	case JournalLost:
		e.JournalLost = true
		e.notify(true, "the journal can't be written: "+ev.Detail+"; a shutdown goes on, a power-up will not begin")
	case JournalBack:
		e.JournalLost = false
		e.record(ledger.Record{Kind: ledger.Gap, Reason: "the journal could not be written for a while"})
		e.TouchAll()
	case Reload:
		e.reload(ev)
	}
	e.ring()
	e.recondition()
	e.evaluate()
	if e.hurryDue && e.Ledger.Outage != nil {
		e.hurry()
		e.evaluate()
	}
	e.recallStrays()
	e.followOutage()
	e.setWake()
	return e.out
}

// Settings gives what the engine runs on now: after a Reload, the new ones.
func (e *Engine) Settings() Settings { return e.settings }

// forgetPower takes that Ebbtide begins: what became of the power of a node before, nobody knows.
func (e *Engine) forgetPower() {
	for i := range e.nodes {
		decl := e.Graph.Node(i)
		if decl.Kind != plan.VM && decl.Kind != plan.Supply && (decl.Kind != plan.Passive || e.Ledger.Outage != nil) {
			e.Beliefs[i].Boots = e.Now.Add(belief.BootTime(decl))
		}
	}
}

// started asks after everything once. A resumed engine takes up what its journal left open.
func (e *Engine) started() {
	e.Life = e.Ledger.Op
	if e.Ledger.Outage != nil {
		e.movedAt, e.ResumedAt = e.Now, e.Now
		e.record(ledger.Record{Kind: ledger.Gap, Reason: "Ebbtide was away, and goes on"})
		for k := range e.Supplies {
			e.Supplies[k].Lapse = belief.WereAway
			e.assume(k)
		}
		if e.Ledger.Outage.Drill.Phase == ledger.DrillDown { // nobody was there to see what it did
			e.drillEnds = "Ebbtide was away"
		}
		e.resumeTest()
	}
	if e.Ledger.Outage != nil {
		e.resumeWork()
		e.recondition()
		e.TouchAll()
	}
	if e.Ledger.Outage != nil && !e.testing() {
		e.survey()
	}
	for i := range e.nodes {
		e.probe(i)
	}
	e.sweepAt = e.Now.Add(sweepEvery)
	e.askForEstimate()
}

// assume takes over what is on record of a supply from before Ebbtide was away.
func (e *Engine) assume(k int) {
	t, st := e.Supplies[k].Tracker, e.Standing(k)
	t.AssumeCharge(st.Charge)
	if st.IsOut() {
		t.AssumeFailing(e.Now, st.Since)
	}
}

// resumeWork takes up again every step whose intent had no result: what a look shows decides whether the command is given
// again. A machine that was told to stop may have come up again meanwhile, unseen.
func (e *Engine) resumeWork() {
	for i := range e.nodes {
		entry := e.Entry(i)
		e.Beliefs[i].Epoch = e.nextOp
		switch entry.Lit {
		case ledger.Unlit:
		case ledger.PoweredAgain:
			e.Beliefs[i].Rising = e.Beliefs[i].Boots // a VM comes up with its host, if that does
		case ledger.SeenStarting:
			e.Beliefs[i].Rising = e.Now.Add(belief.BootTime(e.Graph.Node(i)))
		}
		last := entry.Last
		reached := last.Verb == plan.Stop && last.Reach() != ledger.NotReached // what refused it may do it all the same
		if (last.Taken || reached) && entry.Shown == ledger.WasTold {
			e.Beliefs[i].Falling = e.Now.Add(2 * belief.ProofStands)
			e.armIdle(i)
		}
		if entry.Late {
			e.Beliefs[i].Undoing = e.Now.Add(e.Graph.Node(i).Time(plan.Unprotect).Within)
			e.armIdle(i)
		}
		if last.Open {
			e.resumeStep(i)
		}
	}
}

// resumeStep takes up the step of a node whose command had no result.
func (e *Engine) resumeStep(i int) {
	n, decl, last := &e.nodes[i], e.Graph.Node(i), e.Entry(i).Last
	goal := plan.Down
	if last.Verb == plan.Start || last.Verb == plan.Unprotect {
		goal = plan.Up
	}
	id := e.Course.Find(i, last.Verb, goal)
	if id < 0 || decl.Kind == plan.Self { // this machine went down and is up again: it is us
		verb, state := last.Verb, plan.On
		e.record(ledger.Record{Kind: ledger.HeldBack, Step: ledger.Step{Node: decl.ID, Verb: &verb, Attempt: last.Attempt, State: &state}, Reason: "Ebbtide is back"})
		return
	}
	if last.Verb == plan.Start {
		e.Beliefs[i].Rising = e.Now.Add(belief.BootTime(decl))
	}
	w := &work{
		step: id, verb: last.Verb, rung: last.Rung, phase: proving, answer: last.Answer, resumed: true,
		pace: pace{since: e.Now, sent: e.Now, deadline: e.Now.Add(max(decl.Time(last.Rung).Within, firstLook))}, force: force{last.Cause, last.Reason},
	}
	if last.Verb == plan.Unprotect { // it may have been so already when it was told
		w.from, e.Beliefs[i].Undoing = w.deadline, w.deadline
	}
	if decl.Kind == plan.Person {
		w.phase = asking
	}
	n.work, e.Under[i] = w, w.step
	e.working++
	if last.Reach() != ledger.NotReached {
		w.placed = true
		e.Course.Slots.Take(i)
		e.count(i, last.Rung == plan.Stop)
	}
	e.arm(i)
}

// reload takes a new estate and policy, while no outage is open.
func (e *Engine) reload(ev Reload) {
	if e.Ledger.Outage != nil {
		return
	}
	s, old := e.settings, e.Estate
	s.Estate, s.Policy, s.Supplies, s.Members = ev.Estate, ev.Policy, ev.Supplies, ev.Members
	e.load(s)
	clear(e.ops) // answers that are on their way belong to the estate before
	e.Keep(&old, s.Supplies)
	e.recondition()
	e.started()
}

// finished takes the answer to a Do or a Probe.
func (e *Engine) finished(ev Finished) {
	i, ok := e.ops[ev.Op]
	if !ok {
		return
	}
	delete(e.ops, ev.Op)
	if e.testCommanded(ev) {
		return
	}
	n := &e.nodes[i]
	switch {
	case n.question.op == ev.Op:
		e.answered(i, ev)
	case n.work != nil && n.work.op == ev.Op:
		e.commanded(i, ev)
	}
}

// ring serves the timers that are due.
func (e *Engine) ring() {
	for e.timers.Len() > 0 && !e.timers.Peek().at.After(e.Now) {
		t := e.timers.Pop()
		n := &e.nodes[t.node]
		switch {
		case n.timer != t.number || e.Ledger.Outage == nil:
		case n.work != nil:
			e.tick(t.node)
		default:
			if e.Beliefs[t.node].IsOutlived(e.Now) {
				e.probe(t.node)
			}
			e.Touch(t.node)
		}
	}
}

// setWake asks to be woken for the earliest timer, if that has changed.
func (e *Engine) setWake() {
	for e.timers.Len() > 0 && e.nodes[e.timers.Peek().node].timer != e.timers.Peek().number {
		e.timers.Pop()
	}
	if e.timers.Len() == 0 {
		return
	}
	if at := e.timers.Peek().at; !at.Equal(e.wakeAt) {
		e.wakeAt = at
		e.out = append(e.out, effect.Wake{At: at})
	}
}

// newOp numbers an operation on a node.
func (e *Engine) newOp(i int) ledger.Op {
	e.nextOp++
	e.ops[e.nextOp] = i
	return e.nextOp
}

// record appends to the journal of the open outage, and changes the ledger by the same record. It reports whether the record
// stands: one that speaks of what the estate does not have is refused.
func (e *Engine) record(r ledger.Record) bool {
	if e.Ledger.Outage == nil && r.Kind != ledger.Opened {
		return false
	}
	if e.Ledger.Outage != nil && r.Kind != ledger.Opened {
		r.Seq, r.Outage = e.Ledger.Outage.Seq+1, e.Ledger.Outage.ID
	}
	r.At = e.Now
	if r.Kind == ledger.Turned { // also in an outage of format 0
		r.Format = ledger.FormatNow
	}
	if err := e.Ledger.Apply(&r); err != nil {
		e.refuse(&r, err)
		return false
	}
	switch r.Kind {
	case ledger.Intent, ledger.Proven, ledger.Failed, ledger.HeldBack:
		e.movedAt = e.Now
	case ledger.Mains, ledger.NoReturn, ledger.Opened, ledger.Closed:
		e.shifted = true
	default:
	}
	e.touchWhat(&r)
	e.out = append(e.out, effect.Append{Record: r})
	return true
}

// refuse follows a record of our own that can't be applied, which is a fault of ours: nothing changes by it, a person is told,
// and its node waits for a while.
func (e *Engine) refuse(r *ledger.Record, err error) {
	if i, known := e.Graph.Index(r.Node); known {
		e.pauseFor(i, slowestRetry)
	}
	why := fmt.Sprintf("a record of kind %q was refused: %v", r.Kind, err)
	if why == e.refused {
		return
	}
	e.refused = why
	e.record(ledger.Record{Kind: ledger.Forbidden, Reason: why})
	e.notify(true, why+"; this is a fault of Ebbtide")
}

// touchWhat has judged anew what a record may have changed.
func (e *Engine) touchWhat(r *ledger.Record) {
	if r.Kind == ledger.Intent || r.Kind == ledger.Reopened || r.Kind == ledger.Proven { // what comes up may write
		for _, c := range e.Ledger.Caches {
			e.Touch(c)
		}
	}
	switch i, known := e.Graph.Index(r.Node); {
	case known && e.Ledger.SupplyOf[i] < 0 && r.Kind != ledger.NoReturn:
		e.Touch(i)
	case r.Kind != ledger.Gap && r.Kind != ledger.Spent && r.Kind != ledger.Forbidden && r.Kind != ledger.Seen:
		e.TouchAll()
	}
}

// notify tells people. Where nothing is commanded, nothing may read as if it had been.
func (e *Engine) notify(urgent bool, text string) {
	if e.Observes {
		text = effect.Observing + text
	}
	e.out = append(e.out, effect.Notify{Urgent: urgent, Text: text})
}
