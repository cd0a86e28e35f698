package sim

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// feed is what the referee knows of a supply, from the truth of its mains and its battery.
type feed struct {
	online    bool      // its mains and its output are on
	polls     int       // that were heard, since its mains came back
	since     time.Time // its mains are on without interruption
	outFor    int       // polls since it was first heard to be out
	failed    bool      // heard to be out in the open outage
	open      bool      // its recharge gate has been open since it was last out
	cycled    bool      // something was commanded that only its power cycle takes back
	cut       bool      // it was cut in this direction
	triggered bool      // the shutdown was triggered for it in this direction
	spent     time.Time // its battery is down to the reserve since, and its UPS says so
	cutDue    bool      // a cut is on record that has not come
}

// polling is the truth about a supply when it is polled.
type polling struct {
	supply int
	mains  bool
	on     bool // mains and output
	heard  bool
	honest bool // its UPS says how it is
	charge float64
	left   time.Duration // that its battery lasts
}

// polled takes a poll of a supply. Its power counts as back after some polls that were heard: the engine waits for five
// seconds of it, and sees the first up to two polls late. What was last heard to be out is known to be dark.
func (r *Referee) polled(at time.Time, p polling) {
	f := &r.feeds[p.supply]
	f.online = p.on
	switch {
	case !p.mains:
		f.since = time.Time{}
	case f.since.IsZero():
		f.since = at
	}
	switch {
	case !p.on:
		f.polls = 0
		if p.heard {
			f.outFor++
			f.failed, f.open = true, false
			r.drill = nil
		}
	default:
		if f.polls++; !p.heard {
			f.polls = 0
		} else {
			f.outFor = 0
		}
		f.open = f.open || mayOpen(r.policy.Restore, at.Sub(f.since), 100*p.charge)
	}
	switch {
	case !p.heard, !p.honest, p.on, !f.triggered, p.left > r.policy.Reserve: // what it can't know is not asked of the engine
		f.spent = time.Time{}
	case f.spent.IsZero():
		f.spent = at
	case at.Sub(f.spent) >= slowness:
		r.mayWaitOn(at, p.supply)
	}
}

const (
	pollsBack = 7
	slowness  = 10 * time.Second // what the engine may take from a reading to its command
)

// mayOpen tells whether a gate may be open. What another shutdown takes is the engine's to reckon.
func mayOpen(c power.Condition, online time.Duration, charge float64) bool {
	open := func(c power.Condition) bool { return mayOpen(c, online, charge) }
	switch c.Kind {
	case power.Online:
		return online >= c.For
	case power.ChargeAbove:
		return charge >= c.Than
	case power.Any:
		return slices.ContainsFunc(c.Of, open)
	case power.All:
		return !slices.ContainsFunc(c.Of, func(c power.Condition) bool { return !open(c) })
	default:
		return true
	}
}

// goesDark tells for each node whether it goes dark with the given supplies: the same as the estate's own Scope, found
// in another way, so that a fault of that is seen. It asks each node for its own reasons, and not all in order.
func (r *Referee) goesDark(lost func(supply int) bool) func(node int) bool {
	known := make(map[int]bool, r.estate.Len())
	var dark func(i int) bool
	dark = func(i int) bool {
		if was, ok := known[i]; ok {
			return was
		}
		fed, live, is := 0, 0, false
		for _, j := range r.estate.Needs(i) {
			switch {
			case r.estate.Node(j).Kind != plan.Supply:
				is = is || dark(j)
			default:
				if fed++; !lost(j) {
					live++
				}
			}
		}
		known[i] = is || fed > 0 && live == 0 || r.estate.Node(i).Kind == plan.Supply && lost(i)
		return known[i]
	}
	return dark
}

// gate is rule 5, and the last part of rule 12: nothing is started or put back to write-back on battery, or before the
// recharge gate of what feeds it is open.
func (r *Referee) gate(at time.Time, i int, what string) {
	ready := func(i int) (power, open bool) {
		feeds := r.estate.Feeds(i)
		power = len(feeds) == 0 || slices.ContainsFunc(feeds, func(s int) bool { return r.feeds[s].online })
		open = len(feeds) == 0 || slices.ContainsFunc(feeds, func(s int) bool { return r.feeds[s].online && (!r.feeds[s].failed || r.feeds[s].open) })
		return power, open
	}
	id := r.estate.Node(i).ID
	live, open := ready(i)
	if len(r.estate.Feeds(i)) == 0 {
		for _, d := range r.estate.Needs(i) {
			l, o := ready(d)
			live, open = live && l, open && o
		}
	}
	switch {
	case !live:
		r.violate(at, fmt.Sprintf("5: %s is %s on battery", id, what))
	case !open:
		r.violate(at, fmt.Sprintf("5: %s is %s before the recharge gate is open", id, what))
	}
}

// mayWaitOn is rule 11: when a battery is down to the reserve, no VM that goes with it is waited for any longer, or told
// to shut down with all the time that it may take.
func (r *Referee) mayWaitOn(at time.Time, supply int) {
	if r.hold || r.aborted || r.forgetful || r.goal != plan.Down {
		return
	}
	var dark func(int) bool
	for i, flies := range r.flying {
		rec := r.last[i]
		if n := r.estate.Node(i); !flies || n.Kind != plan.VM || *rec.Verb != plan.Stop || !n.Can.Has(plan.Force) || at.Sub(rec.At) < slowness {
			continue
		}
		if dark == nil {
			dark = r.goesDark(func(s int) bool {
				return s == supply || !r.feeds[s].online && (r.feeds[s].cut || !r.feeds[s].spent.IsZero()) // the others still carry it
			})
		}
		if dark(i) {
			r.violate(at, fmt.Sprintf("11: %s is waited for although only the reserve of %s is left", r.estate.Node(i).ID, r.estate.Node(supply).ID))
		}
	}
}

// mayForce is rule 18: whatever is forced has its reason on record, and nothing of lower data risk is waited for still.
func (r *Referee) mayForce(at time.Time, i int) {
	decl := r.estate.Node(i)
	if r.last[i].Reason == "" {
		r.violate(at, fmt.Sprintf("18: %s was forced off without a reason on record", decl.ID))
	}
	switch {
	case decl.Kind == plan.Host: // it holds no data of its own: it goes when nothing on it can be waited for
		return
	case r.last[i].Attempt > 1: // was decided before
		return
	}
	dark := r.goesDark(func(s int) bool { return !r.feeds[s].online || r.feeds[s].cycled || r.feeds[s].cutDue })
	for j, flies := range r.flying {
		other := r.estate.Node(j)
		if flies && dark(j) && j != i && *r.last[j].Verb == plan.Stop && other.Kind != plan.Person && other.Kind != plan.Host && other.Can.Has(plan.Force) && other.Risk < decl.Risk && !r.forgetful {
			r.violate(at, fmt.Sprintf("18: %s was forced off while %s, of lower risk, is waited for", decl.ID, other.ID))
		}
	}
}

// outputLost is the moment a supply's output goes away.
func (r *Referee) outputLost(_ truth, supply int) {
	r.feeds[supply].cutDue, r.feeds[supply].cut = false, true
}

// turned is the point of no return: what only a power cycle starts again is cut before the outage turns round, unless
// something before the cut could not be proven, or nothing has moved for long.
func (r *Referee) turned(at time.Time, rec engine.Record) {
	r.goal = rec.Goal
	for s := range r.feeds {
		f := &r.feeds[s]
		if len(rec.Supplies) > 0 && !slices.Contains(rec.Supplies, r.estate.Node(s).ID) {
			continue
		}
		if rec.Goal == plan.Up && f.cycled && slices.Contains(rec.Supplies, r.estate.Node(s).ID) && !f.cut && !r.forgetful && at.Sub(r.moved) < patience && !slices.ContainsFunc(r.failed, func(v plan.Verbs) bool { return v != 0 }) {
			r.violate(at, fmt.Sprintf("20: turned up past the point of no return, and %s was not cut", r.estate.Node(s).ID))
		}
		f.cycled, f.cut, f.triggered, f.spent = false, false, false, time.Time{}
	}
	clear(r.failed)
	r.aborted = r.aborted && rec.Goal == plan.Down
}

const patience = 2 * time.Minute // for a plan that stands still past its point of no return
