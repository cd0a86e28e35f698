package sim

import (
	"cmp"
	"slices"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/referee"
)

// Line is one thing that the engine did, with when.
type Line struct {
	At     time.Duration
	Effect effect.Effect
}

// Result is what came of it.
type Result struct {
	Records    []ledger.Record
	Lines      []Line // effects in the order in which they were carried out
	Violations []string
	Avoidable  []string      // what the referee counts and no rule forbids
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
	Met        map[string]int // how often what real estates do was met: see MetUnreachable and the others
}

// maxEvents ends a run that does not come to rest: far more than an outage of a day needs.
const maxEvents = 5_000_000

// Epoch is when a simulation begins.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// check holds the engine against its own records and against itself, where the scenario asks for that.
func (s *simulation) check(effects []effect.Effect) {
	if !s.scenario.Checked {
		return
	}
	for _, one := range effects {
		if a, ok := one.(effect.Append); ok {
			if err := s.twin.Replay(a.Record); err != nil {
				s.referee.Broken(s.now, "7: a record can't be replayed: "+err.Error())
			}
		}
	}
	if err := s.engine.Check(s.twin); err != nil {
		s.referee.Broken(s.now, "7: "+err.Error())
		s.scenario.Checked = false
	}
}

// restore makes an engine from the records of a journal, and beside it the twin, where one is asked for. What its clock says when it begins
// is what it has been set to; here all times of an engine are the estate's, so that those of the records are taken back by as much.
func (s *simulation) restore(journal []ledger.Record) (*engine.Engine, error) {
	records := slices.Clone(journal)
	for i := range records {
		records[i].At = records[i].At.Add(-s.skew)
	}
	if s.scenario.Checked {
		s.twin, _ = engine.Restored(s.scenario.Settings, records)
	}
	return engine.Restored(s.scenario.Settings, records)
}

type simulation struct {
	world
	scenario   Scenario
	now        time.Time
	passed     time.Duration // of now since Epoch
	agenda     agenda
	engine     *engine.Engine
	twin       *engine.Engine // is given the records alone; nil: the run is not checked
	life       int            // numbers the engine's lives: answers to an earlier one are lost
	pending    []bool         // by operation: it is under way
	wake       time.Time
	referee    *referee.Referee
	result     Result
	stopped    bool
	replayed   bool          // it is stopped, and another controller's deeds are played
	commands   uint64        // that were sent
	skew       time.Duration // by how much the wall clock has been set
	recorded   time.Duration // the same as the newest record was made
	stirred    time.Duration // of passed: when anything happened last
	restsAfter time.Duration // for how long nothing has to happen until the night rests
	written    uint64        // records that are durable, beside those that a supply is on battery still
	journal    journal
	absence    absence
	lean       bool // nobody reads the lines

	asked     bool // the newest estimate, and what it answers
	slack     bool // slack is judged by it
	ask       effect.Estimate
	estimated foresight.Estimate
}

// Run plays a scenario to its end. The same scenario gives the same result.
func Run(sc Scenario) *Result { return play(sc, false) }

// Check plays a scenario as Run does, for what is decided in it: the result has no Lines, and neither its View nor the
// Numbers of its Records have of an estimate what only people read. It is far cheaper.
func Check(sc Scenario) *Result { return play(sc, true) }

// modelled makes the world of a scenario, in which nothing has happened yet.
func modelled(sc Scenario, lean bool) *simulation {
	s := &simulation{
		lean:       lean,
		restsAfter: restTime(&sc.Settings.Policy),
		world:      world{estate: sc.Settings.Estate},
		scenario:   sc, now: Epoch,
	}
	if sc.Forecast == nil {
		s.scenario.Forecast = s.forecasting()
	}
	looks := make([]time.Duration, sc.Settings.Estate.Len())
	for i := range looks {
		looks[i] = sc.Habits[sc.Settings.Estate.Node(i).ID].Slow
	}
	s.referee = referee.New(referee.Options{
		Estate: sc.Settings.Estate, Policy: sc.Settings.Policy, Sight: watched, Began: Epoch,
		Looks: looks,
	})
	s.build()
	return s
}

func play(sc Scenario, lean bool) *Result {
	s := modelled(sc, lean)
	s.engine, _ = s.restore(nil)
	s.apply(engine.Started{})
	s.begin()
	return s.end()
}

// begin arranges what happens by itself.
func (s *simulation) begin() {
	for _, c := range s.scenario.Changes {
		s.at(Epoch.Add(c.At), func() { s.change(c) })
	}
	for k := range s.supplies {
		s.tick(k, time.Duration(k)*7*time.Millisecond+s.apart(time.Millisecond))
	}
}

// end plays on until all is over.
func (s *simulation) end() *Result {
	lastChange := Epoch
	for _, c := range s.scenario.Changes {
		if at := Epoch.Add(c.At); at.After(lastChange) {
			lastChange = at
		}
	}
	for s.agenda.len() > 0 {
		at, do := s.agenda.next()
		if at > s.scenario.For {
			break
		}
		s.setNow(at)
		do()
		if s.result.Events > maxEvents {
			s.referee.Broken(s.now, "8: the engine does not come to rest")
			break
		}
		if !s.stopped && !s.engine.Open() && s.now.After(lastChange.Add(30*time.Second)) || s.rests(lastChange) {
			break
		}
	}
	s.finish()
	return &s.result
}

// restsAfter is for how long nothing has happened in a night until nothing will, beyond the times that the policy asks for: longer than any
// for which an engine waits by itself.
const restsAfter = 150 * time.Minute

// rests reports whether an outage stays open for good: for hours nothing was told, written down or commanded, nothing in the estate has
// changed, and nothing is to. That is not worth looking at for the rest of the night.
func (s *simulation) rests(lastChange time.Time) bool {
	return s.lean && !s.stopped && s.passed-s.stirred > s.restsAfter && s.now.Sub(lastChange) > s.restsAfter
}

// restTime is restsAfter and the longest time that a policy asks for.
func restTime(p *power.Policy) time.Duration {
	longest := max(p.Protect.Longest(), p.Shutdown.Longest(), p.Restore.Longest())
	for _, stage := range p.Shed {
		longest = max(longest, stage.When.Longest())
	}
	return restsAfter + longest
}

func (s *simulation) build() {
	s.nodes = make([]simNode, s.estate.Len())
	for i := range s.nodes {
		n := s.estate.Node(i)
		t := &s.nodes[i]
		t.state, t.fault, t.liesAt, t.goneAt, t.dirty = plan.On, s.scenario.Faults[n.ID], s.scenario.LiesAt[n.ID], s.scenario.GoneAt[n.ID],
			n.Can.Has(plan.Protect) && n.Kind != plan.Cluster
		t.outlet, t.host = outletOf(s.estate, i), hostOf(s.estate, i)
		t.set, t.boots = setBy(n.ID), slices.Contains(s.scenario.Boots, n.ID)
		t.habit = s.scenario.Habits[n.ID]
		switch isProtected := slices.Contains(s.scenario.Protected, n.ID); {
		case n.SuspendsItself():
			t.protected, t.set = isProtected, ""
		case isProtected && n.Can.Has(plan.Protect):
			t.protected, t.set, t.dirty = true, setAside, false
		}
		s.askBoth(i)
		if n.Kind == plan.Supply {
			b, given := s.scenario.Batteries[n.ID]
			s.supplies = append(s.supplies, newCell(i, s.supply(n.ID), b, given))
		}
	}
	for _, id := range s.scenario.Off {
		if i, ok := s.estate.Index(id); ok {
			s.nodes[i].state = plan.Off
		}
	}
	for i := range s.nodes {
		s.nodes[i].wasOn = s.nodes[i].state == plan.On
		s.show(i)
		s.referee.Answered(s.now, i)
		s.referee.Told(s.now, i, s.misled(i))
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

func (s *simulation) at(t time.Time, do func()) { s.agenda.put(t.Sub(Epoch), do) }

func (s *simulation) after(d time.Duration, do func()) { s.agenda.put(s.passed+d, do) }

// setNow lets it be so long after Epoch.
func (s *simulation) setNow(passed time.Duration) { s.passed, s.now = passed, Epoch.Add(passed) }

// tick polls one supply, as often as the scenario says: more rarely, it may be, when it has been on line, or off, for a while.
func (s *simulation) tick(k int, first time.Duration) {
	c := &s.supplies[k]
	c.tick = func() {
		if s.passed != c.pollAt { // it was hastened
			return
		}
		next := cmp.Or(s.scenario.Poll, poll)
		if (c.mains || !c.output) && s.scenario.PollQuiet > next && s.now.Sub(c.changed) > quiet {
			next = s.scenario.PollQuiet
		}
		s.discharge(k, next)
		s.poll(k)
		s.pollIn(k, next)
	}
	s.pollIn(k, first)
}

// pollIn lets a supply be polled next after a time.
func (s *simulation) pollIn(k int, wait time.Duration) {
	c := &s.supplies[k]
	c.pollAt = s.passed + wait + s.apart(time.Duration(k+1)*10_007*time.Nanosecond)
	s.agenda.put(c.pollAt, c.tick)
}

// changed notes that a supply is not as it was: it is polled no more rarely than usual.
func (s *simulation) changed(k int) {
	c, usual := &s.supplies[k], cmp.Or(s.scenario.Poll, poll)
	c.changed = s.now
	if c.tick != nil && c.pollAt-s.passed > usual {
		s.pollIn(k, usual)
	}
}

// poll asks one supply how it is.
func (s *simulation) poll(k int) {
	s.showPoll(k)
	s.apply(engine.Read{Reading: s.reading(k)})
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
	effects := s.engine.Apply(s.now, ev)
	s.check(effects)
	for _, one := range effects {
		if s.life != life {
			return // it crashed in the middle of the batch
		}
		s.carryOut(one)
	}
	if s.journal.lost && !s.journal.noticed && len(s.journal.pending) > 0 {
		s.journal.noticed = true
		s.apply(engine.JournalLost{Detail: "the disk is gone"})
	}
}
