package belief

import (
	"cmp"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Belief is the evidence about a node. It is of the node's present epoch: what was known before its power was lost or came
// back, before what carries it did, before a start of it, and before Ebbtide itself was away, is forgotten. Nothing of it
// outlives a crash.
type Belief struct {
	newest
	Seen      plan.Observation // the newest answer that said something; State is Unknown before there is one
	SeenAt    time.Time        // when that was asked
	Look      ledger.Op        // its number: a look with a lower number than a command was made before it
	Looks     int              // how many looks in a row have said the same
	Since     time.Time        // when the first of them was asked
	Proof     Proof            // what its being off rests on
	Epoch     ledger.Op        // the highest number of an operation from before this epoch
	Silent    time.Time        // since when it has not answered; zero: it answers, or nobody asked
	Settled   plan.State       // on or off, as it was last proven to be; Unknown: nobody knows what became of it
	OnAt      time.Time        // when it was last seen on, in this epoch or before it; zero: it was told to go off, or seen to, since
	Departure Departure
	motion
	hesitation
}

// newest is what the newest look at a node came to, whether it said something or not.
type newest struct {
	Answer     plan.State // what the newest look made of it, Unknown and Unreachable included
	AskedAt    time.Time  // when that was asked; zero: not yet in this epoch
	before     time.Time  // and the one before it
	answeredAt time.Time  // when that answer came
	blank      time.Time  // when the first of the looks was asked whose answers said nothing; zero: they say something
	Asked      bool       // it has been asked in this epoch
	Unasked    bool       // the newest look did not get as far as the node
}

// motion is until when a node may be on its way, whatever it shows.
type motion struct {
	Rising  time.Time // up: neither silence nor one "off" says otherwise
	Falling time.Time // down: that it shows as on proves nothing
	Boots   time.Time // up by itself, while nobody looked: its silence proves nothing
	Undoing time.Time // back to how it was set: that it shows as protected proves nothing of after that
}

// Departure is how far a node has gone since it was told to stop, where its silence after that may prove it off.
type Departure uint8

// How far it has gone.
const (
	NotSeen  Departure = iota
	Leaving            // it was seen on its way down, or fell silent
	Returned           // and on again, or on its way up: somebody started it
)

// next is where a departure is after an answer, which was the same for so many looks.
func (d Departure) next(state plan.State, looks int) Departure {
	switch {
	case state == plan.Stopping && d == NotSeen:
		return Leaving
	case looks >= ProofLooks && (state == plan.Starting || state == plan.On && d == Leaving):
		return Returned
	}
	return d
}

// hesitation is an answer that is asked for again before it is believed.
type hesitation struct {
	Doubt  plan.State // Unknown: none is
	Doubts int        // how many such answers came in a row
	Twice  bool       // the newest answer was asked for again, and said the same
	Wavers bool       // its answers disagree, however often it is asked
}

// Proof is what the belief that a node is off rests on, weakest first.
type Proof uint8

// The proofs.
const (
	NoProof   Proof = iota
	OneLook         // one look said so
	TwoLooks        // two looks in a row did
	BySilence       // it has not answered for as long as the runbook asks, after a stop that it had accepted
)

func (p Proof) String() string {
	return [...]string{"nothing", "one look", "two looks in a row", "its silence after an accepted stop"}[p]
}

// Renew begins a new epoch of a node. What was sent to it before may still be on its way.
func (b *Belief) Renew(before ledger.Op) {
	*b = Belief{Epoch: before, OnAt: b.OnAt, Settled: b.Settled, hesitation: hesitation{Doubt: plan.Unknown}, motion: motion{Falling: b.Falling, Undoing: b.Undoing}}
}

// IsOutlived reports whether the time of a command is over, and the newest look is from before that: whether it did what it was told no
// look has shown.
func (b *Belief) IsOutlived(now time.Time) bool {
	by := func(end time.Time) bool { return b.AskedAt.Before(end) && !now.Before(end) }
	return by(b.Falling) || by(b.Undoing)
}

// Commanded forgets what was seen of a node's power before a command that changes it: a look from before proves nothing of it.
func (b *Belief) Commanded(verb plan.Verb, op ledger.Op, now time.Time) {
	switch verb {
	case plan.Start:
		boots := b.Boots
		b.Renew(op)
		b.Boots = boots // by itself, whatever becomes of the command
	case plan.Stop, plan.Force, plan.Cut:
		b.Seen.State, b.Answer, b.AskedAt, b.answeredAt, b.Looks, b.Proof, b.Epoch, b.Doubt = plan.Unknown, plan.Unknown, time.Time{}, time.Time{}, 0, NoProof, op, plan.Unknown
		b.OnAt = time.Time{}
	default:
	}
	if verb.TakesDown() {
		b.Falling = now.Add(ProofStands)
	}
}

// IsOff reports whether a node is known to be off, in this epoch.
func (e *Estate) IsOff(i int) bool {
	b := &e.Beliefs[i]
	return b.Proof >= TwoLooks
}

// IsOn reports whether a node is known to be on, and healthy where the runbook asks for that.
func (e *Estate) IsOn(i int) bool {
	decl, b := e.Graph.Node(i), &e.Beliefs[i]
	switch decl.Kind {
	case plan.Self:
		return true // it is us
	case plan.Person:
		return e.Ledger.Outage != nil && e.Entry(i).Shown == ledger.ShownOn
	case plan.Passive:
		return !decl.Healthy || b.Seen.Healthy == plan.Yes && b.Answer != plan.Unreachable
	default:
	}
	return e.IsUp(i) && (!decl.Healthy || b.Seen.Healthy == plan.Yes)
}

// IsUp reports whether a node answers that it is on, healthy or not, and is not on its way down.
func (e *Estate) IsUp(i int) bool {
	b := &e.Beliefs[i]
	blank := !b.blank.IsZero() && b.AskedAt.Sub(b.blank) > ProofStands // by what was asked, not by the clock
	return !e.IsLeaving(i) && b.Seen.State == plan.On && b.Looks >= ProofLooks && b.Answer != plan.Unreachable && !blank
}

// IsLeaving reports whether a node was told to stop and that has not settled: that it shows as on may be of before. It has settled once it
// was asked after the time for that was over.
func (e *Estate) IsLeaving(i int) bool {
	b := &e.Beliefs[i]
	return e.isUnderWay(i, plan.Stop) || e.Now.Before(b.Falling) || b.AskedAt.Before(b.Falling) && Probed(e.Graph.Node(i))
}

// Goes reports whether a node is on its way down, as far as was seen or told.
func (e *Estate) Goes(i int) bool {
	return e.IsLeaving(i) || e.IsStopping(i)
}

// IsStopping reports whether a node is on its way down. What said so and fell silent is, for as long as its stop may take.
func (e *Estate) IsStopping(i int) bool {
	b := &e.Beliefs[i]
	return b.Seen.State == plan.Stopping && (b.Answer == plan.Stopping || b.AskedAt.Sub(b.SeenAt) <= e.Graph.Node(i).Time(plan.Stop).Within)
}

// isProtected reports whether a cache or a cluster is known to be protected, and nothing is on its way that takes that off. What
// it said before it fell silent counts where this outage has shown it.
func (e *Estate) isProtected(i int) bool {
	b := &e.Beliefs[i]
	return !e.isUnderWay(i, plan.Unprotect) && (b.Seen.Protected == plan.Yes && b.Answer == b.Seen.State || e.StaysProtected(i))
}

// IsClean reports whether a cache is known to hold nothing that is not on its storage. What it said before it fell silent counts where
// this outage has shown it: an Unprotect of the one before may take effect at any time.
func (e *Estate) IsClean(i int) bool {
	b := &e.Beliefs[i]
	return b.Seen.Clean == plan.Yes && b.Answer == b.Seen.State || e.StaysClean(i)
}

// StaysClean reports whether a cache that was proven clean does not answer now: it is, until something that may write to it comes up, or
// a late Unprotect lets it.
func (e *Estate) StaysClean(i int) bool {
	n, b := e.Entry(i), &e.Beliefs[i]
	return n.StaysClean && !n.Late && b.Seen.Clean != plan.No && e.Looked(i) && (b.Answer == plan.Unreachable || b.Answer == plan.Unknown)
}

// ShowsUp reports whether the newest look at a node showed that it is on or starts.
func (e *Estate) ShowsUp(i int) bool {
	answer := e.Beliefs[i].Answer
	return answer == plan.On || answer == plan.Starting
}

// Rises reports whether a node may be on its way up: no stop is sent to it before that has settled.
func (e *Estate) Rises(i int) bool { return e.Now.Before(e.Beliefs[i].Rising) }

// ProvenOff reports whether a node is off beyond doubt: what can't be undone may rest on it. One look is not enough, and an
// old proof is none, unless the node was asked since and did not answer: silence contradicts nothing.
func (e *Estate) ProvenOff(i int) bool {
	age := ProofStands
	if e.mayHaveCome(i) { // it may come up with its host at any moment
		age = ProofAge
	}
	return e.WasProvenOff(i) && !e.IsOld(i, age)
}

// WasProvenOff reports whether a node was off beyond doubt when it last answered, however long ago that was.
func (e *Estate) WasProvenOff(i int) bool {
	b := &e.Beliefs[i]
	return b.Proof >= TwoLooks && b.Doubt == plan.Unknown && (IsDown(b.Answer) || !e.MayHaveCycled(i))
}

// InDoubt reports whether a node has to be asked before a command rests on its being off.
func (e *Estate) InDoubt(i int) bool {
	b := &e.Beliefs[i]
	switch {
	case !Probed(e.Graph.Node(i)):
		return false
	case b.Doubt != plan.Unknown:
		return true
	}
	return e.IsOld(i, ProofAge) || b.Proof == OneLook
}

// Looked reports whether a node has been asked in this epoch, or can't be.
func (e *Estate) Looked(i int) bool {
	return e.Beliefs[i].Asked || !Probed(e.Graph.Node(i))
}

// Holds reports whether a look since the last command shows what a verb is to bring about.
func (e *Estate) Holds(i int, verb plan.Verb, since ledger.Op) bool {
	b := &e.Beliefs[i]
	if b.Look <= since {
		return false
	}
	switch verb {
	case plan.Protect:
		return e.isProtected(i)
	case plan.Unprotect:
		return b.Answer == b.Seen.State && b.Seen.Protected == plan.No && e.setAsBefore(i) // what it said before it fell silent may be so no more
	case plan.Flush:
		return e.IsClean(i) && b.Seen.Protected != plan.No
	case plan.Stop, plan.Force:
		return e.IsOff(i)
	case plan.Cut:
		return b.Seen.State == plan.Off || b.Seen.State == plan.Stopping
	case plan.Start:
		return e.IsOn(i)
	default:
		return false
	}
}

// setAsBefore reports whether what Protect may have changed is set as the snapshot says, as far as both are known: a thing
// that was given back by half is not protected any more, and not back.
func (e *Estate) setAsBefore(i int) bool {
	if e.Ledger.Outage == nil {
		return true
	}
	was, now := e.Entry(i).Snap.Set, e.Beliefs[i].Seen.Settings
	return e.Entry(i).Protection == ledger.AsSet || was == "" || now == "" || now == was
}

// Probed reports whether a node has anything to ask after: a step of its own or health checks.
func Probed(n *plan.Node) bool {
	return n.Kind != plan.Person && n.Kind != plan.Self && (n.Can != 0 || n.Healthy)
}

// Believe takes what a look said. Question is its number, asked the time at which it was asked.
func (e *Estate) Believe(i int, seen plan.Observation, question ledger.Op, asked time.Time) {
	decl, b := e.Graph.Node(i), &e.Beliefs[i]
	if seen.State == plan.Off && seen.ByBMC {
		seen.State = e.believeBMC(i)
	}
	wasSilent := b.Answer == plan.Unreachable || b.Answer == plan.Unknown
	e.followFirst(i, seen.State)
	if seen.State == plan.Off || seen.State == plan.Stopping {
		e.downAfterSilence(i)
	}
	b.before = b.AskedAt
	b.Answer, b.AskedAt, b.answeredAt, b.Asked = seen.State, asked, e.Now, true
	if seen.State != plan.Unknown {
		b.blank = time.Time{}
	}
	switch seen.State {
	case plan.Unknown:
		if decl.Kind == plan.Passive {
			b.Seen, b.SeenAt, b.Look = seen, asked, question
		}
		if b.blank.IsZero() {
			b.blank = asked
		}
		return // no answer was had, which proves nothing
	case plan.Unreachable:
		e.believeSilence(i, question, asked)
		return
	default:
	}
	same := b.take(seen, question, asked)
	if decl.OffAfter > 0 {
		b.Departure = b.Departure.next(seen.State, b.Looks)
	}
	e.weigh(i)
	e.followMotion(i, !same || wasSilent)
}

// followFirst follows the first answer since Ebbtide began, where that knows of no outage: what has none may be on its way up. The two may have
// lost their power together.
func (e *Estate) followFirst(i int, state plan.State) {
	decl, b := e.Graph.Node(i), &e.Beliefs[i]
	machine := decl.Kind != plan.VM && decl.Kind != plan.Supply && decl.Kind != plan.Outlet && decl.Kind != plan.Passive
	if machine && !b.Asked && e.ResumedAt.IsZero() && b.Rising.IsZero() && (state == plan.Unreachable || state == plan.Unknown) {
		b.Rising = e.Now.Add(BootTime(decl))
	}
}

// downAfterSilence follows a machine that did not answer, nor its BMC, and is off or on its way there by the one, while what feeds it is not
// heard: it may have its power again.
func (e *Estate) downAfterSilence(i int) {
	decl, b := e.Graph.Node(i), &e.Beliefs[i]
	if b.Answer == plan.Unreachable && decl.Kind != plan.VM && !e.Rises(i) && e.feedOf(i) != feeds {
		b.Rising = e.Now.Add(BootTime(decl))
	}
}

// believeBMC gives what the word of a BMC is worth that its machine, which does not answer, is off. It may be of before a cycle, and
// is if its output is off as far as is known: that is on again. What nobody told to stop is off only for want of power, and while what feeds it
// is not heard that may be back. And whether the two have ever agreed is forgotten with a crash.
func (e *Estate) believeBMC(i int) plan.State {
	feed := e.feedOf(i)
	if feed == maybeCycled || feed == unfed || feed == fedUnheard && !e.AcceptedStop(i) || !e.ResumedAt.IsZero() {
		return plan.Unreachable
	}
	return plan.Off
}

// take takes an answer that says something, and reports whether it is the same as before. What it does not speak of is as it was.
func (b *Belief) take(seen plan.Observation, question ledger.Op, asked time.Time) (same bool) {
	if seen.State != plan.Gone {
		seen.Protected, seen.Clean = cmp.Or(seen.Protected, b.Seen.Protected), cmp.Or(seen.Clean, b.Seen.Clean)
		seen.Settings = cmp.Or(seen.Settings, b.Seen.Settings)
	}
	same = b.Seen.State == seen.State && b.Seen.State != plan.Unknown
	if seen.State == plan.Gone && same {
		seen.Detail = cmp.Or(seen.Detail, b.Seen.Detail)
	}
	b.Seen, b.SeenAt, b.Look, b.Silent = seen, asked, question, time.Time{}
	switch seen.State {
	case plan.On:
		if !asked.Before(b.Falling) { // of what was told to go it may be of before
			b.OnAt = asked
		}
	case plan.Stopping, plan.Off, plan.Gone:
		b.OnAt = time.Time{}
	default:
	}
	if !same {
		b.Looks, b.Since = 0, asked
	}
	if b.Looks++; b.Twice {
		b.Looks = max(b.Looks, ProofLooks)
	}
	return same
}

// weigh finds what the belief that a node is off rests on after an answer.
func (e *Estate) weigh(i int) {
	b := &e.Beliefs[i]
	if !IsDown(b.Seen.State) {
		b.Proof = NoProof
		return
	}
	switch {
	case e.Rises(i) && b.Seen.State == plan.Off:
		b.Proof = NoProof // it was told to start, or got its power: it need not show yet
	case b.Seen.State == plan.Gone && b.SeenAt.Sub(b.Since) < e.GoneStands(i): // it may only not be to be seen, while a list of VMs is read anew
		b.Proof = max(b.Proof, OneLook)
	case b.Looks >= ProofLooks, !Probed(e.Graph.Node(i)): // what can't be asked can't be asked again
		b.Proof = max(b.Proof, TwoLooks)
	default:
		b.Proof = max(b.Proof, OneLook)
	}
}

// GoneStands is for how long a node has to be gone to be off: not long where it took our stop, since some VMs end by that.
func (e *Estate) GoneStands(i int) time.Duration {
	if e.AcceptedStop(i) {
		return GoneAfterStop
	}
	return ProofStands
}

// followMotion ends or begins, after an answer, the times in which a node may be on its way up or down. News is what it did not say
// before.
func (e *Estate) followMotion(i int, news bool) {
	decl, b := e.Graph.Node(i), &e.Beliefs[i]
	sure := b.Looks >= ProofLooks // one look ends nothing
	switch {
	case b.Seen.State == plan.On && sure:
		b.Rising, b.Boots = time.Time{}, time.Time{}
		e.reached(i)
	case b.Seen.State == plan.Off && sure:
		b.Falling = time.Time{}
		if !e.Rises(i) {
			b.Rising = time.Time{}
		}
	case b.Seen.State == plan.Stopping && news && e.Ledger.Outage != nil && e.Entry(i).Shown == ledger.ShownOff: // what was off does not stop
		b.Rising = e.Now.Add(BootTime(decl))
	case b.Seen.State == plan.Starting && news: // once: what says so for ever is not believed for ever
		b.Rising = e.Now.Add(max(decl.Time(plan.Start).Within, FirstRetry))
	}
}

// BootTime is how long a machine may be silent, or look off, while it starts.
func BootTime(n *plan.Node) time.Duration {
	t := n.Time(plan.Start)
	return max(2*t.Nominal, t.Within, FirstRetry)
}

// Unanswered gives what the last look at a node made of it if it had no answer, nil otherwise.
func (e *Estate) Unanswered(i int) *plan.State {
	state := e.Beliefs[i].Answer
	if !Probed(e.Graph.Node(i)) || state != plan.Unknown && state != plan.Unreachable {
		return nil
	}
	return &state
}

// ProofOf gives what the last look at a node rests on, for the record.
func (e *Estate) ProofOf(i int) ledger.Cause {
	if e.Beliefs[i].Proof == BySilence {
		return ledger.Silence
	}
	return ""
}

// LastSeen lists, over the whole estate, what was seen on not long ago: what drops unseen, under a controller that drops with it, is
// brought back as well. That its supply was silent meanwhile, so that it may be otherwise now, makes no difference to that. And it lists
// what may be on its way up from the outage before this one.
func (e *Estate) LastSeen() []ledger.NodeState {
	var list []ledger.NodeState
	for i := range e.Beliefs {
		switch b := &e.Beliefs[i]; {
		case e.Now.Sub(b.OnAt) < TrustLast:
			list = append(list, ledger.NodeState{Node: e.ID(i), State: plan.On})
		case e.Rises(i):
			list = append(list, ledger.NodeState{Node: e.ID(i), State: plan.Starting})
		}
	}
	return list
}

// SnapshotOf gives what the snapshot says of a node. One that can't be asked now, dropped with its supply, or goes off without having
// been told to, was on if it was not long before.
func (e *Estate) SnapshotOf(i int, lostOutput bool) ledger.NodeState {
	b := &e.Beliefs[i]
	state := b.Answer
	if state == plan.Off && b.Seen.ByBMC { // of another machine, it may be: what answers later was on
		state = plan.Unreachable
	}
	silent := state == plan.Unknown || state == plan.Unreachable
	if e.Entry(i).Snap.SeenOn && (silent || state == plan.Stopping || state == plan.Gone || state == plan.Off && lostOutput) {
		state = plan.On
	}
	return ledger.NodeState{Node: e.ID(i), State: state, Protected: b.Seen.Protected, Settings: b.Seen.Settings}
}

// TellsOfPower reports whether an answer is one that may be wrong about a node's power. That an output counts down to its cut is not:
// what follows would be misread without.
func (e *Estate) TellsOfPower(i int, state plan.State) bool {
	return state == plan.On || IsDown(state) || state == plan.Stopping && e.Ledger.SupplyOf[i] < 0
}

// IsDown reports whether a node is off for good: gone is so too, and may be said of what can't be seen for a moment, as off may.
func IsDown(state plan.State) bool { return state == plan.Off || state == plan.Gone }

// IsOdd reports whether an answer is another than what is known of a node, or the first since then. Of an output only on and off are.
func (e *Estate) IsOdd(i int, state plan.State) bool {
	b := &e.Beliefs[i]
	known := b.Seen.State == plan.On || b.Seen.State == plan.Off || b.Seen.State != plan.Unknown && e.Ledger.SupplyOf[i] < 0
	if !known {
		return b.Looks == 0
	}
	return state != b.Seen.State
}

// IsOld reports whether the newest answer of a node came longer ago than so. It counts from when it came, and not from the question:
// what takes seconds to answer would always be too old.
func (e *Estate) IsOld(i int, age time.Duration) bool {
	return e.Now.Sub(e.Beliefs[i].answeredAt) > age
}

// AnswersOff reports whether the newest look at a node says that it is off, which it may say by its silence.
func (e *Estate) AnswersOff(i int) bool {
	b := &e.Beliefs[i]
	return IsDown(b.Answer) || b.Proof == BySilence && b.Answer == plan.Unreachable
}

// Rounds is when others were asked for a command that rests on their being off. In each round all are asked that answer.
type Rounds struct {
	Begun time.Time // the first one; zero: nobody was
	Anew  time.Time // the last one: what was asked since is as fresh as can be had
}

// IsAnew reports whether a node was asked in the last of some rounds, or in vain in any of them. That some take longer for it than others
// makes none of them too old: it would be so in the next round again.
func (e *Estate) IsAnew(i int, asked Rounds) bool {
	since := asked.Anew
	if !since.IsZero() && !e.AnswersOff(i) {
		since = asked.Begun
	}
	return !since.IsZero() && !e.Beliefs[i].AskedAt.Before(since)
}

// ProvenOffTo reports whether a node is off beyond doubt, for a command for which it was asked in some rounds.
func (e *Estate) ProvenOffTo(i int, asked Rounds) bool {
	return e.ProvenOff(i) || e.WasProvenOff(i) && e.IsAnew(i, asked)
}
