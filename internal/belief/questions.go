package belief

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

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
	case plan.Manual:
		return e.Ledger.Outage != nil && e.Entry(i).Shown == ledger.ShownOn
	case plan.Passive:
		return !decl.Healthy || b.Seen.Healthy == plan.Yes && b.Answer != plan.Unreachable
	default:
	}
	return e.IsUp(i) && (!decl.Healthy || b.Seen.Healthy == plan.Yes)
}

// IsUp reports whether a node answers that it is on, healthy or not, and is not on its way down, nor was when it said so.
func (e *Estate) IsUp(i int) bool {
	b := &e.Beliefs[i]
	return !e.IsLeaving(i) && !b.SeenAt.Before(later(b.Falling, b.Obeying)) && b.Seen.State == plan.On && b.Looks >= ProofLooks &&
		b.Answer != plan.Unreachable && !e.IsMuteForLong(i)
}

// IsMuteForLong reports whether no look at a node has had an answer that says anything for so long that it is not for the look's sake: by
// what was asked, and not by the clock.
func (e *Estate) IsMuteForLong(i int) bool {
	b := &e.Beliefs[i]
	return !b.blank.IsZero() && b.AskedAt.Sub(b.blank) > ProofStands
}

// IsLeaving reports whether a node was told to stop and that has not settled: that it shows as on may be of before. It has settled once it
// was asked after the time for that was over.
func (e *Estate) IsLeaving(i int) bool {
	b := &e.Beliefs[i]
	settled := later(b.Falling, b.Obeying)
	return e.isUnderWay(i, plan.Stop) || e.Now.Before(settled) || b.AskedAt.Before(settled) && Probed(e.Graph.Node(i))
}

// Goes reports whether a node is on its way down, as far as was seen or told.
func (e *Estate) Goes(i int) bool {
	return e.IsLeaving(i) || e.IsStopping(i)
}

// IsPassable reports whether the stop of a node was given up, and it is not on its way down all the same, as what refuses may be: what
// needs it to be off may go without that, when nothing but the time for its own stop is left. What shows as on after twice the time that
// its stop takes otherwise stays on.
func (e *Estate) IsPassable(i int) bool {
	hasShown := !e.Beliefs[i].AskedAt.Before(e.staysFrom(i)) || !Probed(e.Graph.Node(i))
	isTold := e.AnswersAtLast(i) && !e.Graph.Node(i).Switches // it is about to be, after all
	return e.Entry(i).GivenUp.Has(plan.Stop) && !e.isUnderWay(i, plan.Stop) && !e.MayGoYet(i) && hasShown && !isTold
}

// AnswersAtLast reports whether a node is up whose stop was given up without having reached it, and that may be tried once more.
func (e *Estate) AnswersAtLast(i int) bool {
	n := e.Entry(i)
	return n.Untried.Has(plan.Stop) && e.IsUp(i) && n.Relapses+1 < max(e.Graph.Node(i).Attempts, 2)
}

// IsBackUntold reports whether a node has said that it is on since its last stop, or power-off, left, and none has come to it.
func (e *Estate) IsBackUntold(i int) bool {
	b, last := &e.Beliefs[i], e.Last(i)
	return last.Verb == plan.Stop && last.Reach() == ledger.NotReached && b.Answer == plan.On && b.Since.After(last.At)
}

// SpokeSince reports whether a host began to answer after a time: what nobody could ask while it was silent can be asked now.
func (e *Estate) SpokeSince(i int, at time.Time) bool {
	b := &e.Beliefs[i]
	return e.Graph.Node(i).Kind == plan.Host && b.Answer == plan.On && b.Since.After(at)
}

// StartsAtLast reports whether a node is off whose start was given up without having reached it, and may be told once more: it says so, or
// it has gone since, and was not told at all.
func (e *Estate) StartsAtLast(i int) bool {
	isNews := e.Beliefs[i].Answer == plan.Off || e.AnswersOff(i) && e.Last(i).Verb != plan.Start
	return e.isUntried(i, plan.Start) && isNews && e.IsOff(i) && !e.IsOld(i, ProofAge) && !e.GoesDown(i)
}

// PutsBackAtLast reports whether a node is on whose put-back was given up without having reached it, and may be told once more.
func (e *Estate) PutsBackAtLast(i int) bool {
	return e.isUntried(i, plan.Unprotect) && e.IsOn(i) && !e.GoesDown(i)
}

// isUntried reports whether what a node can do was given up without having reached it, and may be tried once more.
func (e *Estate) isUntried(i int, verb plan.Verb) bool {
	n, decl := e.Entry(i), e.Graph.Node(i)
	return n.GivenUp.Has(verb) && n.Untried.Has(verb) && decl.Can.Has(verb) && n.Relapses+1 < max(decl.Attempts, 2)
}

// MayGoYet reports whether a node may be on its way down by what it was told last, in the time that it usually takes, or says that it is.
func (e *Estate) MayGoYet(i int) bool { return e.Now.Before(e.staysFrom(i)) || e.GoesSoon(i) }

// staysFrom is from when what shows as on after a stop that it took, or a power-off, stays so, and what does not answer is not known to go
// by that. What did not heed one power-off gets no time for the next.
func (e *Estate) staysFrom(i int) time.Time {
	b, last := &e.Beliefs[i], e.Last(i)
	times := e.Graph.Node(i).Time(plan.Stop)
	if last.Verb == plan.Stop && last.Rung == plan.Force {
		times = e.Graph.Node(i).Time(plan.Force)
		if last.Attempt > 1 {
			return b.Falling
		}
	}
	return later(b.Falling, b.Obeying.Add(min(0, 2*times.Nominal-times.Within)))
}

// IsLeavingStill reports whether a node may be on its way down by a stop that it took, or was seen to be.
func (e *Estate) IsLeavingStill(i int) bool {
	return e.Now.Before(e.Beliefs[i].Falling) || e.AcceptedStop(i) && e.Now.Before(e.staysFrom(i)) || e.GoesSoon(i)
}

// GoesSoon reports whether a node was seen on its way down, and may still get there in the time of its stop, whatever it was told
// meanwhile.
func (e *Estate) GoesSoon(i int) bool {
	return e.IsStopping(i) && e.Now.Before(e.Beliefs[i].Going.Add(e.Graph.Node(i).Time(plan.Stop).Within))
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
// a late Unprotect lets it. Where that may have come up, with its power, it is if that is off.
func (e *Estate) StaysClean(i int) bool {
	n, b := e.Entry(i), &e.Beliefs[i]
	isUp := func(u int) bool { return u != i && e.Graph.Node(u).Can.Has(plan.Stop) && !e.IsOff(u) }
	isClean := n.Clean == ledger.IsClean || n.Clean == ledger.CleanUnless && !slices.ContainsFunc(e.Graph.Dependents(i), isUp) &&
		!slices.ContainsFunc(e.Graph.Needs(i), isUp)
	return isClean && !n.Late && b.Seen.Clean != plan.No && e.Looked(i) && (b.Answer == plan.Unreachable || b.Answer == plan.Unknown)
}

// ShowsUp reports whether the newest look at a node showed that it is on or starts.
func (e *Estate) ShowsUp(i int) bool {
	answer := e.Beliefs[i].Answer
	return answer == plan.On || answer == plan.Starting
}

// Rises reports whether a node may be on its way up: no stop is sent to it before that has settled.
func (e *Estate) Rises(i int) bool { return e.Now.Before(e.Beliefs[i].Rising) }

// ComesUnrecorded gives what a node that goes down is seen to do by itself, where nothing on record says so: it is on its way up, as one
// that was off and seems to stop by its BMC may be, or is up after that; Unknown: nothing. A crash must forget neither, or it would be told
// to stop while it boots, or be waited for once it has.
func (e *Estate) ComesUnrecorded(i int) plan.State {
	n, b := e.Entry(i), &e.Beliefs[i]
	isStarted := n.Last.Open && n.Last.Verb == plan.Start
	switch {
	case !e.GoesDown(i) || isStarted || b.Looks < ProofLooks:
	case b.Seen.State == plan.Starting && n.Lit != ledger.SeenStarting && n.Shown != ledger.ShownOff:
		return plan.Starting
	case b.Seen.State == plan.Stopping && n.Lit != ledger.SeenStarting && n.Shown == ledger.ShownOff && e.Rises(i):
		return plan.Starting
	case n.Lit == ledger.SeenStarting && e.IsUp(i):
		return plan.On
	}
	return plan.Unknown
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
		// What it said before it fell silent, or went off, may be so no more: a Protect may have come late.
		return b.Seen.State == plan.On && b.Answer == plan.On && b.Seen.Protected == plan.No && e.setAsBefore(i)
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
	return n.Kind != plan.Manual && n.Kind != plan.Self && (n.Can != 0 || n.Healthy)
}

// Unanswered gives what the last look at a node made of it if it had no answer, nil otherwise.
func (e *Estate) Unanswered(i int) *plan.State {
	state := e.Beliefs[i].Answer
	if !Probed(e.Graph.Node(i)) || state != plan.Unknown && state != plan.Unreachable {
		return nil
	}
	return &state
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
