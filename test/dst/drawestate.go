package dst

import (
	"fmt"
	"slices"
	"strings"
)

func (w *drawing) estate() {
	for i := range 1 + w.d(3) {
		w.supplies = append(w.supplies, fmt.Sprint("ups", i))
	}
	var base []string
	if w.one(2) {
		check := w.healthy(3)
		w.node("switch", "passive", nil, w.feed()).up = []string{check}
		base = []string{"switch"}
	}
	stores := w.stores(base)
	hosts := w.hosts(stores, base)
	w.guests(hosts)
	w.scripted(hosts, stores, base)
	if w.one(4) {
		n := w.node("walk", "manual", nil, w.feed())
		n.down = []string{"within: " + w.seconds(20, 300)}
		n.up = []string{"within: " + w.seconds(20, 300)}
		w.people = append(w.people, "walk")
	}
	if w.one(5) {
		wakes := !w.one(3)
		if n := w.node("me", "self", base, w.feed()); wakes {
			n.wake = "power: true"
		}
	}
}

const cacheVerbs = "protect: [p], flush: [f], unprotect: [u]"

// stores draws storage, some behind a cache of its own, and gives what hosts stand on.
func (w *drawing) stores(base []string) []string {
	var out []string
	for i := range 1 + w.d(3) {
		id := fmt.Sprint("nas", i)
		verbs := "stop: [s]"
		cache := w.d(3)
		if cache == 1 {
			verbs += ", " + cacheVerbs
		}
		if w.one(4) {
			verbs += ", force: [x]"
		}
		if w.one(2) {
			verbs += ", off_when_unreachable: 20s"
		}
		n := w.node(id, "ssh", base, w.feed(), "via: box", "risk: storage", "probe: [p]", verbs)
		n.wake = w.wake(3)
		n.takes(w, "", w.healthy(4))
		w.commanded = append(w.commanded, id)
		if cache == 2 {
			w.node("cache"+id, "ssh", []string{id}, nil, "via: box", "probe: [p]", cacheVerbs).takes(w, "", "")
			w.commanded = append(w.commanded, "cache"+id)
			id = "cache" + id
		}
		out = append(out, id)
	}
	return out
}

func (w *drawing) hosts(stores, base []string) []string {
	var out []string
	for i := range 1 + w.d(5) {
		id := fmt.Sprint("esx", i)
		n := w.node(id, "vsphere.host", append([]string{w.pick(stores)}, base...), w.feed(), "via: vc")
		force := w.force(6)
		n.wake = w.wake(2)
		n.takes(w, force, w.healthy(6))
		w.commanded = append(w.commanded, id)
		out = append(out, id)
	}
	return out
}

// force may say that a node is never forced.
func (w *drawing) force(n int) string {
	if w.one(n) {
		return "force: never"
	}
	return ""
}

// guests draws VMs, declared ones and selectors. Each begins with the chance that it is the last, so that leaving out a
// part of the dice leaves out guests.
func (w *drawing) guests(hosts []string) {
	last := lastOfFew
	if w.one(3) {
		last = lastOf
	}
	for n := 0; n == 0 || n < 50 && w.d(last) > 0; n++ {
		needs := []string{w.pick(hosts)}
		if len(w.vms) > 0 && w.d(3) == 1 {
			needs = append(needs, w.pick(w.vms))
		}
		risk := "risk: " + w.pick(risks)
		if w.one(8) {
			n += w.pool(hosts, needs, risk)
			continue
		}
		id := fmt.Sprint("vm", n)
		w.node(id, "vsphere.vm", needs, nil, "via: vc", risk).takes(w, w.force(9), w.healthy(6))
		w.commanded = append(w.commanded, id)
		if len(needs) == 1 && w.one(6) {
			w.shed = append(w.shed, id) // nothing that is not shed itself may need it
			continue
		}
		w.vms = append(w.vms, id)
	}
}

// scripted draws a machine that is driven by commands, and guests for which only their host answers, on it and on others.
func (w *drawing) scripted(hosts, stores, base []string) {
	if !w.one(3) {
		return
	}
	if w.one(2) {
		verbs := "stop: [s]"
		if w.one(2) {
			verbs += ", off_when_unreachable: " + w.seconds(2, 20)
		}
		if w.one(2) {
			verbs += ", force: [x]"
		}
		n := w.node("kvm", "ssh", append([]string{w.pick(stores)}, base...), w.feed(), "via: box", "probe: [p]", verbs)
		n.wake = w.wake(3)
		n.takes(w, "", "")
		w.commanded = append(w.commanded, "kvm")
		hosts = append(hosts, "kvm", "kvm", "kvm")
	}
	var made []string
	for i := range 1 + w.d(4) {
		id := fmt.Sprint("dom", i)
		needs := []string{w.pick(hosts)}
		if len(made) > 0 && w.one(3) {
			needs = append(needs, w.pick(made))
		}
		verbs := "stop: [s], start: [u]"
		if !w.one(4) {
			verbs += ", force: [x]"
		}
		risk := w.pick(append(slices.Clone(risks), "storage"))
		w.node(id, "ssh", needs, nil, "via: box", "probe: [p]", verbs, "risk: "+risk).takes(w, "", "")
		w.commanded = append(w.commanded, id)
		if needs[0] != "kvm" && risk != "storage" && w.one(2) {
			w.condition(id, "through_host: true")
		}
		made = append(made, id)
	}
}

// pool draws a selector and its members, and gives how many these are.
func (w *drawing) pool(hosts, needs []string, risk string) int {
	id := fmt.Sprint("pool", len(w.members))
	size := 0
	var members []string
	for ; size < 8 && w.d(5) > 0; size++ {
		name := fmt.Sprint("m", size)
		members = append(members, fmt.Sprintf("{name: %s, host: %s}", name, w.pick(hosts)))
		w.commanded = append(w.commanded, id+"/"+name)
	}
	w.members = append(w.members, fmt.Sprintf("%s: [%s]", id, strings.Join(members, ", ")))
	w.node(id, "vsphere.vms", needs, nil, "via: vc", fmt.Sprintf("select: {folder: %s}", id), risk).takes(w, "", "")
	if len(needs) == 1 && w.one(3) {
		w.shed = append(w.shed, id)
	} else {
		w.vms = append(w.vms, id)
	}
	return size
}

func (w *drawing) policy() []string {
	out := []string{"protect: {when: {on_battery: " + w.seconds(5, 20) + "}}"}
	if len(w.shed) > 0 {
		out = append(out, fmt.Sprintf("shed: [{name: lab, nodes: [%s], when: {on_battery: %s}}]", strings.Join(w.shed, ", "), w.seconds(20, 60)))
	}
	when := []string{"low_battery: true", "silent_on_battery: " + w.seconds(30, 60)}
	switch w.d(4) {
	case 0:
		when = append(when, "on_battery: "+w.seconds(30, 300))
	case 1:
		when = append(when, "slack_below: "+w.seconds(0, 300))
	case 2:
		when = append(when, fmt.Sprintf("charge_below: %d%%", 20+w.d(60)))
	default:
		when = append(when, "runtime_below: "+w.seconds(120, 900))
	}
	if w.brownouts = w.one(8); w.brownouts {
		when = append(when, "brownout: "+w.seconds(5, 120))
	}
	if w.heat = w.one(8); w.heat {
		when = append(when, "temperature_above: 40")
	}
	restore := []string{"{online: " + w.seconds(30, 300) + "}"}
	if w.one(3) {
		restore = append(restore, fmt.Sprintf("{charge_above: %d%%}", 20+w.d(60)))
	}
	if w.one(3) {
		restore = append(restore, "{recharged_for: another_shutdown}")
	}
	out = append(out,
		"shutdown: {when: {any: [{"+strings.Join(when, "}, {")+"}]}}",
		"restore: {when: {all: ["+strings.Join(restore, ", ")+"]}}",
		"reserve: "+w.seconds(20, 120))
	if w.one(2) {
		limits := fmt.Sprintf("limits: {vsphere.vm: {total: %d", 1+w.d(6))
		if w.one(2) {
			limits += fmt.Sprintf(", per_host: %d", 1+w.d(3))
		}
		out = append(out, fmt.Sprintf("%s}, vsphere.host: %d}", limits, 1+w.d(3)))
	}
	return out
}
