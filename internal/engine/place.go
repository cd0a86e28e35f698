package engine

import (
	"time"

	"ebbtide/internal/plan"
)

// What a node's step holds while it is carried out is its place under the limits. Nodes that nobody can reach must not
// hold up those that can be: they come last, and what waits for its next attempt at one of them waits without a place. Its
// time goes on all the same.

// giveWay gives the place of a step back whose command did not reach its node, unless an earlier one may have: then the
// node may be at work. After a crash the journal tells the same (fold). Where no limit applies nobody waits for it.
func (e *Engine) giveWay(i int) {
	x := e.nodes[i].exec
	if limit, _ := e.estate.Lane(i); limit < 0 || x.heard {
		return
	}
	x.given, x.away = false, true
	e.run.progress.disp.Release(i)
}

// lineUp lets a step that has given its place back wait for another. dispatch takes it up again.
func (e *Engine) lineUp(i int) {
	x := e.nodes[i].exec
	x.phase, x.next = inLine, time.Time{}
	if step, ok := e.run.progress.plan.Find(i, x.verb); ok {
		e.enqueue(step)
	}
	e.arm(i)
}

// enqueue hands a step to the dispatcher. On the way down what does not answer comes last, since each attempt at it holds a
// place until its address is given up as dead. On the way up a node that is off does not answer, so that it comes last once
// it was tried in vain.
func (e *Engine) enqueue(step int) {
	pr := &e.run.progress
	i := pr.plan.Steps[step].Node
	last := e.nodes[i].exec != nil
	if e.run.goal == plan.Down {
		last = e.unanswered(i) != nil
	}
	if last {
		pr.disp.AddLast(step)
		return
	}
	pr.disp.Add(step)
}
