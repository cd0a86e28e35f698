package belief

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Supply is what is known of one UPS beside its standing on record: its readings, and what follows from them.
type Supply struct {
	Node      int
	Tracker   *power.Tracker
	State     power.State
	Condition Condition
	Output    Output
	Lapse     Lapse
	Gate      bool // its recharge gate is open, if it has one
	Heard     bool // since Ebbtide began
	InVain    bool // see IsInVain
	voice
	fitness
	absence absence
	fullest float64   // percent: the most of its charge while its gate was open since it failed last
	CutDue  time.Time // when the cut that counts down is due, as far as it says
	delays
}

// delays are those of a supply's cut, as the run book has them.
type delays struct {
	OffDelay time.Duration // from its command until its output is off
	OnDelay  time.Duration // for how long its output is off where its mains are there
	StaysOff bool          // it is, until a person switches it on
}

// LeastOff is for how long an output is off at the least: some UPSes count both delays from the command (usbhid-ups(8), ondelay).
func (d *delays) LeastOff() time.Duration { return max(d.OnDelay-d.OffDelay, power.ShortestOff) }

// voice is whether a supply is heard.
type voice struct {
	Mute      bool      // it is not heard now
	Anew      bool      // this is its first word after a silence: what is reckoned of its battery is of that still
	ToBeHeard bool      // before anything begins on what it feeds: see IsToBeHeard
	feeding   feed      // what was known of its output at the last reading
	OffSince  time.Time // its readings have said that its output is off; zero: the last has not
	OffUntil  time.Time // when its output was last off, or may have been: its reading said so, or there was none
}

// fitness is whether a supply that is on line is too hot or browned out for what the policy allows, and whether it stays on line.
type fitness struct {
	hunts   int  // how often its mains have come back since it failed, and did not stay
	harmful bool // as its last reading has it: see IsUnfit
	Unfit   bool // as its condition has it
	Sags    bool // its input is browned out, for however short a time, and the policy watches that: nothing is started on it
}

// Output is what a supply's words about its output are worth, and what they were since its last cut.
type Output struct {
	OffSeen bool      // it was off since the last cut was due: its readings said so, or said nothing
	Habit   bool      // it says OFF although nothing was cut
	OnAt    time.Time // when a look last showed it on, or counting down
}

// Lapse is what may have happened to a supply's load unseen.
type Lapse uint8

// What may have happened.
const (
	NoLapse  Lapse = iota
	WereAway       // Ebbtide was not there
	WasDeaf        // it was not heard for a while: its output may have been off
	MayBeOut       // its battery may have given out while it was not heard
	WasOff         // its output was off, and nobody had cut it
	JustBack       // its output came on, and no reading since has said whether its mains are back
)

// IsUnheard reports whether a supply was not heard for a while, and nobody knows what became of its output meanwhile.
func (l Lapse) IsUnheard() bool { return l == WereAway || l == WasDeaf || l == MayBeOut }

// IsHeardOnLine reports whether a supply is heard, and on line.
func (e *Estate) IsHeardOnLine(k int) bool {
	return e.Supplies[k].State.Mains == power.MainsOnline && !e.Supplies[k].Mute
}

// IsHeardOn reports whether a supply is heard, and its output is on by its own word.
func (s *Supply) IsHeardOn() bool { return s.State.SilentFor == 0 && !s.State.OutputOff }

// SaysOff reports whether a supply is heard, and its output is off by its own word.
func (s *Supply) SaysOff() bool { return s.State.SilentFor == 0 && s.State.OutputOff }

// WatchedCut reports whether the output of a supply was looked at right before its cut was due, and again after that, so that it
// was not off in between.
func (e *Estate) WatchedCut(s *Supply) bool {
	return !s.CutDue.IsZero() && s.Output.OnAt.Add(Unwatched).After(s.CutDue)
}

// IsDying reports whether a battery itself raises the alarm: its UPS says that it is low, or a cell gave out.
func (s *Supply) IsDying() bool {
	return s.State.LowBattery || s.State.Outlook.Views[power.FromDrop].Known
}

// Meet reports whether outputs that are cut in the same moment are all off for a while, where their mains are there.
func (e *Estate) Meet(feeds []int) bool {
	for _, f := range feeds {
		for _, other := range feeds {
			one, two := &e.Supplies[e.Ledger.SupplyOf[f]], &e.Supplies[e.Ledger.SupplyOf[other]]
			if one.OffDelay+one.LeastOff() <= two.OffDelay {
				return false
			}
		}
	}
	return true
}

// IsOffUntilMains reports whether an output that was cut is off until its mains are back, which they are not: it would be on again since.
func (e *Estate) IsOffUntilMains(k int) bool {
	s := &e.Supplies[k]
	isAway := s.State.Mains == power.MainsOnBattery && e.Standing(k).Cycle == ledger.WentDark && !s.Mute
	return isAway && !s.CutDue.IsZero() && e.Now.After(s.CutDue.Add(s.OnDelay+DeafAfter))
}

// FailedSupplies lists the supplies that have failed in this outage, on record.
func (e *Estate) FailedSupplies() []string {
	var ids []string
	for k := range e.Supplies {
		if e.Standing(k).HasFailed() {
			ids = append(ids, e.ID(e.Supplies[k].Node))
		}
	}
	return ids
}

// MayBeEmpty reports whether the battery of a supply that fails and is not heard may have given out: by what is reckoned, or, where nothing
// is known of it, after a while.
func (s *Supply) MayBeEmpty() bool {
	if left := s.State.Left; left.Known {
		return left.Value <= 0
	}
	return s.State.LowBattery || s.State.SilentFor > power.LowBatteryLeft
}

// IsUnfit reports whether a stage that stops something holds for a supply that is on line: what speaks of the battery does
// not hold there, a brown-out and the temperature do.
func (e *Estate) IsUnfit(s *Supply) bool { return s.harmful }

// FollowFitness finds whether a supply is unfit after a reading. While it is, it is not on line for what waits to be started on it, and a
// sensor that says nothing any more says what it said: it may have died of the heat.
func (e *Estate) FollowFitness(s *Supply, was *power.State) {
	if s.harmful && !s.State.Temperature.Known {
		s.State.Temperature = was.Temperature
	}
	wasUnfit := s.harmful || s.Sags // until now, as far as anybody knows
	s.harmful, s.Sags = e.harms(s), e.watchesSag && s.State.BrownoutFor > 0
	if wasUnfit || s.harmful || s.Sags {
		s.Tracker.Interrupt(e.Now)
		s.State.OnlineFor = 0
	}
}

// harms finds IsUnfit, once for each state of a supply.
func (e *Estate) harms(s *Supply) bool {
	if !e.watchesMains || s.State.Mains != power.MainsOnline {
		return false
	}
	f := power.Facts{State: s.State}
	return e.Policy.Shutdown.Holds(f) || slices.ContainsFunc(e.Policy.Shed, func(st power.Stage) bool { return st.When.Holds(f) })
}

// watches reports whether anything is stopped by a policy for one of some kinds of conditions.
func watches(p *power.Policy, kinds ...power.Kind) bool {
	holds := func(c power.Condition) bool {
		return slices.ContainsFunc(c.Needs(), func(kind power.Kind) bool { return slices.Contains(kinds, kind) })
	}
	return holds(p.Shutdown) || slices.ContainsFunc(p.Shed, func(st power.Stage) bool { return holds(st.When) })
}

// Tells says how a supply is, and what of the policy holds for one that is on line.
func (e *Estate) Tells(s *Supply) string {
	text := s.State.String()
	if !e.IsUnfit(s) {
		return text
	}
	f := power.Facts{State: s.State}
	for _, st := range e.Policy.Shed {
		if st.When.Holds(f) {
			return text + ", and " + st.When.Because(f)
		}
	}
	return text + ", and " + e.Policy.Shutdown.Because(f)
}

// Live reports whether a supply feeds its load from the mains: heard, on line, not browned out, not in a test, and not on its way to be
// cut.
func (e *Estate) Live(k int) bool {
	s, st := &e.Supplies[k], e.Standing(k)
	return !st.IsDark() && !s.Sags && !s.State.Calibrating &&
		!s.State.OutputOff && s.State.SilentFor == 0 && s.State.Mains == power.MainsOnline
}

// GateOf gives how the recharge gate of a supply is.
func (e *Estate) GateOf(k int) Gate {
	switch {
	case e.Supplies[k].Gate:
		return GateOpen
	case e.Supplies[k].Sags, e.Standing(k).HasFailed(), e.Ledger.Outage != nil && !e.ResumedAt.IsZero():
		return GateShut
	}
	return NoGate
}

// mostHunts is how often mains may come back that do not stay, until the next time is nothing to wait for: they hunt.
const mostHunts = 3

// FollowHunting follows the mains of a supply that has failed, on record, as its condition changes.
func (s *Supply) FollowHunting(now Condition, isOut bool) {
	switch {
	case !isOut:
		s.hunts = 0
	case s.Condition == Returning && now == OnBattery:
		s.hunts = min(s.hunts+1, mostHunts)
	}
}

// mayStay reports whether the mains of a supply that failed are there again, not for long enough to count, and may stay: those that hunt, a
// few seconds there and a few away, would keep everything from being told to go until its battery is empty.
func (s *Supply) mayStay() bool { return s.Condition == Returning && s.hunts < mostHunts }

// Refeed finds which nodes may be started as far as power goes: each has a feed on which things may be started, or none of
// its own, and so has all that it needs.
func (e *Estate) Refeed() {
	e.firm = e.Graph.Scope(func(i int) bool {
		k := e.Ledger.SupplyOf[i]
		return k >= 0 && e.Standing(k).IsDark() && !e.Supplies[k].mayStay() && e.Supplies[k].Lapse != JustBack &&
			!e.Supplies[k].InVain
	})
	for i := range e.Beliefs {
		feeds := e.Graph.Feeds(i)
		ok := len(feeds) == 0 || slices.ContainsFunc(feeds, func(f int) bool {
			k := e.Ledger.SupplyOf[f]
			return k >= 0 && e.Supplies[k].Condition.Starts()
		})
		for _, d := range e.Graph.Needs(i) {
			ok = ok && (e.Graph.Node(d).Kind == plan.Supply || e.Fed[d])
		}
		if e.Graph.Node(i).Kind == plan.Supply {
			k := e.Ledger.SupplyOf[i]
			ok = k >= 0 && e.Supplies[k].Condition.Starts()
		}
		e.Fed[i] = ok
	}
}

// IsUnheard reports whether nothing was heard of a supply since Ebbtide began, and may be yet: one that never answers is silent.
func (s *Supply) IsUnheard() bool {
	return s.State.Supply == "" || s.State.Mains == power.MainsUnknown && !s.State.OutputOff && s.State.SilentFor <= DeafAfter
}

// IsToBeHeard reports whether there is no reading of a supply since Ebbtide began, or it was cut before that and has not been
// looked at since.
func (e *Estate) IsToBeHeard(k int) bool {
	if e.Ledger.Outage == nil {
		return false
	}
	s := &e.Supplies[k]
	return s.IsUnheard() || e.Standing(k).Cycle >= ledger.CutSent && !e.Looked(s.Node)
}

// UnheardFor gives a supply whose word may change where a node goes, and that is to be heard before anything begins on it; -1 if
// there is none. What is lost with supplies that were heard goes down whatever another one says. Of a node that no supply feeds, as
// far as anybody knows, each may.
func (e *Estate) UnheardFor(i int) int {
	if !e.Unheard {
		return -1
	}
	if len(e.losses[i]) == 0 {
		return slices.IndexFunc(e.Supplies, func(s Supply) bool { return s.ToBeHeard })
	}
	awaited := -1
	for _, loss := range e.losses[i] {
		at := slices.IndexFunc(loss, func(k int) bool { return e.Supplies[k].ToBeHeard })
		if at >= 0 {
			awaited = loss[at]
		} else if !slices.ContainsFunc(loss, func(k int) bool { return !e.Standing(k).IsDark() }) {
			return -1
		}
	}
	return awaited
}
