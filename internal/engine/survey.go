package engine

import (
	"ebbtide/internal/plan"
)

// surveyScope asks after every node in scope that the survey has not covered. Nothing is commanded on a node before it
// is in a durable snapshot.
func (e *Engine) surveyScope() {
	r := e.run
	if r.asking == nil {
		r.asking = make([]bool, len(e.nodes))
	}
	for i := range e.nodes {
		if !r.scope[i] || e.nodes[i].surveyed {
			continue
		}
		if !probed(e.estate.Node(i)) {
			e.nodes[i].surveyed, e.nodes[i].snapped = true, true
			continue
		}
		e.askInSurvey(i)
	}
	for _, i := range e.outsiders() {
		e.askInSurvey(i)
	}
	e.endSurvey()
}

func (e *Engine) askInSurvey(i int) {
	r := e.run
	if r.asking[i] || !probed(e.estate.Node(i)) {
		return
	}
	e.probeNode(i)
	r.asking[i] = true
	r.surveys++
}

// surveyedNode notes that a node's probe has ended.
func (e *Engine) surveyedNode(i int) {
	r := e.run
	if r == nil || r.asking == nil || !r.asking[i] {
		return
	}
	r.asking[i] = false
	r.surveys--
	e.endSurvey()
}

// endSurvey makes the snapshot when all answers are in: what was on is what comes back. The first snapshot of a node
// counts until the outage is over.
func (e *Engine) endSurvey() {
	r := e.run
	if r.surveys > 0 {
		return
	}
	e.settleCuts()
	lost := e.lostOutput()
	var fresh []NodeState
	for i := range e.nodes {
		n := &e.nodes[i]
		if !r.scope[i] || n.surveyed {
			continue
		}
		n.surveyed = true
		if on := n.seen.State == plan.On || n.seen.State == plan.Starting; r.goal == plan.Down && on && n.done.Has(plan.Stop) {
			e.reopen(i) // it came up again while nobody looked
		}
		if r.goal == plan.Up && n.done.Has(plan.Start) && !n.up {
			e.fellAgain(i) // or went down
		}
		if n.snapped {
			continue // what was on before a crash counts, not what is on after it
		}
		state := n.seen.State
		unasked := state == plan.Unknown || state == plan.Unreachable
		if n.wasUp && (unasked || state == plan.Off && lost[i]) {
			state = plan.On // it can't be asked now, or dropped with its supply; it was on when last seen
		}
		fresh = append(fresh, NodeState{Node: e.id(i), State: state, Protected: n.seen.Protected, Settings: n.seen.Settings})
		n.snapshot(&fresh[len(fresh)-1])
	}
	switch {
	case !r.snapped:
		r.snapped = true
		e.record(Record{Kind: Snapshot, Nodes: fresh})
	case len(fresh) > 0:
		e.record(Record{Kind: Widened, Supplies: e.failedSupplies(), Nodes: fresh})
	}
	resumed := e.resumeIntents()
	e.rebuild()
	for _, i := range resumed {
		if e.nodes[i].exec != nil {
			e.judge(i, e.nodes[i].seen)
		}
	}
	e.heedOutsiders()
}

// snapshot keeps what the snapshot says of a node.
func (n *node) snapshot(ns *NodeState) {
	n.snapped, n.wasOn = true, ns.State == plan.On || ns.State == plan.Starting
	n.unasked = ns.State == plan.Unknown || ns.State == plan.Unreachable
	n.cacheWas, n.settings = ns.Protected, ns.Settings
}

// foundOn takes a node into the snapshot that could not be asked when that was made, and answers before it has been
// stopped: what is on now was on then, and is brought back.
func (e *Engine) foundOn(i int) {
	n, r := &e.nodes[i], e.run
	if r == nil || r.goal != plan.Down || !n.unasked || n.stopped || n.seen.State != plan.On && n.seen.State != plan.Starting {
		return
	}
	late := NodeState{Node: e.id(i), State: n.seen.State, Protected: n.seen.Protected, Settings: n.seen.Settings}
	if n.touched && late.Protected == plan.Yes { // our own doing, it may be
		late.Protected, late.Settings = plan.NotKnown, ""
	}
	n.snapshot(&late)
	e.record(Record{Kind: Widened, Nodes: []NodeState{late}})
}

// lastSeenOn lists what was seen on not long ago, over the whole estate: what drops unseen, under a controller that drops
// with it, is brought back as well.
func (e *Engine) lastSeenOn() []NodeState {
	var on []NodeState
	for i := range e.nodes {
		if e.nodes[i].wasUp {
			on = append(on, NodeState{Node: e.id(i), State: plan.On})
		}
	}
	return on
}

// lostOutput tells of each node whether it goes dark with the supplies whose output is off.
func (e *Engine) lostOutput() []bool {
	return e.estate.Scope(func(s int) bool {
		return e.nodes[s].seen.State == plan.Off || e.supplyAt(s) != nil && e.supplyAt(s).state.OutputOff
	})
}

// lookAnew asks after everything in scope: power may have been lost under what was never stopped, and what was stopped
// may have come up by itself.
func (e *Engine) lookAnew() {
	for i := range e.nodes {
		if e.run.scope[i] {
			n := &e.nodes[i]
			n.surveyed, n.up, n.settled = false, false, plan.Unknown // each is asked twice: much may have happened unseen
		}
	}
	e.surveyScope()
}
