package engine

import (
	"slices"
	"strings"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/want"
	"ebbtide/internal/work"
)

// open opens an outage or a drill with its first record, and reports whether that stands.
func (e *Engine) open(r ledger.Record) bool {
	id := e.Now.UTC().Format("20060102T150405Z")
	if id <= e.Ledger.Newest { // several in one second, or the clock was set back
		id = e.Ledger.Newest + "b"
	}
	r.Kind, r.Outage, r.Seq, r.Format, r.Members, r.Nodes = ledger.Opened, id, 1, ledger.FormatNow, e.settings.Members, e.LastSeen()
	e.MovedAt, e.ResumedAt, e.closing, e.settleBy, e.said = e.Now, time.Time{}, time.Time{}, time.Time{}, ""
	e.Course.Clear()
	for i := range e.Beliefs {
		e.Pause[i], e.awaited[i] = time.Time{}, notAwaited
	}
	e.surveying = 0
	return e.Record(r)
}

// openOutage begins an outage with its first failing supply.
func (e *Engine) openOutage(k int) {
	s := &e.Supplies[k]
	scope := e.Graph.Scope(func(i int) bool { return i == s.Node })
	if !e.open(ledger.Record{
		Opening: ledger.Opening{Mode: e.settings.Mode, Digest: e.Graph.Plan(plan.Down, func(i int) bool { return scope[i] }).Digest()},
		Power: ledger.Power{
			Supplies: []string{e.ID(s.Node)}, Off: s.SaysOff(), Unfit: !s.State.Failing(),
			Replace: s.State.ReplaceBattery,
		}, Reason: e.Tells(s),
	}) {
		return
	}
	e.watch[k].still = e.Now.Add(stillFirst - stillEvery)
	e.failsOff(s)
	e.Notify(true, "power failure at "+e.ID(s.Node)+": "+e.Tells(s))
	e.survey()
	e.askForEstimate()
}

// saw puts on record that a node was seen so, and why that counts.
func (e *Engine) saw(i int, state plan.State, cause ledger.Cause) {
	e.Record(ledger.Record{Kind: ledger.Seen, Nodes: []ledger.NodeState{{Node: e.ID(i), State: state}}, Cause: cause})
}

// noteSeen puts on record that what the outage does not concern is on, which it was not when that began, or is not any more: a supply of it
// may fail too, and what comes back then is what was on right before. And that what took a stop is up all the same, or again, or that what
// goes down comes up.
func (e *Engine) noteSeen(i int) {
	o, b, decl := e.Ledger.Outage, &e.Beliefs[i], e.Graph.Node(i)
	if e.noteVoid(i) {
		return
	}
	if state := e.ComesUnrecorded(i); state != plan.Unknown {
		e.saw(i, state, "")
		return
	}
	if o.Scope[i] || decl.Kind == plan.Supply || !belief.Probed(decl) {
		return
	}
	seenOn := o.Nodes[i].Snap.SeenOn
	// which may have failed too
	silent := b.Answer != b.Seen.State && min(e.Now.Sub(b.OnAt), e.Now.Sub(e.ResumedAt)) >= belief.TrustLast && !e.FeedIsUnheard(i)
	switch {
	case !seenOn && e.IsUp(i):
		e.saw(i, plan.On, "")
	case seenOn && (e.IsOff(i) && !e.FeedIsUnheard(i) || silent):
		e.saw(i, b.Answer, "")
	}
}

// noteVoid puts on record that the stop of a node is void, if it is.
func (e *Engine) noteVoid(i int) bool {
	isVoid := e.Ledger.Outage != nil && e.StopIsVoid(i)
	if isVoid {
		e.voidStop(i)
	}
	return isVoid
}

// voidStop puts that on record. Where the node was gone in between, or may have been, what runs on it may have come up with it, whatever
// was known of that; what has stayed on brings nothing up.
func (e *Engine) voidStop(i int) {
	if !e.HasReturned(i) && e.Entry(i).Lit == ledger.Unlit {
		e.saw(i, e.Beliefs[i].Seen.State, "")
		return
	}
	e.saw(i, e.Beliefs[i].Seen.State, ledger.CameAgain)
	e.RenewGuests(i, true)
}

// followOutage ends what has come to its end.
func (e *Engine) followOutage() {
	o := e.Ledger.Outage
	if o == nil || !o.Snapped && o.Drill.Phase != ledger.DrillBattery {
		return
	}
	e.followDrill()
	if e.Ledger.Outage == nil {
		return
	}
	if !e.looksOver() {
		e.closing = time.Time{}
		return
	}
	// once more: something may have lost its power meanwhile
	if e.closing.IsZero() || e.Now.Sub(e.closing) >= belief.FirstRetry && e.AnyBlank() {
		e.closing = e.Now
		for i := range e.Beliefs {
			if o.Scope[i] {
				e.askInSurvey(i)
			}
		}
	}
	if e.surveying == 0 && !e.AnyBlank() {
		e.close()
	}
}

// looksOver reports whether all supplies are back, and everything that was on is on, or given up for good.
func (e *Engine) looksOver() bool {
	switch {
	case e.isBusy():
		e.settleBy = time.Time{}
		return false
	case !e.closing.IsZero() && e.surveying > 0: // it is looked at once more: what comes of that counts
		return true
	case e.MayGoLate() >= 0:
		return false
	case !e.StandsBehindGivenUp(): // what is mute at times gets no more time each time
		return true
	}
	if e.settleBy.IsZero() {
		e.settleBy = e.Now.Add(settleFor)
		e.Notify(true, "waiting "+english.Span(settleFor)+" for a node whose start was given up: if it comes up or answers after all, the power-up "+e.Would("continues", "would continue")+" with it and with what depends on it")
	}
	return !e.Now.Before(e.settleBy)
}

// isBusy reports whether anything is still to be done in the open outage, or a supply is not back.
func (e *Engine) isBusy() bool {
	o := e.Ledger.Outage
	if !o.Snapped || e.closing.IsZero() && e.surveying > 0 || e.Course.Open > 0 || e.Working > 0 || o.Orders.Hold ||
		o.Drill.Phase == ledger.DrillDown || o.Drill.Phase == ledger.DrillBattery {
		return true
	}
	return slices.ContainsFunc(o.Supplies, func(s ledger.Standing) bool { return s.IsDark() })
}

// close ends the outage: everything that was on is on, or reported.
func (e *Engine) close() {
	missing, doubtful, touched := e.notRestored()
	unseen, stopped := e.GoneMeanwhile(), e.StoppedMeanwhile()
	var reasons []string
	switch {
	case len(missing) > 0:
		reasons = append(reasons, "not brought back: "+named(missing))
	case len(doubtful)+len(unseen)+len(stopped) > 0:
	case !touched && !e.Ledger.Outage.Drill.Was && !e.Ledger.Outage.Drill.On():
		reasons = append(reasons, "power is back; nothing had to be done")
	default:
		reasons = append(reasons, "everything that was on "+e.Would("is", "would be")+" on again")
	}
	note := func(what string, nodes []ledger.NodeState) {
		if len(nodes) > 0 {
			reasons = append(reasons, what+named(nodes))
		}
	}
	note("no answer when the outage began, not on now: ", doubtful)
	note("on before the outage, not seen on when it began, not on now: ", unseen)
	note("switched on during the outage and "+e.Would("stopped", "to be stopped")+" in it, not on now: ", stopped)
	if silent := e.ids(func(i int) bool { k := e.Ledger.SupplyOf[i]; return k >= 0 && e.Supplies[k].Mute }); len(silent) > 0 {
		reasons = append(reasons, "silent, assumed unchanged: "+strings.Join(silent, ", "))
	}
	e.closeOutage(strings.Join(reasons, "; "), slices.Concat(missing, doubtful, unseen, stopped)...)
}

// notRestored lists what was on and is not, or was changed and is not put back; and what could not be asked when the outage
// began and was never seen on since: nobody knows whether it was on, and a person is to look.
func (e *Engine) notRestored() (missing, doubtful []ledger.NodeState, touched bool) {
	o := e.Ledger.Outage
	for i := range e.Beliefs {
		n, decl := &o.Nodes[i], e.Graph.Node(i)
		touched = touched || n.IsTouched()
		state := ledger.NodeState{Node: decl.ID, State: e.Beliefs[i].Answer}
		switch {
		case !o.Scope[i]:
		case e.isMissing(i):
			missing = append(missing, state)
		case n.Snap.Silent() && !n.Snap.On() && !e.IsOn(i) && decl.Kind != plan.Passive && decl.Kind != plan.Supply:
			doubtful = append(doubtful, state)
		}
	}
	return missing, doubtful, touched
}

// isMissing reports whether a node was on and is not, or was changed and is not put back.
func (e *Engine) isMissing(i int) bool {
	n := e.Entry(i)
	up := e.Course.Find(i, plan.Start, plan.Up)
	switch {
	case n.GivenUp.Has(plan.Unprotect), n.GivenUp.Has(plan.Start), e.Graph.Node(i).Can.Has(plan.Unprotect) && e.ToPutBack(i):
		return true
	case !n.Snap.On():
		return false
	}
	return up >= 0 && e.Course.Stands[up] != want.Proven && !e.IsBack(up) || e.Graph.Node(i).Kind != plan.Supply && !e.IsOn(i)
}

func named(nodes []ledger.NodeState) string {
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Node
	}
	return strings.Join(names, ", ")
}

// closeOutage puts the end on record, and forgets what was of the outage.
func (e *Engine) closeOutage(reason string, notRestored ...ledger.NodeState) {
	word, o := "outage", e.Ledger.Outage
	hasFailed := func(s ledger.Standing) bool { return s.HasFailed() }
	if d := &o.Drill; d.On() || d.Was && !slices.ContainsFunc(o.Supplies, hasFailed) {
		word = string(ledger.ModeDrill)
	}
	e.RememberLate()
	e.Record(ledger.Record{Kind: ledger.Closed, Reason: reason, Nodes: notRestored})
	for _, n := range notRestored { // people know: the next outage does not bring it back for having been on before this one's end
		if i, known := e.Graph.Index(n.Node); known {
			e.Beliefs[i].OnAt = time.Time{}
		}
	}
	over := " is over: "
	if e.Observes { // nothing went down, and nothing is to be started by hand
		over = " is over (observed only): "
	}
	e.Notify(len(notRestored) > 0, "the "+word+over+reason)
	for k := range e.Supplies {
		s := &e.Supplies[k]
		s.Gate = false
		e.watch[k].turned, e.watch[k].announced, e.watch[k].once = false, want.NoPressure, once{}
		e.watch[k].rest()
		e.Times[k].Battery, e.Times[k].Load = want.NoPressure, want.NoPressure
		s.CutDue, s.Output.OffSeen = time.Time{}, false
	}
	for i := range e.Beliefs {
		e.Drop(i)
		e.awaited[i] = notAwaited
		if b := &e.Beliefs[i]; o.Nodes[i].Last.Taken && b.Answer != b.Seen.State { // it was on before it took its stop
			b.Seen.State, b.OnAt = plan.Unknown, time.Time{}
		}
	}
	e.surveying, e.Working, e.ResumedAt = 0, 0, time.Time{}
	e.test = nil
	clear(e.Press)
	e.Pressed = false
	e.Course.Clear()
	e.recondition()
	e.sweepAt = e.Now.Add(sweepEvery)
	e.askForEstimate()
}

// chores are what comes round while readings come in: looks at the whole estate while all is well, at given-up nodes and cut
// supplies in an outage, and a new estimate.
func (e *Engine) chores() {
	o := e.Ledger.Outage
	if o == nil || o.Drill.Phase == ledger.DrillBattery {
		if !e.Now.Before(e.sweepAt) {
			e.sweepAt = e.Now.Add(sweepEvery)
			for i := range e.Beliefs {
				e.Probe(i)
			}
			e.askForEstimate()
		}
		return
	}
	if e.Now.Sub(e.asked) >= askEstimate {
		e.renewEstimate()
	}
	if !e.Now.Before(e.sweepAt) { // another supply may fail
		e.sweepAt = e.Now.Add(sweepEvery)
		for i := range e.Beliefs {
			if !o.Scope[i] {
				e.Probe(i)
			}
		}
	}
	if e.Now.Before(e.lookAt) {
		return
	}
	e.lookAt = e.Now.Add(want.FailedLook / 3)
	toGo := e.HostsToGo()
	for i := range e.Beliefs {
		e.lookAgain(i, toGo)
	}
}

// lookAgain asks after a node that nobody waits for: one that was given up, or did not answer, or a supply whose cut is under
// way.
func (e *Engine) lookAgain(i int, toGo []int) {
	o := e.Ledger.Outage
	if e.Under[i] >= 0 || e.Now.Before(e.NextLook[i]) || !o.Scope[i] {
		return
	}
	silent := (e.Beliefs[i].Answer == plan.Unknown || e.Beliefs[i].Answer == plan.Unreachable) && !e.IsOff(i)
	moving := e.Beliefs[i].Seen.State == plan.Stopping || e.Beliefs[i].Seen.State == plan.Starting
	switch k := e.Ledger.SupplyOf[i]; {
	case k >= 0 && o.Supplies[k].Cycle >= ledger.CutSent:
		e.NextLook[i] = e.Now.Add(want.FailedLook / 3)
	case e.SilenceWillTell(i):
		e.NextLook[i] = e.Now.Add(work.SlowestLook)
	case o.Nodes[i].GivenUp != 0, silent, moving, e.Rises(i):
		e.NextLook[i] = e.Now.Add(e.lookRest(i, toGo))
	case o.Nodes[i].Shown == ledger.ShownOff && e.MayRunElsewhere(i, toGo): // that host waits for what it is asked of alone
		e.NextLook[i] = e.Now.Add(time.Minute)
	case e.Now.Sub(e.MovedAt) >= stalledFor && e.RestsOff(i):
		e.NextLook[i] = e.Now.Add(sweepEvery)
	default:
		return
	}
	e.Probe(i)
}

// lookRest is the time between two looks at a node that was given up, or does not answer. Where there is no hurry, and nothing has moved
// for a while, it is longer: whose power comes back is asked at once.
func (e *Engine) lookRest(i int, toGo []int) time.Duration {
	matters := e.GoesDown(i) && !e.IsCutOff(i) || e.Rises(i) || e.MayRunElsewhere(i, toGo)
	switch still := e.Now.Sub(e.MovedAt); {
	case still < stalledFor, matters && still < 5*stalledFor:
		return want.FailedLook
	case matters:
		return slowestAgain / 2
	}
	return slowestAgain
}
