package engine

import (
	"ebbtide/internal/plan"
)

// status is where a step stands in the present direction.
type status uint8

const (
	waiting status = iota // for steps before it
	queued                // with the dispatcher: may start as soon as the limits allow
	parked                // its turn, but something else does not allow it: a stage, the mains, a hold, the gate
	active                // being carried out
	blocked               // what it waits for ended without proof
	settled               // ended
)

func (s status) String() string {
	return [...]string{"to be done after others", "next", "held back", "under way", "blocked by what was not proven", "done"}[s]
}

// verdict is how a step ended, as far as those after it are concerned; the worst counts.
type verdict uint8

const (
	proven   verdict = iota
	unproven         // a VM that was given up: its host may take it along, by a recorded decision
	lost             // anything else that was given up
)

// progress is which steps of the present direction may start. It is rebuilt from what is known of the nodes whenever
// more changes than one step.
type progress struct {
	plan   *plan.Plan
	disp   *plan.Dispatcher
	status []status
	left   []int     // steps before it that have not settled
	worst  []verdict // of those that have
	parked []int
	active int // nodes with a step under way, of either direction
}

// rebuild sets the progress from what is known of the nodes.
func (e *Engine) rebuild() {
	r := e.run
	p := e.down
	if r.goal == plan.Up {
		p = e.up
	}
	n := len(p.Steps)
	r.progress = progress{plan: p, disp: p.Dispatcher(), status: make([]status, n), left: make([]int, n), worst: make([]verdict, n)}
	pr := &r.progress
	for i := range e.nodes {
		if x := e.nodes[i].exec; x != nil {
			pr.active++
			if !x.away {
				pr.disp.Take(i)
			}
		}
	}
	cut := e.cutScope()
	for i := range p.Steps {
		pr.left[i] = len(p.Steps[i].After)
	}
	for i := range p.Steps { // in order: what a step waits for has been looked at
		s := &p.Steps[i]
		if s.Milestone {
			if pr.left[i] == 0 {
				e.settleStep(i, pr.worst[i], false)
			}
			continue
		}
		if x := e.nodes[s.Node].exec; x != nil && x.goal == r.goal && x.verb == s.Verb {
			pr.status[i] = active
			if x.phase == inLine {
				e.enqueue(i)
			}
		} else if v, ok := e.satisfied(s, cut); ok {
			if s.Verb == plan.Start {
				e.cameBack(s.Node)
			}
			e.settleStep(i, v, false)
		} else if pr.left[i] == 0 {
			e.offer(i)
		}
	}
}

// cameBack records that a node that was stopped in this outage is up without a command, as one is that starts with its
// power: it is shown to come back as much as one that was started.
func (e *Engine) cameBack(i int) {
	n, verb, state := &e.nodes[i], plan.Start, e.nodes[i].seen.State
	if !n.stopped || !n.wasOn || !n.up || n.down || n.done.Has(verb) || !probed(e.estate.Node(i)) {
		return
	}
	n.did(verb)
	e.record(Record{Kind: Proven, Node: e.id(i), Verb: &verb, State: &state, Reason: "it came back by itself", Cause: Already})
}

// cutScope is what is dark because its supplies were cut and are not back: it needs no stop.
func (e *Engine) cutScope() []bool {
	return e.estate.Scope(func(i int) bool { return e.nodes[i].done.Has(plan.Cut) && e.nodes[i].down })
}

// satisfied tells whether nothing is left to do for a step that is no milestone, and with what verdict.
func (e *Engine) satisfied(s *plan.Step, cut []bool) (verdict, bool) {
	n, node := &e.nodes[s.Node], e.estate.Node(s.Node)
	switch {
	case !e.run.scope[s.Node]:
		return proven, true
	case n.done.Has(s.Verb):
		return proven, true
	case n.bad.Has(s.Verb) && (!n.down || e.run.goal != plan.Down):
		return verdictOf(node, s.Verb), true
	case e.run.goal == plan.Up && node.Kind == plan.Supply:
		return proven, true // whether a feed is back is asked when its load is to start
	case s.Verb == plan.Start && node.Kind == plan.Person:
		return proven, !n.touched
	case s.Verb == plan.Start:
		return proven, !n.wasOn && (node.Kind != plan.Passive || !node.Healthy) || n.up && !n.down
	case s.Verb == plan.Unprotect:
		blindly := n.cacheWas == plan.NotKnown && n.touched && n.seen.Protected == plan.Yes // when it began; it is put back to what is usual
		return proven, n.cacheWas != plan.No && !blindly
	case s.Verb == plan.Cut:
		return proven, false
	default: // protect, flush, stop
		// Our own machine goes off after the cut is armed, and before it comes.
		return proven, n.down || cut[s.Node] && node.Kind != plan.Self
	}
}

// verdictOf says what an unproven end of a step means for the steps after it. A cache that can't be protected, a person's
// step that was passed over, and an outlet that stays on keep nothing else from going on.
func verdictOf(n *plan.Node, verb plan.Verb) verdict {
	switch {
	case verb == plan.Protect, verb == plan.Unprotect, n.Kind == plan.Person, n.Kind == plan.Outlet && verb == plan.Stop:
		return proven
	case n.Kind == plan.VM && verb != plan.Start:
		return unproven
	default:
		return lost
	}
}

// settleStep ends a step and lets those after it go on. With cascade, steps that become free are offered at once; a
// rebuild comes to them by itself.
func (e *Engine) settleStep(step int, v verdict, cascade bool) {
	pr := &e.run.progress
	pr.status[step] = settled
	for _, next := range pr.plan.Next(step) {
		pr.left[next]--
		pr.worst[next] = max(pr.worst[next], v)
		if cascade && pr.left[next] == 0 && pr.status[next] == waiting {
			e.offer(next)
		}
	}
}

// offer takes up a step whose predecessors have all settled.
func (e *Engine) offer(step int) {
	pr := &e.run.progress
	s := &pr.plan.Steps[step]
	switch {
	case s.Milestone:
		e.settleStep(step, pr.worst[step], true)
	case !e.tolerates(s, pr.worst[step]):
		pr.status[step] = blocked
		e.notify(true, s.Verb.String()+" "+s.Name+" waits: something that comes before it was not proven; a person is needed unless it settles by itself")
	default:
		pr.status[step] = queued
		e.enqueue(step)
	}
}

// tolerates tells whether a step may go on although one before it ended without proof. Storage and everything else that
// is strict never does; a VM may, and a host takes its VMs along.
func (e *Engine) tolerates(s *plan.Step, worst verdict) bool {
	kind := e.estate.Node(s.Node).Kind
	switch {
	case worst == proven:
		return true
	case s.Verb != plan.Stop:
		return false
	case kind == plan.VM:
		return true
	case kind == plan.Host:
		return worst == unproven
	default:
		return false
	}
}

// dispatch starts every step that may start now.
func (e *Engine) dispatch() {
	pr := &e.run.progress
	for s := pr.disp.Next(); s >= 0; s = pr.disp.Next() {
		step := &pr.plan.Steps[s]
		if x := e.nodes[step.Node].exec; pr.status[s] == active && x != nil && x.phase == inLine {
			x.away = false
			e.guard(step.Node)
			continue
		}
		if pr.status[s] != queued { // was set aside while it stood in the queue
			pr.disp.Release(step.Node)
			continue
		}
		if !e.allowed(step) {
			pr.disp.Release(step.Node)
			pr.status[s] = parked
			pr.parked = append(pr.parked, s)
			continue
		}
		pr.status[s] = active
		pr.active++
		e.begin(step)
	}
}

// unpark offers again all that was parked, after something changed that may allow it.
func (e *Engine) unpark() {
	if e.run == nil {
		return
	}
	pr := &e.run.progress
	for _, s := range pr.parked {
		if pr.status[s] == parked {
			pr.status[s] = queued
			e.enqueue(s)
		}
	}
	pr.parked = pr.parked[:0]
}

// allowed tells whether a step may start now, apart from order and limits.
func (e *Engine) allowed(s *plan.Step) bool {
	r, n := e.run, &e.nodes[s.Node]
	if r.hold || n.exec != nil || !n.surveyed || e.unheard() || e.now.Sub(n.heldAt) < firstRetry {
		return false
	}
	if r.goal == plan.Up {
		return !e.journalLost && e.fed(s.Node) && e.poweredDeps(s.Node)
	}
	if r.aborted || !e.mayDrill() || !r.due(s.Node, s.Stage) || s.Verb == plan.Cut && (!e.darkens(s.Node) || e.supplyAt(s.Node).harmed) {
		return false // an output that is on line would come back at once, into the heat or the brown-out
	}
	return r.dark[s.Node]
}

// poweredDeps tells whether some supply of the outage is back and charged: what has no feed of its own starts only then.
func (e *Engine) poweredDeps(i int) bool {
	if len(e.estate.Feeds(i)) > 0 {
		return true
	}
	for _, dep := range e.estate.Needs(i) {
		if !e.fed(dep) {
			return false
		}
	}
	return true
}
