package engine

import "ebbtide/internal/want"

// evaluate judges anew what was touched, and all that follows from it, and takes up the steps whose turn has come, until
// nothing changes any more.
func (e *Engine) evaluate() {
	c := &e.Course
	for e.Ledger.Outage != nil {
		if len(c.Todo) == 0 {
			if !e.dispatch() {
				return
			}
			continue
		}
		for _, id := range c.Take() {
			c.Dirty[id] = false
			e.reconsider(id)
			if e.Ledger.Outage == nil {
				break
			}
		}
	}
	c.Forget()
}

// reconsider judges one step, and queues it if its turn has come.
func (e *Engine) reconsider(id int) {
	c := &e.Course
	s := &c.Steps[id]
	if s.Node >= 0 {
		e.correct(s.Node)
	}
	e.Rejudge(id)
	if s.Milestone {
		return
	}
	if w := e.nodes[s.Node].work; w != nil {
		if w.step == id {
			e.steer(s.Node)
		}
		return
	}
	if !c.Queued[id] && e.WaitsFor(id).Code == want.NothingElse {
		c.Queued[id] = true
		e.Enqueue(id)
	}
}

// dispatch begins the most urgent step that the limits allow, and reports whether there was one.
func (e *Engine) dispatch() bool {
	c := &e.Course
	id := c.Slots.Next()
	if id < 0 {
		return false
	}
	c.Queued[id] = false
	i := c.Steps[id].Node
	if w := e.nodes[i].work; w != nil && w.step == id && w.phase == waitingForSlot {
		w.placed = true
		e.verify(i)
		return true
	}
	if e.WaitsFor(id).Code != want.NothingElse {
		c.Slots.Release(i)
		return true
	}
	e.begin(id)
	return true
}
