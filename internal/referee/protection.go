package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// protection is what is known of a cache or a cluster in the open outage.
type protection struct {
	was        bool      // it was in write-through, or suspended, when it came into the snapshot
	set        string    // and this is how it was set
	seen       bool      // the snapshot has it: it could be asked
	announced  bool      // it was told to change, on record
	toldBefore bool      // so it was before its last Protect
	before     Condition // how it was when it was first told
	back       bool      // it was shown as put back since
	forgot     bool      // an outage that is lost with its records has told it to change: how it shows is how it was, or is
	lost       bool      // somebody else, or a command that was given up, has changed it since
	tried      bool      // it was told to be put back since
}

// protectionSet notes how a node is set when it comes into the snapshot, or was said to be where nobody could know, or where it has been
// told already: then it is what it was before that.
func (r *Referee) protectionSet(i int, said *ledger.NodeState) {
	n := &r.nodes[i]
	a := n.protection
	n.protection = protection{
		announced: a.announced, before: a.before, forgot: a.forgot, was: n.now.Protected, set: n.now.Set,
		seen: said == nil || said.Protected != plan.NotKnown,
	}
	if a.announced {
		n.protection.was, n.protection.set = a.before.Protected, a.before.Set
		n.protection.seen = n.protection.seen && (a.seen || n.now.Set == a.before.Set) // else it was put back blindly since
		return
	}
	if n.protection.seen && said != nil && (r.unseen(i) || a.forgot) && (said.Protected == plan.Yes) != n.now.Protected {
		n.protection.was, n.protection.set = said.Protected == plan.Yes, said.Settings
	}
}

// protectionTold follows what is announced to a cache or a cluster.
func (r *Referee) protectionTold(i int, verb plan.Verb) {
	if verb == plan.Protect || verb == plan.Stop && r.estate.Node(i).SuspendsItself() {
		a := &r.nodes[i].protection
		if !a.announced {
			a.before = r.nodes[i].now
		}
		a.toldBefore, a.announced, a.back, a.tried = a.announced, true, false, false
	}
	a := &r.nodes[i].protection
	a.tried = a.tried || verb == plan.Unprotect
}

// guarded is for how long others may be asked in the guard of a command: so old a look at a cache may be.
const guarded = 15 * time.Second

// unseenLately reports whether somebody else, or an Unprotect that was given up long ago, put a cache back just now, or when it had been
// asked in vain and was ever since, the last time just now.
func (r *Referee) unseenLately(c *command, i int) bool {
	n := &r.nodes[i]
	mute := r.unseen(i) && n.looks == 0 && r.inVain(c.at, i)
	return mute || r.unseenSince(c.at, i, guarded+r.look(i)) // what it says is of when it was asked
}

// rule12: Write-back caches go to write-through before the first VM is stopped, are proven clean before their storage goes
// down, and go back to write-back only after the gate.
//
// Nothing that stands on a cluster, or that the cluster stands on, is stopped while that has not been suspended. What is
// stopped once more was stopped before. A supply that failed a moment ago keeps nothing back that was on its way. What
// is about to be cut, by a command, is past that: see rule 3.
func (r *Referee) rule12(c *command) string {
	r.asking.anew()
	if !c.stops() || r.goesDark(c.Node, func(s *supply) bool { return s.due }) {
		return ""
	}
	if text := r.rule12Clean(c); text != "" {
		return text
	}
	if c.Verb != plan.Stop || c.node.toldToStop || r.cameUnnoticed(c.at, c.Node) || r.forgetful {
		return ""
	}
	for _, i := range r.protectors {
		decl := r.estate.Node(i)
		if !r.isYetToBeProtected(c, i) {
			continue
		}
		switch {
		case decl.Kind != plan.Cluster && c.decl.Kind == plan.VM:
			return fmt.Sprintf("%s was told to stop while the cache %s is in write-back", c.decl.ID, decl.ID)
		case decl.Kind == plan.Cluster && c.decl.Stage == plan.ShutdownStage &&
			(slices.Contains(r.estate.Dependents(i), c.Node) || r.carriesCluster(c.Node, i)):
			return fmt.Sprintf("%s was told to stop while the cluster %s was not suspended", c.decl.ID, decl.ID)
		}
	}
	return ""
}

// rule12Clean is the part of rule 12 that speaks of data: nothing stops that holds any which is not on its storage, nor the storage of such
// a cache, but where that was given up and the power goes in any case.
func (r *Referee) rule12Clean(c *command) string {
	if c.decl.Can.Has(plan.Flush) && c.node.now.Dirty && !c.node.isDown() && !r.unseenLately(c, c.Node) && !r.leavesDirty(c, c.Node) {
		return c.decl.ID + " was told to stop with dirty data"
	}
	for _, i := range r.protectors {
		if n, decl := &r.nodes[i], r.estate.Node(i); decl.Can.Has(plan.Flush) && n.now.Dirty && n.now.State == plan.On &&
			slices.Contains(r.estate.Needs(i), c.Node) && !r.unseenLately(c, i) && !r.leavesDirty(c, i) {
			return fmt.Sprintf("%s was told to stop while its cache %s is dirty", c.decl.ID, decl.ID)
		}
	}
	return ""
}

// isYetToBeProtected reports whether a cache or a cluster is taken down in this outage, or by this drill, and is in use as ever, though it
// can be suspended.
func (r *Referee) isYetToBeProtected(c *command, i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	r.asking.anew()
	if r.goesDark(i, func(s *supply) bool { return s.due || r.isOffAsHeard(s, c.at) }) {
		return false
	}
	r.asking.anew()
	taken := r.goesDark(i, func(s *supply) bool { return s.longOut && !s.aborted }) || r.drill != nil && r.drill[i]
	if decl.Can.Has(plan.Flush) && slices.ContainsFunc(r.estate.Needs(i),
		func(d int) bool { return r.place[d] < 0 && r.nodes[d].isDown() }) {
		return false // what it keeps its data on is off, and so is it as far as anybody can write to it
	}
	return taken && n.now.State == plan.On && !n.now.Protected && !n.failed.Has(plan.Protect) && !r.unseenLately(c, i)
}

// cameUnnoticed reports whether a node was told to stop in this outage, and somebody switched it on again a moment ago, or while the
// controller was away, which has not seen it go since: as far as that knows it is at the stop which it was told.
func (r *Referee) cameUnnoticed(at time.Time, i int) bool {
	n := &r.nodes[i]
	away := r.resumed.After(n.meddled) && !n.wentAt.After(r.resumed)
	return n.commanded > 0 && n.meddled.After(n.toldAt) && (away || at.Sub(n.meddled) <= guarded)
}

// carriesCluster reports whether a cluster is asked through what stands on a node: through something there that is not off.
// What has no stop of its own is looked through.
func (r *Referee) carriesCluster(i, cluster int) bool {
	return r.estate.Node(i).Kind != plan.Outlet && slices.ContainsFunc(r.estate.Users(i), func(u int) bool {
		switch st := r.state(u); {
		case u == cluster:
			return true
		case !r.estate.Node(u).Can.Has(plan.Stop):
			return r.carriesCluster(u, cluster)
		default:
			return st != plan.Off && st != plan.Gone && slices.Contains(r.estate.Dependents(u), cluster)
		}
	})
}

// rule12PutBack is the last part of rule 12: only what was changed is put back, once, and to what it was. (After the gate: see
// rule 5.)
func (r *Referee) rule12PutBack(c *command) string {
	a := &c.node.protection
	switch {
	case c.Verb != plan.Unprotect, r.forgetful:
		return ""
	case a.was && a.seen:
		return c.decl.ID + " is put back, although it was already so before the outage"
	case !a.announced:
		return c.decl.ID + " is put back, and was never changed"
	case a.back && !c.node.now.Protected && (c.node.now.Set == a.set || !a.seen):
		return c.decl.ID + " is put back again"
	case c.Settings != a.set && (a.seen || c.Settings != "" && c.Settings != AsUsual):
		return fmt.Sprintf("%s is put back to %q, and was set to %q", c.decl.ID, c.Settings, a.set)
	default:
		return ""
	}
}

// AsUsual is what a source says that a cache or a cluster is set to when it was put back by who did not know how it was set.
const AsUsual = "as usual"

// rule12End is rule 12 at the end of an outage: what was changed is as it was, or is reported.
func (r *Referee) rule12End(at time.Time, reported []ledger.NodeState) {
	toPutBack := func(i int) bool {
		n, decl := &r.nodes[i], r.estate.Node(i)
		return n.protection.announced && decl.Can.Has(plan.Unprotect) && !r.unseenSince(at, i, closing) && !r.forgetful &&
			!n.protection.lost && n.now.State != plan.Gone && !isReported(reported, decl.ID)
	}
	for i := range r.nodes {
		n, decl := &r.nodes[i], r.estate.Node(i)
		if decl.SuspendsItself() && n.now.State == plan.On && n.now.Protected && !n.protection.was && toPutBack(i) {
			r.violate(at, 12, decl.ID+" was suspended by its stop and is left so")
		}
	}
	for _, i := range r.protectors {
		n, decl := &r.nodes[i], r.estate.Node(i)
		if !toPutBack(i) {
			continue
		}
		if n.now.Set != n.protection.set && (n.protection.seen || n.now.Set != AsUsual) {
			r.violate(at, 12, fmt.Sprintf("%s was changed for the outage and is left set to %q, and was set to %q", decl.ID, n.now.Set, n.protection.set))
		}
	}
}

// rule12Tried is rule 12 at the end of an outage, for what is reported: it was told to be put back, or was shown so and does not answer.
// What was so before is not put back.
func (r *Referee) rule12Tried(at time.Time, reported []ledger.NodeState) {
	for _, i := range r.protectors {
		a := &r.nodes[i].protection
		wasSo, isBack := a.was && a.seen, a.back && !r.nodes[i].vain.IsZero()
		if a.announced && !a.tried && !wasSo && !isBack && isReported(reported, r.id(i)) && r.couldBePutBack(at, i) {
			r.violate(at, 12, r.id(i)+" was changed for the outage, is reported as not put back, and was never told to be")
		}
	}
}

// couldBePutBack reports whether a node and all that it stands on, itself or through others, is on and has been seen for a while, and
// nothing of it was given up.
func (r *Referee) couldBePutBack(at time.Time, i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	switch {
	case decl.Kind == plan.Supply:
		return true
	case r.forgetful, n.now.State != plan.On, n.failed != 0, r.unseenSince(at, i, closing):
		return false
	}
	return !slices.ContainsFunc(r.estate.Needs(i), func(d int) bool { return !r.couldBePutBack(at, d) })
}
