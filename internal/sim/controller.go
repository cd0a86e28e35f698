package sim

import (
	"cmp"
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// journal is the state of the journal's disk.
type journal struct {
	lost    bool
	noticed bool            // the engine knows
	pending []ledger.Record // not durable
}

// setJournal takes the journal's disk away, or gives it back: what was to be appended meanwhile is written then.
func (s *simulation) setJournal(lost bool) {
	j := &s.journal
	j.lost = lost
	if lost {
		return
	}
	pending := j.pending
	told := j.noticed
	*j = journal{}
	life := s.life
	for _, rec := range pending {
		if s.life != life {
			s.referee.Forgot()
			return
		}
		s.write(rec)
	}
	if told && s.life == life {
		s.apply(engine.JournalBack{})
	}
}

// write makes a record durable.
func (s *simulation) write(rec ledger.Record) {
	rec.At, s.recorded = rec.At.Add(s.skew), s.skew
	s.result.Records = append(s.result.Records, rec)
	if !isCounted(&rec) {
		return
	}
	if s.written++; slices.Contains(s.scenario.CrashAt, s.written) {
		s.crash()
	}
}

// Counted gives the records that crashes are counted by: what only says that a supply is on battery still comes round by the clock, and is
// none.
func Counted(records []ledger.Record) []ledger.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r ledger.Record) bool { return !isCounted(&r) })
}

func isCounted(r *ledger.Record) bool { return r.Kind != ledger.Still }

// crash throws the engine away. What it commanded goes on; what it waited for is lost.
func (s *simulation) crash() {
	s.life++
	s.result.Kills++
	s.stopped = true
	if len(s.journal.pending) > 0 {
		s.referee.Forgot()
	}
	s.journal.pending, s.journal.noticed = nil, false
	clear(s.pending)
	s.wake = time.Time{}
	if s.selfless() {
		return // nobody is there to start it again before its machine is
	}
	s.restart()
}

// selfless reports whether the machine that the controller runs on is declared and not on.
func (s *simulation) selfless() bool {
	for i := range s.nodes {
		if s.estate.Node(i).Kind == plan.Self && s.nodes[i].state != plan.On {
			return true
		}
	}
	return false
}

// restart brings the controller back, with what its journal has.
func (s *simulation) restart() {
	life := s.life
	s.after(cmp.Or(s.scenario.Away, 10*time.Second)+s.apart(333_333*time.Nanosecond), func() {
		if s.life != life || s.selfless() || !s.stopped {
			return
		}
		s.setFairly()
		e, err := s.restore(openRecords(s.result.Records))
		if err != nil {
			s.referee.Broken(s.now, "8: cannot resume: "+err.Error())
			return
		}
		s.engine, s.stopped = e, false
		s.lostAnswers()
		for i := range s.nodes {
			s.askBoth(i)
		}
		for k := range s.supplies {
			s.supplies[k].cutDue, s.supplies[k].sagsSince = time.Time{}, time.Time{} // who had them is gone
			s.changed(k)                                                             // to a new controller all is news
		}
		s.referee.Resumed(s.now)
		s.apply(engine.Started{})
		for k := range s.supplies { // a new controller polls at once
			s.after(time.Duration(k+1)*7*time.Millisecond, func() { s.poll(k) })
		}
	})
}

// setFairly has a clock that was set back since the newest record as it was before, where that would hide how long the controller was away,
// and not say so by standing before that record: nobody can know that.
func (s *simulation) setFairly() {
	all := s.result.Records
	if len(all) > 0 && s.skew < s.recorded && !s.now.Add(s.skew).Before(all[len(all)-1].At) {
		s.skew = s.recorded
	}
}

// openRecords gives the records of the last outage, if it is open.
func openRecords(all []ledger.Record) []ledger.Record {
	for i, a := range slices.Backward(all) {
		switch a.Kind {
		case ledger.Closed:
			return nil
		case ledger.Opened:
			return all[i:]
		default:
		}
	}
	return nil
}

// lostAnswers has a controller that was thrown away know of the stops whose answers that has cost it: it takes them for accepted where the
// node answered right before.
func (s *simulation) lostAnswers() {
	open := map[string]bool{}
	for _, r := range openRecords(s.result.Records) {
		switch r.Kind {
		case ledger.Intent:
			open[r.Node] = r.Verb.TakesDown() && r.State == nil
		case ledger.Accepted, ledger.Proven, ledger.Failed, ledger.HeldBack:
			open[r.Node] = false
		default:
		}
	}
	for i := range s.nodes {
		t := &s.nodes[i]
		t.took = t.took || open[s.estate.Node(i).ID]
		t.counts = t.counts || t.took
	}
}
