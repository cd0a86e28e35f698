// Package dst tries the rules of the design on drawn estates, outages, faults, orders and crashes: what is drawn is the
// text of a scenario with its runbook, as a user would write it, so that whatever breaks a rule is a file that
// `ebbtide simulate --scenario` replays.
package dst

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Dice is where a drawn scenario takes its chances from: a number from 0 to n-1. What 0 stands for is the simplest.
type Dice func(n int) int

// Seeded are the dice of a seed.
func Seeded(seed uint64) Dice { return rand.New(rand.NewPCG(seed, 0)).IntN }

// Draw draws the text of a scenario with its runbook.
func Draw(d Dice) string {
	w := &drawing{d: d}
	w.estate()
	policy := w.policy()
	w.events()
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nscenario: drawn\nfor: 18h\npoll_online: 10s\n")
	if w.one(2) {
		b.WriteString("watched: true\n")
	}
	w.silences() // last, likewise
	section := func(name string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s:\n  %s\n", name, strings.Join(lines, "\n  "))
		}
	}
	section("supplies", w.batteries)
	section("nodes", w.conditions)
	section("members", w.members)
	section("events", w.happens)
	if len(w.crashOn) > 0 {
		fmt.Fprintf(&b, "crash_after_command: [%s]\n", strings.Join(w.crashOn, ", "))
	}
	if len(w.crashOn)+len(w.crashes) > 0 {
		fmt.Fprintf(&b, "away: %s\n", w.away)
	}
	if len(w.crashes) > 0 {
		fmt.Fprintf(&b, "crash_after: [%s]\n", strings.Join(w.crashes, ", "))
	}
	fmt.Fprintf(&b, "runbook: |\n  version: 1\n  runbook: drawn\n  supplies:\n")
	for _, s := range w.supplies {
		fmt.Fprintf(&b, "    %s: {nut: \"%s@127.0.0.1:1\"}\n", s, s)
	}
	b.WriteString(connections)
	fmt.Fprintf(&b, "  nodes:\n    %s\n  policy:\n    %s\n", strings.Join(w.nodes, "\n    "), strings.Join(policy, "\n    "))
	return b.String()
}

// connections lead nowhere: the simulator asks nobody.
const connections = `  connections:
    vc: {type: vsphere, url: "https://127.0.0.1:1/sdk", username: u, password: {env: NONE}, thumbprint: "D1:07:5A:EE:42:39:C8:90:1B:6F:24:83:F5:0A:BE:77:61:9D:D8:32:4C:A5:13:E0:8F:56:C1:2A:94:7B:EF:08"}
    box: {type: ssh, address: "127.0.0.1:1", user: u, key: {env: NONE}, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Ib3m2lO7lGQd5yP9v0cZ8mC3eR6tXkNw4uF2hYsAB"}
`

// drawing is a scenario that is being drawn, as lines of its sections.
type drawing struct {
	d                              Dice
	supplies, nodes                []string // of the runbook
	batteries, conditions, members []string
	happens, crashes, crashOn      []string
	away                           string
	commanded                      []string // nodes that take commands
	people                         []string
	vms                            []string // that others may need
	shed                           []string
}

// one is a chance of one in n.
func (w *drawing) one(n int) bool { return w.d(n) == n-1 }

func (w *drawing) pick(of []string) string { return of[w.d(len(of))] }

// seconds draws a duration.
func (w *drawing) seconds(from, width int) string { return fmt.Sprintf("%ds", from+w.d(width)) }

// feed draws what feeds a node: one supply, or several.
func (w *drawing) feed() string {
	if w.one(2) {
		return "[" + strings.Join(w.supplies, ", ") + "]"
	}
	return "[" + w.pick(w.supplies) + "]"
}

// node adds a node; keys are what is special to it.
func (w *drawing) node(id, kind string, needs []string, keys ...string) {
	said := []string{"type: " + kind}
	if len(needs) > 0 {
		said = append(said, "depends_on: ["+strings.Join(needs, ", ")+"]")
	}
	w.nodes = append(w.nodes, id+": {"+join(append(said, keys...)...)+"}")
}

// times are the down and up keys of a node that takes so and so long.
func (w *drawing) times(down, up string) string {
	took := 5 + w.d(40)
	within := took * (2 + w.d(4))
	if down != "" {
		down = ", " + down
	}
	if up != "" {
		up = ", " + up
	}
	return fmt.Sprintf("down: {nominal: %ds, within: %ds%s}, up: {nominal: %ds, within: %ds%s}", took, within, down, took, within, up)
}

func (w *drawing) healthy(n int) string {
	if w.one(n) {
		return `healthy: [{tcp: "127.0.0.1:1"}]`
	}
	return ""
}

func (w *drawing) wake(n int) string {
	if w.one(n) {
		return ""
	}
	return `wake: {mac: "00:11:32:aa:bb:01"}`
}

func join(parts ...string) string {
	var given []string
	for _, p := range parts {
		if p != "" {
			given = append(given, p)
		}
	}
	return strings.Join(given, ", ")
}

func (w *drawing) estate() {
	for i := range 1 + w.d(3) {
		w.supplies = append(w.supplies, fmt.Sprint("ups", i))
	}
	var base []string
	if w.one(2) {
		check := ""
		if h := w.healthy(3); h != "" {
			check = "up: {" + h + "}"
		}
		w.node("switch", "passive", nil, "fed_by: "+w.feed(), check)
		base = []string{"switch"}
	}
	stores := w.stores(base)
	hosts := w.hosts(stores, base)
	w.guests(hosts)
	if w.one(4) {
		w.node("walk", "manual", nil, "fed_by: "+w.feed(), "down: {within: "+w.seconds(20, 300)+"}", "up: {within: "+w.seconds(20, 300)+"}")
		w.people = append(w.people, "walk")
	}
	if w.one(5) {
		up := ""
		if !w.one(3) {
			up = "up: {wake: {power: true}}"
		}
		w.node("me", "self", base, "fed_by: "+w.feed(), up)
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
		w.node(id, "ssh", base, "via: box", "fed_by: "+w.feed(), "risk: storage", "probe: [p]", verbs, w.times("", join(w.wake(3), w.healthy(4))))
		w.commanded = append(w.commanded, id)
		if cache == 2 {
			w.node("cache"+id, "ssh", []string{id}, "via: box", "probe: [p]", cacheVerbs, w.times("", ""))
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
		w.node(id, "vsphere.host", append([]string{w.pick(stores)}, base...), "via: vc", "fed_by: "+w.feed(), w.times(w.force(6), join(w.wake(2), w.healthy(6))))
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

var risks = []string{"expendable", "application", "files", "directory", "database"}

// guests draws VMs, declared ones and selectors. Each begins with the chance that it is the last, so that leaving out a
// part of the dice leaves out guests.
func (w *drawing) guests(hosts []string) {
	for n := 0; n == 0 || n < 50 && w.d(30) > 0; n++ {
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
		w.node(id, "vsphere.vm", needs, "via: vc", risk, w.times(w.force(9), w.healthy(6)))
		w.commanded = append(w.commanded, id)
		if len(needs) == 1 && w.one(6) {
			w.shed = append(w.shed, id) // nothing that is not shed itself may need it
			continue
		}
		w.vms = append(w.vms, id)
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
	w.node(id, "vsphere.vms", needs, "via: vc", fmt.Sprintf("select: {folder: %s}", id), risk, w.times("", ""))
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
