package belief

import (
	"slices"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// GoesDown reports whether a node is to go down, as soon as its stage has begun: its power does, or a drill takes it.
func (e *Estate) GoesDown(i int) bool {
	o := e.Ledger.Outage
	return o.Lost[i] || o.Drill.Phase == ledger.DrillDown && o.Drill.In[i]
}

// IsDark reports whether a node goes down and nothing says yet that its power may be back: nothing new is begun on it while
// its supplies are on line again, though not for long enough to count.
func (e *Estate) IsDark(i int) bool { return e.GoesDown(i) && (e.firm[i] || !e.Ledger.Outage.Lost[i]) }

// IsBackUnheard reports whether a node was off and is up again behind supplies that are not heard and whose batteries may have given out:
// its power may be back, and nobody stops it for a battery that is empty.
func (e *Estate) IsBackUnheard(i int) bool { return e.IsUpAgain(i) && e.MayHaveCycled(i) }

// ComesUp reports whether a node is to be on: it was when the outage began, and its power is there.
func (e *Estate) ComesUp(i int) bool {
	n := e.Entry(i)
	if e.GoesDown(i) || !e.Ledger.Outage.Scope[i] {
		return false
	}
	decl := e.Graph.Node(i)
	if decl.Kind == plan.Manual {
		return n.Shown == ledger.ShownOff || n.Shown == ledger.WasTold
	}
	return n.Snap.On()
}

// LateMayCome reports whether what protects a node may be undone by an Unprotect that nobody waits for any more, so that a
// look from before our own Protect proves nothing.
func (e *Estate) LateMayCome(i int) bool {
	n := e.Entry(i)
	return n.Late && n.Protection != ledger.Protected
}

// StaysProtected reports whether a node that was proven protected, or was so before the outage, does not answer now: nothing says that it
// is not any more.
func (e *Estate) StaysProtected(i int) bool {
	n, b := e.Entry(i), &e.Beliefs[i]
	was := n.Protection == ledger.Protected || n.Protection == ledger.AsSet && n.Snap.CacheWas == plan.Yes
	return was && !n.Late && b.Seen.Protected != plan.No && e.Looked(i) && (b.Answer == plan.Unreachable || b.Answer == plan.Unknown)
}

// IsCutOff reports whether a node is dark because its supplies were cut and are not back: it needs no stop.
func (e *Estate) IsCutOff(i int) bool {
	return e.Ledger.Outage.Cut[i] && e.Graph.Node(i).Kind != plan.Self
}

// ToPutBack reports whether this outage has to put back what it changed of a node: not what was so before it began.
func (e *Estate) ToPutBack(i int) bool {
	n := e.Entry(i)
	return n.IsChanged() && (n.Snap.CacheWas == plan.No || n.Snap.CacheWas == plan.NotKnown && e.Beliefs[i].Seen.Protected != plan.No)
}

// WasAborted reports whether a node is left on because an operator has called off what the failure of a supply takes down.
func (e *Estate) WasAborted(i int) bool {
	isLit := func(k int) bool { return !e.Standing(k).IsDark() }
	isCalled := func(k int) bool { return e.Standing(k).Fails == ledger.CalledOff }
	return slices.ContainsFunc(e.losses[i], func(loss []int) bool {
		return !slices.ContainsFunc(loss, isLit) &&
			slices.ContainsFunc(loss, isCalled)
	})
}

// IsLeft reports whether a node goes dark with supplies alone whose failure an operator has called off: it is left as it is.
func (e *Estate) IsLeft(i int) bool {
	isCalled := func(k int) bool { return e.Standing(k).Fails == ledger.CalledOff }
	isLit := func(k int) bool { return !e.Standing(k).IsDark() }
	left := false
	for _, loss := range e.losses[i] {
		if slices.ContainsFunc(loss, isLit) {
			continue
		}
		if slices.ContainsFunc(loss, func(k int) bool { return !isCalled(k) }) {
			return false
		}
		left = true
	}
	return left
}

// NeedsCycle reports whether anything that a supply feeds is started by nothing but the return of its power, and is off, or may be, or may
// go off yet.
func (e *Estate) NeedsCycle(k int) bool {
	return e.anyByPower(k, e.MayStayOff)
}

// MayStayOff reports whether a node that was told to stop, or would have been, is off, or may be, or may go off yet.
func (e *Estate) MayStayOff(i int) bool {
	b := &e.Beliefs[i]
	return e.MayHaveGone(i) || e.Declined(i) && (b.Answer != plan.On || b.AskedAt.Before(later(b.Falling, b.Obeying)))
}

// IsInVain reports whether a supply is to be cut, is on line, and nothing that needs that has taken its stop.
func (e *Estate) IsInVain(k int) bool {
	st := e.Standing(k)
	return st.Cycle == ledger.Committed && (!st.IsOut() || e.IsHeardOnLine(k)) && !e.anyByPower(k, e.MayHaveGone)
}

// anyByPower reports whether anything that nothing but the return of a supply's power starts goes down for another supply too, or may be
// off as the caller says.
func (e *Estate) anyByPower(k int, may func(u int) bool) bool {
	goesBeside := func(u int) bool {
		return slices.ContainsFunc(e.losses[u], func(loss []int) bool {
			return !slices.Contains(loss, k) && !slices.ContainsFunc(loss, func(other int) bool { return !e.Standing(other).IsDark() })
		})
	}
	supply := e.Supplies[k].Node
	return slices.ContainsFunc(e.Graph.Dependents(supply), func(u int) bool {
		return e.Graph.Node(u).ByPower && slices.Contains(e.Graph.Sources(u), supply) && (goesBeside(u) || may(u))
	})
}

// MayHaveGone reports whether a node has taken a stop, or may have, or is to be on and does not say that it is.
func (e *Estate) MayHaveGone(i int) bool {
	n := e.Entry(i)
	switch {
	case e.Graph.Node(i).Kind == plan.Self: // it is us, if it was not told in this life
		return n.Shown == ledger.ShownOff
	case n.Last.Taken:
		return true
	case n.Shown == ledger.ShownOff, n.Last.Answer == ledger.WasObeyed: // up again, it has had its power back
		return !e.IsUp(i)
	case e.Declined(i):
		return false
	}
	return n.Shown == ledger.WasTold || n.Snap.On() && e.Beliefs[i].Answer != plan.On
}

// OwesCycle reports whether a node was told to stop, and has gone or may go yet, that nothing but the return of its power starts, which it
// has not had since. What may have had it owes it again once it is shown to be off, in spite of that.
func (e *Estate) OwesCycle(i int) bool {
	return e.oweCycle(i, e.IsOff(i))
}

// MayOweCycle reports whether a node owes a cycle, or is not up although it may have had it: it may show that it does.
func (e *Estate) MayOweCycle(i int) bool {
	return e.oweCycle(i, !e.IsUp(i))
}

// oweCycle is that, where IsDown is how what may have had its power again counts.
func (e *Estate) oweCycle(i int, isDown bool) bool {
	n := e.Entry(i)
	told := n.Shown != ledger.AsFound && n.Last.Verb == plan.Stop
	owes := n.Lit == ledger.Unlit && e.MayHaveGone(i) || n.Lit == ledger.PoweredAgain && n.Last.Taken && isDown
	return told && e.Graph.Node(i).ByPower && owes
}

// Declined reports whether a node was told to stop, and would not, or not now. It may do it all the same, which a look shows.
func (e *Estate) Declined(i int) bool {
	n := e.Entry(i)
	last := &n.Last
	return n.Shown == ledger.WasTold && last.Verb == plan.Stop && last.Answer == ledger.WasDenied && last.Reach() <= ledger.InVain
}

// CarriesLost reports whether anything goes dark with a supply: one whose whole load has another feed is not cut, since
// nothing has to come back with it.
func (e *Estate) CarriesLost(supply int) bool {
	for _, u := range e.Graph.Users(supply) {
		if e.Ledger.Outage.Lost[u] {
			return true
		}
	}
	return false
}

// UnfedBy names a supply on which a node can't be started yet, -1 if there is none.
func (e *Estate) UnfedBy(i int) int {
	for _, d := range e.Graph.Needs(i) {
		if e.Fed[d] {
			continue
		}
		if e.Graph.Node(d).Kind == plan.Supply {
			return d
		}
		return e.UnfedBy(d)
	}
	return -1
}

// MayHaveBeenCut reports whether a supply was told to cut its output before a crash, nobody knows whether it did, and it is on line, or has
// not been heard since.
func (e *Estate) MayHaveBeenCut(supply int) bool {
	last, k := &e.Entry(supply).Last, e.Ledger.SupplyOf[supply]
	return last.Open && last.Verb == plan.Cut && last.Op <= e.Life && (e.IsHeardOnLine(k) || e.Supplies[k].IsUnheard())
}

// Hangs reports whether a VM that was told to stop in this outage neither goes off nor comes back, although it is to be on.
func (e *Estate) Hangs(i int) bool {
	b := &e.Beliefs[i]
	entry := e.Entry(i)
	return e.Graph.Node(i).Kind == plan.VM && e.ComesUp(i) && entry.Shown == ledger.WasTold && !entry.GivenUp.Has(plan.Stop) &&
		b.Seen.State == plan.Stopping && b.Answer == plan.Stopping
}

// IsUpAgain reports whether what was shown to be off was up when it last answered.
func (e *Estate) IsUpAgain(i int) bool {
	state := e.Beliefs[i].Seen.State
	return e.Entry(i).Shown == ledger.ShownOff && (state == plan.On || state == plan.Starting)
}

// MayBeBack reports whether a node was off, is up, and the return of its power may be what has started it: an output that feeds it, or what
// it runs on, may have been cut while Ebbtide was away, and no other has carried it meanwhile. Nobody stops it before that is known; but
// what others start too may be somebody's doing, when what starts with its power would show by now.
func (e *Estate) MayBeBack(i int) bool {
	feeds := e.Graph.Feeds(i)
	byPower := e.Graph.Node(i).ByPower && len(feeds) > 0 || e.Now.Before(e.ResumedAt.Add(BootTime(e.Graph.Node(i))))
	if len(feeds) == 0 {
		feeds = e.Graph.Sources(i)
	}
	carries := func(f int) bool { return !e.MayHaveBeenCut(f) && e.Carries(e.Ledger.SupplyOf[f]) }
	return byPower && e.IsUpAgain(i) && slices.ContainsFunc(feeds, e.MayHaveBeenCut) && !slices.ContainsFunc(feeds, carries)
}

// isUnderWay reports whether a command of a verb has reached a node, or may have, and has no end yet.
func (e *Estate) isUnderWay(i int, verb plan.Verb) bool {
	if e.Ledger.Outage == nil {
		return false
	}
	last := &e.Entry(i).Last
	return last.Open && last.Verb == verb && last.Reach() != ledger.NotReached
}

// SettlesSoon reports whether what keeps a stop from being sent ends with time alone.
func (e *Estate) SettlesSoon(i int) bool {
	return e.UnheardFor(i) >= 0 || e.MayBeBack(i) || e.Rises(i) || !e.Looked(i) || e.Now.Before(e.Beliefs[i].UpUntil()) || e.AwaitsHost(i)
}

// AwaitsHost reports whether a guest that does not answer, and that only its host answers for, waits for what becomes of that: the host has
// not been looked at yet, may be on its way up, or its silence will tell whether it is off, and the guest with it. Nothing that is sent to
// the guest meanwhile would reach it.
func (e *Estate) AwaitsHost(i int) bool {
	host := e.HostOf(i)
	return e.Graph.Node(i).Bound && host >= 0 && (e.IsMute(i) || !e.Looked(i)) && !e.IsOff(host) &&
		(!e.Looked(host) || e.Rises(host) && e.IsMute(host) || e.silenceMayTell(host))
}

// silenceMayTell reports whether a node took its stop, does not answer, and may be proven off by that yet.
func (e *Estate) silenceMayTell(i int) bool {
	b, decl := &e.Beliefs[i], e.Graph.Node(i)
	since := b.Silent
	if since.IsZero() { // it counts from when it may not be on its way up any more
		since = later(e.ResumedAt, later(b.UpUntil(), b.Rising))
	}
	return decl.OffAfter > 0 && e.AcceptedStop(i) && e.IsMute(i) && e.Now.Sub(since) < decl.OffAfter+2*ProofStands
}

// MayGoLate gives something that was on and may go yet by a stop that it took, or may have, and of which no look has shown what became: an
// updating guest, or a command in a queue, takes longer than it may; -1: nothing. The outage stays open for twice that time, so that it is
// started again.
func (e *Estate) MayGoLate() int {
	for i := range e.Beliefs {
		until := e.Beliefs[i].Obeying
		late := 2 * e.Graph.Node(i).Time(plan.Stop).Within
		if e.Entry(i).Snap.On() && !until.IsZero() && e.Now.Before(until.Add(late)) {
			return i
		}
	}
	return -1
}

// AnyBlank reports whether something that counts as on had no answer to give when it was asked last, or has not been asked twice since what
// it runs on came up: that is no proof, and ends.
func (e *Estate) AnyBlank() bool {
	o := e.Ledger.Outage
	for i := range e.Beliefs {
		snap, b, decl := &o.Nodes[i].Snap, &e.Beliefs[i], e.Graph.Node(i)
		isYetToBeAsked := Probed(decl) && (!b.Asked || b.Answer == plan.On && b.Looks < ProofLooks)
		isBlank := !b.blank.IsZero() && e.IsOn(i) || isYetToBeAsked
		if o.Scope[i] && (snap.On() || snap.Silent()) && decl.Kind != plan.Passive && isBlank {
			return true
		}
	}
	return false
}

// GoneMeanwhile lists what was on when the outage began, came into its snapshot as off or not at all, and is not on now: its power may
// have failed while Ebbtide was away, and a person is to look.
func (e *Estate) GoneMeanwhile() []ledger.NodeState {
	if e.ResumedAt.IsZero() {
		return nil
	}
	var gone []ledger.NodeState
	for i := range e.Beliefs {
		n, decl := e.Entry(i), e.Graph.Node(i)
		if n.Snap.SeenOn && !n.Snap.On() && !n.Snap.Silent() && decl.Kind != plan.Supply && e.Looked(i) && !e.ShowsUp(i) &&
			(e.Ledger.Outage.Scope[i] || e.IsOff(i)) {
			gone = append(gone, ledger.NodeState{Node: decl.ID, State: e.Beliefs[i].Answer})
		}
	}
	return gone
}

// StoppedMeanwhile lists what was off when the outage began, came on in it, went down with the rest, and is not on now: it is in no
// snapshot, and a person is to say whether it is to be on.
func (e *Estate) StoppedMeanwhile() []ledger.NodeState {
	var stopped []ledger.NodeState
	for i := range e.Beliefs {
		n, decl := e.Entry(i), e.Graph.Node(i)
		wasTold := n.Shown != ledger.AsFound && n.Last.Verb == plan.Stop && n.Last.Reach() > ledger.InVain && n.Last.Op > 0
		wasOff := n.Snap.Taken() && !n.Snap.On() && !n.Snap.Silent()
		if e.Ledger.Outage.Scope[i] && wasTold && wasOff && decl.Kind != plan.Manual && !e.IsOn(i) {
			stopped = append(stopped, ledger.NodeState{Node: decl.ID, State: e.Beliefs[i].Answer})
		}
	}
	return stopped
}

// CommittedSupply gives a supply that is to be cut, or was, and is not back; -1 if there is none.
func (e *Estate) CommittedSupply() int {
	return slices.IndexFunc(e.Ledger.Outage.Supplies, func(s ledger.Standing) bool { return s.Cycle.IsOurs() })
}

// AnyGoesDown reports whether anything is to go down: a supply fails, or a drill is on its way down.
func (e *Estate) AnyGoesDown() bool {
	o := e.Ledger.Outage
	return o.Drill.Phase == ledger.DrillDown || slices.ContainsFunc(o.Supplies, func(s ledger.Standing) bool { return s.IsDark() })
}

// AnythingAway reports whether anything of the outage is to be brought back.
func (e *Estate) AnythingAway() bool {
	for i := range e.Beliefs {
		if e.isAway(i) {
			return true
		}
	}
	return false
}

// AnythingAwayBehind reports whether anything that a supply feeds is.
func (e *Estate) AnythingAwayBehind(k int) bool {
	return slices.ContainsFunc(e.Graph.Dependents(e.Supplies[k].Node), e.isAway)
}

// isAway reports whether a node is to be brought back, or put back as it was.
func (e *Estate) isAway(i int) bool {
	o := e.Ledger.Outage
	return o.Scope[i] && (o.Nodes[i].Snap.On() && !e.IsOn(i) || o.Nodes[i].IsChanged())
}

// KeepsDirty reports whether a cache that keeps its data on a node is not proven clean.
func (e *Estate) KeepsDirty(cache, i int) bool {
	return e.Graph.Node(cache).Can.Has(plan.Flush) && slices.Contains(e.Graph.Needs(cache), i) && !e.IsOff(cache) && !e.IsClean(cache) &&
		!e.HasNoPower(cache)
}

// StaysOff reports whether a node is off, and may not have come up since with its power, unseen, as one may that does not answer now
// and whose feeds may have been off and on.
func (e *Estate) StaysOff(i int) bool { return e.IsOff(i) && (!e.IsMute(i) || !e.MayHaveCycled(i)) }

// IsBare reports whether a cache or a cluster goes down, is not known to be protected, and was not given up or called off.
func (e *Estate) IsBare(c int) bool {
	return e.GoesDown(c) && !e.IsLeft(c) && !e.StaysOff(c) && !e.isProtected(c) && !e.Entry(c).GivenUp.Has(plan.Protect) && !e.HasNoPower(c)
}

// InDrill reports whether a drill that goes down takes a node.
func (e *Estate) InDrill(i int) bool {
	d := &e.Ledger.Outage.Drill
	return d.Phase == ledger.DrillDown && d.In[i]
}
