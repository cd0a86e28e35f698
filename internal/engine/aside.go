package engine

import (
	"ebbtide/internal/plan"
)

// What Protect has done may be undone behind our back on the way down: by an Unprotect of a way up that was cut short,
// which was given up and is carried out late, or by a person. Where the first may come, the protection is looked at again
// before anything goes on that rests on it; and whenever one is seen to be gone, it is made again first.

// bare tells whether a cache or a cluster that was protected on the way down is not any more.
func (e *Engine) bare(i int) bool {
	n, r := &e.nodes[i], e.run
	return r != nil && r.goal == plan.Down && r.snapped && r.scope[i] && n.done.Has(plan.Protect) && !n.down && n.seen.State == plan.On && n.seen.Protected == plan.No
}

// protectAgain takes the protection of a node up again, and the flush that came after it. What waits at its guard waits
// anew, for whatever of this it rests on. A protection that can't be kept is reported, and keeps nothing back.
func (e *Engine) protectAgain(i int) {
	n := &e.nodes[i]
	if x := n.exec; x != nil && x.phase != guarding && x.verb != plan.Flush {
		return // it is told to stop already
	}
	verb, state := plan.Protect, n.seen.State
	const why = "was protected and is not any more"
	n.done &^= plan.VerbSet(plan.Protect, plan.Flush)
	if n.open != nil && n.open.verb == plan.Flush {
		n.open = nil
	}
	if n.falls++; n.falls < max(e.estate.Node(i).Attempts, 2) {
		e.record(Record{Kind: Reopened, Node: e.id(i), Verb: &verb, State: &state, Reason: why})
		e.notify(true, e.id(i)+" "+why+": it is protected once more")
	} else {
		n.bad |= plan.VerbSet(plan.Protect)
		n.nextLook = e.now.Add(failedLook)
		e.record(Record{Kind: Failed, Node: e.id(i), Verb: &verb, State: &state, Reason: why})
		e.notify(true, "could not keep "+e.id(i)+" protected")
	}
	for j := range e.nodes {
		if x := e.nodes[j].exec; x != nil && x.goal == plan.Down && (x.phase == guarding || j == i) {
			e.holdBack(j, e.id(i)+" "+why)
		}
	}
	if e.run.surveys == 0 { // the end of a survey rebuilds by itself
		e.rebuild()
	}
}

// awaitLoose lets a guard wait for a look at each protection that a late Unprotect may have taken off. One that has not
// answered lately is not waited for each time.
func (e *Engine) awaitLoose(i int) {
	for c := range e.nodes {
		n := &e.nodes[c]
		mute := n.probe == 0 && n.seenAt.Before(n.asked) && e.now.Sub(n.asked) < lookAge
		if c != i && n.loose && n.done.Has(plan.Protect) && !n.down && !mute && e.now.Sub(n.seenAt) > proofAge && !e.stranded(c) {
			e.await(i, c)
		}
	}
}
