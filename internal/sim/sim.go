package sim

import (
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/forecast"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/referee"
)

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
	Kills      int // how often the controller was thrown away
	// Down is how long anything that was on at the start was not, in all, and Back when the last of it was on again (0:
	// nothing ever was off). Where something is Missing at the end, both count up to there.
	Down, Back time.Duration
	Missing    []string
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
	referee  *referee.Referee
	result   Result
	stopped  bool
	commands uint64        // that were sent
	skew     time.Duration // by how much the wall clock has been set
	journal  journal
	absence  absence
	lean     bool // nobody reads the lines

	asked     bool // the newest estimate, and what it answers
	ask       engine.Estimate
	estimated engine.Estimated
}

// Run plays a scenario to its end. The same scenario gives the same result.
func Run(sc Scenario) *Result { return play(sc, false) }

func play(sc Scenario, lean bool) *Result {
	s := &simulation{
		lean:     lean,
		world:    world{estate: sc.Settings.Estate},
		scenario: sc, now: Epoch,
		heap: plan.NewQueue(func(a, b occurrence) bool {
			return a.at.Before(b.at) || a.at.Equal(b.at) && a.seq < b.seq
		}),
		pending: map[engine.Op]bool{},
	}
	if sc.Forecast == nil {
		s.scenario.Forecast = forecast.New(nil, estimateTrials(sc.Settings.Estate)).Answer
	}
	s.referee = referee.New(referee.Options{Estate: sc.Settings.Estate, Policy: sc.Settings.Policy, Sight: watched, Began: Epoch})
	s.build()
	s.engine = engine.New(sc.Settings)
	s.apply(engine.Started{})
	for _, c := range sc.Changes {
		s.at(Epoch.Add(c.At), func() { s.change(c) })
	}
	for k := range s.cells {
		s.tick(k, time.Duration(k)*7*time.Millisecond+s.apart(time.Millisecond))
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
			s.referee.Broken(s.now, "8: the engine does not come to rest")
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
		t.state, t.fault, t.liesAt, t.dirty = plan.On, s.scenario.Faults[n.ID], s.scenario.LiesAt[n.ID], n.Can.Has(plan.Protect) && n.Kind != plan.Cluster
		t.outlet, t.set, t.boots = outletOf(s.estate, i), setBy(n.ID), slices.Contains(s.scenario.Boots, n.ID)
		if slices.Contains(s.scenario.Protected, n.ID) && n.Can.Has(plan.Protect) {
			t.protected, t.set, t.dirty = true, setAside, false
		}
		s.askBoth(i)
		if n.Kind == plan.Supply {
			b, given := s.scenario.Batteries[n.ID]
			s.cells = append(s.cells, newCell(i, s.supply(n.ID), b, given))
		}
	}
	for _, id := range s.scenario.Off {
		if i, ok := s.estate.Index(id); ok {
			s.things[i].state = plan.Off
		}
	}
	for i := range s.things {
		s.things[i].wasOn = s.things[i].state == plan.On
		s.show(i)
		s.referee.Answered(s.now, i, s.alwaysOn(i))
	}
	s.settle()
}

// supply finds what the runbook says of a supply.
func (s *simulation) supply(id string) power.Supply {
	for _, decl := range s.scenario.Settings.Supplies {
		if decl.ID == id {
			return decl
		}
	}
	return power.Supply{ID: id}
}

func (s *simulation) at(t time.Time, do func()) {
	s.seq++
	s.heap.Push(occurrence{at: t, seq: s.seq, do: do})
}

func (s *simulation) after(d time.Duration, do func()) { s.at(s.now.Add(d), do) }

// tick polls one supply: each second, or more rarely if the scenario says so and its mains have been on for a while.
func (s *simulation) tick(k int, first time.Duration) {
	s.after(first, func() {
		c, next := &s.cells[k], poll
		if c.mains && c.output && s.scenario.PollOnline > 0 && s.now.Sub(c.changed) > quiet {
			next = s.scenario.PollOnline
		}
		s.discharge(k, next)
		s.showPoll(k)
		s.apply(engine.Read{Reading: s.reading(k)})
		s.tick(k, next+s.apart(time.Duration(k+1)*10_007*time.Nanosecond))
	})
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
	if s.journal.lost && !s.journal.told && len(s.journal.pending) > 0 {
		s.journal.told = true
		s.apply(engine.JournalLost{Detail: "the disk is gone"})
	}
}

func (s *simulation) carryOut(effect engine.Effect) {
	if !s.lean {
		s.result.Lines = append(s.result.Lines, Line{At: s.now.Sub(Epoch), Effect: effect})
	}
	switch e := effect.(type) {
	case engine.Append:
		s.referee.Recorded(s.now, &e.Record)
		if s.journal.lost {
			s.journal.pending = append(s.journal.pending, e.Record)
			return
		}
		s.write(e.Record)
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
		life, answer, wait := s.life, s.estimate(e), latency
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

// What an estimate takes in a simulation: enough trials for its purpose, and of a great estate no more than play so many
// nodes, but some.
const (
	mostEstimateTrials  = 100
	leastEstimateTrials = 20
	estimateNodes       = 20_000
)

func estimateTrials(estate *plan.Estate) int {
	return min(mostEstimateTrials, max(leastEstimateTrials, estimateNodes/max(1, estate.Len())))
}

// estimate tells how long the rest of the plan takes. The answer to the same question is the same.
func (s *simulation) estimate(ask engine.Estimate) engine.Estimated {
	if !s.asked || !slices.Equal(ask.Down, s.ask.Down) || !slices.Equal(ask.Scope, s.ask.Scope) || !slices.Equal(ask.Running, s.ask.Running) {
		s.asked, s.ask, s.estimated = true, ask, s.scenario.Forecast(s.estate, ask)
	}
	answer := s.estimated
	answer.Serial = ask.Serial
	return answer
}

func (s *simulation) do(e engine.Do) {
	i, _ := s.estate.Index(e.Node)
	if s.journal.told && (e.Verb == plan.Start || e.Verb == plan.Unprotect) { // as the runner does
		s.pending[e.Op] = true
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: engine.Busy, Detail: "the journal can't be written"}, 0)
		return
	}
	s.showCommand(i, e)
	s.pending[e.Op] = true
	way := s.way(e.Op)
	s.after(way, func() { // on its way whatever becomes of the engine
		outcome, detail := s.give(i, e)
		wait := way
		switch {
		case outcome == engine.TimedOut:
			wait = e.Within
		case s.things[i].silent:
			wait = deadAfter
		}
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: outcome, Detail: detail}, wait)
	})
	if s.commands++; slices.Contains(s.scenario.CrashOn, s.commands) {
		s.crash()
	}
}

func (s *simulation) probe(e engine.Probe) {
	i, _ := s.estate.Index(e.Node)
	s.pending[e.Op] = true
	life, way := s.life, s.way(e.Op)
	s.after(way, func() {
		if s.life != life {
			return
		}
		outcome, seen := s.look(i)
		s.showAnswer(i, outcome, seen)
		wait := way
		if s.things[i].silent {
			wait = deadAfter
		}
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: outcome, Seen: seen}, wait)
	})
}

// way is how long an operation takes to its node, and as long its answer back.
func (s *simulation) way(op engine.Op) time.Duration {
	const spread = 4_000_000 // nanoseconds; the numbers below share no rhythm, and nor do their sums
	x := uint64(op) * 0x9e3779b97f4a7c15
	x = (x ^ x>>31) * 0xbf58476d1ce4e5b9
	return latency/2 + s.apart(time.Duration((x^x>>27)%spread))
}

// apart is what keeps one thing apart from others in a scenario that asks for it.
func (s *simulation) apart(by time.Duration) time.Duration {
	if !s.scenario.Apart {
		return 0
	}
	return by
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
