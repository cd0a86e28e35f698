// Package engine decides: when an outage begins, what goes down in which order, what is proven, when things may come
// back. It is a pure function of its events: Apply takes what happened and returns what to do. It reads no clock,
// starts nothing and writes nothing; the shell (package runner), the simulator and the replay all drive the same code.
//
// The way through the files: supply.go turns readings into failing and returned supplies and judges the triggers;
// run.go is the course of one outage; survey.go asks what is on before anything is done; progress.go keeps which steps
// may start; guard.go asks before what can't be undone, aside.go whether what was protected still is; exec.go carries one
// step through command and proof, ladder.go through what follows when it has none; see.go takes what is observed; cycle.go
// is the way of a supply's output: when it has to be cut, and what its return starts; drill.go runs a part of the plan on
// purpose, discharge.go a battery, and refuse.go says when neither begins; resume.go folds a journal back into an engine.
package engine

import (
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Settings are what the engine is made for.
type Settings struct {
	Estate   *plan.Estate
	Policy   power.Policy
	Supplies []power.Supply
	Members  map[string][]plan.Member // selectors as they were expanded into the estate, for the record
	Mode     string                   // "run", "observe", "simulate": for the record
	Newest   string                   // the newest outage on record, if any: the next id sorts after it, whatever the clock says
}

// Engine is the state of one estate. It is not safe for concurrent use.
type Engine struct {
	settings Settings
	estate   *plan.Estate
	down, up *plan.Plan
	supplies []supply
	nodes    []node
	run      *run // the open outage, nil while all is well

	now         time.Time
	out         []Effect
	ops         map[Op]int // outstanding operations: their node
	nextOp      Op
	timers      plan.Queue[timer]
	wakeAt      time.Time
	journalLost bool
	lastOutage  string
	resumedAt   time.Time // when it took up an outage from before a crash; zero: it did not

	estimate  Estimated
	estimated bool      // an answer is there
	asksSlack bool      // a stage begins by slack
	asked     time.Time // when the newest estimate was asked for
	serial    int
	sweepAt   time.Time
}

// node is what the engine knows of one node.
type node struct {
	seen   plan.Observation
	seenAt time.Time // zero: not seen since the engine was made
	probe  Op        // the probe under way, 0: none
	asked  time.Time // when that was asked
	told   time.Time // when a watch last told of the node
	// settled is what it was last believed to be when it was on or off: what contradicts it without a command is asked
	// again before it is believed.
	settled plan.State
	doubt   plan.State // the answer that is being asked again
	offs    int        // how often in a row it was seen off
	down    bool       // proven off, and nothing seen since that says otherwise
	up      bool       // proven on (and healthy where that is asked), likewise
	exec    *exec      // the step that is being carried out
	gen     int        // numbers the node's timers: an older one is void
	guards  []int      // nodes whose guard waits for the probe under way
	loose   bool       // nobody knows what became of an Unprotect: it may be carried out yet

	// Of the open outage:
	surveyed  bool // seen since the outage began, or since the crash
	snapped   bool // in the snapshot
	wasOn     bool
	unasked   bool       // the snapshot can't tell: it did not answer, and nobody had seen it not long before
	wasUp     bool       // seen on not long before the outage began
	cacheWas  plan.Fact  // write-through before the outage
	settings  string     // what Unprotect puts back
	touched   bool       // a stop, cut or protect was commanded
	stopped   bool       // proven off by its stop
	accepted  bool       // its last command was a stop, and was accepted
	silent    time.Time  // since when it has not answered after that
	done, bad plan.Verbs // steps that ended in the present direction, with and without proof
	falls     int        // how often it was off again after it had been brought up
	heldAt    time.Time  // when its guard last held it back
	nextLook  time.Time  // when a failed step's node is looked at again
	open      *exec      // after a resume: the step whose intent had no result
}

// exec is one step that is being carried out.
type exec struct {
	goal     plan.Goal
	verb     plan.Verb // of the step
	rung     plan.Verb // of the command: Stop, then Force
	attempt  int
	phase    phase
	op       Op
	deadline time.Time // of the rung
	next     time.Time // the next look or try
	pause    time.Duration
	accepted bool
	given    bool      // a command was given, and did reach the node or may have
	heard    bool      // and so was one before the last
	away     bool      // it has given its place under the limits back, and takes one again before its next command
	since    time.Time // when
	cause    Cause     // why it is forced, of the closed set
	reason   string    // likewise, in words
	waits    int       // users whose proof is being renewed
	rounds   int       // in which they were asked
	lastLook bool      // it was looked at once more when its time was over
	resumed  bool      // its intent is from before a crash, and nobody knows what became of it
	blind    bool      // likewise, and its node did not answer the look before
}

type phase uint8

const (
	guarding   phase = iota // asks whether its users are still off
	commanding              // the command is on its way
	proving                 // accepted: probes until it is so
	backingOff              // to be tried again
	inLine                  // likewise, as soon as there is a place for it
	asking                  // a person was asked
)

// timer is when a node's exec wants to be woken.
type timer struct {
	at   time.Time
	node int
	gen  int
}

// Timings of the engine's own that are no policy.
const (
	acceptWithin = 30 * time.Second       // for a system to accept a command
	probeWithin  = 10 * time.Second       // for a probe to be answered
	firstLook    = 500 * time.Millisecond // after an accepted command; then growing to
	slowestLook  = 5 * time.Second
	firstRetry   = 2 * time.Second // after a busy or unreachable system; doubling to
	slowestRetry = 15 * time.Second
	failedLook   = 15 * time.Second // at a node that was given up
	proofAge     = 2 * time.Second  // older proofs of users are renewed before what they use goes
	guardRounds  = 3                // so often they are asked, where they don't answer or others are slow
	proofLooks   = 2                // so many looks in a row prove a user off, where something rests on it
	lookAge      = 30 * time.Second // what an earlier look showed saves the command
	trustLast    = 15 * time.Minute // how old an earlier look may be where the survey got no answer
	sweepEvery   = 5 * time.Minute  // looks at all nodes while all is well
	returnAfter  = 5 * time.Second  // mains count as back after so long without interruption
	stalledFor   = 2 * time.Minute  // a plan past the point of no return may stand still, with mains back
	silentFor    = time.Minute      // a failing supply that says nothing for so long is told of
	askEstimate  = 5 * time.Second  // at most one estimate in so long
)

// New makes an engine for an estate on which no outage is open.
func New(s Settings) *Engine {
	e := &Engine{ops: map[Op]int{}, timers: plan.NewQueue(timer.before), lastOutage: s.Newest}
	e.load(s)
	return e
}

func (e *Engine) load(s Settings) {
	e.settings, e.estate, e.asksSlack = s, s.Estate, asksSlack(&s.Policy)
	e.down, e.up = s.Estate.Plan(plan.Down, nil), s.Estate.Plan(plan.Up, nil)
	e.nodes = make([]node, s.Estate.Len())
	e.supplies = e.supplies[:0]
	for _, decl := range s.Supplies {
		if at, ok := s.Estate.Index(decl.ID); ok {
			e.supplies = append(e.supplies, supply{node: at, tracker: power.NewTracker(decl)})
		}
	}
	e.estimated = false
}

func (t timer) before(u timer) bool {
	if !t.at.Equal(u.at) {
		return t.at.Before(u.at)
	}
	if t.node != u.node {
		return t.node < u.node
	}
	return t.gen < u.gen
}

// Apply is the only way in. It takes one event that happened at now and returns, in the order in which they must be
// carried out, the effects that follow. It never blocks, reads no clock, starts no goroutine, and given the same
// engine and the same arguments returns the same effects.
func (e *Engine) Apply(now time.Time, ev Event) []Effect {
	e.now, e.out = now, nil
	switch ev := ev.(type) {
	case Started:
		e.started()
	case Read:
		e.read(ev.Reading)
	case Finished:
		e.finished(ev)
	case Observed:
		if i, ok := e.estate.Index(ev.Node); ok {
			e.nodes[i].told = now
			e.see(i, ev.Seen)
		}
	case Woke: // the timers below are all there is to do
		e.wakeAt = time.Time{}
	case Order:
		e.order(ev)
	case Drill:
		e.drill(ev)
	case Estimated:
		if ev.Serial == e.serial {
			e.estimate, e.estimated = ev, true
			e.beginDischarge()
		}
	case JournalLost:
		e.journalLost = true
		e.notify(true, "the journal can't be written: "+ev.Detail+"; a shutdown goes on, a power-up will not begin")
	case JournalBack:
		e.journalLost = false
		e.record(Record{Kind: Gap, Reason: "the journal could not be written for a while"})
		e.unpark()
	case Reload:
		e.reload(ev)
	}
	e.ring()
	e.advance()
	e.setWake()
	return e.out
}

// Open tells whether an outage is under way.
func (e *Engine) Open() bool { return e.run != nil }

// started asks after everything once. A resumed engine asks after all that its outage covers before it does anything.
func (e *Engine) started() {
	if e.run != nil {
		e.run.movedAt, e.resumedAt = e.now, e.now
		e.record(Record{Kind: Gap, Reason: "Ebbtide was away, and goes on"})
		e.run.dark = e.findDark()
		e.resumeDischarge()
	}
	if e.run != nil && !e.discharging() {
		e.surveyScope()
	}
	for i := range e.nodes {
		e.probeNode(i)
	}
	e.sweepAt = e.now.Add(sweepEvery)
	e.askForEstimate()
}

func (e *Engine) reload(ev Reload) {
	if e.run != nil {
		return
	}
	s := e.settings
	s.Estate, s.Policy, s.Supplies, s.Members = ev.Estate, ev.Policy, ev.Supplies, ev.Members
	old, oldNodes, trackers := e.estate, e.nodes, e.supplies
	e.supplies = nil
	e.load(s)
	clear(e.ops) // answers that are on their way belong to the estate before
	for i := range e.nodes {
		if was, ok := old.Index(e.estate.Node(i).ID); ok {
			o := &oldNodes[was]
			e.nodes[i] = node{seen: o.seen, seenAt: o.seenAt, up: o.up, down: o.down}
		}
	}
	decls := make(map[string]power.Supply, len(ev.Supplies))
	for _, s := range ev.Supplies {
		decls[s.ID] = s
	}
	for i := range e.supplies {
		for _, t := range trackers {
			if old.Node(t.node).ID == e.id(e.supplies[i].node) {
				t.tracker.Declare(decls[e.id(e.supplies[i].node)])
				e.supplies[i].tracker, e.supplies[i].state = t.tracker, t.state
			}
		}
	}
	e.started()
}

// ring serves the timers that are due.
func (e *Engine) ring() {
	for e.timers.Len() > 0 && !e.timers.Peek().at.After(e.now) {
		t := e.timers.Pop()
		if e.nodes[t.node].gen == t.gen && e.nodes[t.node].exec != nil {
			e.tick(t.node)
		}
	}
}

// setWake asks to be woken for the earliest timer, if that has changed.
func (e *Engine) setWake() {
	for e.timers.Len() > 0 && e.nodes[e.timers.Peek().node].gen != e.timers.Peek().gen {
		e.timers.Pop()
	}
	if e.timers.Len() == 0 {
		return
	}
	if at := e.timers.Peek().at; !at.Equal(e.wakeAt) {
		e.wakeAt = at
		e.out = append(e.out, Wake{At: at})
	}
}

func (e *Engine) id(i int) string { return e.estate.Node(i).ID }

// newOp numbers an operation on a node.
func (e *Engine) newOp(i int) Op {
	e.nextOp++
	e.ops[e.nextOp] = i
	return e.nextOp
}

// probeNode asks after a node, unless that is under way.
func (e *Engine) probeNode(i int) {
	n := &e.nodes[i]
	if n.probe != 0 || !probed(e.estate.Node(i)) {
		return
	}
	n.probe, n.asked = e.newOp(i), e.now
	e.out = append(e.out, Probe{Op: n.probe, Node: e.id(i), Within: probeWithin})
}

// probed tells whether a node has anything to ask after: a step of its own or health checks.
func probed(n *plan.Node) bool {
	return n.Kind != plan.Person && n.Kind != plan.Self && (n.Can != 0 || n.Healthy)
}

// record appends to the journal of the open outage.
func (e *Engine) record(r Record) {
	if e.run == nil {
		return
	}
	e.run.seq++
	if r.Kind == Intent || r.Kind == Proven || r.Kind == Failed || r.Kind == HeldBack {
		e.run.movedAt = e.now
	}
	r.Seq, r.At, r.Outage = e.run.seq, e.now, e.run.id
	e.out = append(e.out, Append{Record: r})
}

func (e *Engine) notify(urgent bool, text string) {
	e.out = append(e.out, Notify{Urgent: urgent, Text: text})
}
