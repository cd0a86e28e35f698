// Package dst tries the rules of docs/ARCHITECTURE.md on drawn estates, outages, faults, orders and crashes: what is drawn is the
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
const Nights = 12

// EstateOf are the dice by which the estate of a seed is drawn: the same for so many in a row.
func EstateOf(seed uint64) Dice { return rand.New(rand.NewPCG(seed/Nights, 1)).IntN }

// lastOf is in how many guests one is the last, and lastOfFew in an estate of few, as two of three are: most faults need no more, and a
// night with few takes half of the time.
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
	w.d = estate
	w.delays()
	w.d = night
	w.stayOff()
	return w.text(policy)
}

// text writes what was drawn.
func (w *drawing) text(policy []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nscenario: drawn\nfor: 18h\npoll: %s\npoll_quiet: 30s\nestimate_trials: 12\n", w.poll)
	if w.watched {
		b.WriteString("watched: true\n")
	}
	var supplies, nodes, links, batteries, conditions []string
	for _, s := range w.supplies {
		supplies = append(supplies, fmt.Sprintf("%s: {nut: \"%s@127.0.0.1:1\"%s}", s, s, w.delay[s]))
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
	faults                    int               // how many times as likely as usual what goes wrong is
	supplies                  []string          // of the runbook
	delay                     map[string]string // of a supply: what its UPS takes to cut and to come back
	nodes                     []*declared       //
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

var risks = []string{"expendable", "application", "files", "directory", "database"}
