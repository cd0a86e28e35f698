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

func (t tally) add(sc *sim.Scenario, r *sim.Result) {
	t["events"] += r.Events
	t["records"] += len(r.Records)
	t["kills of the controller"] += r.Kills
	t["nodes"] += sc.Settings.Estate.Len()
	t["nodes that lost their power while on"] += len(r.Crashed)
	for _, what := range sim.Mets {
		t["met: "+what] += r.Met[what]
	}
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
	t["caches and clusters that are set aside before"] += len(sc.Protected)
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
		t[change(&c)]++
	}
	for _, rec := range r.Records {
		switch {
		case rec.Kind == ledger.Opened && rec.Mode == ledger.ModeDrill:
			t["drills"]++
		case rec.Kind == ledger.Opened:
			t["outages"]++
		case rec.Kind == ledger.Reopened && isSupply(sc, rec.Node):
			t["cuts that were not made, and made again"]++
		case rec.Kind == ledger.Proven && *rec.Verb == plan.Start && rec.Cause == ledger.Already && rec.Reason == "it came back by itself":
			t["nodes shown to have come back by themselves"]++
		}
		if rec.Kind == ledger.Intent {
			t["commands: "+rec.Verb.String()]++
		}
		if rec.Kind == ledger.Accepted && rec.Outcome == ledger.Unreached {
			t["commands that reached nobody"]++
		}
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

func change(c *sim.Change) string {
	switch {
	case c.Order != nil:
		return "orders: " + string(c.Order.Verb)
	case c.Drill != nil && c.Drill.Supply != "":
		return "drills of a battery asked for"
	case c.Drill != nil:
		return "drills asked for"
	case c.Silent != nil && c.Node != "" && *c.Silent:
		return "nodes that fall silent"
	case c.Silent != nil && c.Node != "":
		return "nodes that answer again"
	case c.Silent != nil && *c.Silent:
		return "supplies that fall silent"
	case c.Silent != nil:
		return "supplies that speak again"
	case c.Becomes != nil && *c.Becomes == plan.Gone:
		return "nodes deleted by others"
	case c.Becomes != nil:
		return "nodes switched by others"
	case c.Journal != nil && *c.Journal:
		return "journal's disks lost"
	case c.Journal != nil:
		return "journal's disks back"
	case c.Clock != nil:
		return "clocks set"
	case c.ExtraLoad != nil:
		return "loads changed"
	case c.Temperature != nil:
		return "temperatures told"
	case c.Voltage != nil:
		return "voltages told"
	case c.Mains:
		return "mains on"
	default:
		return "mains off"
	}
}

func (t tally) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "%12d %s\n", t[what], what)
	}
	return b.String()
}
