package engine

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// feed is what is known of the power of a node. It is the one answer to what may have happened to that since the node was last
// seen. With A and B feeds what comes first here counts: one that is heard to give is enough, and of those that are silent the one
// is not better than the other.
type feed uint8

const (
	feeds       feed = iota // what feeds it is heard, and its output is on
	maybeCycled             // it is silent, and was off, or to be cut, or may have given out: its power may have gone and come back since
	fedUnheard              // it is silent, and had time left when it was last heard
	unfed                   // its output is off, as it says, or its cut is due: what is sent to the node is lost, or reaches it as it comes up
)

// feedBy gives what is known of a supply's output.
func (e *Estate) feedBy(k int) feed {
	s := &e.supplies[k]
	switch {
	case s.mute && (s.mayBeEmpty() || s.state.OutputOff || e.standing(k).Cycle >= ledger.CutSent):
		return maybeCycled
	case s.mute:
		return fedUnheard
	case s.state.OutputOff, !s.cutDue.IsZero() && !e.now.Before(s.cutDue):
		return unfed
	}
	return feeds
}

// feedOf gives what is known of a node's power. What no supply feeds has its power.
func (e *Estate) feedOf(i int) feed {
	sources := e.estate.Sources(i)
	if len(sources) == 0 {
		return feeds
	}
	first := unfed
	for _, f := range sources {
		first = min(first, e.feedBy(e.ledger.SupplyOf[f]))
	}
	return first
}

// isUnfed reports whether nothing that is sent to a node reaches it as it is. What answers although the outputs of all that feeds it have
// gone off has its power from elsewhere: a VM from another host, a machine from where nobody has told.
func (e *Estate) isUnfed(i int) bool {
	if e.feedOf(i) != unfed {
		return false
	}
	isOff := func(f int) bool { return e.standing(e.ledger.SupplyOf[f]).Cycle.IsDark() }
	answers := e.beliefs[i].answer == plan.On // and not of before: see wentOff
	return !answers || slices.ContainsFunc(e.estate.Sources(i), func(f int) bool { return !isOff(f) })
}

// mayHaveCycled reports whether the power of a node may have gone and come back unseen.
func (e *Estate) mayHaveCycled(i int) bool { return e.feedOf(i) == maybeCycled }

// hasNoPower reports whether a node is off for want of power: it does not answer, and the outputs of all that feeds it are off, as they
// say themselves now. A VM, and with it what runs in it, may be on any host that is not off.
func (e *Estate) hasNoPower(i int) bool {
	if !e.isCutOff(i) || !e.isMute(i) {
		return false
	}
	runs := func(h int) bool { return !e.isOff(h) && !e.hasNoPower(h) }
	if e.estate.Node(i).Kind == plan.VM && slices.ContainsFunc(e.hosts, runs) {
		return false
	}
	if slices.ContainsFunc(e.estate.Needs(i), func(d int) bool { return e.estate.Node(d).Kind == plan.VM && !e.hasNoPower(d) }) {
		return false
	}
	sources := e.estate.Sources(i)
	gives := func(f int) bool { return !e.supplies[e.ledger.SupplyOf[f]].saysOff() }
	return len(sources) > 0 && !slices.ContainsFunc(sources, gives)
}

// isMute reports whether the newest look at a node had no answer, or it can't be asked.
func (e *Estate) isMute(i int) bool {
	answer := e.beliefs[i].answer
	return e.looked(i) && (answer == plan.Unreachable || answer == plan.Unknown)
}

// runsOn reports whether a node answers although something that it needs has lost its power, and has to go for something else: a VM that
// was started on another host, or a machine whose UPS is wrong about its output.
func (e *Estate) runsOn(i, stage int) bool {
	o := e.ledger.Outage
	return e.showsUp(i) && slices.ContainsFunc(e.estate.Needs(i), func(d int) bool {
		return !o.Cut[d] && o.Due[stage][d] || e.runsOn(d, stage)
	})
}

// mayHaveRisen reports whether a node that does not answer may be on its way up, since what feeds it is not heard either, or was
// not while we were away: nothing that is sent to it now would reach it as it was. That it stops may be the word of its BMC,
// which sees that it is on.
func (e *Estate) mayHaveRisen(i int) bool {
	if e.estate.Node(i).Kind == plan.VM {
		return false
	}
	switch b := &e.beliefs[i]; b.answer {
	case plan.Unreachable, plan.Unknown:
		by := e.feedOf(i)
		return e.now.Before(b.boots) || by == maybeCycled || by == fedUnheard
	case plan.Stopping:
		return e.mayHaveCycled(i)
	default:
		return false
	}
}

// mayHaveCome reports whether a VM may have come up with its host since it was seen off: the power of that came back, and nobody
// knows what came of it.
func (e *Estate) mayHaveCome(i int) bool {
	host, known := e.estate.Index(e.estate.Node(i).Host)
	return known && e.beliefs[host].settled == plan.Unknown
}

// hostIsOff reports whether the host that a node runs on is proven off. One that is gone may only not be to be seen.
func (e *Estate) hostIsOff(i int) bool {
	host := e.hostOf(i)
	return host >= 0 && e.provenOff(host) && e.beliefs[host].seen.State != plan.Gone
}

// cutOff reports whether a node may be silent only because what it is reached through is: a switch or the like that has lost
// its power, or may have, or that may still be starting since that came back.
func (e *Estate) cutOff(i int) bool {
	for _, d := range e.estate.Needs(i) {
		n := e.estate.Node(d)
		if n.Kind == plan.Supply {
			continue
		}
		dead := func(f int) bool {
			k := e.ledger.SupplyOf[f]
			return k >= 0 && (e.feedBy(k) != feeds || e.supplies[k].condition >= cutArmed || e.supplies[k].condition == unheard)
		}
		by := e.estate.Feeds(d)
		mute := len(by) > 0 && !slices.ContainsFunc(by, func(f int) bool { return !dead(f) }) || e.now.Before(e.beliefs[d].boots)
		if n.Kind == plan.Passive && mute || e.cutOff(d) {
			return true
		}
	}
	return false
}

// outletIsOld reports whether a node hangs on an outlet that was not looked at for a while: somebody may have switched it on, and the node
// with it.
func (e *Estate) outletIsOld(i int) bool { return len(e.oldOutlets(i)) > 0 }

// oldOutlets lists the outlets that a node hangs on and that were not looked at for a while.
func (e *Estate) oldOutlets(i int) []int {
	var old []int
	for _, d := range e.estate.Needs(i) {
		if e.estate.Node(d).Kind == plan.Outlet && e.isOld(d, lookAge) {
			old = append(old, d)
		}
	}
	return old
}

// renewLoad begins a new epoch of all that a supply feeds or carries: its power was lost, or may have been. Machines may be on
// their way up with it. What others carried meanwhile, with all that it needs, did not lose it.
func (e *Engine) renewLoad(k int) (renewed []int) {
	dark := e.estate.Scope(func(f int) bool { other := e.ledger.SupplyOf[f]; return other == k || !e.carries(other) })
	for _, i := range e.estate.Dependents(e.supplies[k].node) {
		if dark[i] {
			e.renew(i)
			renewed = append(renewed, i)
		}
	}
	return renewed
}

// carries reports whether a supply has given its power all the while, as far as it was heard.
func (e *Estate) carries(k int) bool {
	return e.feedBy(k) == feeds && e.supplies[k].lapse == noLapse && e.standing(k).Cycle < ledger.CutSent
}

// carriers names the supplies that gave their power while another's output was off.
func (e *Estate) carriers(but int) []string {
	var ids []string
	for k := range e.supplies {
		if k != but && e.carries(k) {
			ids = append(ids, e.id(e.supplies[k].node))
		}
	}
	return ids
}

// stillOnBattery follows a supply that was on battery before a restart of ours, had not been told to cut its output, and is on
// battery now: nothing that hangs on such supplies alone has got its power back meanwhile, so that its silence counts at once.
func (e *Estate) stillOnBattery(k int) {
	e.supplies[k].lapse = noLapse
	gives := func(f int) bool {
		other := e.ledger.SupplyOf[f]
		if other < 0 {
			return true
		}
		s := &e.supplies[other]
		return s.lapse != noLapse || s.state.Mains != power.MainsOnBattery || e.standing(other).Cycle >= ledger.CutSent
	}
	for _, i := range e.estate.Dependents(e.supplies[k].node) {
		if !slices.ContainsFunc(e.estate.Sources(i), gives) {
			e.beliefs[i].boots = time.Time{}
		}
	}
}
