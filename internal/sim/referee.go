package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Referee checks the rules of the design (docs/ARCHITECTURE.md, "What must always hold") from the truth of the estate,
// never from what the engine believes. A violation begins with the number of its rule.
type Referee struct {
	Violations []string
	estate     *plan.Estate
	policy     power.Policy
	wasOn      []bool
	known      []bool // in a snapshot of the open outage
	listed     []bool // its last snapshot says that it was on
	owed       []bool // was on when it came into the open outage's snapshot
	meddled    []bool // somebody else switched it
	feeds      []feed // of supplies
	intents    map[engine.Op]engine.Record
	last       []engine.Record // per node: its last intent
	flying     []bool          // per node: an intent without a result
	flew       []bool          // likewise, before the last one
	failed     []plan.Verbs    // given up on record in this direction
	moved      time.Time       // the last intent or result
	snapshot   bool
	hold       bool
	aborted    bool
	goal       plan.Goal
	drill      []bool // the nodes that the open drill takes, until a supply fails; nil: none is open
	// forgetful: records were lost with the journal's disk and a crash on top. What rests on them can't be asked any more.
	forgetful bool
	asides    []aside
	shownOff  []bool // proven off on record in this outage, and not back since
	misled    []bool // a wrong answer is on record as a proof
}

// truth is the estate's side of the story.
type truth interface {
	stateOf(node int) plan.State
	protectedOf(node int) bool
	cleanOf(node int) bool
	darkOf(node int) bool      // it lost its power while on
	liedOf(node int) bool      // the last probe was answered wrongly
	setOf(node int) string     // what a cache or a cluster is set to
	bareOf(node int) time.Time // when it was last put back
	ignoredOf(supply int) bool // it took its last cut and did not make it
	time() time.Time
}

// NewReferee makes a referee for an estate on which everything is on.
func NewReferee(estate *plan.Estate, policy power.Policy) *Referee {
	n := estate.Len()
	r := &Referee{
		estate: estate, policy: policy, wasOn: make([]bool, n), known: make([]bool, n), listed: make([]bool, n), owed: make([]bool, n), meddled: make([]bool, n), asides: make([]aside, n), shownOff: make([]bool, n), misled: make([]bool, n), feeds: make([]feed, n),
		intents: map[engine.Op]engine.Record{}, last: make([]engine.Record, n), flying: make([]bool, n), flew: make([]bool, n), failed: make([]plan.Verbs, n),
	}
	for i := range n {
		r.wasOn[i], r.feeds[i] = true, feed{online: true, polls: pollsBack, since: Epoch}
	}
	return r
}

// rests are the rules that rest on what was recorded before: once records are lost for good they can't be asked.
var rests = []string{"4:", "9:", "10:", "12:", "18:", "20:", "21:"}

func (r *Referee) violate(at time.Time, text string) {
	if rule, _, _ := strings.Cut(text, " "); r.forgetful && slices.Contains(rests, rule) {
		return
	}
	r.Violations = append(r.Violations, fmt.Sprintf("%s at %s", text, at.Sub(Epoch)))
}

func (r *Referee) resumed() { clear(r.intents) }

// record takes a durable record.
func (r *Referee) record(t truth, rec engine.Record) {
	i, _ := r.estate.Index(rec.Node)
	switch rec.Kind {
	case engine.Opened:
		r.snapshot, r.goal, r.hold, r.aborted = false, plan.Down, false, false
		r.openDrill(t, rec)
		for s := range r.feeds {
			f := &r.feeds[s]
			f.failed, f.cycled, f.cut, f.triggered, f.spent = f.outFor > 0, false, false, false, time.Time{}
		}
		clear(r.listed)
		for n := range r.wasOn {
			st := t.stateOf(n)
			r.wasOn[n] = st == plan.On || st == plan.Starting || st == plan.Unknown || t.darkOf(n)
		}
		clear(r.failed)
		clear(r.known)
		clear(r.asides)
		clear(r.shownOff)
		clear(r.misled)
	case engine.Snapshot:
		if r.snapshot {
			r.violate(t.time(), "4: the snapshot was taken again")
		}
		r.snapshot = true
		r.owe(t, rec.Nodes)
	case engine.Widened:
		r.owe(t, rec.Nodes)
	case engine.Closed:
		r.closed(t, rec.Nodes)
	case engine.Intent:
		rec.At = t.time() // the record's own is the wall's
		r.intents[rec.Op], r.last[i], r.flew[i], r.flying[i], r.moved = rec, rec, r.flying[i], true, t.time()
		r.limits(t)
		r.shown(i, rec.Kind, *rec.Verb)
	case engine.Accepted:
		r.flying[i] = r.flying[i] && (rec.Outcome != engine.Unreached || r.flew[i]) // what has not reached its node is as before
	case engine.HeldBack:
		r.flying[i], r.moved = false, t.time()
	case engine.Proven, engine.Failed:
		r.flying[i], r.moved = false, t.time()
		if rec.Kind == engine.Failed {
			r.failed[i] |= plan.VerbSet(*rec.Verb)
		} else {
			r.proof(t, i, *rec.Verb)
			r.shown(i, rec.Kind, *rec.Verb)
		}
		if kind := r.estate.Node(i).Kind; kind != plan.Supply && kind != plan.Person && kind != plan.Self {
			r.shownOff[i] = rec.Kind == engine.Proven && *rec.Verb == plan.Stop || r.shownOff[i] && *rec.Verb != plan.Start
		}
	case engine.Mains:
		r.drill = nil // an outage from here on
	case engine.NoReturn:
		r.commit(rec)
	case engine.Turned:
		r.turned(t.time(), rec)
	case engine.Triggered:
		for _, id := range rec.Supplies {
			if s, ok := r.estate.Index(id); ok && rec.Stage == power.ShutdownStage {
				r.feeds[s].triggered = true
			}
		}
	case engine.Ordered:
		r.ordered(rec)
	case engine.Reopened:
		if st := t.stateOf(i); (rec.Verb == nil || *rec.Verb != plan.Start) && r.goal == plan.Down && st == plan.Off && *rec.State != plan.Stopping && !t.liedOf(i) && !r.meddled[i] {
			r.violate(t.time(), fmt.Sprintf("19: %s was called on again and is off", rec.Node))
		}
	default:
	}
}

// proof is rule 19: what is shown as done is done.
func (r *Referee) proof(t truth, i int, verb plan.Verb) {
	st := t.stateOf(i)
	id := r.estate.Node(i).ID
	switch {
	case t.liedOf(i):
		r.misled[i] = true // it may be written down, but nothing that can't be undone may rest on it
	case r.estate.Node(i).Kind == plan.Person:
	case verb == plan.Stop && st != plan.Off && st != plan.Gone:
		r.violate(t.time(), fmt.Sprintf("19: %s was called off and is %s", id, st))
	case verb == plan.Start && st != plan.On:
		r.violate(t.time(), fmt.Sprintf("19: %s was called on and is %s", id, st))
	case verb == plan.Unprotect && (t.protectedOf(i) || r.asides[i].told && r.asides[i].seen && !r.meddled[i] && t.setOf(i) != r.asides[i].set):
		r.violate(t.time(), fmt.Sprintf("19: %s was called put back and is not", id))
	case verb == plan.Protect && !t.protectedOf(i):
		r.violate(t.time(), fmt.Sprintf("19: %s was called protected and is not", id))
	case verb == plan.Flush && !t.cleanOf(i):
		r.violate(t.time(), fmt.Sprintf("19: %s was called clean and is not", id))
	}
}

// command takes a command at the moment it is given.
func (r *Referee) command(t truth, i int, do engine.Do) {
	decl := r.estate.Node(i)
	if _, written := r.intents[do.Op]; !written {
		r.violate(t.time(), fmt.Sprintf("7: %s %s without a durable intent", do.Verb, decl.ID))
	}
	if !r.snapshot && decl.Kind != plan.Supply {
		r.violate(t.time(), fmt.Sprintf("4: %s %s before the snapshot", do.Verb, decl.ID))
	}
	if r.drill != nil && !r.drill[i] {
		r.violate(t.time(), fmt.Sprintf("21: %s %s in a drill that does not take it", do.Verb, decl.ID))
	}
	switch do.Verb {
	case plan.Stop, plan.Force:
		r.mayStop(t, i, do.Verb, r.intents[do.Op].Attempt > 1)
	case plan.Cut:
		r.mayCut(t, i)
	case plan.Start:
		r.mayStart(t, i)
	case plan.Unprotect:
		r.mayPutBack(t, i, do.Settings)
	case plan.Protect, plan.Flush, plan.Discharge, plan.EndDischarge:
	}
}

// ordered follows the orders that were not refused.
func (r *Referee) ordered(rec engine.Record) {
	if rec.Reason != "" {
		return
	}
	switch rec.Order {
	case engine.Hold:
		r.hold = true
	case engine.Resume:
		r.hold = false
	case engine.Abort:
		r.aborted = true
	case engine.Go:
		r.hold, r.aborted = false, false
	case engine.Confirm, engine.Skip:
	}
}

// openDrill notes what a drill takes. It begins on the mains alone.
func (r *Referee) openDrill(t truth, rec engine.Record) {
	if r.drill = nil; rec.Mode != engine.ModeDrill {
		return
	}
	r.drill = make([]bool, r.estate.Len())
	for _, id := range rec.Scope {
		if i, ok := r.estate.Index(id); ok {
			r.drill[i] = true
		}
	}
	if slices.ContainsFunc(r.feeds, func(f feed) bool { return f.outFor > 0 }) {
		r.violate(t.time(), "5: a drill begins on battery")
	}
}

// commit follows the point of no return: the supplies that the record names are cut before anything comes back.
func (r *Referee) commit(rec engine.Record) {
	for _, id := range rec.Supplies {
		if s, ok := r.estate.Index(id); ok {
			r.feeds[s].cycled = true
		}
	}
}

func (s *simulation) stateOf(i int) plan.State {
	if s.things[i].frozen {
		return plan.Unknown // it has power, and is good for nothing
	}
	return s.things[i].state
}

func (s *simulation) protectedOf(i int) bool { return s.things[i].protected }
func (s *simulation) setOf(i int) string     { return s.things[i].set }
func (s *simulation) bareOf(i int) time.Time {
	return s.things[i].bareAt
}

func (s *simulation) ignoredOf(i int) bool {
	return slices.ContainsFunc(s.cells, func(c cell) bool { return c.node == i && c.ignored })
}
func (s *simulation) cleanOf(i int) bool { return !s.things[i].dirty }
func (s *simulation) darkOf(i int) bool  { return s.things[i].dark }
func (s *simulation) liedOf(i int) bool {
	return s.things[i].looks == s.things[i].liesAt || slices.Contains(misleading, s.scenario.BMCs[s.estate.Node(i).ID])
}
func (s *simulation) time() time.Time { return s.now }
