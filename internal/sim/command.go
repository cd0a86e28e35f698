package sim

import (
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// command carries out a verb on a node at the model's present time, and tells its answer. Unprotect is told how it
// was.
func (s *simulation) command(i int, verb plan.Verb, was string) (ledger.Outcome, string) {
	t := &s.nodes[i]
	if outcome, why := s.meets(i, verb); outcome != ledger.Done {
		return outcome, why
	}
	s.keepView(i)
	t.commands++
	tardy := t.fault == Tardy && verb == plan.Unprotect && !t.tardied
	late := t.fault == Late && t.commands == 1 || tardy
	t.tardied = t.tardied || tardy
	if outcome, why := s.turnsDown(i, verb); outcome != ledger.Done {
		return outcome, why
	}
	if outcome, why := s.obey(i, verb, was, late); outcome != ledger.Done || verb == plan.Discharge || verb == plan.EndDischarge {
		return outcome, why
	}
	switch {
	case t.fault == Mute, late:
		return ledger.TimedOut, "the answer was lost"
	case t.fault == Deny && t.commands == 1:
		return ledger.Refused, "it refuses"
	}
	return ledger.Done, ""
}

// meets tells what a command comes to before anything takes it: ledger.Done, it is taken.
func (s *simulation) meets(i int, verb plan.Verb) (ledger.Outcome, string) {
	const none = "no answer"
	t := &s.nodes[i]
	if s.quiet(i) && (verb != plan.Start || !s.selfTests(i)) || verb != plan.Start && t.state == plan.Starting && t.habit.Refuses {
		s.meetQuiet(i, MetDarkOrder, MetSelfTestOrder, MetSupplyOrder)
		return ledger.Unreached, none
	}
	if t.fault == Vanish && t.state != plan.Gone { // by somebody else's hand
		s.referee.Meddled(s.now, i)
		s.become(i, plan.Gone)
	}
	if t.state == plan.Gone {
		return ledger.NoSuchThing, "does not exist"
	}
	if verb != plan.Start && s.isDeafTo(i, verb) {
		return ledger.Unreached, none
	}
	return ledger.Done, ""
}

// isDeafTo reports whether a node does not hear a command that does not start it.
func (s *simulation) isDeafTo(i int, verb plan.Verb) bool {
	t, decl := &s.nodes[i], s.estate.Node(i)
	if (verb == plan.Stop || verb == plan.Force) && t.state == plan.Off && decl.OffAfter > 0 { // its own system takes it, and that is off
		return true
	}
	deaf := !s.powered(i) || !s.reached(i) || t.frozen || isSetting(verb) && !s.runs(i)
	return deaf && decl.Kind != plan.Supply
}

// isSetting reports whether a verb changes what a system does, and not its power.
func isSetting(verb plan.Verb) bool {
	return verb == plan.Protect || verb == plan.Flush || verb == plan.Unprotect
}

// turnsDown says why who takes a command does not do it: ledger.Done, it does.
func (s *simulation) turnsDown(i int, verb plan.Verb) (ledger.Outcome, string) {
	t, decl := &s.nodes[i], s.estate.Node(i)
	switch {
	case t.fault == Busy && t.commands <= 2:
		return ledger.Busy, "another task is running"
	case t.fault == Deny && t.commands == 1 && verb == plan.Force &&
		s.scenario.BMCs[decl.ID] != "": // the word of the BMC is told, and nobody learns of this one
		return ledger.Refused, "it refuses"
	case t.fault == Unready && t.commands%3 != 0 && (verb == plan.Stop || verb == plan.Start):
		return ledger.Refused, "it is not ready for that"
	case t.fault == Refuse && isSetting(verb) && !decl.Can.Has(plan.Stop):
		return ledger.Refused, "it may not be changed"
	case t.fault == Refuse && verb == plan.Stop:
		return ledger.Refused, "the guest does not respond"
	}
	return ledger.Done, ""
}

// obey does what was commanded, each in its time, and long after that if it is late.
func (s *simulation) obey(i int, verb plan.Verb, was string, late bool) (ledger.Outcome, string) {
	t := &s.nodes[i]
	took := s.took(i, verb)
	if late {
		took = lateBy * s.estate.Node(i).Time(verb).Within
	}
	switch verb {
	case plan.Protect, plan.Flush, plan.Unprotect:
		s.after(took, func() { s.adjust(i, verb, was, late) })
	case plan.Stop:
		s.takeStop(i, took, late)
	case plan.Force:
		s.stop(i, took, t.fault == Stuck)
	case plan.Start:
		return s.start(i, took)
	case plan.Cut:
		s.armCut(i)
	case plan.Discharge, plan.EndDischarge:
		return s.test(i, verb == plan.Discharge)
	}
	return ledger.Done, ""
}

// takeStop begins a stop. Of one that is late nothing shows that it was told.
func (s *simulation) takeStop(i int, took time.Duration, late bool) {
	t := &s.nodes[i]
	switch {
	case late:
		s.after(took, func() {
			s.referee.Meddled(s.now, i) // for who gave it up long ago it is as if somebody else did it
			s.suspend(i)
			s.stop(i, s.took(i, plan.Stop), false)
		})
	case t.fault == Freeze:
		t.frozen = t.state == plan.On
		s.show(i)
	default:
		s.suspend(i)
		s.stop(i, took, t.fault == Hang || t.fault == Stuck)
	}
}

// suspend puts what goes down in a mode of its own into it, as only a stop does: a power-off leaves a host as it was set.
func (s *simulation) suspend(i int) {
	t := &s.nodes[i]
	t.protected = t.protected || t.state == plan.On && s.estate.Node(i).SuspendsItself()
}
