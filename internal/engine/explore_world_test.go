package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/forecast"
	"ebbtide/internal/plan"
)

// runtimes are what the UPS says that it lasts at each level of its battery: enough, less than the plan, the reserve, the
// end. At the next the output is lost.
var runtimes = [...]float64{3600, 70, 50, 20}

// thing is the truth about a node.
type thing struct {
	state plan.State
	left  int8 // moments that its change of state may still take; 0: it never ends by itself
	dark  bool // lost its power while on, and was not on since
}

const slowest = 2 // moments that a change of state may take

// world is an estate, its controller, and what is on its way between them.
type world struct {
	*lab
	now     time.Time
	things  []thing
	mains   bool
	output  bool
	cutIn   int8 // moments until the armed cut; 0: none is armed
	level   int8 // of the battery: 0 is full
	online  int8 // moments that the mains have been on, counted up to 3
	left    budgets
	engine  *engine.Engine // nil: crashed
	journal *engine.Engine // what Restored makes of the durable records; never changed, but exchanged
	wake    time.Time
	answers []answer
	judge   judge
	broken  string // the first rule that was broken
}

// answer is the end of an operation that is on its way to the engine.
type answer struct {
	op      engine.Op
	node    int
	probe   bool // its observation is made when it arrives
	late    bool // arrives a moment later
	outcome engine.Outcome
}

func (w *world) clone() *world {
	c := *w
	c.things, c.answers, c.judge = slices.Clone(w.things), slices.Clone(w.answers), w.judge.clone()
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

func (w *world) id(i int) string { return w.estate.Node(i).ID }

// step lets one moment pass: the mains may flip, each change of state may end, the battery falls or is charged, a
// crashed controller comes back; then the engine hears its supply, is woken if it asked for it, and gets every answer.
func (w *world) step(c *choices) {
	flip := w.left.flips > 0 && c.pick(2) == 1
	if !flip && w.idle() {
		w.now = w.engine.NextSweep()
	} else {
		w.now = w.now.Add(moment)
	}
	w.say("--- %s", w.now.Sub(time.Unix(1_800_000_000, 0)))
	w.passPower(c, flip)
	for i := range w.things {
		if t := &w.things[i]; t.left > 1 && c.pick(2) == 1 {
			t.left--
		} else if t.left > 0 {
			w.changed(i)
		}
	}
	w.meddle(c)
	if w.engine == nil {
		w.say("the controller comes back")
		w.engine = w.journal.Clone()
		w.judge.resumed()
		w.apply(engine.Started{}, c)
	}
	for i := range w.answers {
		w.answers[i].late = false
	}
	w.apply(engine.Read{Reading: w.reading(c)}, c)
	w.settle(c)
}

// idle tells whether nothing goes on, so that the next thing to happen by itself is the engine's sweep.
func (w *world) idle() bool {
	return w.engine != nil && !w.engine.Open() && len(w.answers) == 0 && w.mains && w.output && w.level == 0 && w.online == 3 &&
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
		if a.probe && a.outcome == engine.Done {
			ev.Seen = w.observe(a.node)
		}
		w.apply(ev, c)
	}
	w.violate("8: the engine does not come to rest")
}

// apply gives the engine an event and carries out what follows, until it crashes in the middle of it.
func (w *world) apply(ev engine.Event, c *choices) {
	if w.engine == nil || w.broken != "" {
		return
	}
	for _, effect := range w.engine.Apply(w.now, ev) {
		if w.carryOut(effect, c); w.engine == nil {
			return
		}
	}
}

func (w *world) carryOut(effect engine.Effect, c *choices) {
	switch e := effect.(type) {
	case engine.Append:
		w.write(e.Record)
		w.maybeCrash(c)
	case engine.Do:
		w.do(e, c)
		w.maybeCrash(c)
	case engine.Probe:
		i, _ := w.estate.Index(e.Node)
		a := answer{op: e.Op, node: i, probe: true, outcome: engine.Done}
		switch w.fault(c, 3, "the probe of "+e.Node, "is not answered", "is late") {
		case 1:
			a.outcome = engine.TimedOut
		case 2:
			a.late = true
		}
		w.answers = append(w.answers, a)
	case engine.Cancel:
		if at := slices.IndexFunc(w.answers, func(a answer) bool { return a.op == e.Op }); at >= 0 {
			w.answers[at].outcome, w.answers[at].late = engine.TimedOut, false
		}
	case engine.Wake:
		w.wake = e.At
	case engine.Estimate:
		key := strings.Join(e.Down, " ") + "|" + strings.Join(e.Scope, " ")
		est, known := w.estimates[key]
		if !known {
			est = forecast.New(nil, 50).Answer(w.estate, e)
			w.estimates[key] = est
		}
		est.Serial = e.Serial
		w.apply(est, c)
	case engine.Notify:
		w.say("  notify: %s", e.Text)
	}
}

// write makes a record durable.
func (w *world) write(rec engine.Record) {
	w.say("  %s", phrase(rec))
	if w.witness != nil {
		w.witness(rec)
	}
	if w.left.crashes > 0 { // else nobody will ask for it
		if rec.Kind == engine.Opened || rec.Kind == engine.Closed {
			w.journal = w.blank
		}
		if rec.Kind != engine.Closed {
			w.journal = w.journal.Clone()
			if err := w.journal.Fold(rec); err != nil {
				w.violate("8: cannot resume: %v", err)
			}
		}
	}
	w.judge.record(w, rec)
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

// fault asks whether something goes wrong, and in which of n-1 ways.
func (w *world) fault(c *choices, n int, what string, ways ...string) int {
	if w.left.faults == 0 {
		return 0
	}
	way := c.pick(n)
	if way > 0 {
		w.left.faults--
		w.say("  %s %s", what, ways[way-1])
	}
	return way
}

// do carries out a command, unless that goes wrong.
func (w *world) do(e engine.Do, c *choices) {
	i, _ := w.estate.Index(e.Node)
	w.say("  do %s %s", e.Verb, e.Node)
	w.judge.command(w, i, e)
	way := w.fault(c, 8, e.Verb.String()+" "+e.Node, "is done, and its answer is lost", "is lost", "is refused", "finds it busy",
		"is accepted and nothing comes of it", "is answered late", "can't be reached")
	a := answer{op: e.Op, node: i, outcome: engine.Done}
	switch way {
	case 0, 6:
		a.outcome = w.command(i, e.Verb)
		a.late = way == 6
	case 1:
		w.command(i, e.Verb)
		a.outcome = engine.TimedOut
	case 2:
		a.outcome = engine.TimedOut
	case 3:
		a.outcome = engine.Refused
	case 4:
		a.outcome = engine.Busy
	case 7:
		a.outcome = engine.Unreached
	case 5:
		if t := &w.things[i]; e.Verb == plan.Stop && t.state == plan.On {
			*t = thing{state: plan.Stopping}
		}
	}
	w.answers = append(w.answers, a)
}

// fingerprint writes what decides what may still happen.
func (w *world) fingerprint(b []byte) []byte {
	number := func(v int) { b = append(b, byte(v)) }
	flag := func(v bool) {
		b = append(b, 0)
		if v {
			b[len(b)-1] = 1
		}
	}
	for _, t := range w.things {
		number(int(t.state))
		number(int(t.left))
		flag(t.dark)
	}
	b = append(b, w.broken...)
	for _, v := range []bool{w.mains, w.output, w.engine == nil} {
		flag(v)
	}
	for _, v := range []int{int(w.cutIn), int(w.level), int(w.online), w.left.flips, w.left.crashes, w.left.faults, w.left.drains, len(w.answers)} {
		number(v)
	}
	b = w.judge.fingerprint(b)
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
		flag(a.late)
		b = append(b, a.outcome...)
	}
	return b
}
