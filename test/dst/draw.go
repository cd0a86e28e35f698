// Package dst tries the rules of the design on drawn estates, outages, faults, orders and crashes: what is drawn is the
// text of a scenario with its runbook, as a user would write it, so that whatever breaks a rule is a file that
// `ebbtide simulate --scenario` replays.
package dst

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Dice is where a drawn scenario takes its chances from: a number from 0 to n-1. What 0 stands for is the simplest.
type Dice func(n int) int

// Seeded are the dice of a seed.
func Seeded(seed uint64) Dice { return rand.New(rand.NewPCG(seed, 0)).IntN }

// Nights is how many nights in a row a campaign plays with each estate: the runbook of that is read once.
const Nights = 8

// EstateOf are the dice by which the estate of a seed is drawn: the same for so many in a row.
func EstateOf(seed uint64) Dice { return rand.New(rand.NewPCG(seed/Nights, 1)).IntN }

// lastOf is in how many guests one is the last, and lastOfFew in an estate of few, as one in three is: most faults need no more, and a
// night with few takes a third of the time.
const (
	lastOf    = 30
	lastOfFew = 3
)

// Few are dice by which few guests are drawn, two on average.
func Few(d Dice) Dice {
	return func(n int) int {
		v := d(n)
		if n == lastOf && v%2 == 0 {
			return 0
		}
		return v
	}
}

// Draw draws the text of a scenario with its runbook.
func Draw(d Dice) string { return DrawWith(d, 1) }

// DrawWith draws one in which every fault, lie, crash and silence is so many times as likely. The same dice and the same
// factor, 1 or more, give the same text.
func DrawWith(d Dice, faults int) string { return DrawNight(d, d, faults) }

// DrawNight draws one whose estate and policy have dice of their own: the same give the same runbook, whatever the night.
func DrawNight(estate, night Dice, faults int) string {
	w := &drawing{d: estate, faults: faults}
	w.estate()
	policy := w.policy()
	w.d = night
	w.events()
	w.watched = w.one(2)
	w.poll = w.pick(polls)
	w.silences()
	w.d = estate
	w.further()
	w.d = night
	w.deaf()
	w.odds()
	w.habits()
	return w.text(policy)
}

// text writes what was drawn.
func (w *drawing) text(policy []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nscenario: drawn\nfor: 18h\npoll: %s\npoll_quiet: 20s\nestimate_trials: 20\n", w.poll)
	if w.watched {
		b.WriteString("watched: true\n")
	}
	var supplies, nodes, links, batteries, conditions []string
	for _, s := range w.supplies {
		supplies = append(supplies, fmt.Sprintf("%s: {nut: \"%s@127.0.0.1:1\"}", s, s))
	}
	for _, n := range w.nodes {
		nodes = append(nodes, n.text())
		if n.bmc != "" {
			links = append(links, n.bmc+": "+bmcConnection)
		}
	}
	for _, s := range w.batteries {
		batteries = append(batteries, s.text())
	}
	for _, s := range w.conditions {
		conditions = append(conditions, s.text())
	}
	section := func(name string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s:\n  %s\n", name, strings.Join(lines, "\n  "))
		}
	}
	section("supplies", batteries)
	section("nodes", conditions)
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
	fmt.Fprintf(&b, "%s  version: 1\n  runbook: drawn\n", ownRunbook)
	for _, part := range []struct {
		name  string
		lines []string
	}{{"supplies", supplies}, {"connections", append(connections, links...)}, {"nodes", nodes}, {"policy", policy}} {
		fmt.Fprintf(&b, "  %s:\n    %s\n", part.name, strings.Join(part.lines, "\n    "))
	}
	return b.String()
}

// ownRunbook begins the last section of what is drawn.
const ownRunbook = "runbook: |\n"

// Parts takes apart what was drawn: the scenario, and its runbook as a file of its own. They are read in less time than the
// whole, in which the runbook is read twice, as text first.
func Parts(text string) (scenario, runbook string) {
	scenario, runbook, _ = strings.Cut(text, ownRunbook)
	return scenario, strings.ReplaceAll(strings.TrimPrefix(runbook, "  "), "\n  ", "\n")
}

// connections lead nowhere: the simulator asks nobody.
var connections = []string{
	`vc: {type: vsphere, url: "https://127.0.0.1:1/sdk", username: u, password: {env: NONE}, thumbprint: "D1:07:5A:EE:42:39:C8:90:1B:6F:24:83:F5:0A:BE:77:61:9D:D8:32:4C:A5:13:E0:8F:56:C1:2A:94:7B:EF:08"}`,
	`box: {type: ssh, address: "127.0.0.1:1", user: u, key: {env: NONE}, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Ib3m2lO7lGQd5yP9v0cZ8mC3eR6tXkNw4uF2hYsAB"}`,
}

const bmcConnection = `{type: redfish, url: "https://127.0.0.1:1", username: u, password: {env: NONE}}`

// drawing is a scenario that is being drawn, as lines of its sections.
type drawing struct {
	d                         Dice
	faults                    int         // how many times as likely as usual what goes wrong is
	supplies                  []string    // of the runbook
	nodes                     []*declared //
	batteries, conditions     []entry
	members                   []string
	happens, crashes, crashOn []string
	away                      string
	watched                   bool
	brownouts, heat           bool // the policy takes the load down for them
	poll                      string
	commanded                 []string // nodes that take commands
	people                    []string
	vms                       []string // that others may need
	shed                      []string
}

// one is a chance of one in n.
func (w *drawing) one(n int) bool { return w.d(n) == n-1 }

// bad is a chance of something going wrong: of so many in n, times what the draw is told.
func (w *drawing) bad(many, n int) bool { return w.d(n) >= n-many*w.faults }

func (w *drawing) pick(of []string) string { return of[w.d(len(of))] }

// seconds draws a duration.
func (w *drawing) seconds(from, width int) string { return fmt.Sprintf("%ds", from+w.d(width)) }

// feed draws what feeds a node: one supply, or several.
func (w *drawing) feed() []string {
	if w.one(2) {
		return slices.Clone(w.supplies)
	}
	return []string{w.pick(w.supplies)}
}

// declared is a node of the runbook.
type declared struct {
	id, kind      string
	needs, feeds  []string
	keys          []string // what is special to it
	down, up      []string
	wake          string // "": nothing wakes it
	bmc           string // the connection of its BMC, "": it has none
	start, within int    // seconds that its start takes, and may take
}

func (n *declared) text() string {
	said := append([]string{"type: " + n.kind}, n.keys...)
	up := n.up
	if n.wake != "" {
		up = append(up, "wake: {"+n.wake+"}")
	}
	for _, list := range []struct {
		key   string
		items []string
	}{{"depends_on: [%s]", n.needs}, {"fed_by: [%s]", n.feeds}, {"down: {%s}", n.down}, {"up: {%s}", up}} {
		if items := join(list.items...); items != "" {
			said = append(said, fmt.Sprintf(list.key, items))
		}
	}
	return n.id + ": {" + join(said...) + "}"
}

// node adds a node; keys are what is special to it.
func (w *drawing) node(id, kind string, needs, feeds []string, keys ...string) *declared {
	n := &declared{id: id, kind: kind, needs: needs, feeds: feeds, keys: keys}
	w.nodes = append(w.nodes, n)
	return n
}

// takes draws how long a node takes down and up, beside what else is said of both. A machine of its own may take minutes to
// start.
func (n *declared) takes(w *drawing, down, up string) {
	took := 5 + w.d(40)
	within := took * (2 + w.d(4))
	n.start, n.within = took, within
	if n.machine() && w.one(4) {
		n.start = 60 + w.d(240)
		n.within = n.start * (2 + w.d(3))
	}
	times := func(took, within int) string { return fmt.Sprintf("nominal: %ds, within: %ds", took, within) }
	n.down, n.up = []string{times(took, within), down}, []string{times(n.start, n.within), up}
}

// entry is an id of the scenario and what is said of it.
type entry struct {
	id   string
	said []string
}

func (e *entry) text() string { return fmt.Sprintf("%q: {%s}", e.id, strings.Join(e.said, ", ")) }

// condition says something of a node; what was said before stays.
func (w *drawing) condition(id, format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if at := slices.IndexFunc(w.conditions, func(e entry) bool { return e.id == id }); at >= 0 {
		w.conditions[at].said = append(w.conditions[at].said, said)
		return
	}
	w.conditions = append(w.conditions, entry{id, []string{said}})
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
	return `mac: "00:11:32:aa:bb:01"`
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

var risks = []string{"expendable", "application", "files", "directory", "database"}

// guests draws VMs, declared ones and selectors. Each begins with the chance that it is the last, so that leaving out a
// part of the dice leaves out guests.
func (w *drawing) guests(hosts []string) {
	last := lastOf
	if w.one(3) {
		last = lastOfFew
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
