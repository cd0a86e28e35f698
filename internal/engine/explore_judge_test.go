package engine_test

import (
	"slices"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// judge checks the rules of the design from the explored world's truth. It says what sim.Referee says, in a form that
// is copied and compared with its world.
type judge struct {
	verdicts []opinion
	intent   engine.Record // the last one of this life
	snapshot bool
	cycled   bool // the point of no return is passed, or a cut is on its way
	lost     bool // the output was off since it was told to go off
	polls    int8 // how often in a row the mains were heard to be on, counted up to 3
}

// opinion is what the judge keeps of a node.
type opinion struct {
	wasOn  bool // when the outage began, or the snapshot was made
	owed   bool // was on when it came into the snapshot
	flying bool // an intent without a result
	flew   bool // likewise, before the last one
	forced bool // the last intent gave a reason
	others bool // somebody else started it
	failed plan.Verbs
}

func newJudge(w *world) judge {
	j := judge{verdicts: make([]opinion, len(w.things)), polls: 3}
	return j
}

func (j *judge) clone() judge {
	c := *j
	c.verdicts = slices.Clone(j.verdicts)
	return c
}

func (j *judge) resumed() { j.intent = engine.Record{} }

func (j *judge) heard(on bool) {
	if j.polls = min(3, j.polls+1); !on {
		j.polls = 0
	}
}

func (j *judge) fingerprint(b []byte) []byte {
	bits := func(vs ...bool) {
		n := byte(0)
		for _, v := range vs {
			if n <<= 1; v {
				n |= 1
			}
		}
		b = append(b, n)
	}
	for _, o := range j.verdicts {
		bits(o.wasOn, o.owed, o.flying, o.flew, o.forced, o.others)
		b = append(b, byte(o.failed))
	}
	bits(j.snapshot, j.cycled, j.lost)
	return append(b, byte(j.polls))
}

// record takes a durable record.
func (j *judge) record(w *world, rec engine.Record) {
	i, _ := w.estate.Index(rec.Node)
	o := &j.verdicts[i]
	switch rec.Kind {
	case engine.Opened:
		*j = judge{verdicts: make([]opinion, len(w.things)), polls: j.polls}
		for n, t := range w.things {
			j.verdicts[n].wasOn = t.state == plan.On || t.state == plan.Starting || t.dark
		}
	case engine.Snapshot:
		if j.snapshot {
			w.violate("4: the snapshot was taken again")
		}
		j.snapshot = true
		for _, n := range rec.Nodes {
			at, _ := w.estate.Index(n.Node)
			st := w.things[at].state
			j.verdicts[at].owed = st == plan.On
			j.verdicts[at].wasOn = j.verdicts[at].wasOn || st == plan.On || st == plan.Starting
		}
	case engine.Intent:
		j.intent, o.flying, o.flew, o.forced = rec, true, o.flying, rec.Reason != ""
		if (rec.Cause != "") != o.forced {
			w.violate("18: %s of %s has reason %q and cause %q", rec.Verb, rec.Node, rec.Reason, rec.Cause)
		}
		j.limits(w)
	case engine.Accepted:
		o.flying = o.flying && (rec.Outcome != engine.Unreached || o.flew) // what has not reached its node is as before
	case engine.HeldBack:
		o.flying, o.flew = false, false
	case engine.Failed:
		o.flying, o.flew, o.failed = false, false, o.failed|plan.VerbSet(*rec.Verb)
	case engine.Proven:
		o.flying, o.flew = false, false
		j.proof(w, i, *rec.Verb)
	case engine.NoReturn:
		j.cycled = true
	case engine.Turned:
		j.cycled = false
		for n := range j.verdicts {
			j.verdicts[n].failed = 0
		}
	case engine.Closed:
		j.closed(w, rec.Nodes)
	default:
	}
}

// proof is rule 19: what is shown as done is done.
func (j *judge) proof(w *world, i int, verb plan.Verb) {
	st := w.things[i].state
	cut := verb == plan.Cut // which is done as well where the output has come back since
	switch {
	case cut && w.output && w.cutIn == 0 && !j.lost, verb == plan.Stop && st != plan.Off, verb == plan.Start && st != plan.On:
		w.violate("19: %s %s was called done: it is %s", verb, w.id(i), w.observe(i).State)
	}
}

// closed is rule 20.
func (j *judge) closed(w *world, reported []engine.NodeState) {
	for i := range j.verdicts {
		told := slices.ContainsFunc(reported, func(s engine.NodeState) bool { return s.Node == w.id(i) })
		if j.verdicts[i].owed && !told && i != w.supply && w.things[i].state != plan.On {
			w.violate("20: %s was on before, and is neither brought back nor reported: it is %s", w.id(i), w.things[i].state)
		}
	}
	*j = judge{verdicts: make([]opinion, len(w.things)), polls: j.polls}
}

// limits is rule 9, over intents without a result.
func (j *judge) limits(w *world) {
	for _, l := range w.estate.Limits() {
		n := 0
		for i, o := range j.verdicts {
			if o.flying && w.estate.Node(i).Type == l.Class {
				n++
			}
		}
		if n > l.Total {
			w.violate("9: %d of %s at once, limit %d", n, l.Class, l.Total)
		}
	}
}

// command takes a command at the moment it is given.
func (j *judge) command(w *world, i int, do engine.Do) {
	if in := j.intent; in.Verb == nil || in.Op != do.Op || in.Node != do.Node || *in.Verb != do.Verb {
		w.violate("7: %s %s without a durable intent", do.Verb, do.Node)
	}
	if !j.snapshot {
		w.violate("4: %s %s before the snapshot", do.Verb, do.Node)
	}
	switch do.Verb {
	case plan.Stop, plan.Force:
		j.mayStop(w, i, do.Verb)
	case plan.Cut:
		j.mayCut(w, i)
	case plan.Start:
		j.mayStart(w, i)
	default:
		w.violate("nobody can %s %s", do.Verb, do.Node)
	}
}

func (j *judge) mayStop(w *world, i int, verb plan.Verb) {
	reasoned := verb == plan.Force && j.verdicts[i].forced
	// A VM that somebody starts while it is powered off in haste, or while it does not answer (both are on record), may start.
	unseen := reasoned && j.verdicts[i].others && (j.intent.Cause == engine.Pressed || j.intent.State != nil)
	if w.things[i].state == plan.Starting && !unseen {
		w.violate("6: %s was told to stop while it starts", w.id(i))
	}
	hung := reasoned && j.intent.Cause == engine.Hung && w.things[i].state == plan.Stopping // to be started again
	if j.polls == 3 && !j.cycled && !hung {
		w.violate("21: %s keeps its power and was told to stop", w.id(i))
	}
	if verb == plan.Force && !reasoned {
		w.violate("18: %s was forced off without a reason on record", w.id(i))
	}
	for _, u := range w.estate.Users(i) {
		st := w.things[u].state
		if st == plan.Off {
			continue
		}
		switch kind := w.estate.Node(i).Kind; {
		case kind == plan.Host && !reasoned:
			w.violate("2: host %s was told to stop with %s %s on it", w.id(i), w.id(u), st)
		case kind == plan.VM && !j.verdicts[u].failed.Has(plan.Stop) && !j.verdicts[u].others: // VMs are stopped on old proofs
			w.violate("10: %s was told to stop before its user %s was off", w.id(i), w.id(u))
		case kind == plan.Other:
			w.violate("1: %s was told to stop while %s is %s", w.id(i), w.id(u), st)
		}
	}
}

func (j *judge) mayCut(w *world, i int) {
	j.cycled, j.lost = true, false
	if j.verdicts[i].forced {
		return // by deadline, on record
	}
	for u, t := range w.things {
		if u != i && t.state != plan.Off {
			w.violate("3: the output of %s is cut while %s is %s", w.id(i), w.id(u), t.state)
		}
	}
}

func (j *judge) mayStart(w *world, i int) {
	if !j.verdicts[i].wasOn {
		w.violate("4: %s is started and was not on before", w.id(i))
	}
	if !w.mains || !w.output || w.online < 3 || w.level > 0 {
		w.violate("5: %s is started before the gate: mains on %t for %d polls, output on %t, battery level %d", w.id(i), w.mains, w.online, w.output, w.level)
	}
	if w.things[i].state == plan.Stopping {
		w.violate("6: %s was told to start while it stops", w.id(i))
	}
	for _, d := range w.estate.Needs(i) {
		if d != w.supply && j.verdicts[d].wasOn && w.things[d].state != plan.On {
			w.violate("10: %s is started before %s is on", w.id(i), w.id(d))
		}
	}
}
