package dst

import (
	"slices"
	"strings"
)

// habits draws how systems answer and how machines come up.
func (w *drawing) habits() {
	if switched := slices.ContainsFunc(w.nodes, func(n *declared) bool { return n.id == "switch" }); switched && w.one(2) {
		w.condition("switch", "network: true")
	}
	for _, n := range w.nodes {
		if n.machine() {
			w.rises(n)
		}
	}
	if w.one(2) { // as vCenter tells of a guest
		for _, id := range w.commanded {
			if guest(id) {
				w.condition(id, "shows_on: true")
			}
		}
	}
	if w.one(3) {
		for _, id := range w.commanded {
			if guest(id) && w.one(2) {
				w.condition(id, "boots: true")
			}
		}
	}
	if w.one(3) { // no manager of several hosts
		for _, id := range w.commanded {
			if manageable(id) {
				w.condition(id, "through_host: true")
			}
		}
	}
	slow := w.one(3)
	for _, id := range w.commanded {
		w.answers(id, slow)
	}
}

// answers draws how what is commanded answers, in a night in which the systems may be slow.
func (w *drawing) answers(id string, slow bool) {
	if slow && !w.one(3) {
		w.condition(id, "slow: %d.%ds", w.d(8), 1+w.d(9))
	}
	if w.bad(1, 8) {
		w.condition(id, "lags: %s", w.seconds(2, 9))
	}
	if way := w.seconds(1, 8); w.bad(1, 10) && !w.forgets() {
		w.condition(id, "way: %s", way)
	}
	if guest(id) && w.bad(1, 8) {
		w.condition(id, "fails: true")
	}
	if w.bad(1, 30) {
		w.condition(id, "gone_at: %d", 1+w.d(8))
	}
}

// forgets reports whether the controller may be thrown away with its records and be back before a command has arrived that it gave: nobody
// could know of that.
func (w *drawing) forgets() bool {
	lost := slices.ContainsFunc(w.happens, func(e string) bool { return strings.Contains(e, "journal: lost") })
	return lost && len(w.crashes)+len(w.crashOn) > 0 && (w.away == "100ms" || w.away == "2s")
}

// rises draws how a machine comes up. Late it is at most within the time that its start may take.
func (w *drawing) rises(n *declared) {
	if n.answersItself() && w.bad(1, 3) {
		w.condition(n.id, "self_test: %s", w.seconds(0, n.start+10))
		if w.one(3) {
			w.condition(n.id, "refuses: true")
		}
	}
	if n.answersItself() && w.one(2) {
		w.condition(n.id, "shows_on: true")
	}
	if w.bad(1, 6) {
		w.condition(n.id, "boots_after: %s", w.seconds(1, n.within-n.start))
	}
}

// answersItself reports whether nobody but the machine itself answers for it.
func (n *declared) answersItself() bool {
	return n.kind == "vsphere.host" || slices.ContainsFunc(n.keys, func(k string) bool { return strings.Contains(k, "off_when_unreachable") })
}

// guest reports whether an id is a guest's.
func guest(id string) bool { return manageable(id) || strings.HasPrefix(id, "dom") }

// manageable reports whether an id is that of a VM, which a manager of several hosts may know.
func manageable(id string) bool { return strings.HasPrefix(id, "vm") || strings.HasPrefix(id, "pool") }
