package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// Build makes the scenario for a compiled runbook. Each error names what in the document can't be, and what to write.
func (d *Document) Build(c *runbook.Compiled) (Scenario, []error) {
	b := builder{Document: d, estate: c.Estate, sc: Scenario{
		Settings:  engine.Settings{Estate: c.Estate, Policy: c.Policy, Supplies: c.Supplies, Mode: ledger.ModeSimulate},
		Batteries: map[string]Battery{}, Faults: map[string]Fault{}, LiesAt: map[string]int{}, GoneAt: map[string]int{},
		BMCs: map[string]BMC{}, Habits: map[string]Habit{},
		Watched: d.Watched, Poll: d.Poll, PollQuiet: d.PollQuiet, EstimateTrials: d.Trials, For: 12 * time.Hour,
	}}
	if d.Version != DocumentVersion {
		b.wrong("version %d of the scenario language is unknown: write version: %d", d.Version, DocumentVersion)
	}
	if len(d.Members) > 0 {
		b.sc.Settings.Members = d.Inventory()
	}
	if d.For > 0 {
		b.sc.For = d.For
	}
	b.polls("poll", d.Poll)
	b.polls("poll_quiet", d.PollQuiet)
	b.supplies()
	b.nodes()
	b.events()
	b.sc.CrashAt, b.sc.CrashOn, b.sc.Away = b.counts("crash_after", d.CrashAfter), b.counts("crash_after_command", d.CrashAfterCommand),
		d.Away
	return b.sc, b.errs
}

// builder makes a scenario of a document, with all that is wrong in it.
type builder struct {
	*Document
	estate *plan.Estate
	sc     Scenario
	errs   []error
}

func (b *builder) wrong(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// known reports whether the runbook has a node, or a supply, of this name.
func (b *builder) known(where, id string, supply bool) bool {
	i, ok := b.estate.Index(id)
	if ok = ok && (b.estate.Node(i).Kind == plan.Supply) == supply; !ok {
		what := "node"
		if supply {
			what = "supply"
		}
		b.wrong("%s: the runbook has no %s %q", where, what, id)
	}
	return ok
}

func (b *builder) polls(key string, every time.Duration) {
	if every > 0 && every < poll {
		b.wrong("%s: a supply is not polled more often than each second, found %s", key, every)
	}
}

func (b *builder) supplies() {
	for _, id := range slices.Sorted(maps.Keys(b.Supplies)) {
		s := b.Supplies[id]
		if s.Health != nil && *s.Health == 0 {
			b.wrong("supplies: a battery without any health is none: leave %s out of the runbook, or write health: 10%%", id)
		}
		if b.known("supplies", id, true) {
			b.sc.Batteries[id] = s.battery()
		}
	}
}

func (b *builder) nodes() {
	for _, id := range slices.Sorted(maps.Keys(b.Nodes)) {
		if n := b.Nodes[id]; b.known("nodes", id, false) {
			at, _ := b.estate.Index(id)
			if why := n.wrong(b.estate.Node(at)); why != "" {
				b.wrong("nodes: %s: %s", id, why)
			}
			n.set(&b.sc, id)
		}
	}
}

func (b *builder) events() {
	for i := range b.Events {
		where, ev := fmt.Sprintf("events[%d]", i), &b.Events[i]
		if ev.Supply != "" && !b.known(where, ev.Supply, true) || ev.Node != "" && !b.known(where, ev.Node, false) {
			continue
		}
		if ev.At < 0 {
			b.wrong("%s: nothing happens before the start: at is %s", where, ev.At)
			continue
		}
		change, err := ev.change()
		if err != nil {
			b.wrong("%s: %w", where, err)
			continue
		}
		b.sc.Changes = append(b.sc.Changes, change)
	}
}

func (b *builder) counts(key string, from []int) (to []uint64) {
	for _, n := range from {
		if n < 1 {
			b.wrong("%s: they are counted from 1, found %d", key, n)
			continue
		}
		to = append(to, uint64(n))
	}
	return to
}
