// Package want is what is to be done: how each step of both ways stands, which has its turn, and what the others wait for. All of it
// follows from what is on record and what is believed, from which steps are under way, and from how short the time is; nothing of it is
// stored as truth. It begins no step and commands nothing: that is for package work.
package want

import (
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// FailedLook is how often a node is looked at that was given up.
const FailedLook = 15 * time.Second

// Wants are derived and never stored as truth: what a node is to come to, which of its steps is next, and what that waits
// for, follow from the ledger, the beliefs and the conditions of the supplies, whenever they are asked for. What else they follow from
// is here: which steps are under way, who has to wait for a while, and how short the time is.
type Wants struct {
	belief.Estate
	Course      Course
	Under       []int       // per node: the step that is under way on it, -1: none is
	Pause       []time.Time // per node: its next step does not begin before
	Press       []Pressure  // per node: how short its battery time is
	faces       []face      // per node: as others were last judged by
	DrillFit    bool        // a drill may go on down
	JournalLost bool
	Observes    bool // nothing is commanded, so that nothing may read as if it had been
}

// New takes an estate on which no outage is open.
func New(known belief.Estate) Wants {
	n := known.Graph.Len()
	w := Wants{
		Estate: known, Course: newCourse(known.Graph, known.Ledger.Stages),
		Under: make([]int, n), Pause: make([]time.Time, n), Press: make([]Pressure, n), faces: make([]face, n),
	}
	for i := range w.Under {
		w.Under[i] = -1
	}
	return w
}

// Course is the steps of both ways, those down first, with how each stands. The stands are kept so that not all have to be
// found at each event: a step is judged anew when something about its node changed, or how a step before it stands.
type Course struct {
	down, up *plan.Plan
	Steps    []Step
	Of       [][]int // per node: its steps, in the order of the plan
	ofNoNode []int   // milestones that are about no node
	Stands   []Stand
	WaitsAt  []int // per step: which of those before it was found to wait last
	Queued   []bool
	Dirty    []bool
	Todo     []int // steps to be judged anew, in the order in which they became so
	done     []int // room for the next of those
	Slots    *plan.Dispatcher
	Open     int // steps of the way up that are pending
}

func newCourse(estate *plan.Estate, stages []plan.Stage) Course {
	c := Course{down: estate.Plan(plan.Down, nil), up: estate.Plan(plan.Up, nil), Of: make([][]int, estate.Len())}
	for _, p := range []*plan.Plan{c.down, c.up} {
		for i := range p.Steps {
			s := Step{Step: &p.Steps[i], Goal: p.Goal}
			s.stage = max(0, slices.Index(stages, s.Stage))
			if s.Goal == plan.Down && s.Stage == "" {
				s.stage = slices.Index(stages, plan.ShutdownStage)
			}
			if s.Node >= 0 {
				c.Of[s.Node] = append(c.Of[s.Node], len(c.Steps))
			} else {
				c.ofNoNode = append(c.ofNoNode, len(c.Steps))
			}
			c.Steps = append(c.Steps, s)
		}
	}
	n := len(c.Steps)
	c.WaitsAt, c.Queued, c.Dirty = make([]int, n), make([]bool, n), make([]bool, n)
	c.Slots = plan.Slots(c.down, c.up)
	c.Clear()
	return c
}

// Clear forgets how the steps stand, as when no outage is open.
func (c *Course) Clear() {
	c.Stands = make([]Stand, len(c.Steps))
	c.Open = 0
}

// base is what the numbers of a step's own plan begin at.
func (c *Course) base(id int) int {
	if id < len(c.down.Steps) {
		return 0
	}
	return len(c.down.Steps)
}

// next lists the steps that come right after one.
func (c *Course) next(id int) []int {
	if id < len(c.down.Steps) {
		return c.down.Next(id)
	}
	return c.up.Next(id - len(c.down.Steps))
}

// Find gives the step of a node for a verb, -1 if it has none.
func (c *Course) Find(node int, verb plan.Verb, goal plan.Goal) int {
	for _, id := range c.Of[node] {
		if s := &c.Steps[id]; s.Verb == verb && s.Goal == goal {
			return id
		}
	}
	return -1
}

func (c *Course) mark(id int) {
	if !c.Dirty[id] {
		c.Dirty[id] = true
		c.Todo = append(c.Todo, id)
	}
}

// Take gives the steps to be judged now. Those that become so meanwhile are in the next ones.
func (c *Course) Take() []int {
	c.Todo, c.done = c.done[:0], c.Todo
	return c.done
}

// Forget drops what is still to be judged.
func (c *Course) Forget() {
	for _, id := range c.Todo {
		c.Dirty[id] = false
	}
	c.Todo = c.Todo[:0]
}

// markAll has the steps of a node judged anew.
func (c *Course) markAll(node int) {
	for _, id := range c.Of[node] {
		c.mark(id)
	}
}

// Touch has the steps of a node judged anew before the event is over, and where it shows another face than before, those of what
// is judged by that.
func (e *Wants) Touch(i int) {
	e.Course.markAll(i)
	if e.Ledger.Outage == nil {
		return
	}
	if f := e.faceOf(i); f != e.faces[i] {
		e.faces[i] = f
		e.touchUsers(i)
		e.TouchCaches()
	}
}

// TouchCaches touches the caches that are judged by what all else says: those whose power was cut (HasNoPower), and those whose users may
// have come up with theirs (StaysClean).
func (e *Wants) TouchCaches() {
	for _, c := range e.Protectors {
		if e.IsCutOff(c) || e.Entry(c).Clean == ledger.CleanUnless {
			e.Course.markAll(c)
		}
	}
}

// face is what others are judged by.
type face struct {
	up   bool // ShowsUp: by it what has lost its power, and runs on it still (RunsOn)
	goes bool // by it what runs on it as a host (GoesWithItsHost)
	dead dead // by it what has no power without it (HasNoPower)
}

// dead is why a node may have no power: it is off, or it is cut off, by its supply or at its outlet, and does not answer, or both.
type dead struct{ off, mute bool }

func (e *Wants) faceOf(i int) face {
	mayBeDead := e.IsCutOff(i) || e.HangsOnNothing(i) || e.Graph.Node(i).Kind == plan.Outlet
	return face{up: e.ShowsUp(i), goes: e.Goes(i), dead: dead{e.ShowsDark(i), mayBeDead && e.IsMute(i)}}
}

// touchUsers has judged anew what is judged by the face of a node: what runs on it as a host, what keeps its data on it, and what answers
// although it has no power, as far as is known, since what it needs does.
func (e *Wants) touchUsers(i int) {
	if e.Graph.Node(i).Kind == plan.Outlet { // what hangs on it has power by it, or none
		for _, u := range e.Graph.Users(i) {
			e.Touch(u)
		}
	}
	for _, u := range e.Graph.Dependents(i) {
		if e.Ledger.Outage.Cut[u] && e.ShowsUp(u) || e.HostOf(u) == i || e.Graph.Node(u).Can.Has(plan.Flush) {
			e.Course.markAll(u)
		}
	}
}

// TouchAll has every step judged anew.
func (e *Wants) TouchAll() {
	for id := range e.Course.Steps {
		e.Course.mark(id)
	}
	if e.Ledger.Outage == nil {
		return
	}
	for i := range e.faces {
		e.faces[i] = e.faceOf(i)
	}
}

// Rejudge finds anew how a step stands. Where that has changed, so may how those after it do.
func (e *Wants) Rejudge(id int) {
	c := &e.Course
	s := &c.Steps[id]
	now := e.JudgeStep(id)
	if now == c.Stands[id] {
		return
	}
	if s.Goal == plan.Up {
		c.Open += pendings(now) - pendings(c.Stands[id])
	}
	c.Stands[id] = now
	for _, n := range c.next(id) {
		c.mark(c.base(id) + n)
	}
	if s.Goal == plan.Up && s.Verb == plan.Start { // what is up on it already carries something from now on, or does no more
		for _, u := range e.Graph.Dependents(s.Node) {
			c.mark(c.Find(u, plan.Start, plan.Up))
		}
	}
	if s.Goal == plan.Down && s.Node >= 0 { // an Unprotect, a start: what it waits for may be this one's end
		e.Touch(s.Node)
	}
}

// Enqueue hands a step to the dispatcher. On the way down what does not answer comes last, since each attempt at it holds a
// place until its address is given up as dead. On the way up a node that is off does not answer, so that it comes last once
// it was tried in vain.
func (e *Wants) Enqueue(id int) {
	s := &e.Course.Steps[id]
	last := e.Under[s.Node] >= 0
	if s.Goal == plan.Down {
		last = last || belief.Probed(e.Graph.Node(s.Node)) &&
			(e.Beliefs[s.Node].Answer == plan.Unknown || e.Beliefs[s.Node].Answer == plan.Unreachable)
	}
	if last {
		e.Course.Slots.AddLast(id)
		return
	}
	e.Course.Slots.Add(id)
}

func pendings(s Stand) int {
	if s == Pending {
		return 1
	}
	return 0
}
