package sim

import (
	"slices"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

func (s *simulation) carryOut(one effect.Effect) {
	if !s.lean {
		s.result.Lines = append(s.result.Lines, Line{At: s.now.Sub(Epoch), Effect: one})
	}
	switch e := one.(type) {
	case effect.Append:
		if e.Record.Kind != ledger.Still {
			s.stirred = s.passed
		}
		s.referee.Recorded(s.now, &e.Record)
		if s.journal.lost {
			s.journal.pending = append(s.journal.pending, e.Record)
			return
		}
		s.write(e.Record)
	case effect.Do:
		s.do(e)
	case effect.Probe:
		s.probe(e)
	case effect.Cancel:
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: ledger.TimedOut, Detail: "cancelled"}, 0, nil)
	case effect.Wake:
		s.wake = e.At
		s.at(e.At, func() {
			if s.wake.Equal(e.At) {
				s.apply(engine.Woke{})
			}
		})
	case effect.Estimate:
		life, wait := s.life, latency
		var answer engine.Event = engine.Estimated(s.estimate(e))
		if s.scenario.Apart {
			wait = 0
		}
		s.after(wait, func() {
			if s.life == life {
				s.apply(answer)
			}
		})
	case effect.Notify:
		s.stirred = s.passed
	}
}

func (s *simulation) do(e effect.Do) {
	i, _ := s.estate.Index(e.Node)
	if s.journal.noticed && (e.Verb == plan.Start || e.Verb == plan.Unprotect) { // as the runner does
		s.begins(e.Op)
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: ledger.Busy, Detail: "the journal can't be written"}, 0, nil)
		return
	}
	s.showCommand(i, e)
	s.begins(e.Op)
	s.send(i, e)
	if s.commands++; slices.Contains(s.scenario.CrashOn, s.commands) {
		s.crash()
	}
}

func (s *simulation) probe(e effect.Probe) {
	i, _ := s.estate.Index(e.Node)
	s.begins(e.Op)
	life, way := s.life, s.way(e.Op)
	if slow := s.nodes[i].habit.Slow; slow > 0 {
		s.meet(MetSlowLook)
		way += min(slow, e.Within-2*way-time.Millisecond) / 2
	}
	s.after(way, func() {
		if s.life != life {
			return
		}
		wait := way
		outcome, seen := s.look(i)
		if up := seen.State == plan.On || seen.State == plan.Starting; up && !s.nodes[i].took && !s.journal.lost {
			s.nodes[i].counts = false
		}
		if s.quiet(i) && seen.State != plan.Off { // nobody answers
			wait = max(0, min(deadAfter, e.Within-2*way))
		}
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: outcome, Seen: seen}, wait, s.showAnswer(i, outcome, seen))
	})
}

// way is how long an operation takes to its node, and as long its answer back.
func (s *simulation) way(op ledger.Op) time.Duration {
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

// send lets a command arrive at its node, whatever becomes of the engine meanwhile, and its answer come back. One that takes
// longer than the engine waits is given up, and arrives all the same.
func (s *simulation) send(i int, e effect.Do) {
	t, way := &s.nodes[i], s.way(e.Op)
	there := way + t.habit.Way
	givenUp := there+way > e.Within
	if givenUp {
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: ledger.TimedOut, Detail: "no answer in time"}, e.Within+way, nil)
	}
	before := t.state
	s.after(there, func() {
		s.meetSlow(t, before)
		quiet := s.quiet(i)
		outcome, detail := s.give(i, e)
		wait, left := way, e.Within-there
		switch {
		case givenUp:
			return
		case outcome == ledger.TimedOut:
			wait = left + way
		case quiet:
			wait = max(0, min(deadAfter, left-way))
		}
		s.answer(e.Op, engine.Finished{Op: e.Op, Outcome: outcome, Detail: detail}, wait, func() {
			stops := e.Verb == plan.Stop || e.Verb == plan.Force
			t.took = t.took || stops && outcome == ledger.Done && (t.state == plan.Stopping || t.state == plan.Off)
			t.counts = t.counts || t.took
		})
	})
}

// meetSlow counts a command that took seconds to arrive, and found its node in another state than when it left.
func (s *simulation) meetSlow(t *simNode, left plan.State) {
	if t.habit.Way == 0 {
		return
	}
	s.meet(MetSlowOrder)
	if t.state != left {
		s.meet(MetSlowOrderLate)
	}
}

// begins notes that an operation is under way. They are numbered from 1 on.
func (s *simulation) begins(op ledger.Op) {
	for len(s.pending) <= int(op) {
		s.pending = append(s.pending, false)
	}
	s.pending[op] = true
}

// ends notes that an operation is over, and reports whether it was under way.
func (s *simulation) ends(op ledger.Op) bool {
	if int(op) >= len(s.pending) || !s.pending[op] {
		return false
	}
	s.pending[op] = false
	return true
}

// answer brings an operation's end to the engine that asked for it, once. If that lives to hear it, heard is called.
func (s *simulation) answer(op ledger.Op, end engine.Finished, wait time.Duration, heard func()) {
	life, ev := s.life, engine.Event(end)
	s.after(wait, func() {
		if s.life != life || !s.ends(op) {
			return
		}
		if heard != nil {
			heard()
		}
		s.apply(ev)
	})
}
