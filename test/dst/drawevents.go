package dst

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/sim"
)

func (w *drawing) event(at int, format string, args ...any) {
	w.happens = append(w.happens, fmt.Sprintf("- {at: %ds, %s}", at, fmt.Sprintf(format, args...)))
}

// events draws batteries, faults, and what happens.
func (w *drawing) events() {
	for _, s := range w.supplies {
		e := entry{id: s, said: []string{fmt.Sprintf("charge: %d%%, runtime: %dm, recharge: %dm", 100-10*w.d(6), 3+w.d(40), 30+w.d(150))}}
		if w.bad(1, 10) {
			e.said = append(e.said, fmt.Sprintf("dies_at: %d%%", 10+w.d(60)))
		}
		if w.bad(1, 4) {
			said := string(sim.Lies[w.d(len(sim.Lies))])
			if w.one(4) {
				said = string(sim.NoRuntime) + ", " + string(sim.NoCharge) // a contact closure
			}
			e.said = append(e.said, "says: ["+said+"]")
		}
		w.batteries = append(w.batteries, e)
	}
	for _, id := range w.commanded {
		vm := guest(id)
		switch luck := 23 - w.d(24); {
		case luck < 2*w.faults:
			w.condition(id, "fault: %s", faults[w.d(len(faults))])
		case luck < 3*w.faults:
			w.condition(id, "lies_at: %d", 1+w.d(8))
		case luck < 3*w.faults+3:
			if vm {
				w.condition(id, "off: true")
			}
		}
	}
	w.mains()
	w.weather()
	w.orders()
	w.luck()
	w.drills()
}

// faults are those that any node may have: a machine that freezes looks as if it were off to all but its BMC, and only what
// can be put back is by half, or too late.
var faults = slices.DeleteFunc(slices.Clone(sim.Faults), func(f sim.Fault) bool {
	return f == sim.Freeze || f == sim.Halves ||
		f == sim.Tardy
})

// silences draws times in which nothing reaches some nodes; a few have not answered since before anybody looked.
func (w *drawing) silences() {
	if len(w.commanded) == 0 || !w.bad(1, 3) {
		return
	}
	at := 30 + w.d(600)
	for range 1 + w.d(6) {
		id, from := w.pick(w.commanded), at+w.d(60)
		if from < 150 {
			from = 0
		}
		w.event(from, "node: %q, silent: true", id)
		w.event(from+1+w.d(500), "node: %q, silent: false", id)
	}
}

// drills draws rehearsals, most of them before the first outage, of a node, of several, or of all; and of a battery.
func (w *drawing) drills() {
	for range w.d(4) / 2 {
		at := 2 + w.d(50)
		if w.one(3) {
			at = 60 + w.d(3000)
		}
		if w.one(3) {
			w.discharge(at)
			continue
		}
		nodes := w.commanded
		switch w.d(4) {
		case 3, 2:
			nodes = []string{w.pick(w.commanded)}
		case 1:
			nodes = nil
			for _, id := range w.commanded {
				if guest(id) || w.one(4) {
					nodes = append(nodes, id)
				}
			}
		}
		if len(nodes) > 0 {
			w.event(at, "drill: [\"%s\"]", strings.Join(nodes, `", "`))
		}
	}
}

// discharge draws a test of a battery. Many are made since nobody trusts it, and some of those are right: it gives out on the way.
func (w *drawing) discharge(at int) {
	id := w.pick(w.supplies)
	w.event(at, "supply: %s, discharge: %d%%", id, 20+w.d(70))
	for i := range w.batteries {
		b := &w.batteries[i]
		if b.id == id && w.bad(1, 3) && !slices.ContainsFunc(b.said, func(s string) bool { return strings.HasPrefix(s, "dies_at") }) {
			b.said = append(b.said, fmt.Sprintf("dies_at: %d%%", 30+w.d(50)))
		}
	}
}

// mains draws outages: of some supplies, one after the other or at once, with flaps and silence.
func (w *drawing) mains() {
	at := 60
	for range 1 + w.d(3) {
		for _, s := range w.supplies {
			if w.one(4) {
				continue
			}
			out := at + w.d(120)
			if w.one(5) { // it flaps before it fails for good
				for range 1 + w.d(4) {
					w.event(out, "supply: %s, mains: off", s)
					out += 1 + w.d(20)
					w.event(out, "supply: %s, mains: on", s)
					out += 1 + w.d(20)
				}
			}
			back := out + 1 + w.d(1500)
			w.event(out, "supply: %s, mains: off", s)
			w.event(back, "supply: %s, mains: on", s)
			if w.bad(1, 6) {
				mute := out + w.d(60)
				w.event(mute, "supply: %s, silent: true", s)
				w.event(max(mute, back)+w.d(200), "supply: %s, silent: false", s)
			}
		}
		at += 600 + w.d(3000)
	}
}

// stayOff draws outputs that stay off after their cuts, and the person who comes to switch them on after the mains are back: once soon,
// maybe before a cut that comes late, and once more when all that is over.
func (w *drawing) stayOff() {
	for _, s := range w.supplies {
		if !w.one(12) {
			continue
		}
		w.delay[s] += ", cut: shutdown.stayoff"
		last := 0
		for _, e := range w.happens {
			var at int
			if strings.HasSuffix(e, fmt.Sprintf("supply: %s, mains: on}", s)) {
				if _, err := fmt.Sscanf(e, "- {at: %ds", &at); err == nil {
					last = max(last, at)
				}
			}
		}
		w.event(last+60+w.d(1200), "supply: %s, becomes: on", s)
		w.event(last+7200+w.d(1200), "supply: %s, becomes: on", s)
	}
}

// weather draws brown-outs and heat, of supplies whose mains may be on or not, as far as the policy watches them.
func (w *drawing) weather() {
	for _, watched := range []struct {
		is         bool
		key        string
		harm, well int
	}{{w.brownouts, "voltage", 180, 230}, {w.heat, "temperature", 45, 25}} {
		if !watched.is {
			continue
		}
		for range 1 + w.d(3) {
			s, at := w.pick(w.supplies), 60+w.d(4000)
			w.event(at, "supply: %s, %s: %d", s, watched.key, watched.harm)
			w.event(at+1+w.d(600), "supply: %s, %s: %d", s, watched.key, watched.well)
		}
	}
}

func (w *drawing) orders() {
	for range w.d(3) {
		verb := []string{"hold", "resume", "abort", "go"}[w.d(4)]
		on := 60 + w.d(1500)
		w.event(on, "order: %s", verb)
		if verb == "hold" {
			w.event(on+w.d(300), "order: resume")
		}
	}
	for _, p := range w.people {
		if w.one(2) {
			w.event(60+w.d(600), "node: %s, order: %s", p, []string{"confirm", "skip"}[w.d(2)])
		}
	}
}

// luck draws what goes wrong around the controller, and what others do to nodes.
func (w *drawing) luck() {
	for range w.d(3) * w.faults {
		w.crashes = append(w.crashes, fmt.Sprint(1+w.d(120)))
	}
	if w.bad(1, 3) {
		w.crashOn = append(w.crashOn, fmt.Sprint(1+w.d(60)))
	}
	w.away = w.pick(absences)
	if w.bad(1, 10) {
		at := w.d(1500)
		w.event(at, "journal: lost")
		w.event(at+1+w.d(900), "journal: back")
	}
	for range w.d(2) {
		w.event(w.d(2000), "clock: %ds", w.d(7200)-3600)
	}
	for range w.d(8) / 6 * w.faults {
		w.event(60+w.d(1500), "node: %q, becomes: %s", w.pick(w.commanded), []string{"on", "off", "gone"}[w.d(3)])
	}
}
