package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

func isReported(reported []ledger.NodeState, id string) bool {
	return slices.ContainsFunc(reported, func(s ledger.NodeState) bool { return s.Node == id })
}

// closing is how long before the end of an outage its nodes may have been looked at last.
const closing = time.Minute

// rule20: With mains stable and the gate open, every snapshot node ends up on and healthy, or reported as failed.
//
// What somebody switched off since is nobody's fault if that was just now, or the last look at it was answered wrongly. What has just
// lost its power to a supply that was not polled since is of the next outage. A drill owes nothing of what it has not touched.
func (r *Referee) rule20(at time.Time, reported []ledger.NodeState) {
	for i := range r.nodes {
		n, decl := &r.nodes[i], r.estate.Node(i)
		if n.forgot && at.Sub(n.toldAt) <= 2*guarded { // it is on its way still, and shows as on
			continue
		}
		if r.drill != nil && n.commanded == 0 || r.unseenSince(at, i, closing) || n.lied && r.unseen(i) && at.Sub(n.saidAt) <= closing ||
			r.justFell(at, i) {
			continue
		}
		if n.owed && decl.Kind != plan.Supply && n.now.State != plan.On && !isReported(reported, decl.ID) {
			r.violate(at, 20, fmt.Sprintf("%s was on before, and is neither brought back nor reported: it is %s", decl.ID, n.now.State))
		}
	}
	for k := range r.supplies {
		r.rule20Cut(&r.supplies[k], at, "the outage ends")
	}
}

// justFell reports whether a node has lost its power since the last look at it before the end, and none of its feeds was polled since.
func (r *Referee) justFell(at time.Time, i int) bool {
	n := &r.nodes[i]
	isDark, fell := n.now.Dark, n.fell
	if r.estate.Node(i).Kind == plan.Passive { // which loses nothing with its power
		isDark, fell = n.now.State == plan.Off, n.changed
	}
	polled := func(f int) bool { return r.supplyAt(f).heardAt.After(fell) }
	feeds := r.estate.Sources(i)
	return isDark && at.Sub(fell) <= closing && len(feeds) > 0 && !slices.ContainsFunc(feeds, polled)
}

// rule19: A failed or unknown outcome is never shown as success.
//
// What is shown as done is done, unless an answer was wrong, or somebody else undid it after the looks that showed it, or switched on
// what is silent, or that has got its power back where nobody can know. A person's word is taken.
func (r *Referee) rule19(at time.Time, i int, verb plan.Verb, cause ledger.Cause) {
	n, decl := &r.nodes[i], r.estate.Node(i)
	st := n.now.State
	n.misled = false
	switch {
	case n.lied && (!n.intent.at.IsZero() && !n.saidAt.Before(n.intent.at) || at.Sub(n.saidAt) <= oldLook):
		n.misled = true // it may be written down, but nothing that can't be undone may rest on it
	case decl.Kind == plan.Manual:
	case cause == ledger.Silence && (r.unseen(i) || r.isUnknowable(i) || r.hostIsLost(i)), r.unseenSince(at, i, r.fresh(at, i)):
		n.misled = true
	case r.hasJustChanged(at, i, verb):
	// nobody knows that it was told to go, or whether its power came back before that or after it
	case verb == plan.Start && st == plan.Stopping && (r.forgetful && n.toldAt.Before(r.resumed) || r.litUnheard(i)):
		n.misled = true
	default:
		if what := r.shownWrongly(at, i, verb); what != "" {
			r.violate(at, 19, decl.ID+" was called "+what)
		}
	}
}

// litUnheard reports whether the output of a supply that feeds a node came on before the node was told to go, and the supply has been heard
// only since then.
func (r *Referee) litUnheard(i int) bool {
	told := r.nodes[i].toldAt
	return slices.ContainsFunc(r.estate.Sources(i), func(f int) bool {
		s := r.supplyAt(f)
		return !s.litAt.IsZero() && s.litAt.Before(told) && s.speaks.After(told)
	})
}

// shownWrongly says what a node is called that it is not, where that was for anybody to see; "": it is as it is called.
func (r *Referee) shownWrongly(at time.Time, i int, verb plan.Verb) string {
	n := &r.nodes[i]
	st := n.now.State
	setOtherwise := n.protection.announced && n.protection.seen && !r.forgetful && !r.unseen(i) && n.now.Set != n.protection.set
	switch {
	case verb == plan.Stop && st != plan.Off && st != plan.Gone:
		return fmt.Sprintf("off and is %s", st)
	case verb == plan.Start && n.now.Dark && at.Sub(n.fell) <= r.fresh(at, i): // after the look that showed it
		return ""
	case verb == plan.Start && st != plan.On:
		return fmt.Sprintf("on and is %s", st)
	case verb == plan.Unprotect && (n.now.Protected || setOtherwise):
		return "put back and is not"
	case verb == plan.Protect && !n.now.Protected:
		return "protected and is not"
	case verb == plan.Flush && n.now.Dirty:
		return "clean and is not"
	default:
		return ""
	}
}

// hostIsLost reports whether the host of a node was taken away by whoever manages it, or somebody has switched it on since its stop, or its
// power has, where nobody can know: what became of the node, which does not answer, nobody can be asked.
func (r *Referee) hostIsLost(i int) bool {
	host, known := r.estate.Index(r.estate.Node(i).Host)
	isHidden := known && (r.isMistaken(host) || r.isUnknowable(host)) && !r.nodes[i].vain.IsZero()
	return known && r.nodes[host].now.State == plan.Gone || isHidden
}

// hasJustChanged reports whether a node was as it is called when it gave the last answer, a moment ago, and is not any more.
func (r *Referee) hasJustChanged(at time.Time, i int, verb plan.Verb) bool {
	n := &r.nodes[i]
	was := verb == plan.Stop && n.said == plan.Off || verb == plan.Start && n.said == plan.On
	return was && n.saidAt.Before(n.changed) && at.Sub(n.changed) <= r.fresh(at, i)
}

// rule19Cut is rule 19 for an output: what is called cut is off, or was since it was told, or counts down, or took its cut and did not make
// it, or looks as if it had been, since somebody switched on what only that starts.
func (r *Referee) rule19Cut(at time.Time, i int, verb plan.Verb) {
	if verb != plan.Cut || r.place[i] < 0 {
		return
	}
	s := r.supplyAt(i)
	wasOff := s.made || !s.dueAt.IsZero() && s.offAt.After(s.dueAt)
	if s.output && !s.due && !s.uncut && !wasOff && !r.looksCycled(s, s.dueAt) {
		r.violate(at, 19, "the output of "+r.id(i)+" was called cut and is on")
	}
}

// rule19Reopened is rule 19 for what was called off and is called on again: then it is.
func (r *Referee) rule19Reopened(at time.Time, i int, state plan.State) {
	n := &r.nodes[i]
	claimed := n.shownOff && state != plan.Stopping || state == plan.On
	if claimed && n.now.State == plan.Off && !n.lied && !r.unseen(i) {
		r.violate(at, 19, r.id(i)+" was called on again and is off")
	}
}

// rule19End is rule 19 the other way round: what was shown as off is shown as back, also where nobody started it.
func (r *Referee) rule19End(at time.Time, reported []ledger.NodeState) {
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.shownOff && n.listed && !n.misled && !r.forgetful && n.now.State == plan.On && !r.unseenSince(at, i, closing) &&
			!isReported(reported, r.id(i)) {
			r.violate(at, 19, r.id(i)+" was shown as off, is on, and nothing on record says that it came back")
		}
	}
}

// End is how a run stands when it ends, in the controller's own words.
type End struct {
	Open    bool   // an outage is open
	Hold    bool   // an operator has put it on hold
	Waiting string // what it waits for
}

// Ended takes the end of a run, some hours after the last thing that happened to the estate.
func (r *Referee) Ended(at time.Time, end End) {
	if text := r.rule8(end); text != "" {
		r.violate(at, 8, text)
	}
	if !r.has(Records) && !end.Open && r.open { // nobody was told of anything that is not back
		r.close(at, nil)
	}
}

// rule8: After a crash at any record, resume reaches all restored, or all down and cut, or an explicit wait for a person.
//
// With the mains on for long everything is over, unless it is on hold, or says what it waits for and the mains are not there, or an output
// stays off until a person switches it on.
func (r *Referee) rule8(end End) string {
	switch {
	case !end.Open, end.Hold, r.stranded:
		return ""
	case end.Waiting == "":
		return "the outage is stuck and does not say on what"
	case !slices.ContainsFunc(r.supplies, func(s supply) bool { return !s.online || !s.output }):
		return "the outage is not over: " + end.Waiting
	default:
		return ""
	}
}

// strand follows whether nobody is left, which excuses an end that nobody can mend: our own machine is off, and a supply that was
// to start it again took its cut while its mains were there and did not make it (docs/systems/nut.md), after the machine had been
// told to go, or with nobody having seen it. Its cut is the last of all for that, and one more of it may come when another feed has
// its power again. It lasts until the machine is on.
func (r *Referee) strand() {
	self := -1
	uncut := func(f int) bool {
		s := r.supplyAt(f)
		told := r.nodes[self].toldAt
		return s.uncut && s.looks < looksLater || !told.IsZero() && s.uncutAt.After(told)
	}
	for i := range r.nodes {
		if r.estate.Node(i).Kind == plan.Self {
			self = i
			off := r.state(i) == plan.Off
			r.stranded = off && (r.stranded || slices.ContainsFunc(r.estate.Feeds(i), uncut))
		}
	}
}
