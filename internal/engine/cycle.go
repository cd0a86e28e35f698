package engine

import (
	"slices"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// commit puts on record, before a command that only a power cycle takes back, which supplies are to be cut and to come back:
// those that fail and feed the node. From here on what goes dark with them is finished before it is reversed.
func (e *Engine) commit(i int, verb plan.Verb) {
	decl := e.estate.Node(i)
	if verb != plan.Cut && decl.Kind != plan.Self && !decl.ByPower || e.inDrill(i) {
		return
	}
	first := e.committedSupply() < 0
	ids := e.toCommit(i)
	if len(ids) == 0 {
		return
	}
	e.record(ledger.Record{Kind: ledger.NoReturn, Power: ledger.Power{Supplies: ids}, Step: ledger.Step{Node: decl.ID, Verb: &verb}})
	for k := range e.supplies { // their loads have to be off before they can be cut
		if slices.Contains(ids, e.id(e.supplies[k].node)) {
			e.triggerEvery(k, decl.ID+" is stopped, and only a power cycle of what feeds it starts it again")
		}
	}
	if first {
		e.notify(true, "point of no return: from here the plan is finished before anything comes back")
	}
}

// toCommit names the supplies that fail, whose cycle has not begun, and that a node gets its power from; all of those if nobody knows
// which.
func (e *Engine) toCommit(i int) []string {
	feeds := e.estate.Feeds(i)
	var ids []string
	for k := range e.supplies {
		s, st := &e.supplies[k], e.standing(k)
		concerned := s.node == i || slices.Contains(feeds, s.node) || len(feeds) == 0 && e.estate.Node(i).Kind != plan.Supply
		if concerned && st.IsOut() && st.Cycle == ledger.Uncut {
			ids = append(ids, e.id(s.node))
		}
	}
	return ids
}

// mayBeMade reports whether a cut from before a crash may have been made while nobody looked: the mains and the output are
// there, and what the return of its power starts may still be on its way up. It is given twice the time that this is expected
// to take, since a second cut would hit it. One that is seen to be up again proves the cut.
func (e *Engine) mayBeMade(i int) bool {
	s, w := &e.supplies[e.ledger.SupplyOf[i]], e.nodes[i].work
	if !w.resumed || e.press[i] >= cutNow || s.state.Mains != power.MainsOnline {
		return false
	}
	wait := false
	for _, u := range e.cycledBy(i) {
		if e.now.Before(e.resumedAt.Add(bootTime(e.estate.Node(u)))) {
			e.probe(u)
			wait = true
		}
	}
	return wait
}

// mayHaveBeenCut reports whether a supply was told to cut its output before a crash, nobody knows whether it did, and it is on line, or has not
// been heard since.
func (e *Estate) mayHaveBeenCut(supply int) bool {
	last, k := &e.entry(supply).Last, e.ledger.SupplyOf[supply]
	return last.Open && last.Verb == plan.Cut && last.Op <= e.life && (e.isHeardOnLine(k) || e.supplies[k].isUnheard())
}

// isHeardOnLine reports whether a supply is heard, and on line.
func (e *Estate) isHeardOnLine(k int) bool {
	return e.supplies[k].state.Mains == power.MainsOnline && !e.supplies[k].mute
}

// settleCut finds that a cut from before a crash was made while nobody looked: the mains are there, the output is on, and
// something that only its return starts, and that was off, is on.
func (e *Engine) settleCut(i int) {
	s := &e.supplies[e.ledger.SupplyOf[i]]
	if e.beliefs[i].seen.State != plan.On || s.state.Mains != power.MainsOnline {
		return
	}
	if !slices.ContainsFunc(e.cycledBy(i), e.showsUp) {
		return
	}
	e.prove(i, "", "what only the return of its power starts is on again: it was cut and has come back")
	e.cycled(e.ledger.SupplyOf[i], "it was cut and has come back while nobody looked")
}

// cycledBy lists what a supply feeds, was on and was shown to be off, and is started by nothing but the return of its power, which it
// loses with this supply: no other carries it.
func (e *Estate) cycledBy(supply int) []int {
	carries := func(f int) bool { return f != supply && e.carries(e.ledger.SupplyOf[f]) }
	var list []int
	for _, u := range e.estate.Users(supply) {
		feeds, n := e.estate.Feeds(u), e.entry(u)
		stopped := e.estate.Node(u).ByPower && n.Snap.On() && n.Shown == ledger.ShownOff
		if stopped && slices.Contains(feeds, supply) && !slices.ContainsFunc(feeds, carries) {
			list = append(list, u)
		}
	}
	return list
}

// mayBeDeaf reports of the supply that our own machine hangs on that another cut still counts down while its mains are there.
// Some UPSes take such a cut and do not make it, which nobody would see and mend once our own machine is off.
func (e *Engine) mayBeDeaf(own int) bool {
	self, needed := e.lifeline()
	if self < 0 || !needed[own] || e.press[own] >= cutNow {
		return false
	}
	for k := range e.supplies {
		s := &e.supplies[k]
		if !needed[s.node] && s.condition == cutArmed && s.state.Mains == power.MainsOnline && s.state.SilentFor == 0 {
			e.probe(s.node)
			return true
		}
	}
	return false
}

// wouldReturn reports whether our own machine would come back after it is powered off: something else starts it, or it loses
// its power and gets it back. As long as one of its supplies stays, it would stay off; and so it would if one that is off came
// back while it goes down. A cut that is on record counts once a look of this life has seen it count down: it may have been made,
// and be why Ebbtide runs again.
func (e *Engine) wouldReturn(self int) bool {
	stays := func(f int) bool {
		k := e.ledger.SupplyOf[f]
		if k < 0 {
			return true
		}
		s := &e.supplies[k]
		onBattery := s.state.Mains == power.MainsOnBattery && !s.state.OutputOff && s.state.SilentFor == 0
		empties := !e.estate.Node(f).Can.Has(plan.Cut) // on until its battery is empty
		goes := onBattery && (s.condition == dark || empties)
		armed := s.condition == cutArmed && e.beliefs[f].seen.State == plan.Stopping
		return !armed && !goes
	}
	return !e.estate.Node(self).ByPower || !slices.ContainsFunc(e.estate.Feeds(self), stays)
}

// lifeline finds Ebbtide's own machine, -1 if it is not declared, and all that it needs.
func (e *Engine) lifeline() (self int, needed []bool) {
	self, needed = -1, make([]bool, len(e.beliefs))
	for i := len(e.beliefs) - 1; i >= 0; i-- { // what a node needs comes before it
		if e.estate.Node(i).Kind == plan.Self {
			self, needed[i] = i, true
		}
		if needed[i] {
			for _, j := range e.estate.Needs(i) {
				needed[j] = true
			}
		}
	}
	return self, needed
}
