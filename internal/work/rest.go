package work

import (
	"time"

	"ebbtide/internal/english"
)

// RestsOff reports whether a node is off, nobody waits for it, and somebody may switch it on: it has power, and a host that may run it.
func (e *Works) RestsOff(i int) bool {
	host := e.HostOf(i)
	return e.Under[i] < 0 && e.IsOff(i) && !e.IsCutOff(i) && (host < 0 || !e.IsOff(host))
}

// Hesitates says why the step under way on a node has not been told yet, where nothing else shows that; "": it has been, or is about to be.
func (e *Works) Hesitates(i int) string {
	w, b := e.nodes[i].work, &e.Beliefs[i]
	if w == nil || w.phase == commanding || w.phase == asking || w.phase == waitingForSlot || e.Given(i) || w.rung.BringsUp() {
		return ""
	}
	span := func(until time.Time) string { return english.Span(until.Sub(e.Now).Round(time.Second)) }
	switch until := b.UpUntil(); {
	case e.Rises(i):
		return "it may be starting up: nothing is told to it for up to " + span(b.Rising) + " more"
	case e.IsMute(i) && e.Now.Before(until):
		return "it does not answer, and may be starting up for up to " + span(until) + " more"
	case e.IsMute(i):
		return "it does not answer, and is asked again: nothing that is sent to it would reach it"
	case !e.Looked(i):
		return "it has not answered yet since it was asked last"
	}
	return ""
}
