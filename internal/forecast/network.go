package forecast

import (
	"math"

	"ebbtide/internal/plan"
)

// course is a plan with what its trials need of it however little of it is left.
type course struct {
	plan   *plan.Plan
	byRank []int  // steps, the most urgent first
	odds   []odds // by step; milestones have none
	luck   *luck  // nil: each trial is drawn when it is played
	kins   []kin
	places map[kin]int32 // of kins, from 1
}

func newCourse(p *plan.Plan, known *Knowledge) *course {
	c := &course{plan: p, byRank: make([]int, len(p.Steps)), odds: make([]odds, len(p.Steps)), places: map[kin]int32{}}
	for step := range p.Steps {
		c.byRank[p.Rank(step)] = step
		if !p.Steps[step].Milestone {
			c.odds[step] = c.stepOdds(step, known)
		}
	}
	return c
}

// role is what a step is in a network.
type role uint8

const (
	settled  role = iota // over: nothing waits for it
	instant              // takes no time and no place: what comes after it waits for what comes before it
	timed                // takes time, and a place under the limits
	underway             // takes time and a place, and has begun: it waits for nothing
)

// network is what is left of a plan, in the form that trials are played on: steps are numbered by urgency, so that the
// most urgent are near each other in memory. It does not change.
type network struct {
	course    *course
	steps     []int32 // of the plan, by number
	cells     []cell
	next      []int32 // the steps that wait for each, one step's after the other's
	waits     []int32 // for how many each waits
	order     []int32 // each after all that it waits for
	begun     []int32 // those under way
	first     []int32 // the others that wait for nothing
	lanes     []bounds
	classes   []bounds
	laneSteps []int32 // by lane, by urgency
}

// cell is what is needed of a step when it ends or becomes free.
type cell struct {
	from, to int32 // its part of next
	lane     int32 // or free, or pause
	place    int32 // among the steps of its lane
}

// Lanes of steps that no limit applies to.
const (
	free  = -1
	pause = -2 // an instant step
)

// bounds says how many steps of a lane or a class may run at once.
type bounds struct {
	most  int32
	class int32 // of a lane
	from  int32 // of a lane: its part of laneSteps
	size  int32 // how many steps it has
}

// reduce leaves out the instant steps that wait for nothing, and gives how many are left.
func (c *course) reduce(roles []role) int {
	kept := 0
	for i := range c.plan.Steps { // in order: what a step waits for was looked at
		if roles[i] == instant && !c.waits(i, roles) {
			roles[i] = settled
		}
		if roles[i] != settled {
			kept++
		}
	}
	return kept
}

// network keeps the steps that have a role in it.
func (c *course) network(roles []role) *network {
	p := c.plan
	n := &network{course: c}
	kept := c.reduce(roles)
	number := make([]int32, len(p.Steps))
	n.steps, n.cells, n.waits = make([]int32, 0, kept), make([]cell, kept), make([]int32, kept)
	for _, step := range c.byRank {
		if roles[step] != settled {
			number[step] = int32(len(n.steps))
			n.steps = append(n.steps, int32(step))
		}
	}
	n.order = make([]int32, 0, kept)
	for step := range p.Steps {
		if roles[step] != settled {
			n.order = append(n.order, number[step])
		}
	}
	n.link(roles, number)
	n.bind(roles)
	return n
}

// whole is the network of all steps.
func (c *course) whole() *network {
	roles := make([]role, len(c.plan.Steps))
	for i := range roles {
		if roles[i] = timed; c.plan.Steps[i].Milestone {
			roles[i] = instant
		}
	}
	return c.network(roles)
}

// waits reports whether a step waits for another that is left.
func (c *course) waits(step int, roles []role) bool {
	s := &c.plan.Steps[step]
	for _, before := range [...][]int{s.After, s.Feeds} {
		for _, j := range before {
			if roles[j] != settled {
				return true
			}
		}
	}
	return false
}

// link fills in who waits for whom.
func (n *network) link(roles []role, number []int32) {
	p := n.course.plan
	each := func(do func(before, after int32)) {
		for i, step := range n.steps {
			if roles[step] == underway {
				continue
			}
			s := &p.Steps[step]
			for _, before := range [...][]int{s.After, s.Feeds} {
				for _, j := range before {
					if roles[j] != settled {
						do(number[j], int32(i))
					}
				}
			}
		}
	}
	edges := int32(0)
	each(func(before, after int32) {
		n.cells[before].to++
		n.waits[after]++
		edges++
	})
	n.next = make([]int32, edges)
	at := int32(0)
	for i := range n.cells {
		size := n.cells[i].to
		n.cells[i].from, n.cells[i].to = at, at
		at += size
	}
	each(func(before, after int32) {
		n.next[n.cells[before].to] = after
		n.cells[before].to++
	})
	for i, step := range n.steps {
		switch {
		case roles[step] == underway:
			n.begun = append(n.begun, int32(i))
		case n.waits[i] == 0:
			n.first = append(n.first, int32(i))
		}
	}
}

// bind gives each step its lane. A class without a limit for each host is one lane. Where no more steps are left than may
// run at once, no limit counts, and they have none.
func (n *network) bind(roles []role) {
	e := n.course.plan.Estate()
	limits := e.Limits()
	n.classes = make([]bounds, len(limits))
	lanes := make([][]int32, len(limits)) // by class and the estate's lane: the place in n.lanes, from 1
	for c, limit := range limits {
		n.classes[c] = bounds{most: bound(limit.Total)}
	}
	for i, step := range n.steps {
		cell := &n.cells[i]
		if roles[step] == instant {
			cell.lane = pause
			continue
		}
		class, lane := e.Lane(n.course.plan.Steps[step].Node)
		if class < 0 || limits[class].Total == 0 && limits[class].PerHost == 0 {
			cell.lane = free
			continue
		}
		if limits[class].PerHost == 0 {
			lane = 0
		}
		for lane >= len(lanes[class]) {
			lanes[class] = append(lanes[class], 0)
		}
		if lanes[class][lane] == 0 {
			n.lanes = append(n.lanes, bounds{most: bound(limits[class].PerHost), class: int32(class)})
			lanes[class][lane] = int32(len(n.lanes))
		}
		cell.lane = lanes[class][lane] - 1
		n.lanes[cell.lane].size++
		n.classes[class].size++
	}
	n.unbind()
	n.place()
}

// unbind takes the lanes away that no limit counts in.
func (n *network) unbind() {
	kept := n.lanes[:0]
	now := make([]int32, len(n.lanes))
	for l, lane := range n.lanes {
		if now[l] = free; lane.size > lane.most || n.classes[lane.class].size > n.classes[lane.class].most {
			now[l] = int32(len(kept))
			kept = append(kept, lane)
		}
	}
	n.lanes = kept
	for i := range n.cells {
		if cell := &n.cells[i]; cell.lane >= 0 {
			cell.lane = now[cell.lane]
		}
	}
	for c := range n.classes {
		n.classes[c].size = int32(len(n.steps)) // numbers of steps are kept in a set
	}
}

// place puts the steps of each lane in order.
func (n *network) place() {
	at := int32(0)
	for l := range n.lanes {
		n.lanes[l].from = at
		at += n.lanes[l].size
		n.lanes[l].size = 0
	}
	n.laneSteps = make([]int32, at)
	for i := range n.cells {
		if cell := &n.cells[i]; cell.lane >= 0 {
			lane := &n.lanes[cell.lane]
			cell.place = lane.size
			n.laneSteps[lane.from+lane.size] = int32(i)
			lane.size++
		}
	}
}

func bound(limit int) int32 {
	if limit == 0 {
		return math.MaxInt32
	}
	return int32(limit)
}
