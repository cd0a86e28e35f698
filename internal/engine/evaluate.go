package engine

import "ebbtide/internal/want"

// evaluate judges anew what was touched, and all that follows from it, and takes up the steps whose turn has come, until
// nothing changes any more.
func (e *Engine) evaluate() {
	c := &e.Course
	for e.Ledger.Outage != nil {
		if len(c.Todo) == 0 {
			if !e.Dispatch() {
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
	if e.Under[s.Node] >= 0 {
		e.Steer(id)
		return
	}
	if !c.Queued[id] && e.WaitsFor(id).Code == want.NothingElse {
		c.Queued[id] = true
		e.Enqueue(id)
	}
}
