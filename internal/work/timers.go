package work

import (
	"time"

	"ebbtide/internal/effect"
)

// timer is when a node wants to be served.
type timer struct {
	at     time.Time
	node   int
	number int
}

func (t timer) before(u timer) bool {
	if !t.at.Equal(u.at) {
		return t.at.Before(u.at)
	}
	if t.node != u.node {
		return t.node < u.node
	}
	return t.number < u.number
}

// Ring serves the timers that are due.
func (e *Works) Ring() {
	for e.timers.Len() > 0 && !e.timers.Peek().at.After(e.Now) {
		t := e.timers.Pop()
		n := &e.nodes[t.node]
		switch {
		case n.timer != t.number || e.Ledger.Outage == nil:
		case n.work != nil:
			e.tick(t.node)
		default:
			if e.Beliefs[t.node].IsOutlived(e.Now) {
				e.Probe(t.node)
			}
			e.Touch(t.node)
		}
	}
}

// SetWake asks to be woken for the earliest timer, if that has changed.
func (e *Works) SetWake() {
	for e.timers.Len() > 0 && e.nodes[e.timers.Peek().node].timer != e.timers.Peek().number {
		e.timers.Pop()
	}
	if e.timers.Len() == 0 {
		return
	}
	if at := e.timers.Peek().at; !at.Equal(e.wakeAt) {
		e.wakeAt = at
		e.Out = append(e.Out, effect.Wake{At: at})
	}
}

// Woke takes down that the wake that was asked for has come.
func (e *Works) Woke() { e.wakeAt = time.Time{} }
