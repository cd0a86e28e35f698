package engine

import (
	"cmp"
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// belief is the evidence about a node. It is of the node's present epoch: what was known before its power was lost or came
// back, before what carries it did, before a start of it, and before Ebbtide itself was away, is forgotten. Nothing of it
// outlives a crash.
type belief struct {
	newest
	seen      plan.Observation // the newest answer that said something; State is Unknown before there is one
	seenAt    time.Time        // when that was asked
	look      ledger.Op        // its number: a look with a lower number than a command was made before it
	looks     int              // how many looks in a row have said the same
	proof     proof            // what its being off rests on
	epoch     ledger.Op        // the highest number of an operation from before this epoch
	silent    time.Time        // since when it has not answered; zero: it answers, or nobody asked
	settled   plan.State       // on or off, as it was last proven to be; Unknown: nobody knows what became of it
	onAt      time.Time        // when it was last seen on, in this epoch or before it; zero: it was told to go off, or seen to, since
	departure departure
	motion
	hesitation
}

// newest is what the newest look at a node came to, whether it said something or not.
type newest struct {
	answer     plan.State // what the newest look made of it, Unknown and Unreachable included
	askedAt    time.Time  // when that was asked; zero: not yet in this epoch
	answeredAt time.Time  // when that answer came
	blank      time.Time  // when the first of the looks was asked whose answers said nothing; zero: they say something
	asked      bool       // it has been asked in this epoch
	unasked    bool       // the newest look did not get as far as the node
}

// motion is until when a node may be on its way, whatever it shows.
type motion struct {
	rising  time.Time // up: neither silence nor one "off" says otherwise
	falling time.Time // down: that it shows as on proves nothing
	boots   time.Time // up by itself, while nobody looked: its silence proves nothing
}

// departure is how far a node has gone since it was told to stop, where its silence after that may prove it off.
type departure uint8

const (
	notSeen  departure = iota
	leaving            // it was seen on its way down
	returned           // and on again, or on its way up: somebody started it
)

// next is where a departure is after an answer, which was the same for so many looks.
func (d departure) next(state plan.State, looks int) departure {
	switch {
	case state == plan.Stopping && d == notSeen:
		return leaving
	case looks >= proofLooks && (state == plan.Starting || state == plan.On && d == leaving):
		return returned
	}
	return d
}

// hesitation is an answer that is asked for again before it is believed.
type hesitation struct {
	doubt  plan.State // Unknown: none is
	doubts int        // how many such answers came in a row
	twice  bool       // the newest answer was asked for again, and said the same
	wavers bool       // its answers disagree, however often it is asked
}

// proof is what the belief that a node is off rests on, weakest first.
type proof uint8

const (
	noProof   proof = iota
	oneLook         // one look said so
	twoLooks        // two looks in a row did
	bySilence       // it has not answered for as long as the runbook asks, after a stop that it had accepted
)

func (p proof) String() string {
	return [...]string{"nothing", "one look", "two looks in a row", "its silence after an accepted stop"}[p]
}

// renew begins a new epoch of a node. What was sent to it before may still be on its way.
func (b *belief) renew(before ledger.Op) {
	*b = belief{epoch: before, onAt: b.onAt, settled: b.settled, hesitation: hesitation{doubt: plan.Unknown}, motion: motion{falling: b.falling}}
}

// commanded forgets what was seen of a node's power before a command that changes it: a look from before proves nothing of it.
func (b *belief) commanded(verb plan.Verb, op ledger.Op, now time.Time) {
	switch verb {
	case plan.Start:
		boots := b.boots
		b.renew(op)
		b.boots = boots // by itself, whatever becomes of the command
	case plan.Stop, plan.Force, plan.Cut:
		b.seen.State, b.answer, b.askedAt, b.answeredAt, b.looks, b.proof, b.epoch, b.doubt = plan.Unknown, plan.Unknown, time.Time{}, time.Time{}, 0, noProof, op, plan.Unknown
		b.onAt = time.Time{}
	default:
	}
	if verb.TakesDown() {
		b.falling = now.Add(proofStands)
	}
}

// isOff reports whether a node is known to be off, in this epoch.
func (e *Estate) isOff(i int) bool {
	b := &e.beliefs[i]
	return b.proof >= twoLooks
}

// isOn reports whether a node is known to be on, and healthy where the runbook asks for that.
func (e *Estate) isOn(i int) bool {
	decl, b := e.estate.Node(i), &e.beliefs[i]
	switch decl.Kind {
	case plan.Self:
		return true // it is us
	case plan.Person:
		return e.ledger.Outage != nil && e.entry(i).Shown == ledger.ShownOn
	case plan.Passive:
		return !decl.Healthy || b.seen.Healthy == plan.Yes
	default:
	}
	return e.isUp(i) && (!decl.Healthy || b.seen.Healthy == plan.Yes)
}

// isUp reports whether a node answers that it is on, healthy or not, and is not on its way down.
func (e *Estate) isUp(i int) bool {
	b := &e.beliefs[i]
	blank := !b.blank.IsZero() && b.askedAt.Sub(b.blank) > proofStands // by what was asked, not by the clock
	return !e.isLeaving(i) && b.seen.State == plan.On && b.looks >= proofLooks && b.answer != plan.Unreachable && !blank
}

// isLeaving reports whether a node was told to stop and that has not settled: that it shows as on may be of before.
func (e *Estate) isLeaving(i int) bool {
	return e.isUnderWay(i, plan.Stop) || e.now.Before(e.beliefs[i].falling)
}

// isUnderWay reports whether a command of a verb has reached a node, or may have, and has no end yet.
func (e *Estate) isUnderWay(i int, verb plan.Verb) bool {
	if e.ledger.Outage == nil {
		return false
	}
	last := &e.entry(i).Last
	return last.Open && last.Verb == verb && last.Reach() != ledger.NotReached
}

// goes reports whether a node is on its way down, as far as was seen or told.
func (e *Estate) goes(i int) bool {
	return e.isLeaving(i) || e.isStopping(i)
}

// goesWithItsHost reports whether the host that a node runs on is on its way down, to be started again: what shows as on now does not
// stay so.
func (e *Engine) goesWithItsHost(i int) bool {
	host := e.hostOf(i)
	if host < 0 || !e.goes(host) {
		return false
	}
	start := e.course.find(host, plan.Start, plan.Up)
	return start >= 0 && e.course.stands[start] == pending
}

// isStopping reports whether a node is on its way down. What said so and fell silent is, for as long as its stop may take.
func (e *Estate) isStopping(i int) bool {
	b := &e.beliefs[i]
	return b.seen.State == plan.Stopping && (b.answer == plan.Stopping || b.askedAt.Sub(b.seenAt) <= e.estate.Node(i).Time(plan.Stop).Within)
}

// isProtected reports whether a cache or a cluster is known to be protected, and nothing is on its way that takes that off. What
// it said before it fell silent counts where this outage has shown it.
func (e *Estate) isProtected(i int) bool {
	b := &e.beliefs[i]
	return !e.isUnderWay(i, plan.Unprotect) && (b.seen.Protected == plan.Yes && b.answer == b.seen.State || e.staysProtected(i))
}

// isClean reports whether a cache is known to hold nothing that is not on its storage. What it said before it fell silent counts where
// this outage has shown it: an Unprotect of the one before may take effect at any time.
func (e *Estate) isClean(i int) bool {
	b := &e.beliefs[i]
	return b.seen.Clean == plan.Yes && b.answer == b.seen.State || e.staysClean(i)
}

// staysClean reports whether a cache that was proven clean does not answer now: it is, until something that may write to it comes up, or
// a late Unprotect lets it.
func (e *Estate) staysClean(i int) bool {
	n, b := e.entry(i), &e.beliefs[i]
	return n.StaysClean && !n.Late && b.seen.Clean != plan.No && e.looked(i) && (b.answer == plan.Unreachable || b.answer == plan.Unknown)
}

// showsUp reports whether the newest look at a node showed that it is on or starts.
func (e *Estate) showsUp(i int) bool {
	answer := e.beliefs[i].answer
	return answer == plan.On || answer == plan.Starting
}

// rises reports whether a node may be on its way up: no stop is sent to it before that has settled.
func (e *Estate) rises(i int) bool { return e.now.Before(e.beliefs[i].rising) }

// provenOff reports whether a node is off beyond doubt: what can't be undone may rest on it. One look is not enough, and an
// old proof is none, unless the node was asked since and did not answer: silence contradicts nothing.
func (e *Estate) provenOff(i int) bool {
	age := proofStands
	if e.mayHaveCome(i) { // it may come up with its host at any moment
		age = proofAge
	}
	return e.wasProvenOff(i) && !e.isOld(i, age)
}

// wasProvenOff reports whether a node was off beyond doubt when it last answered, however long ago that was.
func (e *Estate) wasProvenOff(i int) bool {
	b := &e.beliefs[i]
	return b.proof >= twoLooks && b.doubt == plan.Unknown && (isDown(b.answer) || !e.mayHaveCycled(i))
}

// inDoubt reports whether a node has to be asked before a command rests on its being off.
func (e *Estate) inDoubt(i int) bool {
	b := &e.beliefs[i]
	switch {
	case !probed(e.estate.Node(i)):
		return false
	case b.doubt != plan.Unknown:
		return true
	}
	return e.isOld(i, proofAge) || b.proof == oneLook
}

// looked reports whether a node has been asked in this epoch, or can't be.
func (e *Estate) looked(i int) bool {
	return e.beliefs[i].asked || !probed(e.estate.Node(i))
}

// holds reports whether a look since the last command shows what a verb is to bring about.
func (e *Estate) holds(i int, verb plan.Verb, since ledger.Op) bool {
	b := &e.beliefs[i]
	if b.look <= since {
		return false
	}
	switch verb {
	case plan.Protect:
		return e.isProtected(i)
	case plan.Unprotect:
		return b.answer == b.seen.State && b.seen.Protected == plan.No && e.setAsBefore(i) // what it said before it fell silent may be so no more
	case plan.Flush:
		return e.isClean(i) && b.seen.Protected != plan.No
	case plan.Stop, plan.Force:
		return e.isOff(i)
	case plan.Cut:
		return b.seen.State == plan.Off || b.seen.State == plan.Stopping
	case plan.Start:
		return e.isOn(i)
	default:
		return false
	}
}

// setAsBefore reports whether what Protect may have changed is set as the snapshot says, as far as both are known: a thing
// that was given back by half is not protected any more, and not back.
func (e *Estate) setAsBefore(i int) bool {
	if e.ledger.Outage == nil {
		return true
	}
	was, now := e.entry(i).Snap.Set, e.beliefs[i].seen.Settings
	return e.entry(i).Protection == ledger.AsSet || was == "" || now == "" || now == was
}

// probed reports whether a node has anything to ask after: a step of its own or health checks.
func probed(n *plan.Node) bool {
	return n.Kind != plan.Person && n.Kind != plan.Self && (n.Can != 0 || n.Healthy)
}

// believe takes what a look said. Question is its number, asked the time at which it was asked.
func (e *Estate) believe(i int, seen plan.Observation, question ledger.Op, asked time.Time) {
	decl, b := e.estate.Node(i), &e.beliefs[i]
	if seen.State == plan.Off && seen.ByBMC {
		seen.State = e.believeBMC(i)
	}
	wasSilent := b.answer == plan.Unreachable || b.answer == plan.Unknown
	if seen.State == plan.Off {
		e.offAfterSilence(i)
	}
	b.answer, b.askedAt, b.answeredAt, b.asked = seen.State, asked, e.now, true
	if seen.State != plan.Unknown {
		b.blank = time.Time{}
	}
	switch seen.State {
	case plan.Unknown:
		if decl.Kind == plan.Passive {
			b.seen, b.seenAt, b.look = seen, asked, question
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
		b.departure = b.departure.next(seen.State, b.looks)
	}
	e.weigh(i)
	e.followMotion(i, !same || wasSilent)
}

// offAfterSilence follows a machine that did not answer and says off, while what feeds it is not heard: it may have its power again.
func (e *Estate) offAfterSilence(i int) {
	decl, b := e.estate.Node(i), &e.beliefs[i]
	if b.answer == plan.Unreachable && decl.Kind != plan.VM && !e.rises(i) && e.feedOf(i) != feeds {
		b.rising = e.now.Add(bootTime(decl))
	}
}

// believeBMC gives what the word of a BMC is worth that its machine, which does not answer, is off. It may be of before a cycle, and
// is if its output is off as far as is known: that is on again. And whether the two have ever agreed is forgotten with a crash.
func (e *Estate) believeBMC(i int) plan.State {
	if e.mayHaveCycled(i) || e.feedOf(i) == unfed || !e.resumedAt.IsZero() {
		return plan.Unreachable
	}
	return plan.Off
}

// take takes an answer that says something, and reports whether it is the same as before. What it does not speak of is as it was.
func (b *belief) take(seen plan.Observation, question ledger.Op, asked time.Time) (same bool) {
	if seen.State != plan.Gone {
		seen.Protected, seen.Clean = cmp.Or(seen.Protected, b.seen.Protected), cmp.Or(seen.Clean, b.seen.Clean)
		seen.Settings = cmp.Or(seen.Settings, b.seen.Settings)
	}
	same = b.seen.State == seen.State && b.seen.State != plan.Unknown
	if seen.State == plan.Gone && same {
		seen.Detail = cmp.Or(seen.Detail, b.seen.Detail)
	}
	b.seen, b.seenAt, b.look, b.silent = seen, asked, question, time.Time{}
	switch seen.State {
	case plan.On:
		if !asked.Before(b.falling) { // of what was told to go it may be of before
			b.onAt = asked
		}
	case plan.Stopping, plan.Off, plan.Gone:
		b.onAt = time.Time{}
	default:
	}
	if !same {
		b.looks = 0
	}
	if b.looks++; b.twice {
		b.looks = max(b.looks, proofLooks)
	}
	return same
}

// weigh finds what the belief that a node is off rests on after an answer.
func (e *Estate) weigh(i int) {
	b := &e.beliefs[i]
	if !isDown(b.seen.State) {
		b.proof = noProof
		return
	}
	switch {
	case e.rises(i) && b.seen.State == plan.Off:
		b.proof = noProof // it was told to start, or got its power: it need not show yet
	case b.looks >= proofLooks, !probed(e.estate.Node(i)): // what can't be asked can't be asked again
		b.proof = max(b.proof, twoLooks)
	default:
		b.proof = max(b.proof, oneLook)
	}
}

// followMotion ends or begins, after an answer, the times in which a node may be on its way up or down. News is what it did not say
// before.
func (e *Estate) followMotion(i int, news bool) {
	decl, b := e.estate.Node(i), &e.beliefs[i]
	sure := b.looks >= proofLooks // one look ends nothing
	switch {
	case b.seen.State == plan.On && sure:
		b.rising, b.boots = time.Time{}, time.Time{}
	case b.seen.State == plan.Off && sure:
		b.falling = time.Time{}
		if !e.rises(i) {
			b.rising = time.Time{}
		}
	case b.seen.State == plan.Starting && news: // once: what says so for ever is not believed for ever
		b.rising = e.now.Add(max(decl.Time(plan.Start).Within, firstRetry))
	}
}

// believeSilence counts how long a node has not answered. That proves it off where the runbook says so, after a stop that it
// accepted in this epoch, and never while it may be on its way up.
func (e *Estate) believeSilence(i int, question ledger.Op, asked time.Time) {
	decl, b := e.estate.Node(i), &e.beliefs[i]
	if decl.Kind == plan.VM && (e.mayHaveCome(i) || e.mayHaveCycled(i) && !e.hostIsOff(i)) { // its host may have come up since, and it with that
		b.proof, b.looks, b.seen.State = noProof, 0, plan.Unknown
	}
	if b.proof == noProof && e.wentWithItsHost(i) {
		b.proof, b.look, b.seenAt, b.looks = bySilence, question, asked, proofLooks
		b.seen = plan.Observation{State: plan.Off, Detail: "does not answer, was off before, and what it runs on is off"}
		return
	}
	if decl.OffAfter == 0 || b.unasked || e.silenceIsNothing(i) {
		b.silent = time.Time{}
		return
	}
	if b.silent.IsZero() {
		b.silent = asked
	}
	if b.proof != noProof || asked.Sub(b.silent) < decl.OffAfter || e.outletIsOld(i) {
		return
	}
	b.proof, b.look, b.seenAt, b.looks = bySilence, question, asked, proofLooks
	b.seen = plan.Observation{State: plan.Off, Detail: "has not answered for " + plan.Span(decl.OffAfter) + " since it took its stop"}
}

// wentWithItsHost reports whether the host that a node runs on is proven off, and the node was off before that, on record: it was proven
// so, or was so in the snapshot. After a crash of ours nothing else tells that, where all is asked through the host.
func (e *Estate) wentWithItsHost(i int) bool {
	if e.ledger.Outage == nil {
		return false
	}
	n := e.entry(i)
	return e.hostIsOff(i) && (n.Shown == ledger.ShownOff || n.Shown == ledger.AsFound && n.Snap.Was == ledger.ThenOff)
}

// hostOf gives the host that a node runs on, -1 if it runs on none: that of a VM, or one that something without feeds of its own needs.
func (e *Estate) hostOf(i int) int {
	decl := e.estate.Node(i)
	if host, known := e.estate.Index(decl.Host); known && decl.Kind == plan.VM {
		return host
	}
	if len(e.estate.Feeds(i)) > 0 {
		return -1
	}
	at := slices.IndexFunc(e.estate.Needs(i), func(d int) bool { return e.estate.Node(d).Kind == plan.Host })
	if at < 0 {
		return -1
	}
	return e.estate.Needs(i)[at]
}

// silenceWillTell reports whether a node was off before Ebbtide was away, on record, does not answer, and will be proven off by that soon:
// it is not told to stop a second time, unless time is short.
func (e *Engine) silenceWillTell(i int) bool {
	b, decl := &e.beliefs[i], e.estate.Node(i)
	off := e.entry(i).Shown == ledger.ShownOff && e.acceptedStop(i) && !e.resumedAt.IsZero()
	return off && e.press[i] == noPressure && !b.silent.IsZero() && b.proof == noProof && b.askedAt.Sub(b.silent) < decl.OffAfter+failedLook
}

// silenceIsNothing reports whether a node may be silent for another reason than a stop that it took.
func (e *Estate) silenceIsNothing(i int) bool {
	b := &e.beliefs[i]
	return b.departure == returned || e.rises(i) || e.now.Before(b.boots) || !e.acceptedStop(i) || e.cutOff(i) || e.mayHaveCycled(i) || e.feedOf(i) == unfed
}

// acceptedStop reports whether a node accepted a stop, and nothing since can have started it again.
func (e *Estate) acceptedStop(i int) bool {
	return e.ledger.Outage != nil && e.entry(i).Last.Taken
}

// renew begins a new epoch of a node, whose power may have come back, and asks after it.
func (e *Engine) renew(i int) {
	decl := e.estate.Node(i)
	if decl.Kind == plan.Passive {
		e.beliefs[i].boots = e.now.Add(bootTime(decl))
	}
	if !probed(decl) || decl.Kind == plan.Supply {
		return
	}
	rising := e.beliefs[i].rising
	e.beliefs[i].settled = plan.Unknown
	e.beliefs[i].renew(e.nextOp)
	if e.beliefs[i].rising = rising; decl.Kind != plan.VM { // a VM comes up with its host, if that does
		e.beliefs[i].rising = e.now.Add(bootTime(decl))
		e.beliefs[i].boots = e.beliefs[i].rising
	}
	e.probe(i)
	e.touch(i)
}

// bootTime is how long a machine may be silent, or look off, while it starts.
func bootTime(n *plan.Node) time.Duration {
	t := n.Time(plan.Start)
	return max(2*t.Nominal, t.Within, firstRetry)
}
