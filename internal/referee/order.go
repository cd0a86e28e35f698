package referee

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// inTheWay finds something that uses a node and is not off, which the caller does not excuse; -1: there is nothing. What
// was not on when the outage began, and is not on now, is nobody's business.
func (r *Referee) inTheWay(i int, excused func(user int) bool) int {
	for _, u := range r.usersOf(i) {
		n := &r.nodes[u]
		seen := n.now.State == plan.Starting && n.saidAt.After(n.began)
		if !n.isDown() && !r.isUnknowable(u) && (n.wasOn || seen || n.now.State == plan.On || n.now.State == plan.Stopping) && !excused(u) {
			return u
		}
	}
	return -1
}

// isUnknowable reports whether nobody can tell that a node which does not answer is not off.
func (r *Referee) isUnknowable(i int) bool {
	return r.isHidden(i) || r.cameUnseen(i) || r.isMistaken(i) || r.isLate(i) || r.cameUpMute(i)
}

// cameUpMute reports whether a machine that was told to stop came up with its power, which nobody told to, and has not answered since for
// as long as it boots and as proves it off after that (docs/adr/0005); or the same of the host of a VM. What it said right before the
// controller was gone again is lost with that.
func (r *Referee) cameUpMute(i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	if host, known := r.estate.Index(decl.Host); known {
		return n.mute && r.cameUpMute(host)
	}
	lit := r.litAt(i)
	if n.began.After(n.toldAt) && n.began.Before(lit) { // it came up with the first of two
		lit = n.began
	}
	up := decl.Time(plan.Start)
	silent := max(2*up.Nominal, up.Within) + decl.OffAfter
	unstarted := !n.toldAt.IsZero() && lit.After(n.started)
	if n.started.Before(r.resumed) && !n.saidAt.After(n.started) { // what came of that is lost with the life that told it
		unstarted, lit = true, r.resumed
	}
	isNews := n.cameAt.Before(n.saidAt) || !r.resumedBefore.IsZero() && n.saidAt.Sub(r.resumedBefore) <= guarded
	lost := n.saidAt.Before(r.resumed) && isNews
	goesStill := n.saidAt.Sub(n.toldAt) <= decl.Time(n.toldBy).Within // and may have, when it answered
	mute := n.mute && (n.saidAt.Before(lit) || lost) || goesStill
	return decl.OffAfter > 0 && unstarted && mute && !n.vain.IsZero() && n.vain.Sub(lit) >= silent-slowness
}

// litAt is when a node got its power last: a supply came on, or its outlet was switched on.
func (r *Referee) litAt(i int) (lit time.Time) {
	for _, f := range r.estate.Sources(i) {
		if at := r.supplyAt(f).litAt; at.After(lit) {
			lit = at
		}
	}
	for _, d := range r.estate.Needs(i) {
		if o := &r.nodes[d]; r.estate.Node(d).Kind == plan.Outlet && o.now.State == plan.On && o.changed.After(lit) {
			lit = o.changed
		}
	}
	return lit
}

// isLate reports whether a node that was told to stop is on its way for longer than it may, and has not answered for as long as
// proves it off by the runbook, though it could be reached.
func (r *Referee) isLate(i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	isDark := func(f int) bool { return !r.supplyAt(f).output }
	for _, d := range r.estate.Needs(i) {
		if feeds := r.estate.Feeds(d); r.estate.Node(d).Kind == plan.Passive && len(feeds) > 0 &&
			!slices.ContainsFunc(feeds, func(f int) bool { return !isDark(f) }) {
			return false
		}
	}
	told := !n.toldAt.IsZero() && !n.started.After(n.toldAt)
	return decl.OffAfter > 0 && n.now.State == plan.Stopping && told && n.vain.Sub(n.saidAt) >= decl.OffAfter &&
		n.vain.Sub(n.toldAt) >= decl.OffAfter
}

// isMistaken reports whether somebody switched a node on again after it was told to stop, before the controller saw that it went, and it
// does not answer now; or the host that a node came up with, which has not answered since: nothing tells that from a node which has
// answered on its way down, as long as it may have been on that.
func (r *Referee) isMistaken(i int) bool {
	n := &r.nodes[i]
	host, known := r.estate.Index(r.estate.Node(i).Host)
	return !n.vain.IsZero() && r.cameAgain(i) || known && n.mute && r.cameAgain(host)
}

// cameAgain reports whether somebody did so with a node that showed as on all the while, or while the controller was away.
func (r *Referee) cameAgain(i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	told := n.toldAt
	if n.toldBy == plan.Force && n.changed.Before(told) && !n.stopAt.IsZero() { // which has not come to it
		told = n.stopAt
	}
	goes := decl.Time(plan.Stop).Within + decl.OffAfter + guarded
	unwatched := r.resumed.After(told) && !n.wentAt.After(r.resumed) || !n.wentAt.After(told)
	return !told.IsZero() && n.meddled.After(told) && unwatched && n.saidAt.Sub(told) <= goes
}

// isHidden reports whether nobody can see that a machine starts: its power came back behind a supply that has not been heard since,
// and it has not answered.
func (r *Referee) isHidden(i int) bool {
	return r.startsUnheard(i, func(s *supply) bool { return s.heardAt.After(r.nodes[i].roused) })
}

// cameUnseen reports the same of a machine whose power came back while nobody could know of it, behind a supply that has not been heard on
// line since: the controller was away, or the supply was silent and its battery gave out before its time, or for a moment in which that had
// much left; or that was known, and is lost with the records of it; or it said that it was on right before; or somebody has just switched
// its outlet on.
func (r *Referee) cameUnseen(i int) bool {
	n := &r.nodes[i]
	roused := n.roused
	if r.litUnseen(r.clock, i) {
		return true
	}
	if n.said == plan.On && n.fell.After(n.saidAt) && r.clock.Sub(n.saidAt) <= guarded+r.look(i)+slowPoll && r.isHidden(i) {
		return true
	}
	forgot := r.forgetful && roused.Before(r.resumed)
	return r.startsUnheard(i, func(s *supply) bool {
		// it went off, and somebody switched it on, between two words of its UPS
		between := !s.seen && !s.offAt.IsZero() && !r.nodes[s.node].meddled.Before(s.offAt)
		return !between && (!forgot && !s.brief && s.onlineAt.After(roused) || !s.sudden && !roused.Before(r.resumed))
	})
}

// startsUnheard reports whether a machine starts, or has come up, that has not answered, and of whose power none of the feeds that give
// it was heard to tell; or a VM with such a machine. What it was told to start for has ended where its power was lost since.
func (r *Referee) startsUnheard(i int, heard func(*supply) bool) bool {
	n, feeds := &r.nodes[i], r.estate.Feeds(i)
	if host, known := r.estate.Index(r.estate.Node(i).Host); known {
		feeds = r.estate.Feeds(host)
	}
	isLost := func(f int) bool { return r.supplyAt(f).offAt.After(n.started) }
	byOrder := n.started.After(n.toldAt) && slices.ContainsFunc(feeds, func(f int) bool { return !isLost(f) })
	comes := n.mute && !byOrder && (n.now.State == plan.Starting || n.now.State == plan.On && n.began.After(n.toldAt))
	tells := func(f int) bool { s := r.supplyAt(f); return s.output && heard(s) }
	return comes && len(feeds) > 0 && !slices.ContainsFunc(feeds, tells)
}

// justSwitched excuses what nobody can see: that somebody switched a user on between the last look and the command.
func (r *Referee) justSwitched(c *command) func(user int) bool {
	return func(u int) bool { return r.justMeddled(c.at, u) }
}

func (r *Referee) state(i int) plan.State { return r.nodes[i].now.State }

// rule1: Storage is never commanded off while anything that uses it is not proven off. A journal entry is no proof.
//
// Storage is whatever is neither a VM, a host nor an outlet. Judged from the truth: what uses it is off, or was given up, on record, and
// the battery is near its end: else the storage would lose its power while on (docs/adr/0025).
func (r *Referee) rule1(c *command) string {
	if !c.stops() || c.decl.Kind == plan.VM || c.decl.Kind == plan.Host || c.decl.Kind == plan.Outlet {
		return ""
	}
	u := r.inTheWay(c.Node, func(u int) bool { return r.passesOver(c, u) || r.justMeddled(c.at, u) })
	if u < 0 {
		return ""
	}
	return fmt.Sprintf("%s was told to stop while %s is %s", c.decl.ID, r.id(u), r.state(u))
}

// rule2: A host is never commanded off while a VM on it is on or stopping, unless that VM is forced by the same recorded
// decision.
//
// Such a VM was given up before, on record: that its host is forced is no reason by itself.
func (r *Referee) rule2(c *command) string {
	if !c.stops() || c.decl.Kind != plan.Host {
		return ""
	}
	recorded := c.Verb == plan.Force && c.node.intent.reasoned
	u := r.inTheWay(c.Node, func(u int) bool {
		return recorded && r.estate.Node(u).Kind == plan.VM && (r.nodes[u].failed.Has(plan.Stop) || r.forgetful) || r.passesOver(c, u) ||
			r.justMeddled(c.at, u)
	})
	if u < 0 {
		return ""
	}
	return fmt.Sprintf("host %s was told to stop with %s %s on it", c.decl.ID, r.id(u), r.state(u))
}

// rule3: A supply's output is never cut before everything that only it feeds is proven off (or forced by deadline,
// recorded).
//
// An outlet is a part of an output. It drops with the whole in any case, so that no cut waits for one (but see rule 10). A deadline
// is one while the battery is near its end, or where its UPS does not say how it is. What another supply feeds keeps its power as
// long as that is not to be cut too.
func (r *Referee) rule3(c *command) string {
	switch {
	case c.stops() && c.decl.Kind == plan.Outlet:
		if u := r.inTheWay(c.Node, r.justSwitched(c)); u >= 0 {
			return fmt.Sprintf("outlet %s was told to go off while %s is %s", c.decl.ID, r.id(u), r.state(u))
		}
	case c.Verb == plan.Cut && !r.byDeadline(c):
		if u := r.onBehindPassive(c); u >= 0 {
			return fmt.Sprintf("the output of %s is cut while %s, which hangs on it through others, is %s", c.decl.ID, r.id(u), r.state(u))
		}
		for _, u := range r.estate.Users(c.Node) {
			decl := r.estate.Node(u)
			carried := !decl.Can.Has(plan.Stop) || decl.Kind == plan.Self || decl.Kind == plan.Manual || decl.Kind == plan.Outlet
			feeds := r.estate.Feeds(u)
			if carried || r.nodes[u].isDown() || !slices.Contains(feeds, c.Node) || r.justMeddled(c.at, u) || r.isUnknowable(u) {
				continue
			}
			if !slices.ContainsFunc(feeds, func(f int) bool { return f != c.Node && r.lasts(r.supplyAt(f)) }) {
				return fmt.Sprintf("the output of %s is cut while %s is %s", c.decl.ID, decl.ID, r.state(u))
			}
		}
	}
	return ""
}

// onBehindPassive finds a node that is on and draws its power from an output through a strip or the like that goes dark with it, -1 if
// there is none. What has feeds of its own loses no more than its network with a switch.
func (r *Referee) onBehindPassive(c *command) int {
	for _, p := range r.estate.Users(c.Node) {
		if r.estate.Node(p).Kind != plan.Passive {
			continue
		}
		r.asking.anew()
		if !r.goesDark(p, func(s *supply) bool { return s.node == c.Node || !r.lasts(s) }) {
			continue
		}
		for _, u := range r.usersOf(p) {
			if len(r.estate.Feeds(u)) == 0 && !r.nodes[u].isDown() && !r.justMeddled(c.at, u) && !r.isUnknowable(u) {
				return u
			}
		}
	}
	return -1
}

// rule4: Nothing is started that was not on in the snapshot. The snapshot is durable before the first action and is not
// retaken until the restore is complete: a second outage during power-up keeps the old one.
//
// What a wrong answer or somebody else's doing brought into the snapshot counts as on in it. A start of what is gone starts nothing.
func (r *Referee) rule4(c *command) string {
	switch {
	case r.has(Records) && r.snapshot && c.stops() && !c.node.taken && c.decl.Kind != plan.Self && c.decl.Kind != plan.Manual:
		return c.decl.ID + " is stopped and is not in the snapshot"
	case r.has(Records) && !r.snapshot && c.decl.Kind != plan.Supply:
		return fmt.Sprintf("%s %s before the snapshot", c.Verb, c.decl.ID)
	case c.Verb == plan.Start && !c.node.wasOn && !c.node.owed && !c.node.lied && c.node.now.State != plan.Gone:
		return c.decl.ID + " is started and was not on before"
	case c.Verb == plan.Start && r.has(Records) && !c.node.listed && c.decl.Kind != plan.Passive && c.decl.Kind != plan.Manual:
		return c.decl.ID + " is started and is not on in the snapshot"
	default:
		return ""
	}
}

// onStorage is what runs on storage, and has none of its own.
var onStorage = []plan.Kind{plan.Host, plan.VM}

// rule6: No start is sent to a stopping node and no stop to a starting one before it has settled, but for the power-off of a host or a VM
// in the reserve.
//
// Nobody can see that of a node that has not answered for longer than a stop, or a power-off, may take since it was last told to, or
// that somebody else has just told to, or has since it answered last, nor of a VM that has not answered since it came up with its host,
// nor of another that is silent for longer than its start may take, since it was told to start or its power came back, or whose power came
// back where nobody can know. What starts for longer than it may is not waited for.
func (r *Referee) rule6(c *command) string {
	start, n := c.decl.Time(plan.Start), c.node
	most := max(start.Within, start.Nominal)
	starts := n.mute && (c.decl.Kind == plan.VM && c.at.Sub(n.started) > most || c.at.Sub(n.roused) > most)
	since, by := n.toldAt, n.toldBy
	if since.IsZero() || n.started.After(since) { // it goes by itself
		since, by = n.cameAt, plan.Stop
	}
	settles := cmp.Or(c.decl.OffAfter, c.decl.Time(by).Within)
	stops := (n.mute || !n.vain.IsZero()) && c.at.Sub(since) >= settles
	cutShort := c.Verb == plan.Force && slices.Contains(onStorage, c.decl.Kind) && n.intent.pressed // its storage can't be stopped before
	switch {
	case c.stops() && !cutShort && n.now.State == plan.Starting && !starts && c.at.Sub(n.began) <= most && !r.cameUnseen(c.Node):
		return c.decl.ID + " was told to stop while it starts"
	case c.Verb == plan.Start && n.now.State == plan.Stopping && !stops && !r.goesUnseen(c):
		return c.decl.ID + " was told to start while it stops"
	default:
		return ""
	}
}

// goesUnseen reports whether somebody else has just switched a node, or has, and all that it was asked since then was in vain.
func (r *Referee) goesUnseen(c *command) bool {
	inVain := r.unseen(c.Node) && c.node.heard() == 0 && !c.node.vain.IsZero()
	return inVain || r.unseenSince(c.at, c.Node, oldLook)
}

// litUnseen reports whether somebody switched the outlet of a machine on, and a look at that may still be of before.
func (r *Referee) litUnseen(at time.Time, i int) bool {
	return slices.ContainsFunc(r.estate.Needs(i), func(d int) bool {
		return r.estate.Node(d).Kind == plan.Outlet && r.unseenSince(at, d, oldLook)
	})
}

// seemsOn reports whether somebody else switched a node off, and the look that a start rests on can be of before, or was answered
// wrongly.
func (r *Referee) seemsOn(at time.Time, i int) bool {
	n := &r.nodes[i]
	return r.unseenSince(at, i, oldLook) || n.lied && !n.meddled.IsZero() && n.heard() < looksLater && !r.tellsOf(i)
}

// groundOff gives what a node stands on, itself or through others, that was on, and is neither on nor said so last, nor may seem so; -1:
// nothing. What is between says by being on that its outlet is, and a VM that its host is, or another.
func (r *Referee) groundOff(at time.Time, i int) int {
	for _, d := range r.estate.Needs(i) {
		n, decl := &r.nodes[d], r.estate.Node(d)
		if decl.Kind == plan.Supply {
			continue
		}
		by := r.estate.Node(i)
		vouched := decl.Kind == plan.Outlet && by.Kind != plan.Passive || by.Kind == plan.VM && !by.Bound && by.Host == decl.ID
		if decl.Kind != plan.Manual && decl.Can.Has(plan.Stop) && n.listed && n.now.State != plan.On && n.said != plan.On && !vouched &&
			!r.seemsOn(at, d) {
			return d
		}
		if deeper := r.groundOff(at, d); deeper >= 0 {
			return deeper
		}
	}
	return -1
}

// oldLook is how old a look may be that a start rests on.
const oldLook = 35 * time.Second

// rule10: Order holds for every executed pair; degradation shortens waits and never reorders across a dependency.
func (r *Referee) rule10(c *command) string {
	switch {
	case c.stops() && c.decl.Kind == plan.VM:
		return r.rule10Stop(c)
	case c.Verb == plan.Start:
		return r.rule10Start(c)
	case c.Verb == plan.Cut && !r.byDeadline(c):
		return r.rule10Cut(c)
	default:
		return ""
	}
}

// rule10Stop is rule 10 on the way down: a VM waits for what uses it, unless that was given up in its present round.
func (r *Referee) rule10Stop(c *command) string {
	givenUp := func(u int) bool {
		return r.nodes[u].failed.Has(plan.Stop) || r.justMeddled(c.at, u) || r.unseenSince(c.at, u, guarded)
	}
	if u := r.inTheWay(c.Node, givenUp); u >= 0 {
		return fmt.Sprintf("%s was told to stop before its user %s was off", c.decl.ID, r.id(u))
	}
	return ""
}

// rule10Start is rule 10 on the way up: a start waits for what the node needs, and what that stands on.
func (r *Referee) rule10Start(c *command) string {
	for _, d := range r.estate.Needs(c.Node) {
		if deeper := r.groundOff(c.at, d); deeper >= 0 {
			return fmt.Sprintf("%s is started before %s, which it stands on through %s, is on", c.decl.ID, r.id(deeper), r.id(d))
		}
		n, decl := &r.nodes[d], r.estate.Node(d)
		if decl.Kind != plan.Supply && decl.Kind != plan.Manual && decl.Can.Has(plan.Stop) && n.listed && n.now.State != plan.On &&
			!r.seemsOn(c.at, d) {
			return fmt.Sprintf("%s is started before %s is on", c.decl.ID, decl.ID)
		}
	}
	return ""
}

// rule10Cut is rule 10 for an output: its cut waits for the outlets of it that were on and were neither shown off nor given up.
func (r *Referee) rule10Cut(c *command) string {
	for _, u := range r.estate.Users(c.Node) {
		n, decl := &r.nodes[u], r.estate.Node(u)
		switchedOn := n.said == plan.Off && n.meddled.After(n.saidAt) // it drops with its supply anyway, so that nobody asks it once more
		if decl.Kind == plan.Outlet && !switchedOn && decl.Can.Has(plan.Stop) && n.now.State == plan.On && n.listed &&
			!n.failed.Has(plan.Stop) && !n.shownOff && !r.unseenSince(c.at, u, guarded) {
			return fmt.Sprintf("the output of %s is cut before its outlet %s is off", c.decl.ID, decl.ID)
		}
	}
	return ""
}
