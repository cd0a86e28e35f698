package belief

import (
	"slices"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// believeSilence counts how long a node has not answered. That proves it off where the runbook says so, after a stop that it
// accepted in this epoch, and never while it may be on its way up.
func (e *Estate) believeSilence(i int, question ledger.Op, asked time.Time) {
	decl, b := e.Graph.Node(i), &e.Beliefs[i]
	if e.mayHaveComeWithHost(i) {
		b.Proof, b.Looks, b.Seen.State = NoProof, 0, plan.Unknown
	}
	if b.Proof == NoProof && e.wentWithItsHost(i) {
		b.Proof, b.Look, b.SeenAt, b.Looks = BySilence, question, asked, ProofLooks
		b.Seen = plan.Observation{State: plan.Off, Detail: "does not answer, was off before, and what it runs on is off"}
		return
	}
	until := e.wayKnown(i, asked)
	if decl.OffAfter == 0 || b.Unasked || e.silenceIsNothing(i) {
		b.Silent = time.Time{}
		return
	}
	if until.IsZero() || until.Before(b.before) { // it may have been gone meanwhile
		if !e.wayIsPending(i) {
			b.Silent = time.Time{}
		}
		return
	}
	if b.Silent.IsZero() {
		b.Silent = asked
	}
	if asked.Sub(b.Silent) > FirstRetry {
		b.Departure = max(b.Departure, Leaving)
	}
	if b.Proof != NoProof || until.Sub(b.Silent) < decl.OffAfter || e.outletIsOld(i) {
		return
	}
	b.Proof, b.Look, b.SeenAt, b.Looks = BySilence, question, asked, ProofLooks
	b.Seen = plan.Observation{State: plan.Off, Detail: "has not answered for " + english.Span(decl.OffAfter) +
		" since it accepted its stop"}
}

// followMute follows that a node that took its stop is mute for long while its power may have been off: it may have gone by that, whatever
// its silence proves.
func (e *Estate) followMute(i int) {
	if b := &e.Beliefs[i]; e.wasPowered(i) && e.IsMuteForLong(i) && e.AcceptedStop(i) {
		b.Departure = max(b.Departure, Leaving)
	}
}

// AwaitsWord reports whether a node took its stop, does not answer, and may be proven off by that as soon as a supply is heard again that a
// switch before it hangs on.
func (e *Estate) AwaitsWord(i int) bool {
	unheard := func(f int) bool { return e.Ledger.SupplyOf[f] >= 0 && e.feedBy(e.Ledger.SupplyOf[f]) == fedUnheard }
	takes := e.Graph.Node(i).OffAfter > 0 && e.AcceptedStop(i)
	return takes && e.IsMute(i) && !e.IsOff(i) && e.anyDark(i,
		func(way int) bool { return slices.ContainsFunc(e.Graph.Feeds(way), unheard) })
}

// mayHaveComeWithHost reports whether the host of a node may have come up since the node was proven off, and it with that.
func (e *Estate) mayHaveComeWithHost(i int) bool {
	return e.HostOf(i) >= 0 && (e.MayHaveCome(i) || e.MayHaveCycled(i) && !e.hostIsOff(i))
}

// wentWithItsHost reports whether the host that a node runs on is proven off, and the node with it: it was off before that, on record, or
// was a VM that could only run on another host, and those are off too. Where all is asked through the host nothing else tells that.
func (e *Estate) wentWithItsHost(i int) bool {
	if e.Ledger.Outage == nil || !e.hostIsOff(i) {
		return false
	}
	n, b := e.Entry(i), &e.Beliefs[i]
	// it was up since that was shown, or before its last command
	if !IsDown(b.Seen.State) && b.SeenAt.After(e.Beliefs[e.HostOf(i)].SeenAt) {
		return false
	}
	runs := func(h int) bool { return !e.IsOff(h) && !e.HasNoPower(h) }
	decl := e.Graph.Node(i)
	nowhere := decl.Bound || decl.Kind == plan.VM && !slices.ContainsFunc(e.hosts, runs)
	return n.Shown == ledger.ShownOff || n.Shown == ledger.AsFound && n.Snap.Was == ledger.ThenOff || nowhere
}

// DisproveHosts follows a guest that says that it is up, twice if it was proven off: what silence has shown of its host, or, of a VM that
// is not bound to one, of all of them, is void, or will have shown of those that are silent for a while. One of them is up, which its
// silence after that does not tell either. A service shows nothing of the machine that it is asked on: others may answer for it. It gives
// those hosts.
func (e *Estate) DisproveHosts(i int) (disproved []int) {
	if e.HostOf(i) < 0 || !e.saysUp(i) {
		return nil
	}
	hosts := e.mayRunOn(i)
	if slices.ContainsFunc(hosts, func(h int) bool { return !e.wasSilentTo(h, i) && !e.IsOff(h) && !e.wasGoingBefore(h, i) }) {
		return nil
	}
	for _, h := range hosts {
		if on := &e.Beliefs[h]; e.wasSilentTo(h, i) {
			on.Proof, on.Looks, on.Silent, on.Seen.State, on.Departure = NoProof, 0, time.Time{}, plan.Unknown, Returned
			disproved = append(disproved, h)
		}
	}
	return disproved
}

// saysUp reports whether a node says that it is up, or on its way, twice if it was proven off.
func (e *Estate) saysUp(i int) bool {
	b := &e.Beliefs[i]
	return (e.ShowsUp(i) || b.Answer == plan.Stopping) && (b.Looks >= ProofLooks || !e.WasOff(i))
}

// mayRunOn lists the hosts on one of which a guest is, if it is up: its own, or any, of a VM that is not bound to one.
func (e *Estate) mayRunOn(i int) []int {
	switch decl := e.Graph.Node(i); {
	case decl.Bound:
		return []int{e.HostOf(i)}
	case decl.Kind == plan.VM:
		return e.hosts
	default:
		return nil
	}
}

// wasSilentTo reports whether silence had shown a host off when a guest was asked last, or was being counted for a while, and it was asked
// twice.
func (e *Estate) wasSilentTo(host, guest int) bool {
	on, b := &e.Beliefs[host], &e.Beliefs[guest]
	isSilent := b.Looks >= ProofLooks && !on.Silent.IsZero() && on.Silent.Add(ProofStands).Before(b.AskedAt)
	return on.Proof == BySilence && on.SeenAt.Before(b.AskedAt) || on.Proof == NoProof && isSilent
}

// wasGoingBefore reports whether a guest has begun to start, by two looks, since a host took its stop in this life: nothing does on one
// that goes.
func (e *Estate) wasGoingBefore(host, guest int) bool {
	b := &e.Beliefs[guest]
	if b.Seen.State != plan.Starting || b.Looks < ProofLooks || !e.AcceptedStop(host) {
		return false
	}
	last := e.Last(host)
	return last.Op > e.Life && b.Since.After(last.At)
}

// HostToAsk gives the host of a node that is to be asked after the node was: the two may have gone together, or be up together; -1: none
// is.
func (e *Estate) HostToAsk(i int) int {
	host := e.HostOf(i)
	if host < 0 || e.Rises(host) || e.Beliefs[host].Answer == plan.On {
		return -1
	}
	if e.IsMute(i) && !e.ProvenOff(host) || e.ShowsUp(i) && !e.IsOff(host) {
		return host
	}
	return -1
}

// silenceIsNothing reports whether a node may be silent for another reason than a stop that it took. One of before a crash says nothing
// where what feeds it has not been heard since: its power may have been off and on, and it with that.
func (e *Estate) silenceIsNothing(i int) bool {
	b := &e.Beliefs[i]
	if e.Ledger.Outage != nil && e.Last(i).Op <= e.Life && e.feedOf(i) == fedUnheard && e.isUnheardSince(i) {
		return true
	}
	return e.HasReturned(i) || e.Rises(i) || e.Now.Before(b.UpUntil()) || !e.AcceptedStop(i) || e.MayHaveCycled(i) || e.feedOf(i) == unfed
}

// StopIsVoid reports whether what took a stop was seen to come up since, or is on once the time of that is over, and nobody saw what became
// of it, or it was given up, or long after that. A crash must not forget it: the node's silence would prove it off.
func (e *Estate) StopIsVoid(i int) bool {
	n, b := e.Entry(i), &e.Beliefs[i]
	late := e.Graph.Node(i).OffAfter + ProofStands // what is slow to go, and is watched, goes yet
	if n.Lit != ledger.Unlit || !e.ResumedAt.IsZero() && n.Last.Op <= e.Life || n.GivenUp.Has(plan.Stop) {
		late = 0
	}
	isOn := b.Answer == plan.On && b.Looks >= ProofLooks && !b.AskedAt.Before(b.Obeying.Add(late-b.Adrift))
	return e.AcceptedStop(i) && (isOn || e.HasReturned(i))
}

// FollowDeparture follows an answer that a node has given for so many looks, for what its silence tells after that. Where silence has shown
// it off one is enough, also where that was before a crash: whatever is off does not answer. So is one that says on when the time of its
// stop is over, by the clock at least, which may have been set while Ebbtide was away.
func (e *Estate) FollowDeparture(i int, state plan.State, looks int) {
	if b := &e.Beliefs[i]; e.Graph.Node(i).OffAfter > 0 {
		if b.Proof == BySilence || b.Proof == NoProof && e.WasOff(i) {
			looks = ProofLooks
		}
		b.Departure = b.Departure.next(state, looks, e.wasPowered(i), !e.Now.Before(b.Obeying.Add(-b.Adrift)))
	}
}

// HeardOnce follows an answer that is asked for again: what a node said that it was, as it was asked, it was, and there may be no other.
func (e *Estate) HeardOnce(i int, state plan.State) {
	if state == plan.Starting {
		e.Beliefs[i].Rising = later(e.Beliefs[i].Rising, e.Now.Add(e.startWithin(i)))
	}
	e.FollowDeparture(i, state, 1)
}

// Contradicted follows an answer that was to be asked for again, and is now silent: neither what it said nor what was known of it before
// counts any more. Of one that said it is up, HeardOnce has taken that down as it came.
func (e *Estate) Contradicted(i int) {
	b := &e.Beliefs[i]
	switch {
	case b.Doubt == plan.Stopping:
		e.HeardOnce(i, b.Doubt)
	case IsDown(b.Doubt):
		b.OnAt = time.Time{}
	}
	b.Looks, b.Proof = 0, NoProof
}

// HasReturned reports whether a node that was told to go off was seen to be back since, or on its way there with its power. What was on
// while that may have come back, in the time that its stop may take, may go yet; but where its power is there, nothing rests on that.
func (e *Estate) HasReturned(i int) bool {
	d := e.Beliefs[i].Departure
	return d == Returned || d == Coming && e.wasPowered(i) || d == Relit && !e.isGoingDown(i)
}

// isGoingDown is GoesDown also where no outage is open, in which nothing does.
func (e *Estate) isGoingDown(i int) bool { return e.Ledger.Outage != nil && e.GoesDown(i) }

// wasPowered reports whether the power of a node came back, or may have: as far as was heard, and nothing since shows what became of it, or
// unheard.
func (e *Estate) wasPowered(i int) bool {
	return e.Ledger.Outage != nil && (e.Entry(i).Lit == ledger.PoweredAgain || e.FeedIsUnheard(i))
}

// isUnheardSince reports whether nothing of what feeds a node was heard in this life.
func (e *Estate) isUnheardSince(i int) bool {
	return !slices.ContainsFunc(e.Graph.Sources(i), func(f int) bool { return e.Supplies[e.Ledger.SupplyOf[f]].Heard })
}

// MayHaveBeenOff reports whether a host that took its stop has told nothing for as long as it takes to go: if it answers next it may have
// been off, whatever it was that kept it silent.
func (e *Estate) MayHaveBeenOff(i int) bool {
	decl, blank := e.Graph.Node(i), e.Beliefs[i].blank
	return decl.Kind == plan.Host && !blank.IsZero() && e.Now.Sub(blank) > decl.OffAfter && e.AcceptedStop(i)
}

// AcceptedStop reports whether a node accepted a stop, and nothing since can have started it again. One whose answer a crash of ours has
// lost counts if the node answered right before (docs/adr/0005).
func (e *Estate) AcceptedStop(i int) bool {
	if e.Ledger.Outage == nil {
		return false
	}
	last := &e.Entry(i).Last
	return last.TookStop() || last.Open && last.Verb == plan.Stop && last.Answer == ledger.NoAnswer && last.Heard && last.Op <= e.Life
}
