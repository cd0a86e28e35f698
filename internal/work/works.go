// Package work carries one step on each node: from the evidence that its command may be given, through the command and its proof, to what
// follows when it has none. It takes up the steps whose turn has come, commands through the permit, writes down what comes of it, and
// decides neither when an outage begins nor when it is over: that is the engine's.
//
// step.go carries a step, guard.go collects evidence before its command and pass.go says whether that is enough, ladder.go is what follows
// when it has no proof, haste.go when there is no time, and rest.go says what a node waits for meanwhile; cycle.go takes a supply through
// its power cycle, question.go asks and epoch.go ends what was believed, resume.go takes up what was under way before a crash.
package work

import (
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/english"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Works are the steps under way on an estate. It is not safe for concurrent use.
type Works struct {
	foresight.Foresight
	nodes []node
	haste
	desk
}

// node is what is known of a node beside what is on record.
type node struct {
	question question
	work     *work // the step under way, nil: none is
	timer    int   // numbers its timers: an older one is void
	graceful bool  // it is being stopped without force
}

// haste is who is to be hurried.
type haste struct {
	HurryDue bool
	graceful []int // nodes that are being stopped without force, in the order in which that began
}

// desk is what is under way, and what comes of an event.
type desk struct {
	Out       []effect.Effect
	NextOp    ledger.Op         // the number of the newest operation
	ops       map[ledger.Op]int // operations under way: their node
	Working   int               // nodes that have a step under way
	DrillEnds string            // why a drill goes no further down, though nobody has ordered its end
	Shifted   bool              // the standing of a supply has changed in this event
	refused   string            // the last record that was refused
	strays    []*work           // steps that have gone a way that their table does not have
	clock
}

// clock is what is due when.
type clock struct {
	NextLook []time.Time // per node: when it is looked at again, where it was given up
	MovedAt  time.Time   // when a command was last given, or is to be given once more, a step ended or an operator gave his word
	timers   plan.Queue[timer]
	wakeAt   time.Time
}

// Timings of the work's own that are no policy.
const (
	cutFor       = 10                     // times its time is a cut told with the mains there, and are people told
	shownWithin  = 2 * belief.ProofStands // for a VM to show that it was started
	AcceptWithin = 30 * time.Second       // for a system to accept a command
	FirstLook    = 500 * time.Millisecond // after an accepted command; then growing to
	SlowestLook  = 5 * time.Second
	probeWithin  = 10 * time.Second // for a look to be answered
	slowestRetry = 15 * time.Second
	guardRounds  = 3               // so often they are asked
	lastRound    = guardRounds + 1 // and once more, those that answered
	roundStands  = 5 * time.Second // for so long an answer of the last round stands while others are asked
)

// New has no estate yet: see Load.
func New() Works {
	return Works{desk: desk{ops: map[ledger.Op]int{}}}
}

// Load takes an estate on which no outage is open. Answers that are on their way belong to the one before.
func (e *Works) Load(f foresight.Foresight) {
	n := len(f.Beliefs)
	e.Foresight = f
	e.nodes, e.NextLook = make([]node, n), make([]time.Time, n)
	e.timers, e.wakeAt = plan.NewQueue(timer.before), time.Time{} // they name nodes by their place
	clear(e.ops)
}

// Begin begins an event.
func (e *Works) Begin(now time.Time) { e.Now, e.Out = now, nil }

// Doing is what is being done on a node; "": nothing is.
func (e *Works) Doing(i int) string {
	if w := e.nodes[i].work; w != nil {
		return w.rung.String()
	}
	return ""
}

// Phase is how far the step under way on a node has come; "": none is.
func (e *Works) Phase(i int) string {
	if w := e.nodes[i].work; w != nil {
		return w.phase.String()
	}
	return ""
}

// AsksAPerson reports whether a person was asked to do what is to be done on a node.
func (e *Works) AsksAPerson(i int) bool {
	w := e.nodes[i].work
	return w != nil && w.phase == asking
}

// AskedFor says what a person was asked to do on a node, and until when.
func (e *Works) AskedFor(i int) string {
	w := e.nodes[i].work
	ends := "skipped in " + english.Span(max(0, w.deadline.Sub(e.Now)).Truncate(time.Second))
	if e.Observes {
		return "someone would be asked now to " + handed(w.verb, "do", "undo") + " " + e.ID(i) + " by hand; nothing needs to be done, and it would be " + ends
	}
	return "waiting for someone to " + handed(w.verb, "do", "undo") + " " + e.ID(i) + " by hand and then run `ebbtide confirm " + e.ID(i) + "`; " + ends
}

// Underway is the step down whose command has reached a node; false: there is none.
func (e *Works) Underway(i int) (effect.Underway, bool) {
	w := e.nodes[i].work
	if w == nil || e.Course.Steps[w.step].Goal != plan.Down || w.since.IsZero() || !e.Given(i) {
		return effect.Underway{}, false
	}
	return effect.Underway{Node: e.ID(i), Verb: w.rung, For: max(0, e.Now.Sub(w.since))}, true
}

// Steer follows a change of what is wanted of a node for a step, if it is under way.
func (e *Works) Steer(id int) {
	if i := e.Course.Steps[id].Node; e.Under[i] == id {
		e.steer(i)
	}
}

// VoidDown holds back a step down that is under way on a node, unless it is a person's.
func (e *Works) VoidDown(i int, why string) {
	if w := e.nodes[i].work; w != nil && w.phase != asking && e.Course.Steps[w.step].Goal == plan.Down {
		e.HoldBack(i, why)
	}
}

// voidStart holds back the start of a machine from before a restart where its power was off since, or may have been.
func (e *Works) voidStart(i int) {
	decl := e.Graph.Node(i)
	machine := decl.Can.Has(plan.Start) && decl.Kind != plan.VM && decl.Kind != plan.Manual
	if w := e.nodes[i].work; machine && w != nil && w.verb == plan.Start && w.resumed && e.Given(i) {
		e.HoldBack(i, "its power was off since it was commanded, or may have been")
	}
}

// Drop forgets the step under way on a node, since the outage is over.
func (e *Works) Drop(i int) {
	n := &e.nodes[i]
	if n.work != nil && n.work.placed {
		e.Course.Slots.Release(i)
	}
	e.count(i, false)
	n.work, e.Under[i] = nil, -1
	n.question.guards = nil
	n.timer++
}

// RecallStray holds back one of the steps that have gone a way that their table does not have; false: there is none.
func (e *Works) RecallStray() bool {
	if len(e.strays) == 0 || e.Ledger.Outage == nil {
		e.strays = nil
		return false
	}
	w := e.strays[0]
	e.strays = e.strays[1:]
	if i := e.Course.Steps[w.step].Node; e.nodes[i].work == w {
		e.forbid(i, w.stray)
	}
	return true
}

// Forks reports whether another step is under way on a node than by what is wanted of it: that is a fault of ours.
func (e *Works) Forks(i int) bool {
	w := e.nodes[i].work
	return w == nil && e.Under[i] >= 0 || w != nil && e.Under[i] != w.step
}
