package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// Referee checks the rules of the design (docs/ARCHITECTURE.md, "What must always hold") from the truth of the estate,
// never from what the engine believes. A violation begins with the number of its rule.
type Referee struct {
	Violations []string
	estate     *plan.Estate
	wasOn      []bool
	listed     []bool // its last snapshot says that it was on
	owed       []bool // was on when it came into the open outage's snapshot
	meddled    []bool // somebody else switched it
	online     []bool // supplies whose mains are on
	back       []int  // per supply: polls since its mains came back
	intents    map[engine.Op]engine.Record
	reasons    map[int]string // per node: the reason of its last intent
	flying     []bool         // per node: an intent without a result
	failed     []plan.Verbs   // given up on record in this direction
	snapshot   bool
	outFor     []int  // per supply: polls since it was first heard to be out
	cycled     []bool // per supply: something was commanded that only its power cycle takes back
	goal       plan.Goal
	cutDue     map[int]string // supplies with a cut on record, and its reason
	// forgetful: records were lost with the journal's disk and a crash on top. What rests on them can't be asked any more.
	forgetful bool
}

// truth is the estate's side of the story.
type truth interface {
	stateOf(node int) plan.State
	protectedOf(node int) bool
	cleanOf(node int) bool
	darkOf(node int) bool // it lost its power while on
	liedOf(node int) bool // the last probe was answered wrongly
	time() time.Time
}

// NewReferee makes a referee for an estate on which everything is on.
func NewReferee(estate *plan.Estate) *Referee {
	n := estate.Len()
	r := &Referee{estate: estate, wasOn: make([]bool, n), online: make([]bool, n), back: make([]int, n), flying: make([]bool, n), cycled: make([]bool, n), outFor: make([]int, n), failed: make([]plan.Verbs, n)}
	r.listed, r.owed, r.meddled = make([]bool, n), make([]bool, n), make([]bool, n)
	r.intents, r.reasons, r.cutDue = map[engine.Op]engine.Record{}, map[int]string{}, map[int]string{}
	for i := range n {
		r.wasOn[i], r.online[i], r.back[i] = true, true, pollsBack
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

// mains takes a poll of a supply. Its power counts as back after seven polls that were heard: the engine waits for five
// seconds of it, and sees the first up to two polls late.
func (r *Referee) mains(supply int, on, heard bool) {
	if r.online[supply] = on; on && heard {
		r.back[supply]++
	} else {
		r.back[supply] = 0
	}
	switch {
	case !heard:
	case on:
		r.outFor[supply] = 0
	default:
		r.outFor[supply]++
	}
}

const pollsBack = 7

func (r *Referee) resumed() { clear(r.intents) }

// record takes a durable record.
func (r *Referee) record(t truth, rec engine.Record) {
	i, _ := r.estate.Index(rec.Node)
	switch rec.Kind {
	case engine.Opened:
		r.snapshot, r.goal = false, plan.Down
		clear(r.cycled)
		clear(r.listed)
		for n := range r.wasOn {
			st := t.stateOf(n)
			r.wasOn[n] = st == plan.On || st == plan.Starting || t.darkOf(n)
		}
		clear(r.failed)
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
		r.intents[rec.Op], r.reasons[i], r.flying[i] = rec, rec.Reason, true
		r.limits(t)
	case engine.Proven, engine.Failed:
		r.flying[i] = false
		if rec.Kind == engine.Failed {
			r.failed[i] |= plan.VerbSet(*rec.Verb)
		} else {
			r.proof(t, i, *rec.Verb)
		}
	case engine.NoReturn:
		r.commit(i)
	case engine.Turned:
		r.goal = rec.Goal
		clear(r.cycled)
		clear(r.failed)
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
	if !r.snapshot {
		r.violate(t.time(), fmt.Sprintf("4: %s %s before the snapshot", do.Verb, decl.ID))
	}
	switch do.Verb {
	case plan.Stop, plan.Force:
		r.mayStop(t, i, do.Verb, r.intents[do.Op].Attempt > 1)
	case plan.Cut:
		r.mayCut(t, i)
	case plan.Start:
		r.mayStart(t, i)
	case plan.Protect, plan.Flush, plan.Unprotect:
	}
}

func (r *Referee) mayStop(t truth, i int, verb plan.Verb, again bool) {
	decl := r.estate.Node(i)
	if t.stateOf(i) == plan.Starting {
		r.violate(t.time(), fmt.Sprintf("6: %s was told to stop while it starts", decl.ID))
	}
	dark := r.estate.Scope(func(s int) bool {
		return r.back[s] < pollsBack || r.cycled[s] || r.goal == plan.Down && r.cutDue[s] != ""
	})
	if !dark[i] {
		r.violate(t.time(), fmt.Sprintf("21: %s keeps its power and was told to stop", decl.ID))
	}
	if verb == plan.Force && r.reasons[i] == "" {
		r.violate(t.time(), fmt.Sprintf("18: %s was forced off without a reason on record", decl.ID))
	}
	for _, u := range r.realUsers(i) {
		st := t.stateOf(u)
		if st == plan.Off || st == plan.Gone || !r.wasOn[u] && st != plan.On {
			continue
		}
		user := r.estate.Node(u)
		switch decl.Kind {
		case plan.Host:
			if user.Kind != plan.VM || verb != plan.Force || r.reasons[i] == "" {
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
	known := r.estate.Scope(func(s int) bool { return r.outFor[s] > 3 }) // what was on its way when it failed goes on
	for c := range r.estate.Len() {
		cache := r.estate.Node(c)
		if verb == plan.Stop && !again && cache.Can.Has(plan.Protect) && known[c] && decl.Kind == plan.VM && t.stateOf(c) == plan.On && !t.protectedOf(c) && !r.failed[c].Has(plan.Protect) {
			r.violate(t.time(), fmt.Sprintf("12: %s was told to stop while the cache %s is in write-back", decl.ID, cache.ID))
		}
	}
	if decl.Can.Has(plan.Flush) && !t.cleanOf(i) {
		r.violate(t.time(), fmt.Sprintf("12: %s was told to stop with dirty data", decl.ID))
	}
}

// commit follows the point of no return: what has no feed of its own commits every supply.
func (r *Referee) commit(i int) {
	feeds := r.estate.Feeds(i)
	for s := range r.estate.Len() {
		if s == i || slices.Contains(feeds, s) || len(feeds) == 0 {
			r.cycled[s] = true
		}
	}
}

func (r *Referee) mayCut(t truth, i int) {
	r.cutDue[i] = "ordered"
	if r.reasons[i] != "" {
		return // by deadline, on record
	}
	for u := range r.estate.Len() {
		decl := r.estate.Node(u)
		if !decl.Can.Has(plan.Stop) || decl.Kind == plan.Self || decl.Kind == plan.Person || !slices.Contains(r.estate.Feeds(u), i) {
			continue
		}
		other := slices.ContainsFunc(r.estate.Feeds(u), func(f int) bool { return f != i && r.online[f] })
		if st := t.stateOf(u); !other && st != plan.Off && st != plan.Gone {
			r.violate(t.time(), fmt.Sprintf("3: the output of %s is cut while %s is %s", r.estate.Node(i).ID, decl.ID, st))
		}
	}
}

func (r *Referee) mayStart(t truth, i int) {
	decl := r.estate.Node(i)
	if !r.wasOn[i] && !r.meddled[i] {
		r.violate(t.time(), fmt.Sprintf("4: %s is started and was not on before", decl.ID))
	}
	if t.stateOf(i) == plan.Stopping {
		r.violate(t.time(), fmt.Sprintf("6: %s was told to start while it stops", decl.ID))
	}
	feeds := r.estate.Feeds(i)
	if len(feeds) > 0 && !slices.ContainsFunc(feeds, func(f int) bool { return r.online[f] }) {
		r.violate(t.time(), fmt.Sprintf("5: %s is started on battery", decl.ID))
	}
	for _, d := range r.estate.Needs(i) {
		if n := r.estate.Node(d); n.Kind != plan.Supply && n.Can.Has(plan.Stop) && r.listed[d] && n.Kind != plan.Person && !r.meddled[d] && t.stateOf(d) != plan.On {
			r.violate(t.time(), fmt.Sprintf("10: %s is started before %s is on", decl.ID, n.ID))
		}
	}
}

// limits is rule 9, over intents without a result.
func (r *Referee) limits(t truth) {
	for _, l := range r.estate.Limits() {
		total, perHost := 0, map[string]int{}
		for i, flies := range r.flying {
			if n := r.estate.Node(i); flies && n.Type == l.Class {
				total++
				perHost[n.Host]++
			}
		}
		if l.Total > 0 && total > l.Total {
			r.violate(t.time(), fmt.Sprintf("9: %d of %s at once, limit %d", total, l.Class, l.Total))
		}
		for host, n := range perHost {
			if l.PerHost > 0 && n > l.PerHost {
				r.violate(t.time(), fmt.Sprintf("9: %d of %s at once on %s, limit %d", n, l.Class, host, l.PerHost))
			}
		}
	}
}

// outputLost is the moment a supply's output goes away.
func (r *Referee) outputLost(_ truth, supply int) { delete(r.cutDue, supply) }

// end is rule 8: with the mains on for long, everything is over, unless it is on hold, or says what it waits for and a
// person is needed.
func (r *Referee) end(t truth, result *Result) {
	switch {
	case result.View.Outage == "", result.View.Hold:
	case result.View.Waiting == "":
		r.violate(t.time(), "8: the outage is stuck and does not say on what")
	case !slices.Contains(r.online, false):
		r.violate(t.time(), "8: the outage is not over: "+result.View.Waiting)
	}
}

// owe notes what was on when it came into a snapshot: it comes back, or is reported.
func (r *Referee) owe(t truth, nodes []engine.NodeState) {
	for _, n := range nodes {
		if i, ok := r.estate.Index(n.Node); ok {
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
