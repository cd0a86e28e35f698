package sim

import (
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// Battery is the truth about a supply's battery.
type Battery struct {
	Charge  float64       // at the start, 0..1
	Runtime time.Duration // of a full battery at the present load
}

// Change is a change of the world from outside.
type Change struct {
	At     time.Duration
	Supply string // whose mains change
	Mains  bool
	Order  *engine.Order // or: an operator's command
	Silent *bool         // or: the supply falls silent, or speaks again
}

// Scenario is one run: an estate, what happens to it, and what goes wrong.
type Scenario struct {
	Settings  engine.Settings
	Changes   []Change
	Batteries map[string]Battery // by supply; a missing one is full and lasts 30 minutes
	Faults    map[string]Fault
	Off       []string // nodes that are off at the start
	CrashAt   []uint64 // the engine is thrown away right after these records, counted over the run, and resumed 10 s later
	// Witness is told each event as the engine gets it (nil: nobody).
	Witness func(at time.Time, ev engine.Event)
	For     time.Duration // the run ends then, or when all is over and no change is left
	// Apart keeps the things that happen at different places from happening at the same instant, by some nanoseconds
	// each: what runs beside each other in the shell has an order only then. An estimate is there at once.
	Apart bool
}

// Line is one thing that the engine did, with when.
type Line struct {
	At     time.Duration
	Effect engine.Effect
}

// Result is what came of it.
type Result struct {
	Records    []engine.Record
	Lines      []Line // effects in the order in which they were carried out
	Violations []string
	Ended      time.Duration // when the last outage was closed
	On, Off    []string      // nodes at the end
	Crashed    []string      // nodes that lost their power while on
	View       engine.View
	Events     int
}

// maxEvents ends a run that does not come to rest: far more than an outage of a day needs.
const maxEvents = 5_000_000

// Epoch is when a simulation begins.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type occurrence struct {
	at  time.Time
	seq int
	do  func()
}

type simulation struct {
	world
	scenario Scenario
	now      time.Time
	heap     plan.Queue[occurrence]
	seq      int
	engine   *engine.Engine
	life     int // numbers the engine's lives: answers to an earlier one are lost
	pending  map[engine.Op]bool
	wake     time.Time
	referee  *Referee
	result   Result
	stopped  bool
}

// Run plays a scenario to its end. The same scenario gives the same result.
func Run(sc Scenario) *Result {
	s := &simulation{
		world:    world{estate: sc.Settings.Estate},
		scenario: sc, now: Epoch,
		heap: plan.NewQueue(func(a, b occurrence) bool {
			return a.at.Before(b.at) || a.at.Equal(b.at) && a.seq < b.seq
		}),
		pending: map[engine.Op]bool{},
	}
	s.referee = NewReferee(sc.Settings.Estate)
	s.build()
	s.engine = engine.New(sc.Settings)
	s.apply(engine.Started{})
	for _, c := range sc.Changes {
		s.at(Epoch.Add(c.At), func() { s.change(c) })
	}
	for k := range s.cells {
		first, every := time.Duration(k)*7*time.Millisecond, poll
		if sc.Apart {
			first, every = first+time.Millisecond, every+time.Duration(k+1)*10_007*time.Nanosecond
		}
		s.tick(k, first, every)
	}
	end := Epoch.Add(sc.For)
	lastChange := Epoch
	for _, c := range sc.Changes {
		if at := Epoch.Add(c.At); at.After(lastChange) {
			lastChange = at
		}
	}
	for s.heap.Len() > 0 {
		o := s.heap.Pop()
		if o.at.After(end) {
			break
		}
		s.now = o.at
		o.do()
		if s.result.Events > maxEvents {
			s.referee.violate(s.now, "8: the engine does not come to rest")
			break
		}
		if !s.stopped && !s.engine.Open() && s.now.After(lastChange.Add(30*time.Second)) {
			break
		}
	}
	s.finish()
	return &s.result
}

func (s *simulation) build() {
	s.things = make([]thing, s.estate.Len())
	for i := range s.things {
		n := s.estate.Node(i)
		t := &s.things[i]
		t.state, t.fault, t.dirty = plan.On, s.scenario.Faults[n.ID], n.Can.Has(plan.Protect)
		if n.Kind == plan.Supply {
			b, given := s.scenario.Batteries[n.ID]
			if !given {
				b = Battery{Charge: 1, Runtime: 30 * time.Minute}
			}
			s.cells = append(s.cells, cell{node: i, mains: true, output: true, charge: b.Charge, runtime: b.Runtime.Seconds()})
		}
	}
	for _, id := range s.scenario.Off {
		if i, ok := s.estate.Index(id); ok {
			s.things[i].state = plan.Off
		}
	}
	for i := range s.things {
		s.things[i].wasOn = s.things[i].state == plan.On
		s.referee.wasOn[i] = s.things[i].wasOn
	}
}

func (s *simulation) at(t time.Time, do func()) {
	s.seq++
	s.heap.Push(occurrence{at: t, seq: s.seq, do: do})
}

func (s *simulation) after(d time.Duration, do func()) { s.at(s.now.Add(d), do) }

// tick polls one supply, each second or so.
func (s *simulation) tick(k int, first, every time.Duration) {
	s.after(first, func() {
		s.discharge(k)
		s.referee.mains(s.cells[k].node, s.cells[k].mains && s.cells[k].output, !s.cells[k].silent && !s.stopped)
		s.apply(engine.Read{Reading: s.reading(k)})
		s.tick(k, every, every)
	})
}

func (s *simulation) change(c Change) {
	if c.Order != nil {
		s.apply(*c.Order)
		return
	}
	for k := range s.cells {
		if s.estate.Node(s.cells[k].node).ID != c.Supply {
			continue
		}
		if c.Silent != nil {
			s.cells[k].silent = *c.Silent
			continue
		}
		s.setMains(k, c.Mains)
	}
}

// apply gives the engine an event and carries out what follows, in order.
func (s *simulation) apply(ev engine.Event) {
	if s.stopped {
		return
	}
	s.result.Events++
	if s.scenario.Witness != nil {
		s.scenario.Witness(s.now, ev)
	}
	life := s.life
	for _, effect := range s.engine.Apply(s.now, ev) {
		if s.life != life {
			return // it crashed in the middle of the batch
		}
		s.carryOut(effect)
	}
}

func (s *simulation) carryOut(effect engine.Effect) {
	s.result.Lines = append(s.result.Lines, Line{At: s.now.Sub(Epoch), Effect: effect})
	switch e := effect.(type) {
	case engine.Append:
		s.result.Records = append(s.result.Records, e.Record)
		s.referee.record(s, e.Record)
		for _, at := range s.scenario.CrashAt {
			if uint64(len(s.result.Records)) == at {
				s.crash()
			}
		}
	case engine.Do:
		s.do(e)
	case engine.Probe:
		s.probe(e)
	case engine.Cancel:
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: engine.TimedOut, Detail: "cancelled"}, 0)
	case engine.Wake:
		s.wake = e.At
		s.at(e.At, func() {
			if s.wake.Equal(e.At) {
				s.apply(engine.Woke{})
			}
		})
	case engine.Estimate:
		life, answer, wait := s.life, engine.Nominal(s.estate, e), latency
		if s.scenario.Apart {
			wait = 0
		}
		s.after(wait, func() {
			if s.life == life {
				s.apply(answer)
			}
		})
	case engine.Notify:
	}
}

func (s *simulation) do(e engine.Do) {
	i, _ := s.estate.Index(e.Node)
	s.referee.command(s, i, e)
	s.pending[e.Op] = true
	way := s.way(e.Op)
	s.after(way, func() { // on its way whatever becomes of the engine
		outcome, detail := s.command(i, e.Verb)
		wait := way
		if outcome == engine.TimedOut {
			wait = e.Within
		}
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: outcome, Detail: detail}, wait)
	})
}

func (s *simulation) probe(e engine.Probe) {
	i, _ := s.estate.Index(e.Node)
	s.pending[e.Op] = true
	life, way := s.life, s.way(e.Op)
	s.after(way, func() {
		if s.life != life {
			return
		}
		outcome, seen := s.observe(i)
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: outcome, Seen: seen}, way)
	})
}

// way is how long an operation takes to its node, and as long its answer back.
func (s *simulation) way(op engine.Op) time.Duration {
	if !s.scenario.Apart {
		return latency / 2
	}
	const stride, spread = 2_654_435_769, 4_000_037 // any two that share no rhythm; squared, so that sums share none
	return latency/2 + time.Duration(uint64(op*op)*stride%spread)
}

// answer brings an operation's end to the engine that asked for it, once.
func (s *simulation) answer(op engine.Op, ev engine.Finished, wait time.Duration) {
	life := s.life
	s.after(wait, func() {
		if s.life != life || !s.pending[op] {
			return
		}
		delete(s.pending, op)
		s.apply(ev)
	})
}

// crash throws the engine away. What it commanded goes on; what it waited for is lost.
func (s *simulation) crash() {
	s.life++
	s.stopped = true
	clear(s.pending)
	s.wake = time.Time{}
	down := restart
	if s.scenario.Apart {
		down += 333_333 * time.Nanosecond
	}
	s.after(down, func() {
		e, err := engine.Restored(s.scenario.Settings, openRecords(s.result.Records))
		if err != nil {
			s.referee.violate(s.now, "8: cannot resume: "+err.Error())
			return
		}
		s.engine, s.stopped = e, false
		s.referee.resumed()
		s.apply(engine.Started{})
	})
}

// openRecords gives the records of the last outage, if it is open.
func openRecords(all []engine.Record) []engine.Record {
	for i, a := range slices.Backward(all) {
		switch a.Kind {
		case engine.Closed:
			return nil
		case engine.Opened:
			return all[i:]
		default:
		}
	}
	return nil
}

func (s *simulation) finish() {
	r := &s.result
	for i := range s.things {
		id := s.estate.Node(i).ID
		switch s.things[i].state {
		case plan.On:
			r.On = append(r.On, id)
		case plan.Off, plan.Gone:
			r.Off = append(r.Off, id)
		default:
		}
		if s.things[i].crashed {
			r.Crashed = append(r.Crashed, id)
		}
	}
	for _, rec := range r.Records {
		if rec.Kind == engine.Closed {
			r.Ended = rec.At.Sub(Epoch)
		}
	}
	r.View = s.engine.View()
	r.Violations = s.referee.Violations
}
