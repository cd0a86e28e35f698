package dst

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/sim"
)

// further draws what not every estate has: outlets, a cluster, BMCs, UPSes that make no cut, machines that come up by
// themselves.
func (w *drawing) further() {
	if w.one(3) {
		w.outlets()
	}
	if w.one(3) {
		w.cluster()
	}
	if w.one(4) {
		w.bmcs()
	}
	if w.one(6) {
		w.maintenance()
	}
}

// maintenance draws hosts that go down in maintenance mode, and come up in it.
func (w *drawing) maintenance() {
	for _, n := range w.nodes {
		if n.kind == "vsphere.host" && !w.one(3) {
			n.keys = append(n.keys, "maintenance: true")
		}
	}
}

// odds draws machines that start with their power, and caches that obey by half, or late.
func (w *drawing) odds() {
	if w.one(4) {
		for _, n := range w.nodes {
			if n.machine() && w.one(2) {
				w.condition(n.id, "boots: true")
			}
		}
	}
	for _, n := range w.nodes {
		if n.setsAside() && w.bad(1, 6) && !slices.ContainsFunc(w.conditions, func(e entry) bool { return e.id == n.id }) {
			w.condition(n.id, "fault: %s", []sim.Fault{sim.Halves, sim.Tardy}[w.d(2)])
		}
	}
}

// deaf draws UPSes that do not make their cuts while the mains are there. Of one that falls silent besides nobody can tell it.
func (w *drawing) deaf() {
	for i := range w.batteries {
		mute := slices.ContainsFunc(w.happens, func(e string) bool {
			return strings.Contains(e,
				"supply: "+w.batteries[i].id+", silent: true")
		})
		if w.bad(1, 2) && !mute {
			w.batteries[i].said = append(w.batteries[i].said, fmt.Sprintf("deaf: %d", 1+w.d(2)*8))
		}
	}
}

// delays draws UPSes whose output is off for as short as can be watched, or for long. All cut after the same time, as a run book is told to
// have it.
func (w *drawing) delays() {
	w.delay = map[string]string{}
	if !w.one(4) {
		return
	}
	cut := w.pick([]string{"5s", "20s", "60s"})
	for _, s := range w.supplies {
		w.delay[s] = fmt.Sprintf(", offdelay: %s, ondelay: %s", cut, w.pick([]string{"10s", "15s", "90s"}))
	}
}

// setsAside reports whether a node is a cache or a cluster.
func (n *declared) setsAside() bool {
	return n.kind == "vsphere.cluster" || slices.ContainsFunc(n.keys, func(k string) bool { return strings.Contains(k, cacheVerbs) })
}

// machine reports whether a node is a machine with power of its own.
func (n *declared) machine() bool {
	return n.kind == "vsphere.host" || n.kind == "ssh" && len(n.feeds) > 0
}

// hangs reports whether a node hangs on one supply as a whole, so that it may hang on one of its outlets.
func (n *declared) hangs() bool { return n.machine() && len(n.feeds) == 1 }

// outlets hangs machines on outlets of their supplies.
func (w *drawing) outlets() {
	var made []string
	for _, n := range w.nodes {
		if !n.hangs() || w.one(3) {
			continue
		}
		outlet := fmt.Sprint(n.feeds[0], "/", 1+w.d(2))
		n.feeds = []string{outlet}
		if slices.Contains(made, outlet) {
			continue
		}
		made = append(made, outlet)
		switch luck := 11 - w.d(12); {
		case luck < w.faults:
			w.condition(outlet, "fault: %s", w.pick([]string{"hang", "refuse", "mute", "stuck", "late", "deny", "busy", "dud"}))
		case luck < 2*w.faults:
			w.condition(outlet, "lies_at: %d", 1+w.d(8))
		case luck < 2*w.faults+3:
			w.condition(outlet, "boots: true")
		case luck < 2*w.faults+4:
			w.event(60+w.d(1500), "node: %q, becomes: %s", outlet, w.pick([]string{"on", "off"}))
		}
	}
}

// cluster draws a cluster over hosts, or one that is asked through a VM, and what stands on it.
func (w *drawing) cluster() {
	var needs []string
	first := 0
	through := len(w.vms) > 0 && w.one(3)
	for i, n := range w.nodes {
		if through && n.id == w.vms[0] || !through && n.kind == "vsphere.host" && (len(needs) == 0 || !w.one(3)) {
			needs, first = append(needs, n.id), i+1
		}
	}
	for _, n := range w.nodes[first:] {
		if (n.kind == "vsphere.vm" || n.kind == "vsphere.vms") && !w.one(4) {
			n.needs = append(n.needs, "cluster")
		}
	}
	n := w.node("cluster", "vsphere.cluster", needs, nil, "via: vc", "cluster: c")
	n.down = []string{"protect_within: " + w.seconds(70, 100)}
	switch luck := 7 - w.d(8); {
	case luck < 2*w.faults:
		w.condition(n.id, "fault: %s", w.pick([]string{"refuse", "mute", "stuck", "late", "deny", "busy"}))
	case luck < 2*w.faults+1:
		w.condition(n.id, "protected: true")
	}
	if w.one(6) {
		w.event(2+w.d(50), "drill: [cluster]")
	}
}

// bmcs gives machines a BMC, most of which know what they say. One that says off of a machine that has not answered since before
// anybody looked, or since Ebbtide was started again, is found out by nobody: it is not drawn.
func (w *drawing) bmcs() {
	for _, n := range w.nodes {
		if !n.machine() || w.one(3) {
			continue
		}
		n.bmc = "bmc-" + n.id
		n.wake = "redfish: " + n.bmc
		how := sim.Well
		if w.bad(1, 4) {
			how = sim.BMCs[w.d(len(sim.BMCs))]
		}
		killed := len(w.crashes)+len(w.crashOn) > 0
		neverHeard := slices.ContainsFunc(w.happens, func(e string) bool {
			return strings.Contains(e, strconv.Quote(n.id)) &&
				(strings.Contains(e, "at: 0s") || killed && strings.Contains(e, "silent: true"))
		})
		if neverHeard && (how == sim.AlwaysOff || how == sim.Contrary) {
			how = sim.NoAnswer
		}
		w.condition(n.id, "bmc: %s", how)
		if how == sim.Well && w.bad(1, 4) && !w.faulty(n.id) {
			w.condition(n.id, "fault: %s", sim.Freeze)
		}
	}
}

// faulty reports whether a node has a fault or tells a lie already.
func (w *drawing) faulty(id string) bool {
	return slices.ContainsFunc(w.conditions, func(e entry) bool { return e.id == id && len(e.said) > 1 })
}
