package dst_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/sim"
)

// tally counts what a campaign has met, by what it was.
type tally map[string]int

// leftOn are the nights that a campaign may have few of.
const leftOn = "nights in which storage lost its power that could have been stopped"

// add counts a night: what was drawn, and what came of it.
func (t tally) add(sc *sim.Scenario, r *sim.Result) {
	t.drawn(sc)
	t["events"] += r.Events
	t["records"] += len(r.Records)
	t["kills of the controller"] += r.Kills
	t["nodes that lost their power while on"] += len(r.Crashed)
	if len(r.Avoidable) > 0 {
		t[leftOn]++
	}
	for _, what := range sim.Mets {
		t["met: "+what] += r.Met[what]
	}
	for _, rec := range r.Records {
		t.record(sc, &rec)
	}
}

// drawn counts the systems of a night and what happens to them.
func (t tally) drawn(sc *sim.Scenario) {
	t["nodes"] += sc.Settings.Estate.Len()
	for _, h := range sc.Habits {
		t.habit(&h)
	}
	for i := range sc.Settings.Estate.Len() {
		if sc.Settings.Estate.Node(i).Bound {
			t["guests of a machine that is commanded by a script"]++
		}
		if kind := sc.Settings.Estate.Node(i).Kind; kind == plan.Outlet || kind == plan.Cluster {
			t["nodes of kind "+kind.String()]++
		}
	}
	for _, how := range sc.BMCs {
		t["nodes with a BMC: "+string(how)]++
	}
	t["nodes that come up by themselves with their power"] += len(sc.Boots)
	t["caches and clusters that are suspended before"] += len(sc.Protected)
	for _, f := range sc.Faults {
		t["nodes with fault "+string(f)]++
	}
	for _, b := range sc.Batteries {
		if b.Deaf > 0 {
			t["supplies that do not make their cuts"]++
		}
		if b.DiesAt > 0 {
			t["batteries that die without a word"]++
		}
		for _, l := range b.Says {
			t["supplies that say "+string(l)]++
		}
	}
	for _, c := range sc.Changes {
		t[changeOf(&c)]++
	}
}

// record counts what the controller took down.
func (t tally) record(sc *sim.Scenario, rec *ledger.Record) {
	switch {
	case rec.Kind == ledger.Opened && rec.Mode == ledger.ModeDrill:
		t["drills"]++
	case rec.Kind == ledger.Opened:
		t["outages"]++
	case rec.Kind == ledger.Reopened && isSupply(sc, rec.Node):
		t["cuts that were not made, and made again"]++
	case rec.Kind == ledger.Proven && *rec.Verb == plan.Start && rec.Cause == ledger.Already && rec.Reason == "it came back by itself":
		t["nodes shown to have come back by themselves"]++
	case rec.Kind == ledger.Intent:
		t["commands: "+rec.Verb.String()]++
	case rec.Kind == ledger.Accepted && rec.Outcome == ledger.Unreached:
		t["commands that reached nobody"]++
	}
}

// habit counts how a node answers and comes up.
func (t tally) habit(h *sim.Habit) {
	for what, has := range map[string]bool{
		"nodes whose looks fail where nobody answers":     h.Fails,
		"nodes with a self-test of their own length":      h.SelfTest != 0,
		"nodes that refuse connections while they boot":   h.Refuses,
		"switches that others are reached through":        h.Network,
		"nodes whose looks show what was":                 h.Lags > 0,
		"machines that show as on until they are silent":  h.ShowsOn,
		"nodes that commands take long to":                h.Way > 0,
		"VMs that only their host answers for":            h.ThroughHost,
		"machines that come up late after their power is": h.BootsAfter > 0,
	} {
		if has {
			t[what]++
		}
	}
}

func isSupply(sc *sim.Scenario, id string) bool {
	i, known := sc.Settings.Estate.Index(id)
	return known && sc.Settings.Estate.Node(i).Kind == plan.Supply
}

// changes say what happens to an estate: the first that fits.
var changes = []struct {
	fits func(*sim.Change) bool
	what string
}{
	{func(c *sim.Change) bool { return c.Drill != nil && c.Drill.Supply != "" }, "drills of a battery asked for"},
	{func(c *sim.Change) bool { return c.Drill != nil }, "drills asked for"},
	{func(c *sim.Change) bool { return isTrue(c.Silent) && c.Node != "" }, "nodes that fall silent"},
	{func(c *sim.Change) bool { return isFalse(c.Silent) && c.Node != "" }, "nodes that answer again"},
	{func(c *sim.Change) bool { return isTrue(c.Silent) }, "supplies that fall silent"},
	{func(c *sim.Change) bool { return isFalse(c.Silent) }, "supplies that speak again"},
	{func(c *sim.Change) bool { return c.Becomes != nil && *c.Becomes == plan.Gone }, "nodes deleted by others"},
	{func(c *sim.Change) bool { return c.Becomes != nil }, "nodes switched by others"},
	{func(c *sim.Change) bool { return isTrue(c.Journal) }, "journal's disks lost"},
	{func(c *sim.Change) bool { return isFalse(c.Journal) }, "journal's disks back"},
	{func(c *sim.Change) bool { return c.Clock != nil }, "clocks set"},
	{func(c *sim.Change) bool { return c.ExtraLoad != nil }, "loads changed"},
	{func(c *sim.Change) bool { return c.Temperature != nil }, "temperatures told"},
	{func(c *sim.Change) bool { return c.Voltage != nil }, "voltages told"},
	{func(c *sim.Change) bool { return c.Mains }, "mains on"},
	{func(c *sim.Change) bool { return !c.Mains }, "mains off"},
}

func isTrue(b *bool) bool { return b != nil && *b }

func isFalse(b *bool) bool { return b != nil && !*b }

func changeOf(c *sim.Change) string {
	if c.Order != nil {
		return "orders: " + string(c.Order.Verb)
	}
	for _, one := range changes {
		if one.fits(c) {
			return one.what
		}
	}
	return ""
}

func (t tally) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "%12d %s\n", t[what], what)
	}
	return b.String()
}
