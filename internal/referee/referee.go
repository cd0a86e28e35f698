// Package referee judges what an engine did, from the truth of the estate and never from what the engine believes. It is
// told a history, by whoever watched it (a simulator, a demo, a site of real peers), keeps its own copy of the truth, and
// has one function for each rule of "What must always hold" that can be judged from outside.
//
// It knows no direction of an outage. Whether a node may be stopped, and for how long what was given up of it is an excuse,
// follows from the supplies that carry it; whether something may be started, from the gates of those.
package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Sight is what a source sees of the estate beside the power of nodes and supplies and the commands. Rules that need more
// than a source sees say nothing.
type Sight uint8

// The kinds of sight.
const (
	Records   Sight = 1 << iota // each record at the moment that it is durable; without: an outage begins with the first loss of mains
	Moves                       // that a node is starting or stopping, and not only that it is on or off
	Batteries                   // how long each battery lasts
)

// Options say what is judged.
type Options struct {
	Estate *plan.Estate
	Policy power.Policy
	Sight  Sight
	Began  time.Time // violations tell the time since then
	// Looks is how long a look at each node takes: so much older is what the best of controllers can know, and so much later it acts
	// on it. nil: each answer is there at once.
	Looks []time.Duration
}

// Referee judges one run. Its methods are told what happens, in the order in which it happens, each with its time. They are
// not to be called at the same time.
type Referee struct {
	Violations []string // each begins with the number of its rule
	// Avoidable tells of storage that lost its power without a stop, for which there was time: no rule can promise that, since there is
	// always one more way in which what stands on it may not be known to be off. A campaign counts it.
	Avoidable []string

	estate     *plan.Estate
	policy     power.Policy
	sight      Sight
	began      time.Time
	looks      []time.Duration
	slowest    time.Duration // the longest of looks
	nodes      []node
	supplies   []supply
	place      []int // per node: its place in supplies, -1: it is none
	protectors []int // the nodes that can be protected: caches and clusters
	flights    flights
	asking     asking
	users      [][]int // per node: see usersOf; nil: not asked yet

	life          int       // numbers the lives of the controller: an intent of an earlier one allows no command
	resumed       time.Time // when its present life began, if it is not the first
	clockSet      time.Time // when the clock was set
	newest        time.Time // when the newest record was made: before a life, since then nobody was there, as far as anybody can know
	unwatched     bool      // and that was so long that a supply may have failed unheard, in the open outage
	resumedBefore time.Time // and the time before
	open          bool
	snapshot      bool
	hold          bool
	heldUntil     time.Time
	drill         []bool // the nodes that the open drill takes, until a supply fails; nil: none is open
	drillUp       bool   // the drill has turned: nothing is to be stopped any more
	observes      bool   // nothing is to be commanded
	moved         time.Time
	stranded      bool      // see strand
	clock         time.Time // of the last poll
	// forgetful: records were lost with the journal's disk and a crash on top. Until the next outage begins, what rests on them
	// can't be asked.
	forgetful bool
}

// Condition is the truth about a node.
type Condition struct {
	State     plan.State // Unknown: it has power, and is good for nothing
	Protected bool       // a cache in write-through, a cluster that is suspended
	Dirty     bool       // a cache holds what is not on its storage
	Set       string     // what a cache or a cluster is set to, in the source's own words
	Dark      bool       // it lost its power while it was on, and was not on since
}

// node is what is known of a node.
type node struct {
	now       Condition
	dark      bool // it is losing its power, or has lost it: with the supplies that are gone
	wasOn     bool // when the outage began, or so it had to seem
	known     bool // in a snapshot of the open outage
	listed    bool // its last snapshot says that it was on
	taken     bool // in that snapshot, whatever it was
	owed      bool // was on when it came into the open outage's snapshot
	intent    intent
	failed    plan.Verbs // given up on record, in its present round: until its power is back or the opposite is commanded
	spared    int        // that was since it was on its way up: it counts until it has said so often that it is on
	commanded plan.Verbs // commanded in the open outage

	toldToStop   bool // to stop while it might be, and not on since
	toldBefore   bool // so it was before its last command
	toldAt       time.Time
	toldAtBefore time.Time
	toldBy       plan.Verb // with the last of these
	stopAt       time.Time // last told to stop, and not powered off
	forgot       bool      // and that is lost with the records of an outage before this one
	stolen       bool      // it was on before an outage whose records are lost, and has not come up since: it may be brought back

	mute         bool      // it has not answered since it was last told to go off, or began to start
	fell         time.Time // lost its power while on, last
	roused       time.Time // last told to start, or given its power back
	rousedBefore time.Time // so it was before its last start
	started      time.Time // last told to start
	began        time.Time // to start, last
	changed      time.Time // from one state to another, last

	meddled   time.Time  // somebody else switched it, last
	looks     int        // answered probes since then
	plain     time.Time  // when that was seen for sure
	with      int        // it went, or came, with this one, as far as nobody could know of that; negative: with none
	vain      time.Time  // when the last probe was not answered; zero: it was
	vainSince time.Time  // the first of those in a row
	spokeAt   time.Time  // when one was answered after those
	saidAt    time.Time  // when one was answered, last
	cameAt    time.Time  // when the newest was given that has come to the controller
	came      plan.State // and what that said
	said      plan.State // how it was at the last one
	wentAt    time.Time  // and when one was while it was off, or on its way there
	lied      bool       // the last probe was answered wrongly
	liedAt    time.Time  // when one was, last
	misled    bool       // and a wrong answer is on record as a proof

	denied       bool // its last Protect was given up, and may take effect all the same
	deniedBefore bool // so it was before its last Protect
	shownOff     bool // proven off on record in this outage, and not back since
	protection   protection
}

// New makes a referee for an estate on which everything is on and nothing is protected, until it is told otherwise.
func New(o Options) *Referee {
	n := o.Estate.Len()
	r := &Referee{
		estate: o.Estate, policy: o.Policy, sight: o.Sight, began: o.Began, looks: o.Looks,
		nodes: make([]node, n), place: make([]int, n), users: make([][]int, n),
		slowest: slices.Max(append([]time.Duration{0}, o.Looks...)),
		flights: newFlights(o.Estate), asking: newAsking(n),
	}
	for i := range n {
		r.nodes[i] = node{now: Condition{State: plan.On}, wasOn: true}
		r.place[i] = -1
		decl := o.Estate.Node(i)
		if decl.Kind == plan.Supply {
			r.place[i] = len(r.supplies)
			r.supplies = append(r.supplies, supply{node: i, online: true, output: true, since: o.Began, heardOn: o.Began.Add(-settles)})
		}
		if decl.Can.Has(plan.Protect) {
			r.protectors = append(r.protectors, i)
		}
	}
	return r
}

// Broken notes a violation that the source itself saw. The text begins with the number of its rule.
func (r *Referee) Broken(at time.Time, text string) {
	r.Violations = append(r.Violations, fmt.Sprintf("%s at %s", text, at.Sub(r.began)))
}

// Changed tells how a node is from now on. A supply's output is told by OutputLost and OutputBack.
func (r *Referee) Changed(at time.Time, i int, now Condition) {
	n := &r.nodes[i]
	if now.State == plan.Starting && n.now.State != plan.Starting {
		n.mute, n.began = true, at
	}
	if r.isSetByOthers(i, now) {
		r.Meddled(at, i)
		n.protection.lost = true
	}
	if now.State != n.now.State {
		n.changed = at
	}
	n.wasOn = n.wasOn || r.open && !n.known && now.State == plan.On // a snapshot that takes it in later has it so
	if now.Dark && !n.now.Dark {
		n.fell = at
	}
	n.protection.lost = n.protection.lost && (!now.Protected || n.now.Protected)
	comes := now.State == plan.On && n.now.State != plan.On
	n.toldToStop = n.toldToStop && (!comes || at.Sub(n.toldAt) <= guarded) // its stop may arrive yet
	n.now = now
	if r.estate.Node(i).Kind == plan.Self {
		r.strand()
	}
}

// isSetByOthers reports whether a cache or a cluster that is on changes its settings now, and nobody waits for that any more.
func (r *Referee) isSetByOthers(i int, now Condition) bool {
	n := &r.nodes[i]
	flips := n.now.Protected && !now.Protected || !n.now.Protected && now.Protected && n.denied
	undone := n.now.Protected && n.intent.verb == plan.Protect // by an Unprotect of before, while that is waited for
	return flips && now.State == plan.On && (r.flights.at[i] < 0 || undone)
}

// Meddled tells that somebody else switches a node now, or that a command has its effect which was given up long ago. That it was asked
// in vain right before is as good as after: what is asked no more says no less (docs/adr/0015).
func (r *Referee) Meddled(at time.Time, i int) {
	n := &r.nodes[i]
	n.meddled, n.looks, n.with = at, 0, -1
}

// Followed tells that a node goes off, or comes on, with another that it stands on: who could not know of that could not know of this.
func (r *Referee) Followed(at time.Time, i, other int) {
	if r.unseen(other) {
		r.Meddled(at, i)
		r.nodes[i].with = other
	}
}

// Unanswered tells that a node was asked and said nothing.
func (r *Referee) Unanswered(at time.Time, i int) {
	if r.nodes[i].vain.IsZero() {
		r.nodes[i].vainSince = at
	}
	r.nodes[i].vain = at
}

// Answered tells that a node answers a probe. That answer may be on its way for a while: see Told.
func (r *Referee) Answered(at time.Time, i int) {
	n := &r.nodes[i]
	if !r.looksDropped(i) {
		if n.looks++; n.looks == looksLater {
			n.plain = at
		}
	}
	n.saidAt, n.said = at, n.now.State
	if n.isDown() || n.now.State == plan.Stopping {
		n.wentAt = at
	}
	if p := r.place[i]; p >= 0 {
		r.lookedAtSupply(&r.supplies[p], at)
	}
}

// heard is how many of the looks since somebody else switched a node the controller has: the answer of the last may be on its way.
func (n *node) heard() int {
	if n.cameAt.Before(n.saidAt) {
		return max(0, n.looks-1)
	}
	return n.looks
}

// Told tells that the answer of a node has come to the controller, and whether it is wrong. Who knows beforehand that it answers wrongly
// may say so before any probe.
func (r *Referee) Told(at time.Time, i int, wrongly bool) {
	n := &r.nodes[i]
	if !n.vain.IsZero() && !n.isDown() {
		n.spokeAt = at
	}
	n.vain, n.cameAt, n.came = time.Time{}, n.saidAt, n.said
	n.mute = n.mute && (n.saidAt.Before(n.began) || n.saidAt.Before(n.toldAt)) // what it said may be of before
	if n.spared > 0 && n.said == plan.On {
		if n.spared--; n.spared == 0 {
			n.failed &^= plan.VerbSet(plan.Stop)
		}
	}
	if n.lied = wrongly; wrongly && n.said != plan.Off {
		n.liedAt = at
	}
}

// Resumed tells that the controller was thrown away and is back: what it had announced and not commanded is void.
// That a cut did not come is forgotten too, unless it is on record.
func (r *Referee) Resumed(at time.Time) {
	r.life, r.resumed, r.resumedBefore = r.life+1, at, r.resumed
	r.unwatched = r.unwatched || r.has(Records) && at.Sub(r.newest) > missedPoll
	for k := range r.supplies {
		s := &r.supplies[k]
		s.missed, s.plain = s.missed || s.uncut, false
		// that it fails was heard by the life that is over, and is not on record
		if r.has(Records) && !s.written && !s.heardOut.IsZero() && s.output {
			s.heardOut, s.longOut, s.failed, s.fell = time.Time{}, false, false, false
			r.follow(s)
		}
	}
}

// ClockSet tells that the clock was set: to a later life what is on record of before that was long ago, or has only just been.
func (r *Referee) ClockSet(at time.Time) { r.clockSet = at }

// Forgot tells that records are lost for good which Recorded was told.
func (r *Referee) Forgot() {
	r.forgetful = true
	for k := range r.supplies { // what was heard of them as well
		r.supplies[k].heardOut, r.supplies[k].longOut, r.supplies[k].onlineAt = time.Time{}, false, time.Time{}
	}
}

// looksLater is how many answered probes it takes until somebody else's doing is known: the first may be the wrong one, or
// may have been answered before (two looks in a row prove, one does not).
const looksLater = 2

// unseen reports whether somebody else switched a node and it was not looked at enough since: nobody can know how it is.
func (r *Referee) unseen(i int) bool {
	n := &r.nodes[i]
	return !n.meddled.IsZero() && n.heard() < looksLater && !r.tellsOf(i)
}

// tellsOf reports whether what a node came up with was seen on, long enough ago: whoever looks there knows of the node too.
func (r *Referee) tellsOf(i int) bool {
	n := &r.nodes[i]
	if n.meddled.IsZero() || n.with < 0 {
		return false
	}
	o := &r.nodes[n.with]
	return o.looks >= looksLater && o.plain.After(n.meddled) && o.now.State == plan.On && r.clock.Sub(o.plain) > r.proves()
}

// looksDropped reports whether a machine that somebody else switched off, while none of what feeds it was heard and ever since, looks as if
// it had lost its power and got it back: no look tells that it was not on when the outage began.
func (r *Referee) looksDropped(i int) bool {
	n, feeds := &r.nodes[i], r.estate.Feeds(i)
	heard := func(f int) bool { return r.supplyAt(f).heardAt.After(n.meddled) }
	return n.isDown() && !n.meddled.IsZero() && len(feeds) > 0 && !slices.ContainsFunc(feeds, heard)
}

// unseenSince reports whether that was so short a time ago that a look may still be of before.
func (r *Referee) unseenSince(at time.Time, i int, age time.Duration) bool {
	return r.unseen(i) && at.Sub(r.nodes[i].meddled) <= age
}

// isDown reports whether a node is off for good.
func (n *node) isDown() bool { return n.now.State == plan.Off || n.now.State == plan.Gone }

// freshLook is how old a look may be that the worst commands rest on: 2 s of age, and the ways of the probe and the command.
const freshLook = 3 * time.Second

// look is how long a look at a node takes.
func (r *Referee) look(i int) time.Duration {
	if r.looks == nil {
		return 0
	}
	return r.looks[i]
}

// fresh is freshLook for a node. Where it was asked within it, the slowest of the others may have been waited for: twice as long as that
// takes to answer, where a question was under way already (docs/adr/0015).
func (r *Referee) fresh(at time.Time, i int) time.Duration {
	n := &r.nodes[i]
	own, most := freshLook+r.look(i), freshLook+2*r.slowest
	if at.Sub(n.saidAt) <= most || at.Sub(n.vain) <= most {
		return most
	}
	return own
}

// justMeddled reports whether somebody else switched a node after the last look on which a command may rest, or what has been asked
// just now in vain, or answered the only look since then wrongly, or a VM, or another guest, began to start by itself after such a look.
func (r *Referee) justMeddled(at time.Time, i int) bool {
	n := &r.nodes[i]
	asked := r.inVain(at, i)
	gone := !n.cameAt.After(n.wentAt) || n.toldAt.After(n.cameAt) // as far as any answer has come
	if n.lied && r.unseen(i) && (asked || at.Sub(n.saidAt) <= r.fresh(at, i)) {
		return true
	}
	decl := r.estate.Node(i)
	comes := n.now.State == plan.Starting || n.now.State == plan.On
	byItself := comes && (decl.Kind == plan.VM || decl.Host != "") && n.began.Sub(n.started) > time.Minute && n.cameAt.Before(n.began)
	return byItself && at.Sub(n.began) <= r.fresh(at, i) || !n.meddled.IsZero() && n.heard() == 0 && !r.tellsOf(i) &&
		(asked && gone || at.Sub(n.meddled) <= r.fresh(at, i))
}

// laterRounds are those in which a command asks others once more, after what did not answer was asked for the last time (docs/adr/0015).
const laterRounds = 3

// inVain reports whether a node was asked in vain so short a time ago that a command may rest on that. It counts from the question: that no
// answer came is known when its time is over, and the slowest of the others is waited for in each round after that.
func (r *Referee) inVain(at time.Time, i int) bool {
	vain := r.nodes[i].vain
	return !vain.IsZero() && at.Sub(vain) <= guarded+laterRounds*max(r.slowest, slowness)
}

func (r *Referee) id(i int) string { return r.estate.Node(i).ID }

func (r *Referee) has(s Sight) bool { return r.sight&s == s }
