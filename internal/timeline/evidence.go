package timeline

import (
	"time"

	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Discharge is what a supply's battery gave.
type Discharge struct {
	Supply string `json:"supply"`
	power.Discharge
}

// course is what is kept of a step for the sake of what can be learned from it.
type course struct {
	forced  time.Time // when it was last forced
	late    bool      // its time was over
	blurred bool      // something came between command and proof, so that the time says nothing of the node
	muddled bool      // something came between its force and the proof
}

// Tells reports whether the time that a step took tells anything of its node: nothing came between, such as an absence of Ebbtide.
func (s *Step) Tells() bool { return !s.course.blurred }

// blur notes that nothing can be learned from the times of a step.
func (c *course) blur() { c.blurred, c.muddled = true, true }

// begins follows a command, given to a step that was in such a state.
func (c *course) begins(r *ledger.Record, was State) {
	switch {
	case was == Running && (*r.Verb == plan.Start || *r.Verb == plan.Cut): // the one before has brought nothing about
		c.late = true
	case r.Kind == ledger.Asked: // nobody knows when a person begins
		c.blur()
	case forced(r):
		c.forced, c.muddled = r.At, false
		c.late = c.late || r.Cause == ledger.Overtime
		c.blurred = c.blurred || r.Cause != ledger.Overtime // it was not given its time
	}
}

// blurRunning notes that what is under way goes on unseen, or longer than it would have.
func (t *Timeline) blurRunning() {
	for i := range t.Steps {
		if s := &t.Steps[i]; s.State == Running || s.State == Pending {
			s.course.blur()
		}
	}
}

func (t *Timeline) spent(r ledger.Record) {
	if r.Discharge == nil {
		return
	}
	for _, id := range r.Supplies {
		d := Discharge{id, *r.Discharge}
		d.Drill = d.Drill || t.Mode == ledger.ModeDrill
		t.Discharges = append(t.Discharges, d)
	}
	t.mark(r, gave(&r))
}

// Drained lists the discharges from which a capacity can be learned: those of real batteries, whether anything was
// commanded or not.
func (t *Timeline) Drained() []Discharge {
	if t.Mode == ledger.ModeSimulate {
		return nil
	}
	return t.Discharges
}

// Samples lists how long what was commanded took, from the first command to the proof. It leaves out what was so
// already, what did not end, what was held, held back or not watched all the time, and what was cut short by a force that
// came before its time was over. Types are not on record and stay empty.
func (t *Timeline) Samples() []forecast.Sample {
	if !t.acted() {
		return nil
	}
	var all []forecast.Sample
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Attempts == 0 || s.Ended.IsZero() {
			continue
		}
		seen := forecast.Sample{Node: s.Node, Verb: s.Verb, At: s.Ended, Drill: t.Mode == ledger.ModeDrill}
		switch {
		case s.course.blurred:
		case s.course.late:
			seen.Hung = true
			all = append(all, seen)
		case s.State == Proven && s.Took() > 0:
			seen.Took = s.Took()
			all = append(all, seen)
		}
		if took := s.Ended.Sub(s.course.forced); s.State == Stopped && !s.course.muddled && took > 0 {
			all = append(all, forecast.Sample{Node: s.Node, Verb: plan.Force, At: s.Ended, Took: took, Drill: seen.Drill})
		}
	}
	return all
}

// Returned tells of each node that was really stopped, without force, and was proven on again, when that was.
func (t *Timeline) Returned() map[string]time.Time {
	back := map[string]time.Time{}
	if !t.acted() {
		return back
	}
	off := map[string]bool{}
	for i := range t.Steps {
		s := &t.Steps[i]
		switch {
		case s.Verb == plan.Stop:
			off[s.Node] = s.State == Proven && s.Attempts > 0
		case s.Verb == plan.Start && s.State == Proven && off[s.Node]:
			back[s.Node] = s.Ended
		}
	}
	return back
}

func (t *Timeline) acted() bool { return t.Mode == ledger.ModeRun || t.Mode == ledger.ModeDrill }
