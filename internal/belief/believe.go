package belief

import (
	"cmp"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Believe takes what a look said. Question is its number, asked the time at which it was asked.
func (e *Estate) Believe(i int, seen plan.Observation, question ledger.Op, asked time.Time) {
	b := &e.Beliefs[i]
	if seen.State == plan.Off && seen.ByBMC {
		seen.State = e.believeBMC(i, seen.Agreed)
	}
	was, blank := b.Answer, b.blank
	e.followFirst(i, seen.State)
	if seen.State == plan.Off || seen.State == plan.Stopping {
		e.downAfterSilence(i)
	}
	b.answers(seen.State, asked, e.Now)
	switch seen.State {
	case plan.Unknown:
		e.takeNothing(i, seen, question, asked, was == plan.Unreachable)
	case plan.Unreachable:
		e.followMute(i)
		e.believeSilence(i, question, asked)
	default:
		e.takeWord(i, seen, question, asked, was, blank)
	}
}

// takeWord takes an answer that says something. Was is what the answer before it was, and blank since when there had been none that says
// anything; zero: it did.
func (e *Estate) takeWord(i int, seen plan.Observation, question ledger.Op, asked time.Time, was plan.State, blank time.Time) {
	b := &e.Beliefs[i]
	wasSilent := was == plan.Unreachable || was == plan.Unknown
	startsAnew := seen.State == plan.Starting && !blank.IsZero() && asked.Sub(blank) > e.startWithin(i)
	isAgain := seen.State == plan.On && was == plan.Unreachable
	if isAgain || startsAnew { // two looks in a row show that it is up again, and not one
		b.Looks, b.Since = 0, asked
	}
	onAt := b.OnAt
	same := b.take(seen, question, asked)
	if e.mayHaveDropped(i) {
		b.OnAt = onAt
	}
	if b.Seen.State != plan.On && e.Graph.Node(i).SuspendsItself() { // it may go in another mode than it showed before
		b.Seen.Protected = seen.Protected
	}
	if seen.State == plan.On && !isAgain && !asked.Before(b.Falling) { // of what was told to go it may be of before
		b.OnAt = asked
	}
	e.followAlone(i, seen.State)
	e.FollowDeparture(i, seen.State, b.Looks)
	e.weigh(i)
	e.followMotion(i, !same || wasSilent)
}

// mayHaveDropped reports whether a VM may have lost its host to a failure that nobody has heard of yet: that it is off is no word on how it
// was before that (see LastSeen).
func (e *Estate) mayHaveDropped(i int) bool {
	return e.Ledger.Outage == nil && e.Graph.Node(i).Kind == plan.VM && e.feedOf(i) != feeds
}

// answers takes what a look came to, and follows since when nothing was learned by one.
func (b *Belief) answers(state plan.State, asked, now time.Time) {
	b.before = b.AskedAt
	b.Answer, b.AskedAt, b.answeredAt, b.Asked = state, asked, now, true
	switch isBlank := state == plan.Unknown || state == plan.Unreachable; {
	case !isBlank:
		b.blank = time.Time{}
	case b.blank.IsZero():
		b.blank = asked
	}
}

// takeNothing takes that a look had no answer, which proves nothing; what is passive has no other.
func (e *Estate) takeNothing(i int, seen plan.Observation, question ledger.Op, asked time.Time, wasMute bool) {
	b := &e.Beliefs[i]
	if e.Graph.Node(i).Kind == plan.Passive {
		b.Seen, b.SeenAt, b.Look = seen, asked, question
	}
	// nor does it go on with a silence
	b.Silent = time.Time{}
	if wasMute && b.Seen.State == plan.On { // what it said before it fell silent is no word on now
		b.Looks = 0
	}
}

// followFirst follows the first answer since Ebbtide began, where that knows of no outage: what has none may be on its way up. The two may
// have lost their power together. What says that it is off, twice, is.
func (e *Estate) followFirst(i int, state plan.State) {
	decl, b := e.Graph.Node(i), &e.Beliefs[i]
	machine := decl.Kind != plan.VM && decl.Kind != plan.Supply && decl.Kind != plan.Outlet && decl.Kind != plan.Passive
	if machine && !b.Asked && e.ResumedAt.IsZero() && b.Rising.IsZero() && (state == plan.Unreachable || state == plan.Unknown) {
		b.Boots = e.Now.Add(e.PowerUpTime(i))
	}
}

// downAfterSilence follows a machine that did not answer, nor its BMC, and is off or on its way there by the one, while what feeds it is
// not heard: it may have its power again.
func (e *Estate) downAfterSilence(i int) {
	decl, b := e.Graph.Node(i), &e.Beliefs[i]
	if b.Answer == plan.Unreachable && decl.Kind != plan.VM && !e.Rises(i) && e.feedOf(i) != feeds {
		b.Rising = e.Now.Add(e.PowerUpTime(i))
	}
}

// believeBMC gives what the word of a BMC is worth that its machine, which does not answer, is off. It may be of before a cycle, and is if
// its output is off as far as is known: that is on again. What nobody told to stop is off only for want of power, and while what feeds it
// is not heard that may be back. And whether the two have ever agreed is forgotten with a crash, unless they have since, or it was proven
// off before, and has not had its power back, as a BMC that was silent may have.
func (e *Estate) believeBMC(i int, agreed bool) plan.State {
	switch feed := e.feedOf(i); {
	case feed == maybeCycled || feed == unfed || feed == fedUnheard && !e.AcceptedStop(i):
		return plan.Unreachable
	case !e.ResumedAt.IsZero() && !agreed && (feed == fedUnheard || !e.isShownOff(i) || e.Beliefs[i].Answer == plan.Unreachable):
		e.Beliefs[i].OnAt = time.Time{} // it answers no more, and nothing says that it is on
		return plan.Unreachable
	}
	return plan.Off
}

// isShownOff reports whether a node was proven off, on record, and nothing is that may have started it since.
func (e *Estate) isShownOff(i int) bool {
	n := e.Entry(i)
	return n.Shown == ledger.ShownOff && n.Lit == ledger.Unlit
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
	b.Seen, b.SeenAt, b.Look, b.Silent, b.Belied = seen, asked, question, time.Time{}, false
	if seen.State == plan.Stopping || IsDown(seen.State) {
		b.OnAt = time.Time{}
	}
	// what it said while it might be on its way up is no word on after that
	isPast := IsDown(seen.State) && b.Since.Before(b.Rising) && !asked.Before(b.Rising)
	if !same || isPast {
		b.Looks, b.Since = 0, asked
	}
	switch {
	case seen.State != plan.Stopping:
		b.Going = time.Time{}
	case b.Going.IsZero():
		b.Going = asked
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
	case b.Seen.State == plan.Gone && b.SeenAt.Sub(b.Since) < e.GoneStands(i): // a list of VMs may be read anew
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
		b.Rising, b.Boots, b.Hosted = time.Time{}, time.Time{}, time.Time{}
		e.reached(i)
	case b.Seen.State == plan.Off && sure:
		b.Falling = time.Time{}
		if !e.Rises(i) {
			b.Rising = time.Time{}
		}
	case b.Seen.State == plan.Stopping && news && e.WasOff(i): // what was off does not stop
		b.Rising = e.Now.Add(BootTime(decl))
	case b.Seen.State == plan.Starting && news: // what says so for ever, a lost answer aside, is not believed for ever
		boots := e.startWithin(i)
		b.Rising = earlier(e.Now.Add(boots), b.Since.Add(2*boots))
	}
}

// startWithin is how long a node may say that it starts.
func (e *Estate) startWithin(i int) time.Duration {
	return max(e.Graph.Node(i).Time(plan.Start).Within, FirstRetry)
}

// PowerUpTime is how long a machine may be silent, or look off, since its power came back: what runs on a host that is not up comes up
// after that.
func (e *Estate) PowerUpTime(i int) time.Duration {
	t := BootTime(e.Graph.Node(i))
	if host := e.HostOf(i); host >= 0 && e.Beliefs[host].Settled != plan.On {
		t += e.PowerUpTime(host)
	}
	return t
}

// BootTime is how long a machine may be silent, or look off, while it starts.
func BootTime(n *plan.Node) time.Duration {
	t := n.Time(plan.Start)
	return max(2*t.Nominal, t.Within, FirstRetry)
}
