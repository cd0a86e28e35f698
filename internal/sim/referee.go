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
}

// truth is the estate's side of the story.
type truth interface {
	stateOf(node int) plan.State
	protectedOf(node int) bool
	cleanOf(node int) bool
	darkOf(node int) bool  // it lost its power while on
	liedOf(node int) bool  // the last probe was answered wrongly
	setOf(node int) string // what Protect changed
	time() time.Time
}

// NewReferee makes a referee for an estate on which everything is on.
func NewReferee(estate *plan.Estate, policy power.Policy) *Referee {
	n := estate.Len()
	r := &Referee{
		estate: estate, policy: policy, wasOn: make([]bool, n), known: make([]bool, n), listed: make([]bool, n), owed: make([]bool, n), meddled: make([]bool, n), feeds: make([]feed, n),
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
			r.wasOn[n] = st == plan.On || st == plan.Starting || t.darkOf(n)
		}
		clear(r.failed)
		clear(r.known)
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
		if st := t.stateOf(i); r.goal == plan.Down && st == plan.Off && *rec.State != plan.Stopping && !t.liedOf(i) && !r.meddled[i] {
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
	case t.liedOf(i): // it may be written down, but nothing that can't be undone may rest on it
	case r.estate.Node(i).Kind == plan.Person:
	case verb == plan.Stop && st != plan.Off && st != plan.Gone:
		r.violate(t.time(), fmt.Sprintf("19: %s was called off and is %s", id, st))
	case verb == plan.Start && st != plan.On:
		r.violate(t.time(), fmt.Sprintf("19: %s was called on and is %s", id, st))
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
		r.gate(t.time(), i, "put back to write-back")
		if was := t.setOf(i); do.Settings != was {
			r.violate(t.time(), fmt.Sprintf("12: %s is put back to %q, and was set to %q", decl.ID, do.Settings, was))
		}
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

func (r *Referee) mayStop(t truth, i int, verb plan.Verb, again bool) {
	decl := r.estate.Node(i)
	if t.stateOf(i) == plan.Starting {
		r.violate(t.time(), fmt.Sprintf("6: %s was told to stop while it starts", decl.ID))
	}
	dark := r.goesDark(func(s int) bool {
		f := &r.feeds[s]
		return f.polls < pollsBack || f.cycled || r.goal == plan.Down && f.cutDue
	})
	drilled := r.drill != nil && r.goal == plan.Down // was looked at
	if !dark(i) && !drilled {
		r.violate(t.time(), fmt.Sprintf("21: %s keeps its power and was told to stop", decl.ID))
	}
	if verb == plan.Force {
		r.mayForce(t.time(), i)
	}
	for _, u := range r.realUsers(i) {
		st := t.stateOf(u)
		if st == plan.Off || st == plan.Gone || !r.wasOn[u] && st != plan.On {
			continue
		}
		user := r.estate.Node(u)
		switch decl.Kind {
		case plan.Host:
			if user.Kind != plan.VM || verb != plan.Force || r.last[i].Reason == "" {
				r.violate(t.time(), fmt.Sprintf("2: host %s was told to stop with %s %s on it", decl.ID, user.ID, st))
			}
		case plan.VM:
			if !r.failed[u].Has(plan.Stop) && !r.meddled[u] {
				r.violate(t.time(), fmt.Sprintf("10: %s was told to stop before its user %s was off", decl.ID, user.ID))
			}
		default:
			r.violate(t.time(), fmt.Sprintf("1: %s was told to stop while %s is %s", decl.ID, user.ID, st))
		}
	}
	known := r.goesDark(func(s int) bool { return r.feeds[s].outFor > 3 }) // what was on its way when it failed goes on
	for c := range r.estate.Len() {
		cache := r.estate.Node(c)
		if cache.Kind == plan.Cluster && (decl.Stage != power.ShutdownStage || !slices.Contains(r.estate.Dependents(c), i) && !slices.Contains(r.estate.Dependents(i), c)) {
			continue // set aside for the shutdown of what stands on it, and before what it stands on
		}
		if verb == plan.Stop && !again && cache.Can.Has(plan.Protect) && (known(c) || r.drill != nil && r.drill[c]) && decl.Kind == plan.VM && t.stateOf(c) == plan.On && !t.protectedOf(c) && !r.failed[c].Has(plan.Protect) {
			r.violate(t.time(), fmt.Sprintf("12: %s was told to stop while the cache %s is in write-back", decl.ID, cache.ID))
		}
	}
	if decl.Can.Has(plan.Flush) && !t.cleanOf(i) {
		r.violate(t.time(), fmt.Sprintf("12: %s was told to stop with dirty data", decl.ID))
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

func (r *Referee) mayCut(t truth, i int) {
	r.feeds[i].cut, r.feeds[i].cutDue = true, true
	if r.last[i].Reason != "" {
		return // by deadline, on record
	}
	for u := range r.estate.Len() {
		decl := r.estate.Node(u)
		if !decl.Can.Has(plan.Stop) || decl.Kind == plan.Self || decl.Kind == plan.Person || decl.Kind == plan.Outlet || !slices.Contains(r.estate.Feeds(u), i) {
			continue
		}
		other := slices.ContainsFunc(r.estate.Feeds(u), func(f int) bool { return f != i && r.feeds[f].online })
		if st := t.stateOf(u); !other && st != plan.Off && st != plan.Gone {
			r.violate(t.time(), fmt.Sprintf("3: the output of %s is cut while %s is %s", r.estate.Node(i).ID, decl.ID, st))
		}
	}
}

func (r *Referee) mayStart(t truth, i int) {
	decl := r.estate.Node(i)
	if !r.wasOn[i] && !r.owed[i] && !r.meddled[i] {
		r.violate(t.time(), fmt.Sprintf("4: %s is started and was not on before", decl.ID))
	}
	if t.stateOf(i) == plan.Stopping {
		r.violate(t.time(), fmt.Sprintf("6: %s was told to start while it stops", decl.ID))
	}
	r.gate(t.time(), i, "started")
	for _, d := range r.estate.Needs(i) {
		if n := r.estate.Node(d); n.Kind != plan.Supply && n.Can.Has(plan.Stop) && r.listed[d] && n.Kind != plan.Person && !r.meddled[d] && t.stateOf(d) != plan.On {
			r.violate(t.time(), fmt.Sprintf("10: %s is started before %s is on", decl.ID, n.ID))
		}
	}
}

// outputLost is the moment a supply's output goes away.
func (r *Referee) outputLost(_ truth, supply int) {
	r.feeds[supply].cutDue, r.feeds[supply].cut = false, true
}

// end is rule 8: with the mains on for long, everything is over, unless it is on hold, or says what it waits for and a
// person is needed.
func (r *Referee) end(t truth, result *Result) {
	switch {
	case result.View.Outage == "", result.View.Hold:
	case result.View.Waiting == "":
		r.violate(t.time(), "8: the outage is stuck and does not say on what")
	case !slices.ContainsFunc(r.feeds, func(f feed) bool { return !f.online }):
		r.violate(t.time(), "8: the outage is not over: "+result.View.Waiting)
	}
}

// owe notes what was on when it came into a snapshot: it comes back, or is reported.
func (r *Referee) owe(t truth, nodes []engine.NodeState) {
	for _, n := range nodes {
		if i, ok := r.estate.Index(n.Node); ok {
			if r.known[i] && !r.forgetful {
				r.violate(t.time(), "4: the snapshot of "+n.Node+" was taken again")
			}
			r.known[i] = n.State != plan.Unknown && n.State != plan.Unreachable // else it may be added once, when it answers
			r.listed[i] = n.State == plan.On || n.State == plan.Starting
			r.owed[i] = t.stateOf(i) == plan.On
		}
	}
}

// closed is rule 20.
func (r *Referee) closed(t truth, reported []engine.NodeState) {
	for i, owed := range r.owed {
		n := r.estate.Node(i)
		told := slices.ContainsFunc(reported, func(s engine.NodeState) bool { return s.Node == n.ID })
		if owed && !told && !r.meddled[i] && n.Kind != plan.Supply && t.stateOf(i) != plan.On {
			r.violate(t.time(), fmt.Sprintf("20: %s was on before, and is neither brought back nor reported: it is %s", n.ID, t.stateOf(i)))
		}
	}
	clear(r.owed)
}

// realUsers looks through nodes that have no stop of their own.
func (r *Referee) realUsers(i int) []int {
	var users []int
	seen := map[int]bool{}
	queue := slices.Clone(r.estate.Users(i))
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if seen[u] {
			continue
		}
		seen[u] = true
		switch n := r.estate.Node(u); {
		case n.Kind == plan.Self, n.Kind == plan.Person, n.Kind == plan.Supply:
		case n.Can.Has(plan.Stop):
			users = append(users, u)
		default:
			queue = append(queue, r.estate.Users(u)...)
		}
	}
	return users
}

func (s *simulation) stateOf(i int) plan.State { return s.things[i].state }
func (s *simulation) protectedOf(i int) bool   { return s.things[i].protected }
func (s *simulation) cleanOf(i int) bool       { return !s.things[i].dirty }
func (s *simulation) darkOf(i int) bool        { return s.things[i].dark }
func (s *simulation) liedOf(i int) bool        { return s.things[i].looks == s.things[i].liesAt }
func (s *simulation) time() time.Time          { return s.now }
