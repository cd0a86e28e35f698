package belief

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// feed is what is known of the power of a node. It is the one answer to what may have happened to that since the node was last
// seen. With A and B feeds what comes first here counts: one that is heard to give is enough, and of those that are silent the one
// is not better than the other.
type feed uint8

const (
	feeds       feed = iota // what feeds it is heard, and its output is on
	maybeCycled             // it is silent, and was off, or to be cut, or may have given out: its power may have gone and come back since
	fedUnheard              // it is silent, and had time left when it was last heard
	// its output is off, as it says, or its cut is due: what is sent to the node is lost, or reaches it as it comes up
	unfed
)

// feedBy gives what is known of a supply's output.
func (e *Estate) feedBy(k int) feed {
	s := &e.Supplies[k]
	switch {
	case !s.Heard && !e.ResumedAt.IsZero() && e.Standing(k).IsOut() && s.absence.lasts > 0 &&
		e.Now.Sub(s.absence.heard).Seconds() > s.absence.lasts: // it was to be empty before this life
		return maybeCycled
	case s.Mute && (s.MayBeEmpty() || s.State.OutputOff || e.Standing(k).Cycle >= ledger.CutSent):
		return maybeCycled
	case s.Mute:
		return fedUnheard
	case s.State.OutputOff, !s.CutDue.IsZero() && !e.Now.Before(s.CutDue):
		return unfed
	}
	return feeds
}

// FollowFeeding takes down what is known of a supply's output now, and reports whether that has changed.
func (e *Estate) FollowFeeding(k int) bool {
	s := &e.Supplies[k]
	was := s.feeding
	s.feeding = e.feedBy(k)
	return s.feeding != was
}

// feedOf gives what is known of a node's power. What no supply feeds has its power.
func (e *Estate) feedOf(i int) feed {
	sources := e.Graph.Sources(i)
	if len(sources) == 0 {
		return feeds
	}
	first := unfed
	for _, f := range sources {
		first = min(first, e.feedBy(e.Ledger.SupplyOf[f]))
	}
	return first
}

// IsUnfed reports whether nothing that is sent to a node reaches it as it is. What answers although the outputs of all that feeds it have
// gone off has its power from elsewhere: a VM from another host, a machine from where nobody has told.
func (e *Estate) IsUnfed(i int) bool {
	if e.feedOf(i) != unfed {
		return false
	}
	isOff := func(f int) bool { return e.Standing(e.Ledger.SupplyOf[f]).Cycle.IsDark() }
	answers := e.Beliefs[i].Answer == plan.On // and not of before: see wentOff
	return !answers || slices.ContainsFunc(e.Graph.Sources(i), func(f int) bool { return !isOff(f) })
}

// MayHaveCycled reports whether the power of a node may have gone and come back unseen.
func (e *Estate) MayHaveCycled(i int) bool { return e.feedOf(i) == maybeCycled }

// FeedIsUnheard reports whether nothing that feeds a node is heard: its power may have gone, and come back, unheard.
func (e *Estate) FeedIsUnheard(i int) bool {
	by := e.feedOf(i)
	return by == maybeCycled || by == fedUnheard
}

// HasNoPower reports whether a node is off for want of power: it does not answer, and the outputs of all that feeds it are off, as they
// say themselves now, or the outlet that it hangs on. A VM, and with it what runs in it, may be on any host that is not off, if it is not
// bound to its own.
func (e *Estate) HasNoPower(i int) bool {
	switch {
	case !e.IsMute(i):
		return false
	case e.HangsOnNothing(i):
		return true
	case !e.IsCutOff(i):
		return false
	}
	runs := func(h int) bool { return !e.IsOff(h) && !e.HasNoPower(h) }
	if decl := e.Graph.Node(i); decl.Kind == plan.VM && !decl.Bound && slices.ContainsFunc(e.hosts, runs) {
		return false
	}
	if slices.ContainsFunc(e.Graph.Needs(i), func(d int) bool { return e.Graph.Node(d).Kind == plan.VM && !e.HasNoPower(d) }) {
		return false
	}
	sources := e.Graph.Sources(i)
	gives := func(f int) bool { return !e.Supplies[e.Ledger.SupplyOf[f]].SaysOff() }
	return len(sources) > 0 && !slices.ContainsFunc(sources, gives)
}

// HangsOnNothing reports whether the outlet is off that a node hangs on: nothing that does has answered since. Of an outlet that does not
// answer, with its UPS silent, nobody knows whether it is on again.
func (e *Estate) HangsOnNothing(i int) bool {
	isDead := func(d int) bool {
		return e.Graph.Node(d).Kind == plan.Outlet && e.ShowsDark(d) && (!e.IsMute(d) || !e.FeedIsUnheard(d))
	}
	return e.Ledger.Outage != nil && slices.ContainsFunc(e.Graph.Needs(i), isDead)
}

// ShowsDark reports whether a node is off, and nothing that hangs on it, if it is an outlet, has said since that it is up.
func (e *Estate) ShowsDark(i int) bool { return e.IsOff(i) && !e.Beliefs[i].Belied }

// BelieOutlets follows a node that says that it is up, twice if it was proven off: the outlet that it hangs on, and that was off, has been
// switched on since, or tells no truth. It gives those outlets.
func (e *Estate) BelieOutlets(i int) (belied []int) {
	if !e.saysUp(i) {
		return nil
	}
	for _, d := range e.Graph.Needs(i) {
		if o := &e.Beliefs[d]; e.Graph.Node(d).Kind == plan.Outlet && e.ShowsDark(d) && o.AskedAt.Before(e.Beliefs[i].AskedAt) {
			o.Belied = true
			belied = append(belied, d)
		}
	}
	return belied
}

// IsMute reports whether the newest look at a node had no answer, or it can't be asked.
func (e *Estate) IsMute(i int) bool {
	answer := e.Beliefs[i].Answer
	return e.Looked(i) && (answer == plan.Unreachable || answer == plan.Unknown)
}

// RunsOn reports whether a node answers although something that it needs has lost its power, and has to go for something else: a VM that
// was started on another host, or a machine whose UPS is wrong about its output.
func (e *Estate) RunsOn(i, stage int) bool {
	o := e.Ledger.Outage
	return e.ShowsUp(i) && slices.ContainsFunc(e.Graph.Needs(i), func(d int) bool {
		return !o.Cut[d] && o.Due[stage][d] || e.RunsOn(d, stage)
	})
}

// MayHaveRisen reports whether a node that does not answer may be on its way up, since what feeds it is not heard either, or was not while
// we were away; or, of a VM that was off, since its host came up: nothing that is sent to it now would reach it as it was. That it stops
// may be the word of its BMC, which sees that it is on.
func (e *Estate) MayHaveRisen(i int) bool {
	b := &e.Beliefs[i]
	if e.Graph.Node(i).Kind == plan.VM {
		return b.Answer == plan.Unreachable && e.Now.Before(b.Hosted) // it comes up with its host, and not with what feeds that
	}
	answer := b.Answer
	if (answer == plan.Gone || answer == plan.On) && b.Looks < ProofLooks { // it may only not be to be seen; and one look says nothing
		answer = plan.Unknown
	}
	switch answer {
	case plan.Unreachable, plan.Unknown:
		return e.Now.Before(b.UpUntil()) || e.FeedIsUnheard(i)
	case plan.Stopping:
		return e.MayHaveCycled(i)
	default:
		return false
	}
}

// WasOff reports whether a node was off when an answer of it was put on record last.
func (e *Estate) WasOff(i int) bool {
	return e.Ledger.Outage != nil && e.Entry(i).Shown == ledger.ShownOff
}

// WentWithHost reports whether what was told to go runs on a host that was off since, and has come back.
func (e *Estate) WentWithHost(i int) bool {
	host := e.HostOf(i)
	return host >= 0 && e.Ledger.Outage != nil && e.Entry(i).Shown == ledger.WasTold && e.Entry(host).Shown == ledger.ShownOn
}

// MayHaveCome reports whether what runs on a host may have come up with it since it was seen off: the power of that came back, and nobody
// knows what came of it.
func (e *Estate) MayHaveCome(i int) bool {
	host := e.HostOf(i)
	return host >= 0 && e.Beliefs[host].Settled == plan.Unknown
}

// hostIsOff reports whether the host that a node runs on is proven off. One that is gone may only not be to be seen.
func (e *Estate) hostIsOff(i int) bool {
	host := e.HostOf(i)
	return host >= 0 && e.ProvenOff(host) && e.Beliefs[host].Seen.State != plan.Gone
}

// wayKnown gives until when the way to a node, which was asked then and did not answer, is known to have been there: until then where all
// that it is reached through has its power, as far as that is heard. Else a switch or the like may be silent, and the node with it, since
// that has lost its power, or may have: then until something else was asked through it that answered. Zero: nobody knows.
func (e *Estate) wayKnown(i int, asked time.Time) time.Time { return e.wayTo(i, i, asked) }

// wayTo is wayKnown as far as it leads to a node, for one that it leads on to.
func (e *Estate) wayTo(i, end int, asked time.Time) time.Time {
	until := asked
	for _, d := range e.Graph.Needs(i) {
		n := e.Graph.Node(d)
		if n.Kind == plan.Supply {
			continue
		}
		if n.Kind == plan.Passive && e.Now.Before(e.Beliefs[d].Boots) {
			return time.Time{}
		}
		if e.mayBeDark(d) {
			until = earlier(until, e.answeredBehind(d, end))
		}
		until = earlier(until, e.wayTo(d, end, asked))
	}
	return until
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// mayBeDark reports whether a switch or the like has lost its power, or may have.
func (e *Estate) mayBeDark(i int) bool {
	by := e.Graph.Feeds(i)
	return e.Graph.Node(i).Kind == plan.Passive && len(by) > 0 && !slices.ContainsFunc(by, func(f int) bool {
		k := e.Ledger.SupplyOf[f]
		return k < 0 || e.feedBy(k) == feeds && e.Supplies[k].Condition < CutArmed && e.Supplies[k].Condition != Unheard
	})
}

// wayIsPending reports whether the way to a node, if that is in doubt, is so only since a UPS has missed a word or two: it is known when
// that is heard again.
func (e *Estate) wayIsPending(i int) bool {
	missed := func(f int) bool {
		k := e.Ledger.SupplyOf[f]
		return k >= 0 && e.feedBy(k) == fedUnheard && e.Supplies[k].IsCountedOn() && e.Supplies[k].Condition < CutArmed &&
			e.Supplies[k].Condition != Unheard
	}
	return !e.anyDark(i, func(way int) bool { return !slices.ContainsFunc(e.Graph.Feeds(way), missed) })
}

// anyDark reports whether something is true of a switch or the like on the way to a node that has lost its power, or may have.
func (e *Estate) anyDark(i int, is func(way int) bool) bool {
	return slices.ContainsFunc(e.Graph.Needs(i), func(d int) bool {
		return e.Graph.Node(d).Kind != plan.Supply && (e.mayBeDark(d) && is(d) || e.anyDark(d, is))
	})
}

// answeredBehind gives when something else than a node was last asked that is reached through the same switch, and by no other way, and
// answered; zero: nothing did.
func (e *Estate) answeredBehind(way, but int) time.Time {
	var last time.Time
	for _, w := range e.witnesses(way, but) {
		if b := &e.Beliefs[w]; (b.Answer == plan.On || b.Answer == plan.Stopping) && !b.Seen.ByBMC && b.AskedAt.After(last) {
			last = b.AskedAt
		}
	}
	return last
}

// witnesses lists what else than a node is reached through a switch or the like, and by no other way, and answers for itself: of a VM its
// hypervisor tells, of a host its manager may, and of a chassis or an outlet its controller, by a way of their own.
func (e *Estate) witnesses(way, but int) (all []int) {
	isPassive := func(d int) bool { return d != way && e.Graph.Node(d).Kind == plan.Passive }
	for _, w := range e.Graph.Users(way) {
		decl := e.Graph.Node(w)
		if w != but && decl.Kind == plan.Other && decl.OffAfter > 0 && Probed(decl) && !slices.ContainsFunc(e.Graph.Needs(w), isPassive) {
			all = append(all, w)
		}
	}
	return all
}

// Witnesses lists the nodes whose answer would tell that the way to a silent node is there, where nothing else tells that.
func (e *Estate) Witnesses(i int) []int { return e.witnessesOf(i, i) }

func (e *Estate) witnessesOf(i, end int) (all []int) {
	for _, d := range e.Graph.Needs(i) {
		if e.mayBeDark(d) {
			all = append(all, slices.DeleteFunc(e.witnesses(d, end), func(w int) bool { return e.IsMute(w) || e.IsOff(w) })...)
		}
		all = append(all, e.witnessesOf(d, end)...)
	}
	return all
}

// reached takes down that what a node is reached through, a switch or the like, is up: the node answers. Of a VM its hypervisor answers.
func (e *Estate) reached(i int) {
	if e.Graph.Node(i).Kind == plan.VM {
		return
	}
	for _, d := range e.Graph.Needs(i) {
		n, b := e.Graph.Node(d), &e.Beliefs[d]
		if n.Kind == plan.Passive && !e.Beliefs[i].AskedAt.Before(b.Boots.Add(-BootTime(n))) {
			b.Boots = time.Time{}
		}
		e.reached(d)
	}
}

// outletIsOld reports whether a node hangs on an outlet that was not looked at for a while: somebody may have switched it on, and the node
// with it.
func (e *Estate) outletIsOld(i int) bool { return len(e.OldOutlets(i)) > 0 }

// OldOutlets lists the outlets that a node hangs on and that were not looked at for a while.
func (e *Estate) OldOutlets(i int) []int {
	var old []int
	for _, d := range e.Graph.Needs(i) {
		if e.Graph.Node(d).Kind == plan.Outlet && e.IsOld(d, LookAge) {
			old = append(old, d)
		}
	}
	return old
}

// Carries reports whether a supply has given its power all the while, as far as it was heard. One whose cut counts down does so until that
// is due.
func (e *Estate) Carries(k int) bool {
	s, cycle := &e.Supplies[k], e.Standing(k).Cycle
	countsDown := (cycle == ledger.CutSent || cycle == ledger.CutProven) && s.IsHeardOn() && e.Now.Before(s.CutDue)
	return e.feedBy(k) == feeds && s.Lapse == NoLapse && (cycle < ledger.CutSent || countsDown)
}

// Carriers names the supplies that gave their power while another's output was off.
func (e *Estate) Carriers(but int) []string {
	var ids []string
	for k := range e.Supplies {
		if k != but && e.Carries(k) {
			ids = append(ids, e.ID(e.Supplies[k].Node))
		}
	}
	return ids
}
