package engine

import (
	"slices"

	"ebbtide/internal/belief"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// course is the steps of both ways, those down first, with how each stands. The stands are kept so that not all have to be
// found at each event: a step is judged anew when something about its node changed, or how a step before it stands.
type course struct {
	down, up *plan.Plan
	steps    []step
	of       [][]int // per node: its steps, in the order of the plan
	loose    []int   // milestones that are about no node
	stands   []stand
	waitsAt  []int // per step: which of those before it was found to wait last
	queued   []bool
	dirty    []bool
	todo     []int // steps to be judged anew, in the order in which they became so
	done     []int // room for the next of those
	slots    *plan.Dispatcher
	open     int // steps of the way up that are pending
}

func newCourse(estate *plan.Estate, stages []string) course {
	c := course{down: estate.Plan(plan.Down, nil), up: estate.Plan(plan.Up, nil), of: make([][]int, estate.Len())}
	for _, p := range []*plan.Plan{c.down, c.up} {
		for i := range p.Steps {
			s := step{Step: &p.Steps[i], goal: p.Goal}
			s.stage = max(0, slices.Index(stages, s.Stage))
			if s.goal == plan.Down && s.Stage == "" {
				s.stage = slices.Index(stages, power.ShutdownStage)
			}
			if s.Node >= 0 {
				c.of[s.Node] = append(c.of[s.Node], len(c.steps))
			} else {
				c.loose = append(c.loose, len(c.steps))
			}
			c.steps = append(c.steps, s)
		}
	}
	n := len(c.steps)
	c.waitsAt, c.queued, c.dirty = make([]int, n), make([]bool, n), make([]bool, n)
	c.slots = plan.Slots(c.down, c.up)
	c.clear()
	return c
}

// clear forgets how the steps stand, as when no outage is open.
func (c *course) clear() {
	c.stands = make([]stand, len(c.steps))
	c.open = 0
}

// base is what the numbers of a step's own plan begin at.
func (c *course) base(id int) int {
	if id < len(c.down.Steps) {
		return 0
	}
	return len(c.down.Steps)
}

// next lists the steps that come right after one.
func (c *course) next(id int) []int {
	if id < len(c.down.Steps) {
		return c.down.Next(id)
	}
	return c.up.Next(id - len(c.down.Steps))
}

// find gives the step of a node for a verb, -1 if it has none.
func (c *course) find(node int, verb plan.Verb, goal plan.Goal) int {
	for _, id := range c.of[node] {
		if s := &c.steps[id]; s.Verb == verb && s.goal == goal {
			return id
		}
	}
	return -1
}

func (c *course) mark(id int) {
	if !c.dirty[id] {
		c.dirty[id] = true
		c.todo = append(c.todo, id)
	}
}

// markAll has the steps of a node judged anew.
func (c *course) markAll(node int) {
	for _, id := range c.of[node] {
		c.mark(id)
	}
}

// touch has the steps of a node judged anew before the event is over, and where it shows another face than before, those of what
// is judged by that.
func (e *Engine) touch(i int) {
	e.course.markAll(i)
	if e.Ledger.Outage == nil {
		return
	}
	if f := e.faceOf(i); f != e.nodes[i].face {
		e.nodes[i].face = f
		e.touchUsers(i)
		e.touchDarkCaches()
	}
}

// touchDarkCaches touches the caches whose power was cut: whether they have none is judged by what all else says (HasNoPower).
func (e *Engine) touchDarkCaches() {
	for _, c := range e.Protectors {
		if e.IsCutOff(c) {
			e.course.markAll(c)
		}
	}
}

// face is what others are judged by.
type face struct {
	up   bool // ShowsUp: by it what has lost its power, and runs on it still (RunsOn)
	goes bool // by it what runs on it as a host (goesWithItsHost)
	dead dead // by it what has no power without it (HasNoPower)
}

// dead is why a node may have no power: it is off, or it is cut off and does not answer, or both.
type dead struct{ off, mute bool }

func (e *Engine) faceOf(i int) face {
	return face{up: e.ShowsUp(i), goes: e.Goes(i), dead: dead{e.IsOff(i), e.IsCutOff(i) && e.IsMute(i)}}
}

// touchUsers has judged anew what is judged by the face of a node: what runs on it as a host, and what answers although it has no power, as
// far as is known, since what it needs does.
func (e *Engine) touchUsers(i int) {
	for _, u := range e.Graph.Dependents(i) {
		if e.Ledger.Outage.Cut[u] && e.ShowsUp(u) || e.HostOf(u) == i {
			e.course.markAll(u)
		}
	}
}

// touchAll has every step judged anew.
func (e *Engine) touchAll() {
	for id := range e.course.steps {
		e.course.mark(id)
	}
	if e.Ledger.Outage == nil {
		return
	}
	for i := range e.nodes {
		e.nodes[i].face = e.faceOf(i)
	}
}

// evaluate judges anew what was touched, and all that follows from it, and takes up the steps whose turn has come, until
// nothing changes any more.
func (e *Engine) evaluate() {
	c := &e.course
	for e.Ledger.Outage != nil {
		if len(c.todo) == 0 {
			if !e.dispatch() {
				return
			}
			continue
		}
		todo := c.todo
		c.todo = c.done[:0]
		for _, id := range todo {
			c.dirty[id] = false
			e.reconsider(id)
			if e.Ledger.Outage == nil {
				break
			}
		}
		c.done = todo
	}
	for _, id := range c.todo {
		c.dirty[id] = false
	}
	c.todo = c.todo[:0]
}

// reconsider judges one step, and queues it if its turn has come.
func (e *Engine) reconsider(id int) {
	c := &e.course
	s := &c.steps[id]
	if s.Node >= 0 {
		e.correct(s.Node)
	}
	if now := e.judgeStep(id); now != c.stands[id] {
		if s.goal == plan.Up {
			c.open += pendings(now) - pendings(c.stands[id])
		}
		c.stands[id] = now
		for _, n := range c.next(id) {
			c.mark(c.base(id) + n)
		}
		if s.goal == plan.Down && s.Node >= 0 { // an Unprotect, a start: what it waits for may be this one's end
			e.touch(s.Node)
		}
	}
	if s.Milestone {
		return
	}
	if w := e.nodes[s.Node].work; w != nil {
		if w.step == id {
			e.steer(s.Node)
		}
		return
	}
	if !c.queued[id] && e.waitsFor(id).Code == NothingElse {
		c.queued[id] = true
		e.enqueue(id)
	}
}

func pendings(s stand) int {
	if s == pending {
		return 1
	}
	return 0
}

// enqueue hands a step to the dispatcher. On the way down what does not answer comes last, since each attempt at it holds a
// place until its address is given up as dead. On the way up a node that is off does not answer, so that it comes last once
// it was tried in vain.
func (e *Engine) enqueue(id int) {
	s := &e.course.steps[id]
	n := &e.nodes[s.Node]
	last := n.work != nil
	if s.goal == plan.Down {
		last = last || belief.Probed(e.Graph.Node(s.Node)) && (e.Beliefs[s.Node].Answer == plan.Unknown || e.Beliefs[s.Node].Answer == plan.Unreachable)
	}
	if last {
		e.course.slots.AddLast(id)
		return
	}
	e.course.slots.Add(id)
}

// dispatch begins the most urgent step that the limits allow, and reports whether there was one.
func (e *Engine) dispatch() bool {
	c := &e.course
	id := c.slots.Next()
	if id < 0 {
		return false
	}
	c.queued[id] = false
	i := c.steps[id].Node
	if w := e.nodes[i].work; w != nil && w.step == id && w.phase == waitingForSlot {
		w.placed = true
		e.verify(i)
		return true
	}
	if e.waitsFor(id).Code != NothingElse {
		c.slots.Release(i)
		return true
	}
	e.begin(id)
	return true
}
