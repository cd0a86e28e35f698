package belief

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// absence is what was known of a supply when it was heard last, for when it is heard again.
type absence struct {
	heard  time.Time
	charge float64 // of its battery, in percent, as its gauge had it; 0: it told none
	lasts  float64 // seconds, at least; 0: nobody knew
	load   float64 // percent; 0: not measured
}

// HeardWell takes down that a supply is heard, and that nothing is in doubt of what it has given until now.
func (e *Estate) HeardWell(k int) {
	if s := &e.Supplies[k]; s.State.SilentFor == 0 && s.Lapse == NoLapse {
		s.absence = absence{heard: e.Now, charge: s.State.Charge.Value, lasts: s.State.Left.Value, load: s.State.Load.Value}
	}
}

// LostPower ends the time in which a node may be at a stop that it took before its supply was heard last: its power was off since.
func (e *Estate) LostPower(i, k int) {
	if b := &e.Beliefs[i]; b.Told.Add(-b.Adrift).Before(e.Supplies[k].absence.heard) {
		b.Obeying = time.Time{}
	}
}

// WereAway takes down that Ebbtide was not there until now, so that nobody knows what became of a supply.
func (e *Estate) WereAway(k int) {
	s, was := &e.Supplies[k], &e.Standing(k).Battery
	s.Lapse, s.absence = WereAway, absence{heard: was.At, charge: was.Carried.Charge, lasts: was.Carried.Lasts, load: was.Carried.Load}
	switch {
	case e.IsSetBack(k):
		s.absence = absence{}
	case was.At.IsZero(): // it had only just failed
		s.absence.heard = e.AwayFrom
		if st := e.Standing(k); st.On && !st.Failed.IsZero() {
			s.absence.heard = st.Failed
		}
	}
}

// ForgetPower takes that Ebbtide begins: what became of the power of a node before, nobody knows; nor whether a guest that was off has come
// up with its host.
func (e *Estate) ForgetPower() {
	for i := range e.Beliefs {
		decl, b := e.Graph.Node(i), &e.Beliefs[i]
		until := e.Now.Add(e.PowerUpTime(i))
		switch host := e.HostOf(i); {
		case decl.Kind == plan.Supply, decl.Kind == plan.Passive && e.Ledger.Outage == nil:
		case decl.Kind == plan.VM && (e.WasOff(i) || e.WentWithHost(i)):
			b.Hosted = until
		case decl.Kind == plan.VM:
		case host >= 0 && e.WasOff(i) && !e.WasOff(host):
			b.Boots, b.Hosted = until, until
		default:
			b.Boots = until
		}
	}
}

// IsSetBack reports, as Ebbtide is back, whether the clock was set back while it was away, or since the battery of a supply went on record:
// for how long nobody was there, or heard it, nobody knows.
func (e *Estate) IsSetBack(k int) bool {
	return e.Now.Before(e.AwayFrom) || e.Standing(k).SetBack
}

// DeafAfter is how long a supply may be silent until its output counts as off and on again. Where no cut was sent, and its battery lasts
// for long by all that is known, what makes it silent for a while is hardly a cycle: its card or its driver starts anew.
func (e *Estate) DeafAfter(k int) time.Duration {
	left := e.Supplies[k].State.Left
	if e.Standing(k).Cycle >= ledger.CutSent || !left.Known {
		return DeafAfter
	}
	return max(DeafAfter, noCycle(left.Value))
}

// IsCountedOn reports whether a supply that fails is counted on for what its battery lasts: it is heard, or has missed a word or two, and
// its output is on. One that gives out before its time falls silent too.
func (s *Supply) IsCountedOn() bool { return s.State.SilentFor <= DeafAfter && !s.State.OutputOff }

// IsOver reports whether nobody has heard a supply since before its battery gave out, as far as that can be reckoned.
func (s *Supply) IsOver() bool {
	most := s.State.Outlook.Most()
	return s.State.SilentFor > DeafAfter && most.Known && most.Value <= 0
}

// MayBeOver reports whether nobody has heard a supply that fails, on record, for so long that its battery may have given out: by what is
// reckoned, by what was known of it before Ebbtide was away, or, where nothing was, after a while. One that was on line when it was heard
// last has its mains.
func (e *Estate) MayBeOver(k int) bool {
	s := &e.Supplies[k]
	switch most, lasts := s.State.Outlook.Most(), s.absence.lasts; {
	case !e.Standing(k).IsOut() || s.State.SilentFor <= DeafAfter:
		return false
	case most.Known:
		return most.Value <= 0
	case lasts > 0:
		return e.Now.Sub(s.absence.heard).Seconds() > lasts
	default:
		return s.MayBeEmpty()
	}
}

// noCycle is how long nobody may have heard a battery which lasts for so many seconds, at least, for it not to have given out.
func noCycle(lasts float64) time.Duration {
	return min(longSilence, shortBeside(lasts))
}

// shortBeside is how long is short beside what a battery lasts, of so many seconds.
func shortBeside(lasts float64) time.Duration {
	return time.Duration(lasts / lastsLonger * float64(time.Second))
}

// HasPassed reports whether the recharge gate of a supply has been open since it failed last, as far as anybody knows: what is on again by
// now is no reason to wait for more, when a restart of ours, a silence or an overload is over. Where its charge has fallen since, its mains
// were gone unheard.
func (e *Estate) HasPassed(k int) bool {
	s := &e.Supplies[k]
	return e.Standing(k).Passed != ledger.NotPassed && s.Lapse == NoLapse &&
		(!s.State.Charge.Known || s.State.Charge.Value > s.fullest-fallsUnheard)
}

// FollowGate takes down the charge that a supply comes to while its recharge gate is open.
func (s *Supply) FollowGate() {
	switch {
	case s.Gate && s.State.Charge.Known:
		s.fullest = max(s.fullest, s.State.Charge.Value)
	case s.State.Failing():
		s.fullest = 0
	}
}

// UnheardSince is how long ago a supply was heard before it was not, or before Ebbtide was away.
func (e *Estate) UnheardSince(k int) time.Duration { return e.Now.Sub(e.Supplies[k].absence.heard) }

// HasStayedOn reports whether the mains of a supply whose recharge gate was open, or that was on line again, are there as they were before
// it was not heard for a while, or before a restart of ours, and its battery would have lasted for much longer than that.
func (e *Estate) HasStayedOn(k int) bool {
	s := &e.Supplies[k]
	lasts := DeafAfter
	if s.State.Left.Known {
		lasts = max(lasts, min(onLong, shortBeside(s.State.Left.Value)))
	}
	away, st := e.UnheardSince(k), e.Standing(k)
	wasOn := st.Passed != ledger.NotPassed || st.Fails == ledger.HasReturned && st.Cycle < ledger.CutSent
	return wasOn && s.State.Mains == power.MainsOnline && !s.absence.heard.IsZero() && away >= 0 &&
		away <= lasts
}

// HasCarriedOn reports whether a supply that was on battery before it was not heard for a while, or before a restart of ours, has carried
// its load all the while, if it had not been told to cut its output. It is on battery still, and its mains can't have been back and its
// battery empty meanwhile, by how long that was beside what it lasts at least, or by what its gauge says; or its mains are back after so
// short a time that its battery has not given out.
func (e *Estate) HasCarriedOn(k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	away := e.UnheardSince(k)
	if s.absence.heard.IsZero() || away < 0 {
		return false
	}
	switch s.State.Mains {
	case power.MainsOnBattery:
		gauge := s.absence.fell(away, s.State.Charge, s.State.Load)
		isSure := away <= max(onBattery, shortBeside(s.absence.lasts)) && s.Lapse != MayBeOut && gauge != hasNot &&
			(s.absence.lasts == 0 || away.Seconds() < s.absence.lasts)
		return away <= onLong && (isSure || gauge == hasFallen)
	case power.MainsOnline:
		return (s.Lapse == WereAway || s.Lapse == NoLapse) && away <= noCycle(st.Carried.Lasts) && st.Cycle < ledger.CutSent
	default:
		return false
	}
}

// fall is what a gauge says of whether a battery has gone on giving all the while that its UPS was not heard.
type fall uint8

const (
	untold fall = iota // its gauge says nothing, or nothing so fine
	// it has less by a part, at least, of what that time costs, and not so much less that it may have given out and been charged again
	hasFallen
	hasNot // its mains were there for a while, or it has given out
)

// fell finds that. What the battery lasted, at least, gives the most that the time may have cost. Where the load has fallen since, which
// our own stops make it do, it is what it is now that counts.
func (a *absence) fell(away time.Duration, now, load power.Figure) fall {
	if !now.Known || a.charge == 0 || a.lasts == 0 {
		return untold
	}
	costs := a.charge * away.Seconds() / a.lasts / fallsBy
	if load.Known && load.Value < a.load {
		costs *= load.Value / a.load
	}
	switch {
	case now.Value <= a.charge-costs && now.Value < a.charge && now.Value >= a.charge/2:
		return hasFallen
	case costs < finest:
		return untold
	}
	return hasNot
}

// CarriedOn follows such a supply: nothing that hangs on such supplies alone has got its power back meanwhile, so that its silence counts
// at once.
func (e *Estate) CarriedOn(k int) {
	e.Supplies[k].Lapse = NoLapse
	gives := func(f int) bool {
		other := e.Ledger.SupplyOf[f]
		return other < 0 || e.Supplies[other].Lapse != NoLapse || !e.HasCarriedOn(other) && !e.HasStayedOn(other) ||
			e.Standing(other).Cycle >= ledger.CutSent && e.UnheardSince(other) > cutCycle
	}
	for _, i := range e.Graph.Dependents(e.Supplies[k].Node) {
		if !slices.ContainsFunc(e.Graph.Sources(i), gives) && (e.Ledger.Outage == nil || e.Entry(i).Lit == ledger.Unlit) {
			e.Beliefs[i].Boots = time.Time{}
		}
	}
}
