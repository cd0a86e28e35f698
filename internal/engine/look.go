package engine

import (
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// answered takes the answer of a probe.
func (e *Engine) answered(i int, ev Finished) {
	q := e.TakeAnswer(i)
	seen := ev.Seen
	switch ev.Outcome {
	case ledger.Done:
	case ledger.NoSuchThing:
		seen = plan.Observation{State: plan.Gone, Detail: ev.Detail}
	case ledger.Unreached: // it could not be asked, which is no silence of its own
		seen = plan.Observation{State: plan.Unreachable, Detail: ev.Detail}
		e.Beliefs[i].Unasked = true
	case ledger.Refused, ledger.Busy, ledger.TimedOut: // no answer was had, which proves nothing
		seen = plan.Observation{State: plan.Unknown, Detail: ev.Detail}
	}
	defer func() { e.Beliefs[i].Unasked = false }()
	b := &e.Beliefs[i]
	isPast, isUp := q.Op <= b.Epoch, seen.State == plan.On || seen.State == plan.Starting
	if isPast || e.asksAgain(i, seen.State, q.Older) {
		if isUp {
			e.HeardOnce(i, seen.State)
			e.noteVoid(i)
		}
		if isUp && b.Proof != belief.NoProof { // and not off, as it counts still
			b.Doubt = seen.State
			e.Touch(i)
		}
		e.unsurvey(i)
		e.Probe(i)
		return
	}
	e.see(i, seen, q.Op, q.Asked)
	e.PassOn(i)
	if e.Ledger.Outage != nil {
		e.CommitTogether()
	}
}

// mostDoubts is how often in a row a node is asked again because its last two answers disagree, and half as often as it is asked
// again at all before it is taken to waver: then each answer counts as it comes, and none is asked for again at once.
const mostDoubts = 3

// asksAgain reports whether an answer is asked for once more before it is believed: it may be older than what a watch has
// told since the question, or it says of a node that nobody told to that it is off, or on, where it was otherwise, or where the
// answer before it was.
func (e *Engine) asksAgain(i int, state plan.State, older bool) bool {
	b := &e.Beliefs[i]
	torn := b.Doubt != plan.Unknown && b.Doubts < mostDoubts // the last two disagree: it is one of them that was wrong
	b.Twice = state == b.Doubt && state != plan.Unknown
	if state == b.Seen.State || b.Twice {
		b.Wavers = false
	}
	if b.Doubts >= 2*mostDoubts {
		b.Wavers = true
	}
	if b.Doubt != plan.Unknown && !e.TellsOfPower(i, state) { // it was contradicted, and says nothing now: neither counts
		e.Contradicted(i)
		e.Touch(i)
	}
	if e.Under[i] >= 0 || b.Twice || b.Wavers || !torn && !e.IsOdd(i, state) || !e.TellsOfPower(i, state) {
		b.Doubt, b.Doubts = plan.Unknown, 0
		return older
	}
	b.Doubt = state
	b.Doubts++
	return true
}

// observed takes what a watch told: it is as new as the moment.
func (e *Engine) observed(ev Observed) {
	if i, ok := e.Graph.Index(ev.Node); ok {
		e.Told(i)
		e.see(i, ev.Seen, e.NextOp+1, e.Now) // after every command that was given
	}
}

// see takes what was seen of a node, and follows what it means.
func (e *Engine) see(i int, seen plan.Observation, question ledger.Op, asked time.Time) {
	if k := e.Ledger.SupplyOf[i]; k >= 0 && seen.State == plan.On && e.Standing(k).Cycle >= ledger.CutProven && e.Supplies[k].SaysOff() {
		seen.State = plan.Off // its own readings say that the output is off still
	}
	mayBeBack := e.MayHaveBeenOff(i)
	e.Believe(i, seen, question, asked)
	if e.provesNothing(i) {
		e.Probe(i)
	}
	e.askAround(i)
	e.SettleIn(i)
	if mayBeBack && e.Beliefs[i].Answer == plan.On { // and what runs on it with it, which may be up again too
		e.RenewGuests(i, true)
	}
	if e.Ledger.Outage != nil {
		if k := e.Ledger.SupplyOf[i]; k >= 0 {
			e.seeOutput(k)
		}
		e.surveyed(i)
		e.foundOn(i)
		e.noteSeen(i)
	}
	e.Touch(i)
	e.Judge(i)
}

// provesNothing reports whether a look is to be confirmed: it is the first to say so, or is from before a command's time was over.
func (e *Engine) provesNothing(i int) bool {
	b := &e.Beliefs[i]
	// which silence would prove off
	isFirst := b.Looks == 1 && !b.Wavers && b.Answer == b.Seen.State &&
		(b.Answer == plan.On || belief.IsDown(b.Answer) || b.Answer == plan.Starting && e.AcceptedStop(i))
	return isFirst || b.IsOutlived(e.Now)
}

// askAround asks after what may explain that a node does not answer: the outlets before it, who else is on the way to it, and its host.
func (e *Engine) askAround(i int) {
	b := &e.Beliefs[i]
	if b.Answer == plan.Unreachable {
		if b.Proof != belief.NoProof || !b.Silent.IsZero() {
			for _, outlet := range e.OldOutlets(i) {
				e.Probe(outlet)
			}
		}
		if e.AcceptedStop(i) && !e.IsOff(i) {
			for _, w := range e.Witnesses(i) {
				e.Probe(w)
			}
		}
	}
	if host := e.HostToAsk(i); host >= 0 {
		e.Probe(host)
	}
}

// seeOutput follows what a look at a supply's output showed.
func (e *Engine) seeOutput(k int) {
	s, st := &e.Supplies[k], e.Standing(k)
	b := &e.Beliefs[s.Node]
	if b.Answer != b.Seen.State {
		return // it did not answer
	}
	switch isCut := st.Cycle >= ledger.CutSent; {
	case b.Seen.State == plan.Stopping && (isCut || b.Seen.RemainFor > 0):
		s.CutDue = e.Now.Add(b.Seen.RemainFor)
	case !isCut && b.Seen.State != plan.Off: // it was made, and the output is on again, which its UPS has not seen; or was called off
		s.CutDue = time.Time{}
	case e.IsOff(s.Node) && st.Cycle != ledger.Uncut && !st.Cycle.IsDark():
		e.wentOff(k)
	case b.Seen.State == plan.Off && st.Cycle >= ledger.CutSent:
		s.Output.OffSeen = true
	case b.Seen.State == plan.On && st.Cycle >= ledger.CutProven:
		e.seeUncut(k)
	}
	if b.Seen.State != plan.Off {
		s.Output.OnAt = b.SeenAt
	}
}

// seeUncut follows a look that shows an output on whose cut was proven: it was off and is on again, or the cut was not made. What nobody
// watched counts as made: a second cut would hit what has come back, and what has not is reported.
func (e *Engine) seeUncut(k int) {
	s := &e.Supplies[k]
	says := e.Beliefs[s.Node].Seen.Uncut // its UPS says so itself
	switch {
	case s.Output.OffSeen || e.Standing(k).Cycle.IsDark():
		e.backOn(k, "its output is on again")
	case !says && !e.WatchedCut(s) && !e.Now.Before(s.CutDue.Add(belief.Unwatched)):
		e.Cycled(k, "its output is on again")
	case says || !e.Now.Before(s.CutDue.Add(cutMargin)):
		e.cutNotMade(k)
	}
}

// cutNotMade follows a supply that took its cut and did not make it: nothing has been cycled, so that it is cut once more,
// as often as anything is tried. After that it is reported, and what waits for its cycle is left to a person.
func (e *Engine) cutNotMade(k int) {
	s := &e.Supplies[k]
	verb, state := plan.Cut, plan.On
	id := e.ID(s.Node)
	const why = "accepted its cut but did not carry it out"
	s.CutDue = time.Time{}
	if s.State.Mains == power.MainsOnline && s.State.SilentFor == 0 && !e.NeedsCycle(k) {
		e.Record(ledger.Record{Kind: ledger.Mains, Cause: ledger.Released, Power: ledger.Power{Supplies: []string{id}}, Reason: "it " +
			why + ", and its mains are back"})
		e.Notify(true, id+e.Would(" will not be cut", " would not be cut")+": it "+why+", its mains are back, and nothing is waiting for the cut")
		return
	}
	if e.Standing(k).Missed+1 >= max(e.Graph.Node(s.Node).Attempts, 2) {
		e.Record(ledger.Record{Kind: ledger.Failed, Step: ledger.Step{Node: id, Verb: &verb, State: &state}, Reason: "it " + why})
		e.Notify(true, "could not cut the output of "+id+": it "+why+"; "+e.ByHand(k))
	} else {
		e.Record(ledger.Record{Kind: ledger.Reopened, Step: ledger.Step{Node: id, Verb: &verb, State: &state}, Reason: why})
		e.Notify(true, "the output of "+id+" is on: it "+why+e.Would("; it is being cut again", "; it would be cut again"))
	}
}
