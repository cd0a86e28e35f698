package engine

import (
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// question is a probe that is under way.
type question struct {
	op     ledger.Op // 0: none is
	asked  time.Time
	guards []int     // nodes whose step waits for the answer
	told   time.Time // when a watch last told of the node
}

// probe asks after a node, unless that is under way.
func (e *Engine) probe(i int) {
	n := &e.nodes[i]
	if n.question.op != 0 || !probed(e.estate.Node(i)) {
		return
	}
	n.question.op, n.question.asked = e.newOp(i), e.now
	e.out = append(e.out, Probe{Op: n.question.op, Node: e.id(i), Within: probeWithin})
}

// answered takes the answer of a probe.
func (e *Engine) answered(i int, ev Finished) {
	n := &e.nodes[i]
	question, asked := n.question.op, n.question.asked
	n.question.op = 0
	seen := ev.Seen
	switch ev.Outcome {
	case ledger.Done:
	case ledger.NoSuchThing:
		seen = plan.Observation{State: plan.Gone, Detail: ev.Detail}
	case ledger.Unreached: // it could not be asked, which is no silence of its own
		seen = plan.Observation{State: plan.Unreachable, Detail: ev.Detail}
		e.beliefs[i].unasked = true
	case ledger.Refused, ledger.Busy, ledger.TimedOut: // no answer was had, which proves nothing
		seen = plan.Observation{State: plan.Unknown, Detail: ev.Detail}
	}
	defer func() { e.beliefs[i].unasked = false }()
	if question <= e.beliefs[i].epoch || e.asksAgain(i, seen.State) {
		e.unsurvey(i)
		e.probe(i)
		return
	}
	e.see(i, seen, question, asked)
	waiting := n.question.guards
	n.question.guards = nil
	for _, g := range waiting {
		e.guardAnswered(g)
	}
}

// mostDoubts is how often in a row a node is asked again because its last two answers disagree, and half as often as it is asked
// again at all before it is taken to waver: then each answer counts as it comes, and none is asked for again at once.
const mostDoubts = 3

// asksAgain reports whether an answer is asked for once more before it is believed: it may be older than what a watch has
// told since the question, or it says of a node that nobody told to that it is off, or on, where it was otherwise, or where the
// answer before it was.
func (e *Engine) asksAgain(i int, state plan.State) bool {
	n := &e.nodes[i]
	b := &e.beliefs[i]
	older := n.question.told.After(n.question.asked)
	torn := b.doubt != plan.Unknown && b.doubts < mostDoubts // the last two disagree: it is one of them that was wrong
	b.twice = state == b.doubt && state != plan.Unknown
	if state == b.seen.State || b.twice {
		b.wavers = false
	}
	if b.doubts >= 2*mostDoubts {
		b.wavers = true
	}
	if b.doubt != plan.Unknown && !e.tellsOfPower(i, state) { // it was contradicted, and says nothing now: neither counts
		b.looks, b.proof = 0, noProof
		e.touch(i)
	}
	if n.work != nil || b.twice || b.wavers || !torn && !e.isOdd(i, state) || !e.tellsOfPower(i, state) {
		b.doubt, b.doubts = plan.Unknown, 0
		return older
	}
	b.doubt = state
	b.doubts++
	return true
}

// tellsOfPower reports whether an answer is one that may be wrong about a node's power. That an output counts down to its cut is not:
// what follows would be misread without.
func (e *Estate) tellsOfPower(i int, state plan.State) bool {
	return state == plan.On || isDown(state) || state == plan.Stopping && e.ledger.SupplyOf[i] < 0
}

// isDown reports whether a node is off for good: gone is so too, and may be said of what can't be seen for a moment, as off may.
func isDown(state plan.State) bool { return state == plan.Off || state == plan.Gone }

// isOdd reports whether an answer is another than what is known of a node, or the first since then. Of an output only on and off are.
func (e *Estate) isOdd(i int, state plan.State) bool {
	b := &e.beliefs[i]
	known := b.seen.State == plan.On || b.seen.State == plan.Off || b.seen.State != plan.Unknown && e.ledger.SupplyOf[i] < 0
	if !known {
		return b.looks == 0
	}
	return state != b.seen.State
}

// observed takes what a watch told: it is as new as the moment.
func (e *Engine) observed(ev Observed) {
	if i, ok := e.estate.Index(ev.Node); ok {
		e.nodes[i].question.told = e.now
		e.see(i, ev.Seen, e.nextOp+1, e.now) // after every command that was given
	}
}

// see takes what was seen of a node, and follows what it means.
func (e *Engine) see(i int, seen plan.Observation, question ledger.Op, asked time.Time) {
	n := &e.nodes[i]
	if k := e.ledger.SupplyOf[i]; k >= 0 && seen.State == plan.On && e.standing(k).Cycle >= ledger.CutProven && e.supplies[k].saysOff() {
		seen.State = plan.Off // its own readings say that the output is off still
	}
	e.believe(i, seen, question, asked)
	if e.beliefs[i].looks == 1 && !e.beliefs[i].wavers && e.beliefs[i].answer == e.beliefs[i].seen.State && (seen.State == plan.On || isDown(seen.State)) {
		e.probe(i) // one look proves nothing
	}
	if b := &e.beliefs[i]; b.answer == plan.Unreachable && b.proof == noProof && !b.silent.IsZero() {
		for _, outlet := range e.oldOutlets(i) { // by which its silence may be explained
			e.probe(outlet)
		}
	}
	e.settleIn(i)
	if e.ledger.Outage != nil {
		if k := e.ledger.SupplyOf[i]; k >= 0 {
			e.seeOutput(k)
		}
		e.surveyed(i)
		e.foundOn(i)
		e.noteSeen(i)
	}
	e.touch(i)
	if n.work != nil {
		e.judge(i)
	}
}

// settleIn follows a node that is proven on or off, and was not so before, or not off any more: what it carries comes up or goes with it.
func (e *Engine) settleIn(i int) {
	was := e.beliefs[i].settled
	switch {
	case e.isOff(i):
		e.beliefs[i].settled = plan.Off
	case e.isOn(i):
		e.beliefs[i].settled = plan.On
	case was == plan.Off: // it may be on its way up
		e.beliefs[i].settled = plan.Unknown
	}
	if was == e.beliefs[i].settled {
		return
	}
	told := e.ledger.Outage != nil && e.entry(i).Shown != ledger.AsFound
	switch kind := e.estate.Node(i).Kind; {
	case kind == plan.Host:
		e.renewGuests(i)
	case kind == plan.Outlet && (was != plan.Unknown || told):
		e.renewBehind(i)
	}
}

// renewBehind begins a new epoch of what hangs on an outlet that went on or off. What is off does not come up by losing its power.
func (e *Engine) renewBehind(outlet int) {
	for _, u := range e.estate.Dependents(outlet) {
		if e.beliefs[outlet].settled != plan.Off || !e.isOff(u) {
			e.renew(u)
		}
	}
}

// renewGuests begins a new epoch of the VMs on a host that went off or came up, and of what else runs on it: they went with it, and may
// start with it.
func (e *Engine) renewGuests(host int) {
	for _, u := range e.estate.Users(host) {

		if e.hostOf(u) != host || e.isOff(host) && e.isOff(u) {
			continue
		}
		e.beliefs[u].epoch = e.nextOp
		e.beliefs[u].looks, e.beliefs[u].proof, e.beliefs[u].asked = 0, noProof, false
		e.probe(u)
		e.touch(u)
	}
}

// seeOutput follows what a look at a supply's output showed.
func (e *Engine) seeOutput(k int) {
	s, st := &e.supplies[k], e.standing(k)
	b := &e.beliefs[s.node]
	if b.answer != b.seen.State {
		return // it did not answer
	}
	switch {
	case b.seen.State == plan.Stopping:
		s.cutDue = e.now.Add(b.seen.RemainFor)
	case e.isOff(s.node) && st.Cycle != ledger.Uncut && !st.Cycle.IsDark():
		e.wentOff(k)
	case b.seen.State == plan.Off && st.Cycle >= ledger.CutSent:
		s.output.offSeen = true
	case b.seen.State == plan.On && st.Cycle >= ledger.CutProven:
		e.seeUncut(k)
	}
	if b.seen.State != plan.Off {
		s.output.onAt = b.seenAt
	}
}

// seeUncut follows a look that shows an output on whose cut was proven: it was off and is on again, or the cut was not made. What nobody
// watched counts as made: a second cut would hit what has come back, and what has not is reported.
func (e *Engine) seeUncut(k int) {
	s := &e.supplies[k]
	says := e.beliefs[s.node].seen.Uncut // its UPS says so itself
	switch {
	case s.output.offSeen || e.standing(k).Cycle.IsDark():
		e.backOn(k, "its output is on again")
	case !says && !e.watchedCut(s) && !e.now.Before(s.cutDue.Add(unwatched)):
		e.cycled(k, "its output is on again")
	case says || !e.now.Before(s.cutDue.Add(cutMargin)):
		e.cutNotMade(k)
	}
}

// watchedCut reports whether the output of a supply was looked at right before its cut was due, and again after that, so that it
// was not off in between.
func (e *Estate) watchedCut(s *supply) bool {
	return !s.cutDue.IsZero() && s.output.onAt.Add(unwatched).After(s.cutDue)
}

// cutNotMade follows a supply that took its cut and did not make it: nothing has been cycled, so that it is cut once more,
// as often as anything is tried. After that it is reported, and what waits for its cycle is left to a person.
func (e *Engine) cutNotMade(k int) {
	s := &e.supplies[k]
	verb, state := plan.Cut, plan.On
	id := e.id(s.node)
	const why = "it took its cut and did not make it"
	s.cutDue = time.Time{}
	if e.standing(k).Missed+1 >= max(e.estate.Node(s.node).Attempts, 2) {
		e.record(ledger.Record{Kind: ledger.Failed, Step: ledger.Step{Node: id, Verb: &verb, State: &state}, Reason: why})
		e.notify(true, "could not cut the output of "+id+": "+why+"; what starts by its power alone needs a person")
	} else {
		e.record(ledger.Record{Kind: ledger.Reopened, Step: ledger.Step{Node: id, Verb: &verb, State: &state}, Reason: why})
		e.notify(true, "the output of "+id+" is on: "+why+", and is cut once more")
	}
}
