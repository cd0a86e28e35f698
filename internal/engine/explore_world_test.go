package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/referee"
)

// thing is the truth about a node.
type thing struct {
	state     plan.State
	left      int8 // moments that its change of state may still take; 0: it never ends by itself
	dark      bool // lost its power while on, and was not on since
	protected bool // a cache: in write-through
	dirty     bool // likewise: it holds what is not on its storage
	gaveUp    bool // its start, or cut, was given up on record, and not tried since
}

// output is the truth about a supply.
type output struct {
	mains, on bool
	uncut     bool // took a cut and did not make it
	cutIn     int8 // moments until the armed cut; 0: none is armed
	level     int8 // of the battery: 0 is full
	online    int8 // moments that the mains have been on, counted up to 3
	odd       bool // what it says of its battery differs a little from what it said before
}

const slowest = 2 // moments that a change of state may take

// faultKind is one way in which systems go wrong.
type faultKind uint8

const (
	probeLost   faultKind = iota // a probe is not answered
	probeLate                    // or a moment later
	probeLies                    // or says the opposite
	pollLost                     // a UPS is silent for a poll
	doneUnheard                  // a command is done, and its answer is lost
	commandLost                  // or is not done, and nothing is heard of it
	refused                      // or is refused
	busy                         // or finds its node busy
	hangs                        // or is accepted, and a stop never ends, and nothing else comes of it
	answerLate                   // or is answered a moment later
	unreached                    // or does not reach its node
	othersStart                  // somebody starts a VM
	uncut                        // a UPS takes its cut while its mains are on, and does not make it
	faultKinds
)

var faultNames = [faultKinds]string{
	"is not answered", "is late", "says the opposite", "is not answered", "is done, and its answer is lost", "is lost", "is refused", "finds it busy",
	"is accepted and nothing comes of it", "is answered late", "can't be reached", "is started by somebody", "does not make its cut",
}

// world is an estate, its controller, and what is on its way between them.
type world struct {
	*lab
	now     time.Time
	things  []thing
	outputs []output
	left    budgets
	used    uint16         // kinds of faults that there were
	excused bool           // by a command that was refused, or of which nothing came on what is no VM: that is reported, and a person looks
	engine  *engine.Engine // nil: crashed
	journal *engine.Engine // what Restored makes of the durable records; never changed, but exchanged
	wake    time.Time
	answers []answer
	referee *referee.Referee
	broken  string // the first rule that was broken
}

// answer is the end of an operation that is on its way to the engine.
type answer struct {
	op      ledger.Op
	node    int
	probe   bool // its observation is made when it arrives
	late    bool // arrives a moment later
	lies    bool
	outcome ledger.Outcome
}

func (w *world) clone() *world {
	c := *w
	c.things, c.outputs, c.answers, c.referee = slices.Clone(w.things), slices.Clone(w.outputs), slices.Clone(w.answers), copied(w.referee)
	if w.engine != nil {
		c.engine = w.engine.Clone()
	}
	return &c
}

func (w *world) say(format string, args ...any) {
	if w.tell != nil {
		w.tell(format, args...)
	}
}

func (w *world) violate(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.say("VIOLATION %s", w.broken)
	}
}

// heed takes what the referee has to say.
func (w *world) heed() {
	if len(w.referee.Violations) > 0 && !w.heedless {
		w.violate("%s", w.referee.Violations[0])
	}
}

func (w *world) id(i int) string { return w.estate.Node(i).ID }

// step lets one moment pass: the mains may flip, each change of state may end, a battery falls or is charged, a crashed controller
// comes back; then the engine hears its supplies, is woken if it asked for it, and gets every answer.
func (w *world) step(c *choices) {
	flips := 0 // 0: none; each supply; all of them
	if w.left.flips > 0 {
		if flips = c.pick(1 + len(w.supplies) + min(1, len(w.supplies)-1)); flips > 0 {
			w.left.flips--
		}
	}
	if flips == 0 && w.idle() {
		w.now = w.engine.NextSweep()
	} else {
		w.now = w.now.Add(moment)
	}
	w.say("--- %s", w.now.Sub(start))
	for k := range w.outputs {
		w.passPower(k, c, flips == 1+k || flips > len(w.supplies))
	}
	for i := range w.things {
		if t := &w.things[i]; t.left > 1 && w.left.slow > 0 && c.pick(2) == 1 {
			w.left.slow--
			t.left--
		} else if t.left > 0 {
			w.changed(i)
		}
	}
	w.meddle(c)
	if w.engine == nil {
		w.say("the controller comes back")
		for k := range w.outputs { // what was polled meanwhile was heard by nobody
			w.polled(k, false)
		}
		w.journal = w.journal.Clone()
		w.journal.ForgetStretches()
		w.engine = w.journal.Clone()
		w.referee.Resumed(w.now)
		w.apply(engine.Started{}, c)
	}
	for i := range w.answers {
		w.answers[i].late = false
	}
	for k := range w.outputs {
		w.apply(engine.Read{Reading: w.reading(k, c)}, c)
	}
	w.settle(c)
	w.heed()
}

// idle reports whether nothing goes on, so that the next thing to happen by itself is the engine's sweep.
func (w *world) idle() bool {
	return w.engine != nil && !w.engine.Open() && len(w.answers) == 0 &&
		!slices.ContainsFunc(w.outputs, func(o output) bool { return !o.mains || !o.on || o.level > 0 || o.online < 3 }) &&
		!slices.ContainsFunc(w.things, func(t thing) bool { return t.left > 0 })
}

// settle brings every answer and every due wake to the engine, in the order in which they were asked for.
func (w *world) settle(c *choices) {
	for range 1000 {
		if w.engine == nil || w.broken != "" {
			return
		}
		if !w.wake.IsZero() && !w.wake.After(w.now) {
			w.wake = time.Time{}
			w.apply(engine.Woke{}, c)
			continue
		}
		at := slices.IndexFunc(w.answers, func(a answer) bool { return !a.late })
		if at < 0 {
			return
		}
		a := w.answers[at]
		w.answers = slices.Delete(w.answers, at, at+1)
		ev := engine.Finished{Op: a.op, Outcome: a.outcome}
		if a.probe {
			ev.Seen = w.look(a)
		}
		w.apply(ev, c)
	}
	w.violate("8: the engine does not come to rest")
}

// look is what a probe shows that arrives now.
func (w *world) look(a answer) (seen plan.Observation) {
	if a.outcome == ledger.Done {
		seen = w.observe(a.node)
	}
	if seen.State == plan.Unknown || seen.State == plan.Unreachable {
		w.referee.Unanswered(w.now, a.node)
		return seen
	}
	if a.lies {
		seen.State = map[plan.State]plan.State{
			plan.On: plan.Off, plan.Stopping: plan.Off, plan.Off: plan.On,
			plan.Starting: plan.Starting,
		}[seen.State]
	}
	w.referee.Answered(w.now, a.node)
	w.referee.Told(w.now, a.node, a.lies)
	return seen
}

// apply gives the engine an event and carries out what follows, until it crashes in the middle of it.
func (w *world) apply(ev engine.Event, c *choices) {
	if w.engine == nil || w.broken != "" {
		return
	}
	for _, one := range w.engine.Apply(w.now, ev) {
		w.carryOut(one, c)
		if w.heed(); w.engine == nil || w.broken != "" {
			return
		}
	}
}

func (w *world) carryOut(one effect.Effect, c *choices) {
	switch e := one.(type) {
	case effect.Append:
		w.write(e.Record)
		if e.Record.Kind != ledger.Still {
			w.maybeCrash(c)
		}
	case effect.Do:
		w.do(e, c)
		w.maybeCrash(c)
	case effect.Probe:
		i, _ := w.estate.Index(e.Node)
		a := answer{op: e.Op, node: i, probe: true, outcome: ledger.Done}
		ways := []faultKind{probeLost, probeLate, probeLies}
		if w.estate.Node(i).Kind == plan.Supply || w.observe(i).State == plan.Unreachable {
			ways = ways[:2] // a UPS does not lie of its output, and who is silent does not lie
		}
		switch way, _ := w.fault(c, "the probe of "+e.Node, ways...); way {
		case probeLost:
			a.outcome = ledger.TimedOut
		case probeLate:
			a.late = true
		case probeLies:
			a.lies = true
		default:
		}
		w.answers = append(w.answers, a)
	case effect.Cancel:
		if at := slices.IndexFunc(w.answers, func(a answer) bool { return a.op == e.Op }); at >= 0 {
			w.answers[at].outcome, w.answers[at].late = ledger.TimedOut, false
		}
	case effect.Wake:
		w.wake = e.At
	case effect.Estimate:
		key := strings.Join(e.Down, " ") + "|" + strings.Join(e.Scope, " ")
		est, known := w.estimates[key]
		if !known {
			est = forecast.New(nil, 50).Answer(w.estate, e)
			w.estimates[key] = est
		}
		est.Serial = e.Serial
		w.apply(engine.Estimated(est), c)
	case effect.Notify:
		w.say("  notify: %s", e.Text)
	}
}

// write makes a record durable.
func (w *world) write(rec ledger.Record) {
	w.say("  %s", phrase(rec))
	if w.witness != nil {
		w.witness(rec)
	}
	if w.left.crashes > 0 { // else nobody will ask for it
		if rec.Kind == ledger.Opened || rec.Kind == ledger.Closed {
			w.journal = w.blank
		}
		if rec.Kind != ledger.Closed {
			w.journal = w.journal.Clone()
			if err := w.journal.Fold(rec); err != nil {
				w.violate("8: cannot resume: %v", err)
			}
		}
	}
	w.referee.Recorded(w.now, &rec)
	i, _ := w.estate.Index(rec.Node)
	switch {
	case rec.Kind == ledger.Opened:
		for i := range w.things {
			w.things[i].gaveUp = false
		}
	case rec.Kind == ledger.Failed && (*rec.Verb == plan.Start || *rec.Verb == plan.Cut):
		w.things[i].gaveUp = true
	case rec.Kind == ledger.Intent:
		w.things[i].gaveUp = false
	}
}

// maybeCrash is asked after each record and each command: what follows of the batch is lost, and every answer.
func (w *world) maybeCrash(c *choices) {
	if w.left.crashes == 0 || w.engine == nil || c.pick(2) == 0 {
		return
	}
	w.say("  the controller crashes")
	w.left.crashes--
	w.engine, w.answers, w.wake = nil, nil, time.Time{}
}

// mayFail reports whether there may be a fault of a kind yet.
func (w *world) mayFail(k faultKind) bool {
	return w.left.faults > 0 && w.used&(1<<k) == 0 && (w.only == nil || slices.Contains(w.only, k))
}

// fault asks whether something goes wrong, and in which of some ways: of each kind there is one.
func (w *world) fault(c *choices, what string, ways ...faultKind) (faultKind, bool) {
	if w.left.faults == 0 {
		return faultKinds, false // nothing is asked: most ways are gone with no fault left
	}
	ways = slices.DeleteFunc(slices.Clone(ways), func(k faultKind) bool { return !w.mayFail(k) })
	at := c.pick(1 + len(ways))
	if at == 0 {
		return faultKinds, false
	}
	w.left.faults--
	w.used |= 1 << ways[at-1]
	w.say("  %s %s", what, faultNames[ways[at-1]])
	return ways[at-1], true
}

// do carries out a command, unless that goes wrong.
func (w *world) do(e effect.Do, c *choices) {
	i, _ := w.estate.Index(e.Node)
	w.say("  do %s %s", e.Verb, e.Node)
	w.referee.Commanded(w.now, referee.Command{Node: i, Verb: e.Verb, Op: uint64(e.Op), Settings: e.Settings})
	a := answer{op: e.Op, node: i, outcome: ledger.Done}
	switch way, _ := w.fault(c, e.Verb.String()+" "+e.Node, doneUnheard, commandLost, refused, busy, hangs, answerLate, unreached); way {
	case doneUnheard:
		w.command(i, e.Verb)
		a.outcome = ledger.TimedOut
	case commandLost:
		a.outcome = ledger.TimedOut
	case refused:
		w.excused = true
		a.outcome = ledger.Refused
	case busy:
		a.outcome = ledger.Busy
	case unreached:
		a.outcome = ledger.Unreached
	case hangs:
		w.excused = w.excused || w.estate.Node(i).Kind != plan.VM
		if t := &w.things[i]; e.Verb == plan.Stop && t.state == plan.On {
			w.become(i, plan.Stopping)
			t.left = 0
		}
	default:
		a.outcome = w.command(i, e.Verb)
		a.late = way == answerLate
	}
	w.answers = append(w.answers, a)
}

// fingerprint writes what decides what may still happen.
func (w *world) fingerprint(b []byte) []byte {
	number := func(v int) { b = append(b, byte(v)) }
	flags := func(vs ...bool) {
		n := byte(0)
		for _, v := range vs {
			if n <<= 1; v {
				n |= 1
			}
		}
		b = append(b, n)
	}
	for _, t := range w.things {
		number(int(t.state))
		number(int(t.left))
		flags(t.dark, t.protected, t.dirty, t.gaveUp)
	}
	for _, o := range w.outputs {
		flags(o.mains, o.on, o.uncut, o.odd)
		for _, v := range []int8{o.cutIn, o.level, o.online} {
			number(int(v))
		}
	}
	b = append(b, w.broken...)
	flags(w.engine == nil, w.excused)
	if w.limit.faults > 0 {
		number(int(w.used & 0xff))
		number(int(w.used >> 8))
	}
	for _, v := range []int{w.left.flips, w.left.crashes, w.left.faults, w.left.drains, w.left.slow, len(w.answers)} {
		number(v)
	}
	b = printed(w.referee, b, w.now)
	if w.left.crashes > 0 || w.engine == nil {
		b, _ = w.journal.Fingerprint(b, w.now)
	}
	if w.engine == nil {
		return b
	}
	b, place := w.engine.Fingerprint(b, w.now)
	if !w.wake.IsZero() {
		b = fmt.Appendf(b, "wakes in %s", w.wake.Sub(w.now))
	}
	for _, a := range w.answers {
		number(place(a.op))
		number(a.node)
		flags(a.late, a.lies)
		b = append(b, a.outcome...)
	}
	return b
}
