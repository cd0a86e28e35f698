package plan

import (
	"slices"
)

// Stage names a part of a down plan that has its own trigger: one that sheds, as the policy names it, or one of the two that each has.
type Stage string

// The stages that each down plan has.
const (
	ProtectStage  Stage = "protect"  // first, and reversible
	ShutdownStage Stage = "shutdown" // all that no other stage takes
)

// Step is one action on one node. A milestone does nothing: it settles when all that it comes after has settled, and
// stands for a node that needs no action or for "all caches are protected".
type Step struct {
	Node      int    // position in the estate, -1 for a milestone that is about no node
	Name      string // the node's id, or what a milestone marks
	Verb      Verb   // of a milestone: the verb that it stands in for
	Milestone bool
	Stage     Stage // of a down plan: what triggers it
	After     []int // steps of the same plan that must settle first, ascending
	Feeds     []int // of an up plan: the returns of the supplies that feed the node; any one of them is enough
	Times     Times
}

// Plan is the immutable list of steps for a goal, each after all that it waits for.
type Plan struct {
	Goal   Goal
	Steps  []Step
	estate *Estate
	next   [][]int // per step: the steps that come after it (Feeds left out)
	find   []int   // per node and verb: its step, -1 if it has none
	rank   []int   // per step: lower is dispatched sooner
}

// Estate gives the graph that the plan was made from.
func (p *Plan) Estate() *Estate { return p.estate }

// Next lists the steps that come after a step. The slice is not to be changed.
func (p *Plan) Next(step int) []int { return p.next[step] }

// Find gives the step of a node for a verb (Stop for what a milestone of a down plan stands in for).
func (p *Plan) Find(node int, verb Verb) (int, bool) {
	s := p.find[node*int(verbs)+int(verb)]
	return s, s >= 0
}

// Rank gives the step's place in the order of urgency: of those that are ready, the lowest is handed out first.
func (p *Plan) Rank(step int) int { return p.rank[step] }

func (p *Plan) index() {
	p.next = make([][]int, len(p.Steps))
	p.find = make([]int, p.estate.Len()*int(verbs))
	for i := range p.find {
		p.find[i] = -1
	}
	for i := range p.Steps {
		for _, j := range p.Steps[i].After {
			p.next[j] = append(p.next[j], i)
		}
		if n := p.Steps[i].Node; n >= 0 {
			p.find[n*int(verbs)+int(p.Steps[i].Verb)] = i
		}
	}
}

// Plan makes the steps that take the nodes for which in holds (nil: all) to the goal.
//
// Down: caches are protected before anything is stopped, and clusters before what uses them is in the shutdown stage; a node is flushed and
// stopped after all its users; a supply's output is cut after all that it feeds; what the machine of Ebbtide itself needs is cut when all
// else is down, and that machine goes last. Up: the supplies return, and each node starts after all that it needs.
func (e *Estate) Plan(goal Goal, in func(node int) bool) *Plan {
	switch {
	case in == nil && goal == Down && e.down != nil:
		return e.down
	case in == nil && goal == Up && e.up != nil:
		return e.up
	}
	b := builder{plan: &Plan{Goal: goal, estate: e}, estate: e, in: in, last: make([]int, e.Len())}
	if in == nil {
		b.in = func(int) bool { return true }
	}
	if goal == Down {
		b.down()
	} else {
		b.up()
	}
	b.order()
	b.plan.index()
	b.plan.rankByTail()
	if in == nil { // what the engine works by
		b.plan.improve()
	}
	return b.plan
}

// Prepare makes the plans of the whole estate once and for all. A simulation asks for them with each life of each engine.
// It is called by who made the estate, before anybody else has it.
func (e *Estate) Prepare() {
	e.down, e.up = e.Plan(Down, nil), e.Plan(Up, nil)
}

// builder gathers steps in any order; order sorts them.
type builder struct {
	plan     *Plan
	estate   *Estate
	in       func(int) bool
	protects map[int][]int // per node: the steps that suspend the clusters that it uses
	last     []int         // per node: the step after which it counts as down (up), -1 if it has none in this plan
}

func (b *builder) add(s Step) int {
	b.plan.Steps = append(b.plan.Steps, s)
	return len(b.plan.Steps) - 1
}

func (b *builder) step(node int, verb Verb, stage Stage, after ...int) int {
	n := b.estate.Node(node)
	return b.add(Step{Node: node, Name: n.ID, Verb: verb, Stage: stage, After: after, Times: n.Times[verb]})
}

func (b *builder) down() {
	e := b.estate
	protected := -1
	var protects []int
	for i := range e.Len() {
		if b.in(i) && e.Node(i).Can.Has(Protect) && e.Node(i).Kind != Cluster {
			protects = append(protects, b.step(i, Protect, ProtectStage))
		}
	}
	if len(protects) > 0 {
		protected = b.add(Step{Node: -1, Name: "caches protected", Verb: Protect, Milestone: true, Stage: ProtectStage, After: slices.Clone(protects)})
	}
	b.suspendClusters()
	self, lifeline := b.lifeline()
	var deferred []int // supplies that Ebbtide's own machine lives on: cut when all else is down
	var all []int
	for i := e.Len() - 1; i >= 0; i-- { // users before what they use
		b.last[i] = -1
		if !b.in(i) || i == self {
			continue
		}
		if lifeline[i] && e.Node(i).Kind == Supply {
			deferred = append(deferred, i)
			continue
		}
		b.last[i] = b.takeDown(i, b.lastOf(e.Users(i), self), protected, lifeline[i])
		all = append(all, b.last[i])
	}
	if self < 0 {
		return
	}
	rest := b.add(Step{Node: -1, Name: "all else is down", Verb: Stop, Milestone: true, Stage: ShutdownStage, After: all})
	armed := []int{rest}
	slices.Reverse(deferred)
	for _, i := range deferred {
		if e.Node(i).Can.Has(Cut) {
			armed = append(armed, b.step(i, Cut, ShutdownStage, rest))
		}
	}
	if b.in(self) && e.Node(self).Can.Has(Stop) {
		b.last[self] = b.step(self, Stop, ShutdownStage, armed...)
	}
}

// suspendClusters adds the steps that set clusters aside for the shutdown. What goes earlier, in a stage of its own, is stopped one
// by one, and a cluster leaves alone what it was told to stop.
func (b *builder) suspendClusters() {
	e := b.estate
	b.protects = map[int][]int{}
	for c := range e.Len() {
		if !b.in(c) || e.Node(c).Kind != Cluster || !e.Node(c).Can.Has(Protect) {
			continue
		}
		step := b.step(c, Protect, ShutdownStage)
		b.protects[c] = append(b.protects[c], step) // what it needs itself, a vCenter, stays until it is done
		for _, i := range e.Dependents(c) {
			if e.Node(i).Stage == ShutdownStage {
				b.protects[i] = append(b.protects[i], step)
			}
		}
	}
}

// lifeline finds Ebbtide's own machine and all that it needs. self is -1 where it is not part of the estate.
func (b *builder) lifeline() (self int, needed []bool) {
	e := b.estate
	needed = make([]bool, e.Len())
	self = -1
	for i := e.Len() - 1; i >= 0; i-- {
		if e.Node(i).Kind == Self {
			self, needed[i] = i, true
		}
		if needed[i] {
			for _, j := range e.Needs(i) {
				needed[j] = true
			}
		}
	}
	return self, needed
}

// takeDown adds the steps of one node and returns the one after which it is down. What Ebbtide's own machine stands on
// is flushed but not stopped, as nobody would be left to prove it: it drops with the output, after that machine.
func (b *builder) takeDown(i int, users []int, protected int, lifeline bool) int {
	n := b.estate.Node(i)
	if n.Kind == Supply {
		if n.Can.Has(Cut) {
			return b.step(i, Cut, ShutdownStage, users...)
		}
		return b.milestone(i, Cut, users)
	}
	after := slices.Concat(users, b.protects[i])
	if n.Can.Has(Flush) {
		after = []int{b.step(i, Flush, n.Stage, withStep(after, protected)...)}
	}
	if !n.Can.Has(Stop) || lifeline {
		if n.Can.Has(Flush) {
			return after[0]
		}
		return b.milestone(i, Stop, after)
	}
	return b.step(i, Stop, n.Stage, withStep(after, protected)...)
}

// withStep appends one more step to wait for, unless it is -1.
func withStep(after []int, step int) []int {
	if step < 0 {
		return after
	}
	return append(slices.Clone(after), step)
}

// milestone stands for a node without an action of its own.
func (b *builder) milestone(i int, verb Verb, after []int) int {
	n := b.estate.Node(i)
	return b.add(Step{Node: i, Name: n.ID, Verb: verb, Milestone: true, Stage: n.Stage, After: after})
}

// lastOf gives the last steps of the nodes that are in the plan, leaving out one.
func (b *builder) lastOf(nodes []int, except int) []int {
	var steps []int
	for _, i := range nodes {
		if i != except && b.in(i) && b.last[i] >= 0 {
			steps = append(steps, b.last[i])
		}
	}
	return steps
}

func (b *builder) up() {
	e := b.estate
	for i := range e.Len() { // what is needed before its users
		b.last[i] = -1
		if !b.in(i) {
			continue
		}
		n := e.Node(i)
		var after, feeds []int
		for _, j := range e.Needs(i) {
			switch {
			case !b.in(j) || b.last[j] < 0:
			case e.Node(j).Kind == Supply:
				feeds = append(feeds, b.last[j])
			default:
				after = append(after, b.last[j])
			}
		}
		s := Step{Node: i, Name: n.ID, Verb: Start, After: after, Feeds: feeds, Times: n.Times[Start]}
		s.Milestone = n.Kind == Self || (!n.Can.Has(Stop) && !n.Can.Has(Cut) && !n.Healthy)
		b.last[i] = b.add(s)
		if n.SuspendsItself() { // what runs on it waits for that, unless it is given up
			b.last[i] = b.step(i, Unprotect, "", b.last[i])
		}
	}
	for i := range e.Len() { // write-back comes last: nobody waits for it
		if n := e.Node(i); b.in(i) && n.Can.Has(Unprotect) && !n.SuspendsItself() {
			b.step(i, Unprotect, "", b.last[i])
		}
	}
}

// order puts the steps so that each comes after all that it waits for, as early as the order of adding allows.
func (b *builder) order() {
	steps := b.plan.Steps
	waits := make([][]int, len(steps))
	for i := range steps {
		waits[i] = slices.Concat(steps[i].After, steps[i].Feeds)
	}
	order, _ := topological(waits) // no ring: the estate has none
	place := make([]int, len(steps))
	for pos, i := range order {
		place[i] = pos
	}
	sorted := make([]Step, len(steps))
	for pos, i := range order {
		s := steps[i]
		for _, ids := range [][]int{s.After, s.Feeds} {
			for k, j := range ids {
				ids[k] = place[j]
			}
		}
		slices.Sort(s.After)
		slices.Sort(s.Feeds)
		sorted[pos] = s
	}
	b.plan.Steps = sorted
}
