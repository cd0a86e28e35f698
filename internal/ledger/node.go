package ledger

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// Node is what is on record of a node.
type Node struct {
	Snap       Before
	Last       Command
	GivenUp    plan.Verbs // steps that ended without proof since the node last gained or lost its power
	Untried    plan.Verbs // those of them whose command has not reached the node
	Clean      Clean      // whether its Flush was proven, and nothing has written to it since
	Relapses   int        // how often what was brought about did not last, since then
	Shown      Shown      // what the records show of its power
	Protection Protection // what was done to its cache, or cluster
	Lit        Lit        // what may have begun to bring it up, where nothing since shows what became of it
	Late       bool       // an Unprotect may take effect that nobody waits for any more
	AtCycle
}

// AtCycle is how a node was as the cycle of its supply began, for what it tells of that when it is up.
type AtCycle struct {
	Early    bool // it was off before, or may have been
	Unproven bool // it was not proven off when its supply was cut: that it is up tells of no cycle
}

// Clean is whether a cache that is silent is clean, as far as the records show.
type Clean uint8

// Whether a cache is clean.
const (
	NotClean    Clean = iota
	CleanUnless       // its Flush was proven, and what may write to it may have come up since: it is if that is off
	IsClean           // and nothing may have
)

// Lit is what may have begun to bring a node up.
type Lit uint8

// What may have begun to bring a node up.
const (
	Unlit        Lit = iota
	PoweredAgain     // its power came back, or may have
	SeenStarting     // it was seen on its way up, or was told to start, which may have come to it
)

// seen takes down that a node was seen on its way up, or up after that.
func (n *Node) seen(state plan.State) {
	switch {
	case state == plan.Starting:
		n.Lit = SeenStarting
	case state == plan.On && n.Lit == SeenStarting:
		n.Lit = Unlit
	}
}

// disproved takes that what showed a node off is void: it is on by what runs on it.
func (n *Node) disproved() {
	if n.Shown == ShownOff {
		n.Shown = WasTold
	}
}

// Before is what the snapshot says of a node.
type Before struct {
	Was      Then
	SeenOn   bool      // not long before the outage
	Past     bool      // it was off since, or had its power back: what it answers now says nothing of then
	CacheWas plan.Fact // whether its cache was in write-through
	Set      string    // what Unprotect puts back
}

// Then is how a node was when it came into the snapshot.
type Then uint8

// How a node was in the snapshot.
const (
	NotThere Then = iota // it is in none yet
	ThenOff
	ThenGoing  // it was on its way off
	ThenOn     // it is to be on when the outage is over
	ThenSilent // it could not be asked
)

// Taken reports whether a node is in the snapshot.
func (s *Before) Taken() bool { return s.Was != NotThere }

// On reports whether a node was on, and is to be again when the outage is over.
func (s *Before) On() bool { return s.Was == ThenOn }

// Silent reports whether a node could not be asked.
func (s *Before) Silent() bool { return s.Was == ThenSilent }

// Shown is what the records show of a node's power.
type Shown uint8

// What the records show of the power of a node.
const (
	AsFound Shown = iota
	WasTold       // a stop, a cut or a start was commanded
	ShownOff
	ShownOn // after it had been off
)

func (n *Node) take(ns *NodeState) {
	was := ThenOff
	switch ns.State {
	case plan.On, plan.Starting:
		was = ThenOn
	case plan.Unknown, plan.Unreachable:
		was = ThenSilent
	case plan.Stopping:
		was = ThenGoing
	default:
	}
	n.Snap = Before{Was: was, SeenOn: n.Snap.SeenOn, CacheWas: ns.Protected, Set: ns.Settings}
}

// step takes a record about a step of a node.
func (l *Ledger) step(i int, r *Record) {
	verb := r.stepVerb()
	if verb == plan.Discharge || verb == plan.EndDischarge {
		l.Outage.Drill.follow(r)
		return
	}
	wasOff := l.Outage.Nodes[i].Shown == ShownOff
	l.Outage.Nodes[i].step(verb, r)
	l.suspends(i, r)
	switch {
	case r.Kind == Intent && verb == plan.Cut:
		l.cutWith(i, r)
	case r.Kind == Intent && verb.BringsUp(), r.Kind == Reopened, r.Kind == Proven && verb == plan.Start:
		if l.estate.Node(i).Kind == plan.Outlet && comesOn(verb, r, wasOff) {
			l.cycled(i, r)
		}
		l.mayWrite(i, NotClean)
		l.mayCarry(i)
	}
	if k := l.SupplyOf[i]; k >= 0 && (verb == plan.Cut || r.Kind == Reopened) {
		l.Outage.Supplies[k].cut(r)
		l.settle()
	}
}

// comesOn reports whether a record tells that an outlet is switched on: by a command, or, where it was shown off, by somebody.
func comesOn(verb plan.Verb, r *Record, wasOff bool) bool {
	return r.Kind == Intent && verb == plan.Start || r.Kind == Reopened && verb != plan.Start && wasOff
}

// stepVerb is the verb of the step that a record is about: a power-off is one of a stop.
func (r *Record) stepVerb() plan.Verb {
	if r.Verb == nil || *r.Verb == plan.Force {
		return plan.Stop
	}
	return *r.Verb
}

// cutWith takes down which of what hangs on a supply was not proven off when its cut was sent.
func (l *Ledger) cutWith(supply int, r *Record) {
	for _, u := range l.estate.Users(supply) {
		l.Outage.Nodes[u].Unproven = slices.ContainsFunc(r.Nodes, func(ns NodeState) bool { return ns.Node == l.estate.Node(u).ID })
	}
}

// mayWrite follows a node that comes up, or is up again, or may: what it stands on is as clean as that at most, and so is it itself.
func (l *Ledger) mayWrite(i int, most Clean) {
	nodes := l.Outage.Nodes
	nodes[i].Clean = min(nodes[i].Clean, most)
	for _, c := range l.Caches {
		if _, uses := slices.BinarySearch(l.estate.Dependents(c), i); uses {
			nodes[c].Clean = min(nodes[c].Clean, most)
		}
	}
}

// mayCarry follows a host that comes up, or is up again: what runs on it may come up with it, whatever stop it took before.
func (l *Ledger) mayCarry(host int) {
	for _, u := range l.estate.Users(host) {
		if l.estate.HostOf(u) == host {
			l.Outage.Nodes[u].Last.Taken = false
		}
	}
}

// step takes a record about a step of this node.
func (n *Node) step(verb plan.Verb, r *Record) {
	if n.Last.mayStart() {
		n.mayRise(r.Kind)
	}
	switch r.Kind {
	case Intent, Asked:
		n.begun(verb, r)
	case Accepted:
		n.answered(verb, r)
	case Proven:
		n.proven(verb)
	case Failed:
		n.failed(verb, r)
	case HeldBack:
		if verb == plan.Unprotect && n.Last.Open && n.Last.Reach() != NotReached {
			n.mayComeLate()
		}
		n.Last.Open = false
	case Reopened:
		n.reopened(verb)
		if r.State != nil {
			n.seen(*r.State)
		}
	default:
	}
}

// mayRise follows that a start which may have come to its node is waited for no more: that is where it was, if it has not answered when it
// has had the time to boot (docs/adr/0005). After another attempt nobody knows any more.
func (n *Node) mayRise(kind Kind) {
	switch kind {
	case HeldBack, Failed:
		n.Lit = max(n.Lit, SeenStarting)
	case Intent:
		n.Last.Taken = false
	default:
	}
}

func (n *Node) begun(verb plan.Verb, r *Record) {
	earlier, was, asked := NotReached, n.Shown, time.Time{}
	if n.Last.Open && n.Last.Verb == verb {
		earlier, was, asked = n.Last.Reach(), n.Last.Was, n.Last.asked(*r.Verb)
	}
	n.Last = Command{
		Verb: verb, Rung: *r.Verb, Op: r.Op, Attempt: r.Attempt, Open: true, Cause: r.Cause, Reason: r.Reason,
		Earlier: earlier, Was: was, Taken: n.Last.Taken, Heard: r.State == nil, At: r.At.Round(0).UTC(), Asked: asked,
	}
	if *r.Verb == plan.Stop && n.Lit == SeenStarting { // a power-off is sent to what is on its way up, too, and may reach nobody
		n.Lit = Unlit
	}
	switch verb {
	case plan.Stop, plan.Cut, plan.Start:
		n.Shown = WasTold
	case plan.Protect:
		n.changes()
	case plan.Flush: // which it is not, or it would not be told to
		n.Clean = NotClean
	default:
	}
}

func (n *Node) answered(verb plan.Verb, r *Record) {
	if n.Last.Verb != verb || n.Last.Op != r.Op {
		return
	}
	n.Last.At = r.At.Round(0).UTC()
	if verb == plan.Protect {
		n.changed(r.Outcome)
	}
	switch r.Outcome {
	case Done:
		n.Last.Answer = WasAccepted
		n.Last.starts()
		if verb == plan.Stop {
			n.Lit, n.Last.Taken = Unlit, true
		}
	case Unreached:
		n.Last.Answer = WasUnreached
		if n.Shown == WasTold && n.Last.Reach() == NotReached { // nothing of the step has come to it
			n.Shown = n.Last.Was
		}
	case TimedOut:
		n.Last.Answer = NobodyKnows
		n.Late = n.Late || verb == plan.Unprotect
		n.Last.starts()
	default:
		n.Last.Answer = WasDenied
		n.Last.starts()
	}
}

func (n *Node) proven(verb plan.Verb) {
	n.GivenUp &^= plan.VerbSet(verb)
	n.Last.Open = n.Last.Open && n.Last.Verb != verb
	switch verb {
	case plan.Stop, plan.Cut:
		n.Early = n.Last.Verb != verb || n.Last.Reach() == NotReached // since when it is off nobody knows
		n.Last.Taken = n.Last.Taken || verb == plan.Stop && !n.Early  // whoever lost its answer
		if !n.Early && n.Last.Earlier == NotReached {                 // which might come to it yet
			n.Last.Answer = WasObeyed
		}
		n.Shown, n.Lit, n.Unproven, n.Snap.Past = ShownOff, Unlit, false, true
	case plan.Start:
		n.Shown, n.Lit, n.Last.Taken = ShownOn, Unlit, false
	case plan.Protect:
		if n.Protection == Changing || n.Protection == Announced {
			n.Protection = Protected
		}
	case plan.Flush:
		n.Clean = IsClean
	case plan.Unprotect:
		n.Protection = PutBack
	default:
	}
}

// isUntried reports whether what was given up has not reached its node, as far as is known.
func (n *Node) isUntried(verb plan.Verb, r *Record) bool {
	reach := n.Last.Reach()
	return r.Outcome != Done && (r.Attempt == 0 || n.Last.Verb == verb && (reach == NotReached || reach == MayHaveReached))
}

func (n *Node) failed(verb plan.Verb, r *Record) {
	n.GivenUp |= plan.VerbSet(verb)
	n.Untried &^= plan.VerbSet(verb)
	if n.isUntried(verb, r) {
		n.Untried |= plan.VerbSet(verb)
	}
	n.Last.Open = n.Last.Open && n.Last.Verb != verb
	if verb == plan.Unprotect && r.Attempt > 0 {
		n.mayComeLate()
	}
	n.Last.Taken = n.Last.Taken && (verb != plan.Start || r.Outcome != Done)
	switch {
	case verb == plan.Start && n.Shown == ShownOn:
		n.Shown = WasTold
	case verb == plan.Stop && r.Cause == Skipped: // there is nothing to undo
		n.Shown = n.Last.Was
	case verb == plan.Protect && n.Protection == Protected:
		n.Protection = Changing
	}
}

// reopened follows what was shown to be so and is not any more.
func (n *Node) reopened(verb plan.Verb) {
	n.Last.Open = false
	n.Relapses++
	n.GivenUp &^= plan.VerbSet(verb)
	switch verb {
	case plan.Protect:
		n.Protection = Changing
		return
	case plan.Unprotect:
		n.Protection = BackAgain
		return
	case plan.Start:
		if n.Shown == ShownOff { // as it was when nobody could start it
			return
		}
	default:
	}
	n.Shown, n.Last.Taken = WasTold, false
}

// CommandedBy gives the number of the last command if it was for this verb: what shows its effect was asked after it.
func (n *Node) CommandedBy(v plan.Verb) Op {
	if n.Last.Verb == v {
		return n.Last.Op
	}
	return 0
}

// IsTouched reports whether anything was commanded on a node in this outage.
func (n *Node) IsTouched() bool { return n.Shown != AsFound || n.Protection != AsSet }
