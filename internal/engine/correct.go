package engine

import (
	"slices"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// correction is one way in which a look shows a node otherwise than the records show it.
type correction struct {
	when string // in words: docs/ENGINE.md is made from this table
	is   func(*Engine, int) bool
	then func(*Engine, int)
}

// corrections are asked in this order of a node on which no step is under way, and the first that is so is put on record.
var corrections = [...]correction{
	{"it is up, and only the return of its power starts it: what feeds it was off and on again unheard", upAfterACycle, (*Engine).takeTheCycle},
	{"its stop was given up, and it is off", stopSettled, proves(plan.Stop)},
	{"its stop was given up without having reached it, and it answers", stopAnswers, (*Engine).stopAfterAll},
	{"its stop was taken and given up, and it is up all the same: what it took is void", stopIsVoid, func(e *Engine, i int) { e.sawOn(i) }},
	{"its start was given up, and it is on", startSettled, proves(plan.Start)},
	{"its flush was given up, and it is clean", flushSettled, proves(plan.Flush)},
	{"it was off, or told to go off, and is on, and so it is to be", cameBack, (*Engine).backByItself},
	{"it was off, and comes up behind an output that was cut, or may have been while Ebbtide was away: that may be on again", upBehindACut, (*Engine).askItsFeeds},
	{"it was off, and is up again", upAgain, (*Engine).stopOnceMore},
	{"it was brought up, and is off", fellOff, falls(plan.Start)},
	{"it was protected, and is not any more", unprotected, falls(plan.Protect)},
	{"it was put back, and is not as it was any more", notAsItWas, falls(plan.Unprotect)},
}

// correct puts on record what a look shows to be otherwise than the records show it, where no step is under way.
func (e *Engine) correct(i int) {
	decl, entry := e.estate.Node(i), e.entry(i)
	if e.nodes[i].work != nil || !e.beliefs[i].asked || decl.Kind == plan.Supply || !probed(decl) || !e.ledger.Outage.Scope[i] || !entry.Snap.Taken() {
		return
	}
	for k := range corrections {
		if c := corrections[k]; c.is(e, i) {
			c.then(e, i)
			return
		}
	}
}

func stopSettled(e *Engine, i int) bool { return e.entry(i).GivenUp.Has(plan.Stop) && e.isOff(i) }

func stopAnswers(e *Engine, i int) bool {
	n := e.entry(i)
	return n.GivenUp.Has(plan.Stop) && n.Untried.Has(plan.Stop) && e.isUp(i) && e.isDark(i) && n.Falls+1 < max(e.estate.Node(i).Attempts, 2)
}

func stopIsVoid(e *Engine, i int) bool {
	n := e.entry(i)
	return n.GivenUp.Has(plan.Stop) && n.Last.Taken && e.isUp(i)
}

func startSettled(e *Engine, i int) bool { return e.entry(i).GivenUp.Has(plan.Start) && e.isOn(i) }

func flushSettled(e *Engine, i int) bool {
	return e.entry(i).GivenUp.Has(plan.Flush) && e.goesDown(i) && e.holds(i, plan.Flush, 0)
}

func cameBack(e *Engine, i int) bool {
	n := e.entry(i)
	return (n.Shown == ledger.ShownOff || n.Shown == ledger.WasTold) && e.isOn(i) && n.Snap.On() && !e.goesDown(i)
}

// isUpAgain reports whether what was shown to be off was up when it last answered.
func (e *Estate) isUpAgain(i int) bool {
	state := e.beliefs[i].seen.State
	return e.entry(i).Shown == ledger.ShownOff && (state == plan.On || state == plan.Starting)
}

func upBehindACut(e *Engine, i int) bool {
	return e.isUpAgain(i) && e.isCutOff(i) || e.mayBeBack(i)
}

// mayBeBack reports whether a node was off, is up, is started by nothing but the return of its power, and that may be what has started it: an
// output that feeds it may have been cut while Ebbtide was away. Nobody stops it before that is known.
func (e *Estate) mayBeBack(i int) bool {
	return e.estate.Node(i).ByPower && e.isUpAgain(i) && slices.ContainsFunc(e.estate.Feeds(i), e.mayHaveBeenCut)
}

func upAgain(e *Engine, i int) bool {
	return e.isUpAgain(i) && e.isDark(i) && !e.isBackUnheard(i)
}

func fellOff(e *Engine, i int) bool {
	return e.entry(i).Shown == ledger.ShownOn && e.isOff(i) && !e.goesDown(i)
}

// unprotected reports whether a cache or a cluster that was protected on the way down is not any more: a late Unprotect has
// taken that off, or a person.
func unprotected(e *Engine, i int) bool {
	n, b := e.entry(i), &e.beliefs[i]
	return n.Protection == ledger.Protected && e.goesDown(i) && b.look > n.Last.Op && b.seen.State == plan.On && b.seen.Protected == plan.No
}

func notAsItWas(e *Engine, i int) bool {
	n, b := e.entry(i), &e.beliefs[i]
	return n.Protection == ledger.PutBack && b.answer == plan.On && b.look > n.Last.Op && !e.goesDown(i) && !e.holds(i, plan.Unprotect, n.Last.Op)
}

// proves makes what puts a step on record that settled after it had been given up.
func proves(verb plan.Verb) func(*Engine, int) {
	return func(e *Engine, i int) {
		cause := ledger.Cause("")
		if verb == plan.Stop {
			cause = e.proofOf(i)
		}
		e.writeDown(i, ledger.Proven, verb, "settled after it had been given up", cause)
	}
}

// falls makes what follows something that was brought about and did not last.
func falls(verb plan.Verb) func(*Engine, int) {
	return func(e *Engine, i int) { e.fell(i, verb) }
}

// writeDown puts on record what a look has shown of a node.
func (e *Engine) writeDown(i int, kind ledger.Kind, verb plan.Verb, reason string, cause ledger.Cause) {
	state := e.beliefs[i].seen.State
	e.record(ledger.Record{Kind: kind, Step: ledger.Step{Node: e.id(i), Verb: &verb, State: &state}, Reason: reason, Cause: cause})
}

func (e *Engine) stopAfterAll(i int) {
	e.writeDown(i, ledger.Reopened, plan.Stop, "could not be reached when it was given up, and answers", "")
	e.notify(true, e.id(i)+" was given up and answers: it is stopped after all")
}

// backByItself believes a look only if its answer is of now, however long that took: a node that was told to stop may have gone since.
func (e *Engine) backByItself(i int) {
	if e.beliefs[i].answer != plan.On || e.isOld(i, firstLook) {
		e.probe(i)
		return
	}
	e.writeDown(i, ledger.Proven, plan.Start, "it came back by itself", ledger.Already)
}

func (e *Engine) askItsFeeds(i int) {
	for _, f := range e.estate.Sources(i) {
		e.probe(f)
	}
}

func (e *Engine) stopOnceMore(i int) {
	e.writeDown(i, ledger.Reopened, plan.Stop, "was proven off and is not off any more", "")
	e.notify(true, e.id(i)+" was off and is "+e.beliefs[i].seen.State.String()+" again: it is stopped once more")
}

// cycledUnseen lists, of a node that was off, that only the return of its power starts, and that is up, the supplies that were to be
// cut, were not heard for a while, and have been off and on again then.
func (e *Engine) cycledUnseen(i int) []int {
	if !e.estate.Node(i).ByPower || e.entry(i).Shown != ledger.ShownOff || e.entry(i).Early || !e.showsUp(i) {
		return nil
	}
	var cycled []int
	for _, f := range e.estate.Feeds(i) {
		k := e.ledger.SupplyOf[f]
		st := e.standing(k)
		unseen := st.Unseen && (st.Cycle == ledger.Committed || st.Cycle == ledger.CutSent) && e.nodes[f].work == nil
		settled := e.mayHaveBeenCut(f) && e.beliefs[f].seen.State == plan.On && slices.Contains(e.cycledBy(f), i)
		if e.isHeardOnLine(k) && (unseen || settled) {
			cycled = append(cycled, k)
		}
	}
	return cycled
}

func upAfterACycle(e *Engine, i int) bool { return len(e.cycledUnseen(i)) > 0 }

func (e *Engine) takeTheCycle(i int) {
	for _, k := range e.cycledUnseen(i) {
		if f := e.supplies[k].node; e.nodes[f].work != nil {
			e.settleCut(f)
			continue
		}
		e.cycled(k, "its output was off: what only the return of its power starts is on again")
	}
}

// fell follows what was brought about and did not last: it is brought about once more, as often as that may be tried, and
// then reported.
func (e *Engine) fell(i int, verb plan.Verb) {
	decl, entry, state := e.estate.Node(i), e.entry(i), e.beliefs[i].seen.State
	why, what := "was brought up and is not up any more", "started"
	switch verb {
	case plan.Protect:
		why, what = "was protected and is not any more", "protected"
	case plan.Unprotect:
		why, what = "was put back and is not as it was any more", "put back"
	default:
	}
	if entry.Falls+1 < max(decl.Attempts, 2) && state != plan.Gone {
		e.record(ledger.Record{Kind: ledger.Reopened, Step: ledger.Step{Node: decl.ID, Verb: &verb, State: &state}, Reason: why})
		e.notify(true, decl.ID+" "+why+": it is "+what+" once more")
		return
	}
	e.record(ledger.Record{Kind: ledger.Failed, Step: ledger.Step{Node: decl.ID, Verb: &verb, State: &state}, Reason: why})
	e.notify(true, "could not keep "+decl.ID+" "+what)
}
