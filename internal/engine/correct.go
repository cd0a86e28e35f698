package engine

import (
	"slices"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
	"ebbtide/internal/work"
)

// correction is one way in which a look shows a node otherwise than the records show it.
type correction struct {
	when string // in words: docs/ENGINE.md is made from this table
	is   func(*Engine, int) bool
	then func(*Engine, int)
}

// corrections are asked in this order of a node on which no step is under way, and the first that is so is put on record.
var corrections = [...]correction{
	{"it is up, and only the return of its power starts it: what feeds it was off and on again unnoticed", upAfterACycle, (*Engine).takeTheCycle},
	{"its stop was given up, and it is off", stopSettled, proves(plan.Stop)},
	{"its stop was given up without having reached it, and it answers now", stopAnswers, afterAll(plan.Stop, "stopped")},
	{"its put-back was given up without having reached it, and it answers now", (*Engine).PutsBackAtLast, afterAll(plan.Unprotect, "put back as it was")},
	{"its stop was accepted, and it is still up, or up again: what it accepted is void", (*Engine).StopIsVoid, (*Engine).voidStop},
	{"its start was given up, and it is on", startSettled, proves(plan.Start)},
	{"its start was given up without having reached it, and who starts it answers now", (*Engine).StartsAtLast, afterAll(plan.Start, "started")},
	{"its flush was given up, and it is clean", flushSettled, proves(plan.Flush)},
	{"it was off, or told to go off, and is on, and so it is to be", cameBack, (*Engine).backByItself},
	{"it was off, and comes up behind an output that was cut, or may have been while Ebbtide was not running: that may be on again", upBehindACut, (*Engine).askItsFeeds},
	{"it was off, and is up again", upAgain, (*Engine).stopOnceMore},
	{"it was brought up, and is off", fellOff, relapse(plan.Start)},
	{"it was protected but no longer is", unprotected, relapse(plan.Protect)},
	{"it was put back but is no longer as it was", notAsItWas, relapse(plan.Unprotect)},
}

// correct puts on record what a look shows to be otherwise than the records show it, where no step is under way.
func (e *Engine) correct(i int) {
	decl, entry := e.Graph.Node(i), e.Entry(i)
	if e.Under[i] >= 0 || !e.Beliefs[i].Asked || decl.Kind == plan.Supply || !belief.Probed(decl) || !e.Ledger.Outage.Scope[i] ||
		!entry.Snap.Taken() {
		return
	}
	for k := range corrections {
		if c := corrections[k]; c.is(e, i) {
			c.then(e, i)
			return
		}
	}
}

func stopSettled(e *Engine, i int) bool {
	return e.Entry(i).GivenUp.Has(plan.Stop) && e.IsOff(i) && e.AnswersOff(i) && !e.IsOld(i, belief.ProofAge)
}

func stopAnswers(e *Engine, i int) bool {
	n, isPlug := e.Entry(i), e.Graph.Node(i).Switches && e.Press[i] >= want.LastCall // which goes no more
	return n.GivenUp.Has(plan.Stop) && e.AnswersAtLast(i) && !isPlug && e.IsDark(i)
}

func startSettled(e *Engine, i int) bool { return e.Entry(i).GivenUp.Has(plan.Start) && e.IsOn(i) }

func flushSettled(e *Engine, i int) bool {
	n := e.Entry(i)
	return n.GivenUp.Has(plan.Flush) && e.GoesDown(i) && e.Holds(i, plan.Flush, n.CommandedBy(plan.Flush))
}

func cameBack(e *Engine, i int) bool {
	n := e.Entry(i)
	return (n.Shown == ledger.ShownOff || n.Shown == ledger.WasTold) && e.IsOn(i) && n.Snap.On() && !e.GoesDown(i)
}

func upBehindACut(e *Engine, i int) bool {
	return e.IsUpAgain(i) && e.IsCutOff(i) || e.AwaitsReturn(i)
}

func upAgain(e *Engine, i int) bool {
	return e.IsUpAgain(i) && e.IsDark(i) && !e.IsBackUnheard(i)
}

func fellOff(e *Engine, i int) bool {
	return e.Entry(i).Shown == ledger.ShownOn && e.IsOff(i) && !e.GoesDown(i)
}

// unprotected reports whether a cache or a cluster that was protected on the way down is not any more: a late Unprotect has
// taken that off, or a person.
func unprotected(e *Engine, i int) bool {
	n, b := e.Entry(i), &e.Beliefs[i]
	return n.Protection == ledger.Protected && e.GoesDown(i) && b.Look > n.Last.Op && b.Seen.State == plan.On && b.Seen.Protected == plan.No
}

func notAsItWas(e *Engine, i int) bool {
	n, b := e.Entry(i), &e.Beliefs[i]
	return n.Protection == ledger.PutBack && b.Answer == plan.On && b.Look > n.Last.Op && !e.GoesDown(i) &&
		!e.Holds(i, plan.Unprotect, n.Last.Op)
}

// proves makes what puts a step on record that settled after it had been given up.
func proves(verb plan.Verb) func(*Engine, int) {
	return func(e *Engine, i int) {
		cause := ledger.Cause("")
		if verb == plan.Stop {
			cause = e.ProofOf(i)
		}
		e.writeDown(i, ledger.Proven, verb, "settled after it had been given up", cause)
	}
}

// afterAll makes what follows a step that was given up without having reached its node, which answers now.
func afterAll(verb plan.Verb, done string) func(*Engine, int) {
	return func(e *Engine, i int) {
		e.writeDown(i, ledger.Reopened, verb, "could not be reached when it was given up, but answers now", "")
		e.Notify(true, e.ID(i)+" could not be "+done+", but answers now: it "+e.Would("is being ", "would be ")+done+" after all")
	}
}

// relapse makes what follows something that was brought about and did not last.
func relapse(verb plan.Verb) func(*Engine, int) {
	return func(e *Engine, i int) { e.fell(i, verb) }
}

// writeDown puts on record what a look has shown of a node.
func (e *Engine) writeDown(i int, kind ledger.Kind, verb plan.Verb, reason string, cause ledger.Cause) {
	state := e.Beliefs[i].Seen.State
	e.Record(ledger.Record{Kind: kind, Step: ledger.Step{Node: e.ID(i), Verb: &verb, State: &state}, Reason: reason, Cause: cause})
}

// backByItself believes a look only if its answer is of now, however long that took: a node that was told to stop may have gone since.
func (e *Engine) backByItself(i int) {
	if e.Beliefs[i].Answer != plan.On || e.IsOld(i, work.FirstLook) {
		e.Probe(i)
		return
	}
	e.writeDown(i, ledger.Proven, plan.Start, "it came back by itself", ledger.Already)
}

func (e *Engine) askItsFeeds(i int) {
	for _, f := range e.Graph.Sources(i) {
		e.Probe(f)
	}
}

func (e *Engine) stopOnceMore(i int) {
	e.writeDown(i, ledger.Reopened, plan.Stop, "was proven off but is no longer off", "")
	e.Notify(true, e.ID(i)+" was off and is "+e.Beliefs[i].Seen.State.String()+" again: it "+e.Would("is being", "would be")+" stopped again")
}

// cycledUnseen lists, of a node that was off, that only the return of its power starts, and that is up, the supplies that were to be
// cut, were not heard for a while, and have been off and on again then.
func (e *Engine) cycledUnseen(i int) []int {
	if !e.Graph.Node(i).ByPower || e.Entry(i).Shown != ledger.ShownOff || e.Entry(i).Early || !e.ShowsUp(i) {
		return nil
	}
	var cycled []int
	for _, f := range e.Graph.Feeds(i) {
		k := e.Ledger.SupplyOf[f]
		st := e.Standing(k)
		unseen := st.Unseen && (st.Cycle == ledger.Committed || st.Cycle == ledger.CutSent) && e.Under[f] < 0
		settled := e.MayHaveBeenCut(f) && e.Beliefs[f].Seen.State == plan.On && slices.Contains(e.CycledBy(f), i)
		if e.IsHeardOnLine(k) && (unseen || settled) {
			cycled = append(cycled, k)
		}
	}
	return cycled
}

func upAfterACycle(e *Engine, i int) bool { return len(e.cycledUnseen(i)) > 0 }

func (e *Engine) takeTheCycle(i int) {
	for _, k := range e.cycledUnseen(i) {
		if f := e.Supplies[k].Node; e.Under[f] >= 0 {
			e.SettleCut(f)
			continue
		}
		e.Cycled(k, "its output was off: a node that only the return of its power starts is on again")
	}
}

// fell follows what was brought about and did not last: it is brought about once more, as often as that may be tried, and
// then reported.
func (e *Engine) fell(i int, verb plan.Verb) {
	decl, entry, state := e.Graph.Node(i), e.Entry(i), e.Beliefs[i].Seen.State
	why, what := "was brought up but is no longer up", "started"
	switch verb {
	case plan.Protect:
		why, what = "was protected but no longer is", "protected"
	case plan.Unprotect:
		why, what = "was put back but is no longer as it was", "put back"
	default:
	}
	if entry.Relapses+1 < max(decl.Attempts, 2) && state != plan.Gone {
		e.Record(ledger.Record{Kind: ledger.Reopened, Step: ledger.Step{Node: decl.ID, Verb: &verb, State: &state}, Reason: why})
		e.Notify(true, decl.ID+" "+why+": it "+e.Would("is being ", "would be ")+what+" again")
		return
	}
	e.Record(ledger.Record{Kind: ledger.Failed, Step: ledger.Step{Node: decl.ID, Verb: &verb, State: &state}, Reason: why})
	e.Notify(true, decl.ID+" did not stay "+what+"; no further attempts "+e.Would("will be", "would be")+" made")
}
