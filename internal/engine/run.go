package engine

import (
	"slices"
	"strings"
	"time"

	"ebbtide/internal/plan"
)

// run is one outage, from mains lost to everything restored; or one drill, from its order.
type run struct {
	id       string
	seq      uint64
	goal     plan.Goal
	scope    []bool // nodes of the outage: only widens
	dark     []bool // nodes that would go dark as the supplies are now
	stages   []stage
	pressure pressure
	hold     bool
	aborted  bool
	noReturn bool
	snapped  bool // the snapshot is in the journal
	surveys  int  // nodes that the survey still waits for
	asking   []bool
	lookAt   time.Time
	progress progress
	looked   bool      // since the mains came back, or since all was brought back
	movedAt  time.Time // when a command was last given or a step ended
	told     string    // the last thing said about what it waits for
	drilled  bool      // it began as a drill
	drill    []bool    // the nodes that a drill takes; nil: none does, or the mains have failed since
	ends     string    // why a drill goes no further
	battery  *discharge
}

// stage is a triggered or waiting part of the down plan.
type stage struct {
	name     string
	supplies []int  // for which it was triggered
	due      []bool // the nodes that go dark with those supplies
	reason   string // of the last trigger
}

func (r *run) stage(name string) *stage {
	for i := range r.stages {
		if r.stages[i].name == name {
			return &r.stages[i]
		}
	}
	r.stages = append(r.stages, stage{name: name})
	return &r.stages[len(r.stages)-1]
}

// began gives a stage if it was triggered for a supply, nil otherwise. It changes nothing.
func (r *run) began(name string, supply int) *stage {
	if r == nil {
		return nil
	}
	at := slices.IndexFunc(r.stages, func(st stage) bool { return st.name == name && slices.Contains(st.supplies, supply) })
	if at < 0 {
		return nil
	}
	return &r.stages[at]
}

// due tells whether a node's stage has been triggered for supplies whose loss takes it down.
func (r *run) due(node int, name string) bool {
	if r.drill != nil {
		return r.drill[node]
	}
	st := r.stage(name)
	return st.due != nil && st.due[node]
}

// openRun begins an outage or a drill: what an earlier one noted of the nodes is over.
func (e *Engine) openRun() {
	id := e.now.UTC().Format("20060102T150405Z")
	if id <= e.lastOutage { // several in one second, or the clock was set back
		id = e.lastOutage + "b"
	}
	e.lastOutage = id
	e.run = &run{id: id, goal: plan.Down, scope: make([]bool, e.estate.Len())}
	for i := range e.nodes {
		n := &e.nodes[i]
		n.surveyed, n.snapped, n.wasOn, n.unasked, n.touched, n.stopped, n.accepted = false, false, false, false, false, false, false
		n.wasUp = n.settled == plan.On && e.now.Sub(n.seenAt) < trustLast
		n.cacheWas, n.settings, n.done, n.bad, n.open, n.silent, n.falls = plan.NotKnown, "", 0, 0, nil, time.Time{}, 0
		n.heldAt = time.Time{}
	}
}

// openOutage begins an outage with its first failing supply.
func (e *Engine) openOutage(s *supply) {
	e.openRun()
	name := e.id(s.node)
	e.rescope()
	e.record(Record{
		Kind: Opened, Supplies: []string{name}, Mode: e.settings.Mode, Members: e.settings.Members,
		Digest: e.estate.Plan(plan.Down, func(i int) bool { return e.run.scope[i] }).Digest(), Reason: e.tells(s), Replace: s.state.ReplaceBattery, Nodes: e.lastSeenOn(),
	})
	e.notify(true, "power failure: "+name+" is "+e.tells(s))
	e.surveyScope()
	e.askForEstimate()
}

// widen takes a further failing supply into the outage.
func (e *Engine) widen(s *supply) {
	name := e.id(s.node)
	e.leaveDrill()
	e.rescope()
	e.notify(true, "power failure: "+name+" is "+e.tells(s)+" too")
	if e.run.goal == plan.Up {
		e.turn(plan.Down, name+" fails during the power-up")
	}
	e.record(Record{Kind: Mains, Cause: Failing, Supplies: []string{name}, Reason: e.tells(s), Replace: s.state.ReplaceBattery})
	e.surveyScope()
}

// rescope widens the outage's scope to all that goes dark with the supplies that failed in it.
func (e *Engine) rescope() {
	scope := e.estate.Scope(func(i int) bool { s := e.supplyAt(i); return s != nil && s.failed })
	for i := range scope {
		e.run.scope[i] = e.run.scope[i] || scope[i]
	}
	e.run.dark = e.findDark()
}

func (e *Engine) failedSupplies() []string {
	var ids []string
	for i := range e.supplies {
		if e.supplies[i].failed {
			ids = append(ids, e.id(e.supplies[i].node))
		}
	}
	return ids
}

// turn changes the direction. What is in flight settles first; then each node goes the new way.
func (e *Engine) turn(goal plan.Goal, reason string) {
	r := e.run
	r.goal, r.pressure, r.told, r.looked = goal, noPressure, "", false
	for i := range e.nodes {
		e.nodes[i].done, e.nodes[i].bad, e.nodes[i].falls = 0, 0, 0
	}
	r.noReturn = false
	e.uncommit()
	r.dark = e.findDark()
	if goal == plan.Down {
		r.stages = nil
		for i := range e.supplies {
			e.supplies[i].gate = false
		}
	} else {
		r.aborted = false
	}
	e.record(Record{Kind: Turned, Goal: goal, Reason: reason, Supplies: e.backSupplies(), Numbers: e.turnNumbers()})
	e.notify(!e.inDrill(), "now going "+string(goal)+": "+reason)
	if goal == plan.Up {
		e.lookAnew()
		return
	}
	e.rebuild()
	for i := range e.nodes {
		if x := e.nodes[i].exec; x != nil && x.phase == inLine {
			e.guard(i) // there will be no place for it any more
		}
	}
}

// backSupplies lists the supplies of the outage whose mains are back.
func (e *Engine) backSupplies() []string {
	var ids []string
	for i := range e.supplies {
		if s := &e.supplies[i]; s.failed && !s.out {
			ids = append(ids, e.id(s.node))
		}
	}
	return ids
}

func (e *Engine) turnNumbers() *Numbers {
	for i := range e.supplies {
		if e.supplies[i].failed {
			return e.numbers(&e.supplies[i])
		}
	}
	return nil
}

// advance moves the outage on after each event: starts what may start, turns, or closes.
func (e *Engine) advance() {
	if e.run == nil || !e.run.snapped || e.run.surveys > 0 {
		return
	}
	e.dispatch()
	if e.run.goal == plan.Down {
		e.maybeTurnUp()
	}
	if e.run != nil && e.run.goal == plan.Up && e.run.surveys == 0 {
		e.dispatch()
		e.maybeClose()
	}
}

// maybeTurnUp turns the outage, or ends it if nothing was done, once the mains are back and what must be finished is.
func (e *Engine) maybeTurnUp() {
	r := e.run
	if r.progress.active > 0 {
		return
	}
	if e.inDrill() {
		e.maybeEndDrill()
		return
	}
	touched := false
	for i := range e.nodes {
		n := &e.nodes[i]
		touched = touched || n.touched || r.looked && r.scope[i] && n.wasOn && !n.up
	}
	allBack, anyGate, anyOut := true, false, false
	for i := range e.supplies {
		s := &e.supplies[i]
		if !s.failed {
			continue
		}
		anyOut = anyOut || s.out
		if n := &e.nodes[s.node]; n.down && n.seen.State == plan.Stopping {
			e.say("waiting for the output of " + e.id(s.node) + " to go off: its cut is armed")
			return
		}
		if s.out && !e.nodes[s.node].done.Has(plan.Cut) {
			allBack = false
		}
		anyGate = anyGate || s.gate && e.live(s)
	}
	switch {
	case !allBack:
		e.sayWhoIsSilent()
	case !touched && anyOut:
	case !touched && !r.looked:
		r.looked = true
		e.lookAnew()
	case !touched:
		e.closeOutage("power is back; nothing had to be done")
	case r.noReturn && !e.finishedDown() && (!anyGate || !e.stalled()):
		e.say("the point of no return is passed, the plan is finished before anything comes back: " + e.stillToDo())
	case !anyGate:
		e.say("waiting for the recharge gate: " + e.settings.Policy.Restore.String())
	case e.journalLost:
		e.say("waiting for the journal: no power-up without it")
	default:
		e.turn(plan.Up, "mains are back and the gate is open")
	}
}

// sayWhoIsSilent tells of a supply that was failing when it fell silent: nothing can come back before it speaks.
func (e *Engine) sayWhoIsSilent() {
	for i := range e.supplies {
		if s := &e.supplies[i]; s.out && s.state.SilentFor >= silentFor {
			e.say("waiting to hear from " + e.id(s.node) + ", which fell silent when it was " + s.state.Mains.String())
			return
		}
	}
}

// finishedDown tells whether every step on what goes dark with the supplies to be cycled has settled.
func (e *Engine) finishedDown() bool {
	pr := &e.run.progress
	for i, st := range pr.status {
		s := &pr.plan.Steps[i]
		if st == settled || s.Milestone || !e.run.dark[s.Node] {
			continue
		}
		if stays := e.estate.Node(s.Node).Kind == plan.Self && !e.returns(s.Node); !stays {
			return false
		}
	}
	return true
}

// stillToDo names the first steps of the present direction that have not ended, and how they stand.
func (e *Engine) stillToDo() string {
	pr := &e.run.progress
	var names []string
	for i, st := range pr.status {
		s := &pr.plan.Steps[i]
		if st == settled || s.Milestone || !e.run.dark[s.Node] {
			continue
		}
		if len(names) == 4 {
			names = append(names, "…")
			break
		}
		names = append(names, s.Verb.String()+" "+s.Name+" is "+st.String())
	}
	return strings.Join(names, ", ")
}

// stalled tells whether nothing has moved for a while although the plan is not finished: what is left waits for a thing
// that is not proven off. With mains back for good that is no reason to keep the rest down.
func (e *Engine) stalled() bool { return e.now.Sub(e.run.movedAt) >= stalledFor }

// say notifies of what the outage waits for, once.
func (e *Engine) say(what string) {
	if e.run.told != what {
		e.run.told = what
		e.notify(false, what)
	}
}

// maybeClose ends the outage when everything that was on is on, or reported as failed.
func (e *Engine) maybeClose() {
	r := e.run
	if r.progress.active > 0 || r.hold {
		return
	}
	var failed []NodeState
	stuck := make([]bool, len(r.progress.status)) // can't start any more: something before it failed
	for i, st := range r.progress.status {
		step := &e.up.Steps[i]
		switch st {
		case queued, parked, active:
			e.say("waiting for power: not everything that was on can start yet")
			return
		case settled:
			if step.Milestone || !e.nodes[step.Node].bad.Has(step.Verb) {
				continue
			}
		case blocked:
			stuck[i] = true
		case waiting:
			stuck[i] = slices.ContainsFunc(step.After, func(j int) bool { return stuck[j] })
		}
		if !step.Milestone && !slices.ContainsFunc(failed, func(n NodeState) bool { return n.Node == step.Name }) {
			failed = append(failed, NodeState{Node: step.Name, State: e.nodes[step.Node].seen.State})
		}
	}
	for i := range e.supplies {
		if s := &e.supplies[i]; s.failed && s.out {
			e.say("waiting for " + e.id(s.node) + ": " + e.tells(s))
			return
		}
	}
	if !r.looked {
		r.looked = true // once more: something may have lost its power meanwhile
		e.lookAnew()
		return
	}
	var reasons []string
	if len(failed) > 0 {
		reasons = append(reasons, "not brought back: "+named(failed))
	}
	if doubtful := e.doubtful(); len(doubtful) > 0 {
		reasons = append(reasons, "not seen before the outage, and not on now: "+named(doubtful))
		failed = append(failed, doubtful...)
	}
	if len(failed) == 0 {
		reasons = append(reasons, "everything that was on is on again")
	}
	e.closeOutage(strings.Join(reasons, "; "), failed...)
}

// doubtful lists what could not be asked when the outage began and was never seen on since: nobody knows whether it was on,
// and a person is to look. What failed on the way up is reported for that.
func (e *Engine) doubtful() []NodeState {
	var doubtful []NodeState
	for i := range e.nodes {
		n, decl := &e.nodes[i], e.estate.Node(i)
		if e.run.scope[i] && n.unasked && !n.up && n.bad == 0 && decl.Kind != plan.Passive && decl.Kind != plan.Supply {
			doubtful = append(doubtful, NodeState{Node: decl.ID, State: n.seen.State})
		}
	}
	return doubtful
}

func named(nodes []NodeState) string {
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Node
	}
	return strings.Join(names, ", ")
}

func (e *Engine) closeOutage(reason string, notRestored ...NodeState) {
	e.record(Record{Kind: Closed, Reason: reason, Nodes: notRestored})
	e.notify(len(notRestored) > 0, "the "+e.run.word()+" is over: "+reason)
	e.run = nil
	for i := range e.supplies {
		e.supplies[i].failed, e.supplies[i].gate, e.supplies[i].cycled = false, false, false
	}
	for i := range e.nodes {
		e.nodes[i].exec, e.nodes[i].open = nil, nil
		e.nodes[i].gen++
	}
	e.sweepAt = e.now.Add(sweepEvery)
	e.askForEstimate()
}
