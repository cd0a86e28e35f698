package timeline

import (
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Add takes the next record. One that opens an outage begins a new timeline.
func (t *Timeline) Add(r ledger.Record) {
	if r.Kind != ledger.Opened && t.index == nil {
		return // belongs to no outage that was seen to begin
	}
	switch r.Kind {
	case ledger.Opened:
		*t = Timeline{
			Outage: r.Outage, Mode: r.Mode, Digest: r.Digest, Start: r.At, Goal: plan.Down, Supplies: slices.Clone(r.Supplies),
			Scope: slices.Clone(r.Scope),
			index: map[key]int{}, nodes: map[string]plan.State{},
		}
		t.mark(r, strings.Join(slices.Concat(r.Supplies, r.Scope), ", "), r.Reason)
	case ledger.Snapshot, ledger.Widened:
		t.snapshot(r)
	case ledger.Mains:
		t.mains(r)
	case ledger.Triggered:
		t.Stages = append(t.Stages, Stage{Name: r.Stage, At: r.At, Supplies: r.Supplies, Reason: r.Reason, Numbers: r.Numbers})
		t.mark(r, "stage "+string(r.Stage), strings.Join(r.Supplies, ", "), r.Reason)
	case ledger.Intent, ledger.Asked:
		t.began(r)
	case ledger.Accepted:
		t.answered(r)
	case ledger.Proven, ledger.Failed, ledger.Reopened, ledger.HeldBack:
		t.ended(r)
	case ledger.NoReturn:
		t.NoReturn = r.At
		t.mark(r, "point of no return", r.Node, r.Reason)
	case ledger.Forbidden:
		t.mark(r, "not sent: "+r.Node, r.Reason)
	case ledger.Turned:
		t.turned(r)
	case ledger.Ordered:
		t.ordered(r)
	case ledger.Gap:
		t.blurRunning()
		t.mark(r, r.Reason)
	case ledger.Spent:
		t.spent(r)
	case ledger.Closed:
		t.closed(r)
	case ledger.Seen, ledger.Still: // of what is in no outage; for a restart
	}
}

// mains follows the supplies that the outage is of, and their outputs.
func (t *Timeline) mains(r ledger.Record) {
	for _, id := range r.Supplies {
		if !slices.Contains(t.Supplies, id) {
			t.Supplies = append(t.Supplies, id)
		}
	}
	t.output(&r)
	t.mark(r, strings.Join(r.Supplies, ", "), r.Reason)
}

// output follows what became of a cut that was proven to be taken: it was made, unless its supply is released from it
// before its output goes off.
func (t *Timeline) output(r *ledger.Record) {
	for _, id := range r.Supplies {
		i, ok := t.index[key{id, plan.Cut}]
		if !ok {
			continue
		}
		switch s := &t.Steps[i]; {
		case r.Cause == ledger.Dark || r.Cause == ledger.Cycled:
			s.made = true
		case r.Cause == ledger.Released && s.State == Proven && !s.made:
			t.move(s, Failed)
			s.Ended, s.Reason = r.At, t.told(r.Reason)
		}
	}
}

func (t *Timeline) snapshot(r ledger.Record) {
	on := 0
	for _, n := range r.Nodes {
		_, known := t.nodes[n.Node]
		if !known && !slices.Contains(t.Supplies, n.Node) && (n.State == plan.On || n.State == plan.Starting) {
			t.nodes[n.Node] = plan.On
			t.Summary.WasOn++
			on++
		}
	}
	of := strings.Join(r.Supplies, ", ")
	if r.Kind == ledger.Widened && of == "" {
		of = r.Nodes[0].Node
	}
	t.mark(r, of, english.Count(on, "node")+" on")
}

// turned begins the way in the other direction.
func (t *Timeline) turned(r ledger.Record) {
	if t.Goal != r.Goal { // a supply after the other may turn the same way
		t.NoReturn = time.Time{}
		t.pass++
	}
	t.Goal = r.Goal
	t.mark(r, t.going()+string(r.Goal), r.Reason)
}

func (t *Timeline) ordered(r ledger.Record) {
	refused := ""
	if r.Reason != "" {
		refused = "refused, " + r.Reason
	} else {
		switch r.Order {
		case ledger.Hold:
			t.Hold = true
			t.blurRunning()
		case ledger.Resume, ledger.Go:
			t.Hold = false
		case ledger.Abort, ledger.Confirm, ledger.Skip:
		}
	}
	t.mark(r, strings.TrimSpace(string(r.Order)+" "+r.Node)+" by "+r.By, refused)
}

func (t *Timeline) closed(r ledger.Record) {
	t.End, t.Result, t.Hold = r.At, t.told(r.Reason), false
	for _, n := range r.Nodes {
		t.NotRestored = append(t.NotRestored, n.Node)
	}
	slices.Sort(t.NotRestored)
	t.NotRestored = slices.Compact(t.NotRestored)
	for i := range t.Steps {
		if s := &t.Steps[i]; s.State == Running || s.State == Pending {
			t.move(s, Open)
		}
	}
	t.mark(r, r.Reason)
}

// step finds the step that a record speaks of, or adds it. A direction that was taken before has its own steps; what
// was under way when the direction turned is ended where it began.
func (t *Timeline) step(r ledger.Record) *Step {
	verb := plan.Stop
	if r.Verb != nil && *r.Verb != plan.Force {
		verb = *r.Verb
	}
	k := key{r.Node, verb}
	if i, ok := t.index[k]; ok {
		s := &t.Steps[i]
		begins := r.Kind == ledger.Intent || r.Kind == ledger.Asked
		anew := !s.Ended.IsZero() && s.State != Failed && (begins || r.Kind == ledger.Proven) // it came up in between, without a turn
		if s.Pass == t.pass && !anew || s.Ended.IsZero() && !begins {
			return s
		}
	}
	t.index[k] = len(t.Steps)
	t.Steps = append(t.Steps, Step{Node: r.Node, Verb: verb, Rung: verb, Started: r.At, Pass: t.pass})
	return &t.Steps[len(t.Steps)-1]
}

// move gives a step its state and keeps count.
func (t *Timeline) move(s *Step, to State) {
	if n := t.Summary.of(s.State); n != nil {
		*n--
	}
	s.State = to
	*t.Summary.of(to)++
}

func (t *Timeline) began(r ledger.Record) {
	s := t.step(r)
	s.course.begins(&r, s.State)
	t.move(s, Running)
	s.Ended, s.made = time.Time{}, false
	s.Attempts++
	s.Rung, s.Reason, s.Cause = *r.Verb, t.told(r.Reason), r.Cause
	switch {
	case r.Kind == ledger.Asked && t.Observed():
		s.Reason = t.told("a person would be asked")
	case r.Kind == ledger.Asked:
		s.Reason = "a person was asked"
	}
	if forced(&r) {
		t.Forced = append(t.Forced, Forced{Node: r.Node, Verb: s.Rung, At: r.At, Reason: t.told(r.Reason), Cause: r.Cause})
	}
}

// answered notes why a command was not simply accepted.
func (t *Timeline) answered(r ledger.Record) {
	if r.Outcome == ledger.Done {
		return
	}
	s := t.step(r)
	s.Reason = string(r.Outcome)
	if r.Reason != "" {
		s.Reason += ": " + r.Reason
	}
	s.Reason = t.told(s.Reason)
	if r.Outcome == ledger.Busy || r.Outcome == ledger.Unreached {
		t.move(s, Pending)
	}
}

func (t *Timeline) ended(r ledger.Record) {
	s := t.step(r)
	switch {
	case r.Kind == ledger.Failed:
		t.move(s, Failed)
		s.Ended, s.Reason, s.Cause = r.At, t.told(r.Reason), r.Cause
		s.course.late = s.course.late || r.Cause == ledger.Overtime
	case r.Kind == ledger.HeldBack:
		t.move(s, Pending)
		s.course.blur()
		s.Ended, s.Reason, s.Cause = time.Time{}, t.told(r.Reason), r.Cause
	case r.Kind == ledger.Reopened:
		t.move(s, Pending)
		s.course.blur()
		s.Ended, s.Reason, s.Cause = time.Time{}, t.told(r.Reason), r.Cause
		t.fate(r.Node, plan.On)
	case s.Rung == plan.Force:
		t.move(s, Stopped)
		s.Ended = r.At // the reason for the force is worth more than how it was seen
		t.fate(r.Node, plan.Off)
	default:
		t.move(s, Proven)
		s.Ended, s.Reason, s.Cause = r.At, t.told(r.Reason), r.Cause
		switch s.Verb {
		case plan.Stop, plan.Cut:
			t.fate(r.Node, plan.Off)
		case plan.Start:
			t.fate(r.Node, plan.Starting)
		case plan.Protect, plan.Flush, plan.Force, plan.Unprotect, plan.Discharge, plan.EndDischarge:
		}
	}
}

// fate notes what became of a node that was on: Off is proven off, Starting proven on again.
func (t *Timeline) fate(node string, now plan.State) {
	was, counted := t.nodes[node]
	if !counted {
		return
	}
	add := func(s plan.State, by int) {
		switch s {
		case plan.Off:
			t.Summary.Down += by
		case plan.Starting:
			t.Summary.Back += by
		default:
		}
	}
	add(was, -1)
	add(now, 1)
	t.nodes[node] = now
}
