package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// supply is what is known of a supply, from the truth of its mains, its output and its battery, and from what the
// controller heard of that.
type supply struct {
	node     int
	online   bool      // at the last poll its mains and its output were on, and nothing was wrong with them
	output   bool      // its output is on
	offAt    time.Time // when it went off last
	litAt    time.Time // and came on
	sudden   bool      // it did so unheard, and before its battery was to give out, or nobody could know when that was
	brief    bool      // unheard, in so short a time that nobody thought of that, since its battery had much left
	since    time.Time // its mains are on without interruption; zero: they are off
	onlineAt time.Time // heard to be on line, last
	heardOn  time.Time // heard to be on line, poll after poll; zero: the last poll was another, or was not heard
	heardOut time.Time // heard to be out, and not heard to be on line since; zero: it was not
	longOut  bool      // for long enough that what was on its way is over
	failed   bool      // heard to be out in the open outage
	written  bool      // and that is on record, and no return since
	opened   bool      // its recharge gate has been open since it was last heard to be out

	last        Poll          // the newest
	heardAt     time.Time     // the newest that was heard
	every       time.Duration // how long after the one before
	heardLeft   time.Duration // for how long its battery lasts, as far as anybody could know then
	heardHonest bool          // and whether it told the truth
	fell        bool          // heard to be out, or its output went off, and not on line for long enough since

	committed   bool // to be cut: something was commanded that only its power cycle takes back
	committedAt time.Time
	afterAll    bool      // and its mains were back then: it may be called off
	speaks      time.Time // since when it is heard, after it was not: what it says of its output from its first word on may be its habit
	cut         bool      // its output was off then, or since then
	made        bool      // it went off since then
	seen        bool      // and was heard to be off, by a controller that was there to take it in: its return ends the cycle
	due         bool      // a cut was commanded that has not come
	dueAt       time.Time // when that was
	uncut       bool      // it took its last cut and did not make it
	shownUncut  bool      // and a look since that was beyond doubt has shown it
	uncutAt     time.Time
	looks       int       // at it since then
	plain       bool      // since a restart it was heard with its output on: what says OFF from its first word on may always do
	deaf        bool      // the last poll of it was not heard
	missed      bool      // nor was that at which a cut was due that did not come, or the next one: nobody can know
	triggered   bool      // the shutdown was triggered for it, and its load has not come back since
	triggeredAt time.Time // when that was
	aborted     bool      // an operator wants nothing more to go down with it, and its load has not come back since
	spent       time.Time // its battery is down to the reserve since, and its UPS says so
	gone        bool      // see isGone, when it was last asked
	lost        bool      // and that was for more than not being heard
}

// settles is for how long a supply must be heard on line before its power counts as back: the engine waits for five seconds
// of it, and hears the first of them up to a poll late.
const settles = 6 * time.Second

// sinksIn is how long a supply is heard to be out until everything that rests on its being on line has left.
const sinksIn = 3 * time.Second

// cutMargin is for how long a cut that was due may come yet, as far as anybody knows: no clock of a UPS is that good (internal/nut).
const cutMargin = 15 * time.Second

// missedPoll is how long a supply that was on line may not be heard, and counts as on line all the while if it is on line then.
const missedPoll = 15 * time.Second

// quietPoll is how long ago one that is well may have been heard last when the controller falls away.
const quietPoll = 20 * time.Second

// Poll is the truth about a supply at the moment at which it is polled.
type Poll struct {
	Supply int  // its node
	Mains  bool // its input is there
	On     bool // and so is its output, and nothing that the policy takes its load down for
	// its mains are on, and it is too hot, or browned out however shortly, for something to be started on it: no battery runs down
	Unfit bool
	Heard bool // the controller was there, and its UPS answered
	// nobody can tell whether its mains are gone: it was told to end a test, and may take its time, or fell silent in one
	Untold bool
	Honest bool          // its UPS says how it is
	Charge float64       // from 0 to 1, as its UPS tells it
	Left   time.Duration // that its battery lasts
}

// Polled takes a poll of a supply.
func (r *Referee) Polled(at time.Time, p Poll) {
	r.clock = at
	s := r.supplyAt(p.Supply)
	s.online, s.last = p.On, p
	if p.Heard {
		s.every = at.Sub(s.heardAt)
	}
	switch {
	case (!p.Mains || p.Unfit) && !p.Heard && at.Sub(s.heardAt) <= missedPoll+quietPoll: // when it was on again nobody can tell
	case !p.Mains, p.Unfit:
		s.since, s.opened = time.Time{}, false
	case s.since.IsZero():
		s.since = at
	}
	if !r.open && !p.Mains && !r.has(Records) {
		r.begin(at)
	}
	r.followAnswer(s, at, p)
	r.hear(s, at, p)
	if p.On {
		s.opened = s.opened || mayOpen(r.policy.Restore, at.Sub(s.since), 100*p.Charge)
	}
	r.follow(s)
	r.rule11(s, at, p)
}

// followAnswer follows whether a supply is heard, and what that tells of its output: how long it was dark unheard, that it was seen to be,
// that a cut which did not come was missed.
func (r *Referee) followAnswer(s *supply, at time.Time, p Poll) {
	if p.Heard && s.output && s.offAt.After(s.heardAt) {
		s.brief = at.Sub(s.heardAt) <= min(briefly, s.heardLeft/lastsLonger)+missedPoll
	}
	if p.Heard {
		s.heardAt, s.heardLeft, s.heardHonest = at, p.Left, p.Honest
	}
	if p.Heard && s.deaf {
		s.speaks = at
	}
	s.deaf = !p.Heard
	s.plain = s.plain || p.Heard && s.output
	isNews := s.plain && at.Sub(r.resumed) >= sinksIn && at.Sub(s.speaks) >= slowness
	s.seen = s.seen || p.Heard && !s.output && s.made && isNews
	s.missed = s.missed || s.uncut && s.deaf && !s.shownUncut
}

// hear takes what the controller heard of the mains of a supply.
func (r *Referee) hear(s *supply, at time.Time, p Poll) {
	switch {
	case p.Untold:
		s.heardOn, s.fell, s.lost = time.Time{}, true, true
	case !p.Heard:
		s.heardOn = time.Time{}
	case p.On && p.Unfit && s.fell: // it is not well yet
		s.heardOn = time.Time{}
	case p.On:
		s.onlineAt = at
		if s.heardOn.IsZero() {
			s.heardOn = at
		}
		s.heardOut, s.longOut = time.Time{}, false
	default:
		if s.heardOut.IsZero() {
			s.heardOut = at
		}
		s.heardOn = time.Time{}
		s.longOut = at.Sub(s.heardOut) >= sinksIn
		s.failed, s.opened, s.lost, s.fell = true, false, true, true
		r.drill = nil
	}
	if !p.On {
		s.heardOn = time.Time{}
	}
	s.fell = s.fell && (s.heardOn.IsZero() || at.Sub(s.heardOn) < settles || at.Sub(r.resumed) < settles)
}

// A battery that is to last for so much longer may be unheard for a moment, in which it gives out and its mains come back: that nobody
// takes for more than what its card or its driver does, or a restart of ours (docs/adr/0019).
const (
	briefly     = time.Minute
	lastsLonger = 5 // times as long as that
)

// OutputLost tells that a supply's output goes off now, whatever for.
func (r *Referee) OutputLost(at time.Time, i int) {
	s := r.supplyAt(i)
	r.judgeLeft(s, at)
	s.offAt, s.brief, s.sudden = at, false, s.deaf && (!s.last.Honest || at.Sub(s.heardAt) < s.heardLeft)
	s.output, s.due, s.cut, s.made, s.uncut = false, false, true, true, false
	s.triggered, s.spent, s.heardOn, s.lost, s.fell = false, time.Time{}, time.Time{}, true, true
	r.follow(s)
}

// OutputBack tells that a supply's output is on again.
func (r *Referee) OutputBack(at time.Time, i int) {
	s := r.supplyAt(i)
	s.output, s.committed, s.due, s.litAt = true, s.committed && !s.seen, false, at
	for _, d := range r.estate.Dependents(i) {
		r.nodes[d].roused = at
	}
	r.follow(s)
}

// Uncut tells that a supply took a cut and does not make it: this is when it was due. Who has only just begun to look has not seen that.
func (r *Referee) Uncut(at time.Time, i int) {
	s := r.supplyAt(i)
	s.shownUncut = false
	s.uncut, s.uncutAt, s.looks, s.missed = true, at, 0, s.deaf || at.Sub(r.resumed) < sinksIn
	r.strand()
}

// isOffAsHeard reports whether an output is off, or has come on since its UPS was heard last, or as that spoke.
func (r *Referee) isOffAsHeard(s *supply, at time.Time) bool {
	return !s.output || !s.litAt.Before(s.heardAt) && at.Sub(s.litAt) <= missedPoll
}

// lookedAtSupply follows a look at a supply: a cut that did not come is known for that then.
func (r *Referee) lookedAtSupply(s *supply, at time.Time) {
	s.shownUncut = s.shownUncut || s.uncut && at.Sub(s.uncutAt) >= cutMargin
	if s.looks++; s.uncut && s.looks >= looksLater {
		s.due = false
		r.follow(s)
	}
}

// cutGiven follows the command of a cut.
func (r *Referee) cutGiven(at time.Time, i int) {
	s := r.supplyAt(i)
	s.dueAt = at
	s.due, s.uncut, s.missed, s.lost = s.output, false, false, true
	r.follow(s)
}

// commit follows the point of no return of a supply. Where that is on record as one that comes after all, its mains have to be back.
func (r *Referee) commit(s *supply, at time.Time, afterAll bool) {
	afterAll = !s.fell || afterAll && s.online
	if s.afterAll = afterAll && (!s.committed || s.afterAll); s.afterAll && !s.committed {
		r.mayBeCutAfterAll(s, at)
	}
	s.committed, s.committedAt, s.cut, s.made, s.seen, s.lost = true, at, !s.output, false, false, true
	r.follow(s)
}

// mayBeCutAfterAll judges that a supply whose mains are there is to be cut: only one that failed in this outage, or may have, for something
// that is off and comes on by nothing but that, and where nothing that it feeds is on, as far as anybody can know.
func (r *Referee) mayBeCutAfterAll(s *supply, at time.Time) {
	if !s.failed && s.speaks.IsZero() && !r.unwatched { // nor was it silent, in which it may have
		r.violate(at, 21, r.id(s.node)+" is to be cut, and did not fail")
		return
	}
	waits := false
	for _, i := range r.estate.Dependents(s.node) {
		n, decl := &r.nodes[i], r.estate.Node(i)
		waits = waits || decl.ByPower && (n.commanded&plan.VerbSet(plan.Stop, plan.Force) != 0 || r.mayBeTold(n)) &&
			(n.now.State == plan.Off || r.isUnknowable(i)) && slices.Contains(r.estate.Sources(i), s.node)
		if stays := decl.Can.Has(plan.Stop) && decl.Kind != plan.Outlet && decl.Kind != plan.Self && decl.Kind != plan.Manual; stays &&
			n.now.State == plan.On && n.said == plan.On && !n.cameAt.Before(n.saidAt) && !r.isUnknowable(i) {
			r.violate(at, 21, fmt.Sprintf("%s is to be cut after its mains are back, and %s is on", r.id(s.node), decl.ID))
		}
	}
	if !waits {
		r.violate(at, 21, r.id(s.node)+" is to be cut after its mains are back, and nothing waits for that")
	}
}

// mayBeTold reports whether a stop is on record from a life before, of which nobody knows whether it was sent.
func (r *Referee) mayBeTold(n *node) bool {
	return n.intent.life < r.life && (n.intent.verb == plan.Stop || n.intent.verb == plan.Force)
}

// release follows the end of that.
func (r *Referee) release(s *supply) {
	s.committed = false
	r.follow(s)
}

func (r *Referee) supplyAt(node int) *supply { return &r.supplies[r.place[node]] }

// isGone reports whether what a supply carries is losing its power, or has to be taken for that: its power is not back, or it
// will be cut. One that only is not heard is as it was.
func (s *supply) isGone() bool { return s.fell || s.committed || s.due }

// lasts reports whether a supply gives its power, and goes on with that as far as it is on record.
func (r *Referee) lasts(s *supply) bool { return s.online && (r.forgetful || !s.committed && !s.due) }

// follow finds anew what goes dark when a supply is gone that was not, or the other way round. Where power comes back a round
// ends: what was given up of a node is an excuse for nothing after that. A supply that only was not heard ends none.
func (r *Referee) follow(s *supply) {
	if s.isGone() == s.gone {
		return
	}
	s.gone = !s.gone
	ends := s.lost && !s.gone
	s.lost = s.lost && s.gone
	r.asking.anew()
	for i := range r.nodes {
		n := &r.nodes[i]
		was := n.dark
		if n.dark = r.goesDark(i, func(s *supply) bool { return s.gone }); was && !n.dark && ends {
			n.failed = 0
		}
	}
}

// mayOpen reports whether a gate may be open. What another shutdown takes is the engine's to reckon.
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
