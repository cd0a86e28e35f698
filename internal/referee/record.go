package referee

import (
	"fmt"
	"strings"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// What an engine may write beside the kinds and causes that package engine has names for.
const (
	forbidden ledger.Kind  = "forbidden" // the engine's own permit refused a command: Node, Verb, Reason ("rule 21: …")
	cycled    ledger.Cause = "cycled"    // Mains: the supply's output was off, or may have been, and is on again
	released  ledger.Cause = "released"  // Mains: it was committed to be cut, and is not any more: nothing moved for long
	dropping  ledger.Cause = "dropping"  // Intent: the output that feeds the node is being cut
)

// Recorded takes a record at the moment at which it is durable, or would be if the journal's disk were there.
func (r *Referee) Recorded(at time.Time, rec *ledger.Record) {
	i, known := r.estate.Index(rec.Node)
	r.newest = at
	switch rec.Kind {
	case ledger.Opened:
		r.begin(at)
		r.openDrill(at, rec)
		r.observes = rec.Mode == ledger.ModeObserve
		r.ofSupplies(at, rec)
	case ledger.Snapshot, ledger.Widened:
		r.snapped(at, rec)
	case ledger.Closed:
		r.close(at, rec.Nodes)
	case ledger.Ordered:
		r.ordered(at, rec)
	case ledger.Mains, ledger.NoReturn, ledger.Turned, ledger.Triggered:
		r.ofSupplies(at, rec)
	default:
		if known {
			r.ofNode(at, i, rec)
		}
	}
}

// begin begins an outage, or a drill.
func (r *Referee) begin(at time.Time) {
	lost := r.forgetful
	r.open, r.snapshot, r.hold, r.forgetful, r.observes, r.drill, r.drillUp = true, !r.has(Records), false, false, false, nil, false
	r.unwatched = false
	r.land()
	for k := range r.supplies {
		s := &r.supplies[k]
		s.made, s.seen = false, false
		s.failed, s.cut, s.triggered, s.aborted, s.spent, s.due = !s.heardOut.IsZero(), false, false, false, time.Time{}, false
		r.release(s)
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		st := n.now.State
		n.forgot = (lost || n.forgot) && at.Sub(n.toldAt) <= 2*guarded
		n.stolen = (lost && n.wasOn || n.stolen) && st != plan.On && st != plan.Starting
		n.wasOn = st == plan.On || st == plan.Starting || st == plan.Unknown || n.now.Dark || r.unseen(i) || n.stolen || r.wentUnseen(i)
		setByWhom := protection{forgot: lost && n.protection.announced}
		n.known, n.listed, n.owed, n.failed, n.commanded, n.protection, n.shownOff, n.misled, n.toldToStop, n.taken = false, false, false,
			0, 0, setByWhom, false, false, false, false
		if !r.has(Records) { // what is on is what a snapshot would have
			n.listed, n.owed = st == plan.On, st == plan.On
			r.protectionSet(i, nil)
		}
	}
}

// openDrill notes what a drill takes. It begins on the mains alone (rule 5).
func (r *Referee) openDrill(at time.Time, rec *ledger.Record) {
	if rec.Mode != ledger.ModeDrill {
		return
	}
	r.drill = make([]bool, r.estate.Len())
	for _, id := range rec.Scope {
		if i, ok := r.estate.Index(id); ok {
			r.drill[i] = true
		}
	}
	for k := range r.supplies {
		if !r.supplies[k].heardOut.IsZero() {
			r.violate(at, 5, "a drill begins on battery")
			return
		}
	}
}

// mayBeTakenAgain reports whether a cache or a cluster may be taken into the snapshot once more: as not protected, which it was before it
// was told anything, or what was seen last before a command of long ago took effect.
func (r *Referee) mayBeTakenAgain(i int, s *ledger.NodeState) bool {
	n := &r.nodes[i]
	was := n.now.Protected
	if n.protection.announced {
		was = n.protection.before.Protected
	}
	return s.Protected == plan.No && (!was || r.unseen(i))
}

// surveyed is for how long the looks stand that a snapshot rests on, while others are waited for: two looks of ten seconds at most, and a
// third where the word is in doubt.
const surveyed = 30 * time.Second

// wentUnseen reports whether a node went off with one that somebody has switched off, and nobody can know that; or by itself, which was
// seen only when its host had lost its power, or was silent since then, and lost it: that looks as if it had gone with it.
func (r *Referee) wentUnseen(i int) bool {
	n := &r.nodes[i]
	if n.meddled.IsZero() {
		return false
	}
	host, known := r.estate.Index(r.estate.Node(i).Host)
	isLate := false
	if known {
		on := &r.nodes[host]
		isBack := on.now.State == plan.On && !on.mute // it has answered since
		isSilent := !on.vain.IsZero() && on.vainSince.Sub(n.plain) <= guarded
		isLate = !n.meddled.After(on.fell) && (!isBack && n.plain.After(on.fell) || isSilent)
	}
	return isLate || n.with >= 0 && r.unseen(n.with)
}

// snapped takes a snapshot, or what is added to one: what is on in it comes back, or is reported.
func (r *Referee) snapped(at time.Time, rec *ledger.Record) {
	if rec.Kind == ledger.Snapshot {
		if r.snapshot {
			r.violate(at, 4, "the snapshot was taken again")
		}
		r.snapshot = true
	}
	for k := range rec.Nodes {
		s := &rec.Nodes[k]
		i, ok := r.estate.Index(s.Node)
		if !ok {
			continue
		}
		n := &r.nodes[i]
		if n.known && !r.mayBeTakenAgain(i, s) {
			r.violate(at, 4, "the snapshot of "+s.Node+" was taken again")
		}
		n.known = s.State != plan.Unknown && s.State != plan.Unreachable // else it may be added once, when it answers
		n.listed = s.State == plan.On || s.State == plan.Starting
		n.owed = r.isOwed(at, i)
		n.taken = true
		n.wasOn = n.wasOn || n.listed && (r.unseen(i) || n.now.State == plan.Starting)
		r.protectionSet(i, s)
	}
}

// isOwed reports whether what has just come into the snapshot has to come back: it is on, or comes up, as far as anybody can know, or was
// on and has lost its power since.
func (r *Referee) isOwed(at time.Time, i int) bool {
	n := &r.nodes[i]
	// somebody has switched it on since the last look at it
	unknown := r.unseen(i) && !n.listed
	// or it has come up by itself since the last answer that the controller has
	since := n.came == plan.Off && n.cameAt.After(r.resumed) && n.cameAt.Before(n.changed) && at.Sub(n.cameAt) <= surveyed
	return n.now.State == plan.On && !unknown && (n.listed || !since) || n.listed && n.now.State == plan.Starting || n.owed && n.now.Dark
}

// close ends an outage.
func (r *Referee) close(at time.Time, reported []ledger.NodeState) {
	r.rule20(at, reported)
	r.rule12End(at, reported)
	r.rule12Tried(at, reported)
	r.rule19End(at, reported)
	r.open = false
	for i := range r.nodes {
		r.nodes[i].owed = false
	}
	for k := range r.supplies {
		r.release(&r.supplies[k])
	}
}

// ordered follows the orders that were not refused.
func (r *Referee) ordered(at time.Time, rec *ledger.Record) {
	if rec.Reason != "" {
		return
	}
	switch rec.Order {
	case ledger.Hold:
		r.hold = true
	case ledger.Resume:
		r.hold, r.heldUntil = false, at
	case ledger.Abort, ledger.Go:
		r.hold = r.hold && rec.Order == ledger.Abort
		for k := range r.supplies {
			s := &r.supplies[k]
			s.aborted = rec.Order == ledger.Abort && s.isGone()
		}
	case ledger.Confirm, ledger.Skip:
	}
}

// ofSupplies takes a record of supplies. A turn of a drill names none.
func (r *Referee) ofSupplies(at time.Time, rec *ledger.Record) {
	up := rec.Kind == ledger.Turned && rec.Goal == plan.Up
	switch {
	case rec.Kind == ledger.Mains:
		r.drill = nil // an outage from here on
	case up && len(rec.Supplies) == 0:
		r.drillUp = true
	}
	for _, id := range rec.Supplies {
		i, ok := r.estate.Index(id)
		if !ok || r.place[i] < 0 {
			continue
		}
		s := r.supplyAt(i)
		switch {
		case up:
			r.rule20Cut(s, at, "turned up")
			s.triggered, s.aborted, s.due, s.spent = false, false, false, time.Time{}
			r.release(s)
		case rec.Kind == ledger.Opened, rec.Cause == ledger.Failing, rec.Cause == ledger.Dark:
			s.written = true
		case rec.Cause == ledger.Returned:
			s.written = false
			s.triggered = s.triggered && !s.online
		case rec.Kind == ledger.NoReturn:
			r.commit(s, at, rec.Cause == ledger.AfterAll)
		case rec.Cause == cycled:
			r.rule20Cut(s, at, "called cycled")
			r.release(s)
		case rec.Cause == released:
			if at.Sub(r.moved) < standstill && r.waitsForCycle(s) {
				r.rule20Cut(s, at, "released")
			}
			r.release(s)
		case rec.Kind == ledger.Triggered:
			if rec.Stage == plan.ShutdownStage && !s.triggered {
				s.triggered, s.triggeredAt = true, at
			}
		}
	}
}

// ofNode takes a record of a node.
func (r *Referee) ofNode(at time.Time, i int, rec *ledger.Record) {
	switch rec.Kind {
	case ledger.Intent:
		r.moved = at
		r.intend(at, i, intent{
			verb: *rec.Verb, op: uint64(rec.Op), at: at, life: r.life, again: rec.Attempt > 1,
			reasoned: rec.Reason != "", pressed: rec.Cause == ledger.Pressed || rec.Cause == dropping,
		})
		r.protectionTold(i, *rec.Verb)
		r.rule9(i, at)
	case ledger.Accepted:
		r.accepted(i, *rec.Verb, rec.Outcome)
	case ledger.HeldBack:
		r.moved = at
		r.fly(i, false)
	case ledger.Failed:
		r.moved = at
		r.fly(i, false)
		r.failed(at, i, *rec.Verb)
	case ledger.Proven:
		r.moved = at
		r.fly(i, false)
		r.proven(at, i, *rec.Verb, rec.Cause)
	case ledger.Reopened:
		if rec.Verb == nil && rec.State != nil {
			r.rule19Reopened(at, i, *rec.State)
		}
	case forbidden:
		r.permit(at, rec)
	default:
	}
}

// accepted takes what became of a command right away.
func (r *Referee) accepted(i int, verb plan.Verb, outcome ledger.Outcome) {
	n := &r.nodes[i]
	if outcome == ledger.Unreached && !r.flights.again[i] { // what has not reached its node is as before
		r.fly(i, false)
		r.unsent(i, verb)
	}
	if outcome == ledger.Refused && verb == plan.Start { // nobody waits for what may refuse for good
		r.fly(i, false)
	}
	// it goes on as it went
	if isLost := outcome == ledger.Refused || outcome == ledger.Unreached; isLost && verb == plan.Force && !n.toldAtBefore.IsZero() {
		n.toldAt, n.toldBy = n.toldAtBefore, plan.Stop
	}
}

// proven takes that something is shown as done.
func (r *Referee) proven(at time.Time, i int, verb plan.Verb, cause ledger.Cause) {
	r.rule19(at, i, verb, cause)
	a := &r.nodes[i].protection
	a.back = a.back || verb == plan.Unprotect
	a.lost = a.lost && verb != plan.Protect && verb != plan.Unprotect
	r.rule19Cut(at, i, verb)
	r.show(i, verb)
}

// unsent takes that a command has not reached its node: it is as it was before.
func (r *Referee) unsent(i int, verb plan.Verb) {
	n := &r.nodes[i]
	switch verb {
	case plan.Stop:
		n.toldToStop, n.toldAt, n.stopAt = n.toldBefore, n.toldAtBefore, time.Time{}
		if r.estate.Node(i).SuspendsItself() {
			n.protection.announced = n.protection.toldBefore
		}
	case plan.Force:
		n.toldToStop, n.toldAt = n.toldBefore, n.toldAtBefore
	case plan.Start:
		n.roused, n.started = n.rousedBefore, time.Time{}
	case plan.Protect:
		n.denied, n.protection.announced = n.deniedBefore, n.protection.toldBefore
	case plan.Cut:
		s := r.supplyAt(i)
		s.due = false
		r.follow(s)
	default:
	}
}

// show follows what is shown of a node. A person, our own machine and a supply are shown by other means.
func (r *Referee) show(i int, verb plan.Verb) {
	switch r.estate.Node(i).Kind {
	case plan.Supply, plan.Manual, plan.Self:
		return
	default:
	}
	n := &r.nodes[i]
	n.shownOff = verb == plan.Stop || n.shownOff && verb != plan.Start
}

// rule7: Intent durable before the command; result durable after the probe; each command idempotent or guarded by a probe.
//
// Judged of the intent: it is on record, of this life of the controller, and allows one command.
func (r *Referee) rule7(c *command) string {
	in := &c.node.intent
	if in.life == r.life && !in.at.IsZero() && !in.sent && in.verb == c.Verb && (c.Op == 0 || c.Op == in.op) {
		return ""
	}
	return fmt.Sprintf("%s %s without a durable intent", c.Verb, c.decl.ID)
}

// rule13: Rehearse, dry run and simulate send no mutating call.
//
// Judged of an outage that is observed only.
func (r *Referee) rule13(c *command) string {
	if !r.observes {
		return ""
	}
	return fmt.Sprintf("%s %s in an outage that is observed only", c.Verb, c.decl.ID)
}

// permit takes the word of the engine's own permit: what it had to refuse should never have been wanted.
func (r *Referee) permit(at time.Time, rec *ledger.Record) {
	rule, why := 7, rec.Reason // 7 where it does not say: a command that may not be given was announced
	if head, tail, ok := strings.Cut(rec.Reason, ": "); ok {
		var n int
		if _, err := fmt.Sscanf(head, "rule %d", &n); err == nil {
			rule, why = n, tail
		}
	}
	verb := "command"
	if rec.Verb != nil {
		verb = rec.Verb.String()
	}
	r.Broken(at, fmt.Sprintf("%d: permit: %s %s: %s", rule, verb, rec.Node, why))
}
