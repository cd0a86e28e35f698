package work

import "ebbtide/internal/want"

// RestsOff reports whether a node is off, nobody waits for it, and somebody may switch it on: it has power, and a host that may run it.
func (e *Works) RestsOff(i int) bool {
	host := e.HostOf(i)
	return e.Under[i] < 0 && e.IsOff(i) && !e.IsCutOff(i) && (host < 0 || !e.IsOff(host))
}

// hesitates says why a stop under way has not been told yet, where its node is why.
func (e *Works) hesitates(i int) want.Why {
	w, b := e.nodes[i].work, &e.Beliefs[i]
	isToBeTold := w.phase == verifying || w.phase == backingOff
	switch until := b.UpUntil(); {
	case !isToBeTold || e.Given(i) || !w.rung.TakesDown():
	case e.Rises(i):
		return want.Why{Code: want.MaybeRising, Node: i, Until: b.Rising}
	case e.IsMute(i) && e.Now.Before(until):
		return want.Why{Code: want.MaybeRising, Node: i, Until: until}
	case e.IsMute(i):
		return want.Why{Code: want.NoAnswer, Node: i}
	case !e.Looked(i):
		return want.Why{Code: want.NotLooked, Node: i}
	}
	return want.Why{Code: want.NothingToDo}
}
