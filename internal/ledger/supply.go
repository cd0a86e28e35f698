package ledger

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Standing is how a supply stands in the outage.
type Standing struct {
	Fails  Failure
	Cycle  Cycle
	Stages []bool // which have been triggered for it
	Reason string // of the last trigger
	Missed int    // cuts that it took and did not make
	Passed Passed // whether its recharge gate has been open since it failed last
	Twice  bool   // since it failed last by itself, it was to be cut after its mains were back: once is enough
	Unseen bool   // since something was stopped that only its power cycle starts, its output may have been off unseen
	// percent: the lowest that its battery came to, as far as is on record, or what it could have when it began to charge; 0: nothing is
	Charge  float64
	Failed  time.Time // when it was heard to fail
	Charges time.Time // since when it charges; zero: it does not, or nobody knows
	Battery
}

// Passed is whether a recharge gate has been open.
type Passed uint8

// Whether it has.
const (
	NotPassed    Passed = iota
	PassedBefore        // before Ebbtide was away for a while, once
	PassedNow
)

// Battery is what is on record of the stretch on battery of a supply that fails.
type Battery struct {
	On      bool // it fails for want of its mains, and not for heat alone
	Carried power.Carried
	At      time.Time // when that was heard, as the clock was then; zero: nothing is on record
	SetBack bool      // that was set back since, so that nobody knows how long ago it was
}

// Failure is whether a supply fails; it counts as failing until a record says that it has returned.
type Failure uint8

// Whether a supply fails.
const (
	NeverFailed Failure = iota // it has not failed in this outage
	HasReturned                // it has, or may have, and does not any more
	IsFailing                  // it fails
	CalledOff                  // it fails, and an operator has called off what that takes down: no stage begins for it until it is back
)

// HasFailed reports whether a supply has failed in this outage, or may have.
func (s *Standing) HasFailed() bool { return s.Fails != NeverFailed }

// IsOut reports whether a supply fails.
func (s *Standing) IsOut() bool { return s.Fails >= IsFailing }

// Cycle is how far a supply is on the way of a power cycle: cut, and back.
type Cycle uint8

// How far a power cycle is.
const (
	Uncut     Cycle = iota
	Committed       // something was told to stop that only its power cycle starts again
	CutSent         // the cut was commanded
	CutProven       // the cut counts down
	WentDark        // and the output was seen to be off: when it is on, it has come back
	GaveOut         // its output is off, or was, and nobody has cut it
)

// IsDark reports whether its output was seen to be off.
func (c Cycle) IsDark() bool { return c >= WentDark }

// IsOurs reports whether it was begun by what we have commanded.
func (c Cycle) IsOurs() bool { return c != Uncut && c != GaveOut }

// eachSupply changes the standing of each supply that a record names.
func (l *Ledger) eachSupply(r *Record, change func(*Standing)) {
	for _, id := range r.Supplies {
		if i, known := l.estate.Index(id); known && l.SupplyOf[i] >= 0 {
			change(&l.Outage.Supplies[l.SupplyOf[i]])
		}
	}
	l.settle()
}

func (l *Ledger) failing(r *Record) {
	if l.Outage.Drill.On() { // what was ordered was for that
		l.Outage.Orders = Orders{}
	}
	l.Outage.Drill.leave()
	l.eachSupply(r, func(s *Standing) {
		if !s.IsOut() {
			s.Battery, s.Failed = Battery{}, r.At.Round(0).UTC()
		}
		s.On = s.On || !r.Unfit
		s.Charges, s.Passed, s.Twice = time.Time{}, NotPassed, s.Twice && s.Cycle.IsOurs()
		if s.Fails = max(s.Fails, IsFailing); r.Off {
			s.goesDark()
		}
	})
}

// followClock takes the time of a record: one from before the record before it shows that the clock was set back.
func (o *Outage) followClock(at time.Time) {
	if at.Before(o.clock) {
		for k := range o.Supplies {
			b := &o.Supplies[k].Battery
			b.SetBack = b.SetBack || !b.At.IsZero()
		}
	}
	o.clock = at
}

// mains takes a change of a supply's power.
func (l *Ledger) mains(r *Record) {
	l.charges(r)
	switch r.Cause {
	case Returned:
		l.eachSupply(r, func(s *Standing) { s.Fails, s.Battery = min(s.Fails, HasReturned), Battery{} })
	case Dark:
		l.eachSupply(r, (*Standing).goesDark)
	case Released:
		l.eachSupply(r, func(s *Standing) { s.Cycle = Uncut })
	case Cycled, Unseen:
		l.meetAnew(r)
		for _, id := range r.Supplies {
			if i, known := l.estate.Index(id); known {
				l.cycled(i, r)
			}
		}
		l.eachSupply(r, func(s *Standing) {
			s.Passed = NotPassed
			if s.Unseen = r.Cause == Unseen; !s.Unseen {
				s.Cycle, s.Missed = Uncut, 0
			}
			s.Fails = max(s.Fails, HasReturned) // or may have failed: its gate counts
		})
	default: // Failing, and records of before there were causes
		l.failing(r)
	}
}

// meetAnew follows an output that was off by itself and is on: another may have been cut after its mains were back, and have missed it. The
// two may be once more.
func (l *Ledger) meetAnew(r *Record) {
	isAlone := false
	l.eachSupply(r, func(s *Standing) { isAlone = isAlone || s.Cycle.IsDark() && !s.Twice })
	for k := range l.Outage.Supplies {
		s := &l.Outage.Supplies[k]
		s.Twice = s.Twice && (!isAlone || s.Cycle == Committed)
	}
}

// charges takes what a battery can have at most, as it goes on charging.
func (l *Ledger) charges(r *Record) {
	if r.Charge > 0 {
		l.eachSupply(r, func(s *Standing) { s.Charge, s.Charges = r.Charge, r.At.Round(0).UTC() })
	}
}

// gap follows that nobody was there for a while: what charged then nobody knows.
func (l *Ledger) gap() {
	for k := range l.Outage.Supplies {
		s := &l.Outage.Supplies[k]
		s.Charges, s.Passed = time.Time{}, max(s.Passed, PassedBefore)-1
	}
	l.runs()
}

// cycled follows the return of an output, or of an outlet: what hangs on it, and on nothing that carried it meanwhile, may be on its way
// up, whatever was known of it before. A machine that took a stop need not be off, but is where it has not answered when it has had the
// time to boot (docs/adr/0005). The stop of what surely comes up with this is void, and that of what runs on another. Where nobody knows
// whether the output was off, what is on tells that (see cycledUnseen). What was given up without having been told to stop is told now.
func (l *Ledger) cycled(source int, r *Record) {
	dark := l.estate.Scope(func(f int) bool { return !slices.Contains(r.Carriers, l.estate.Node(f).ID) })
	for _, i := range l.estate.Dependents(source) {
		if !dark[i] {
			continue
		}
		n, decl := &l.Outage.Nodes[i], l.estate.Node(i)
		comes := decl.ByPower && r.Cause != Unseen && (l.SupplyOf[source] < 0 || slices.Contains(l.estate.Sources(i), source))
		l.mayWrite(i, CleanUnless)
		// it may have failed unheard: what was on is to be on again
		l.Outage.Scope[i] = l.Outage.Scope[i] || l.SupplyOf[source] >= 0
		if n.Untried.Has(plan.Stop) { // it could not be told, and can be now
			n.GivenUp, n.Relapses = n.GivenUp&^plan.VerbSet(plan.Stop), 0
		}
		n.Last.Taken, n.Lit, n.Snap.Past = n.Last.Taken && !comes && l.estate.HostOf(i) < 0, max(n.Lit, PoweredAgain), true
		if r.Cause == Cycled && comes && n.Shown == ShownOff && slices.Contains(l.estate.Needs(i), source) {
			n.Shown = WasTold
		}
	}
}

// turned marks a change of course. In the records of today it is for people; in those of format 0 the whole outage turned.
func (l *Ledger) turned(r *Record) {
	l.charges(r)
	o := l.Outage
	l.eachSupply(r, func(s *Standing) {
		if s.Passed = NotPassed; r.Goal == plan.Up {
			s.Passed = PassedNow
		}
	})
	if o.Drill.On() && r.Goal == plan.Up {
		o.Drill.Phase = DrillUp
	}
	if o.Format > 0 || r.Format > 0 {
		return
	}
	for k := range o.Supplies {
		s := &o.Supplies[k]
		if s.Cycle < CutSent || r.Goal == plan.Down {
			s.Cycle = Uncut
		}
		clear(s.Stages)
		if r.Goal == plan.Up && slices.Contains(r.Supplies, l.estate.Node(l.SupplyNodes[k]).ID) {
			s.Fails, s.Cycle = min(s.Fails, HasReturned), Uncut
		}
	}
	for i := range o.Nodes {
		o.Nodes[i].GivenUp, o.Nodes[i].Relapses = 0, 0
	}
	l.settle()
}

func (l *Ledger) triggered(r *Record) {
	if at := slices.Index(l.Stages, r.Stage); at >= 0 { // a stage that the runbook no longer has takes nothing
		l.eachSupply(r, func(s *Standing) { s.Stages[at], s.Reason = true, r.Reason })
	}
}

// callOff takes back the stages that have begun for the supplies that fail, or says that they may begin again.
func (l *Ledger) callOff(is bool) {
	for k := range l.Outage.Supplies {
		switch s := &l.Outage.Supplies[k]; {
		case !s.IsOut(), is && s.Cycle != Uncut: // what has begun that only its cycle ends is finished
		case is:
			s.Fails, s.Reason = CalledOff, ""
			clear(s.Stages)
		default:
			s.Fails = IsFailing
		}
	}
	l.settle()
}

// goesDark follows an output that is off.
func (s *Standing) goesDark() {
	s.Passed, s.Charges = NotPassed, time.Time{}
	if s.Cycle.IsOurs() {
		s.Cycle = WentDark
		return
	}
	s.Cycle = GaveOut
}

// cut takes a record about the cut of the supply's output.
func (s *Standing) cut(r *Record) {
	switch r.Kind {
	case Intent:
		s.Cycle, s.Passed = CutSent, NotPassed
	case Proven:
		s.Cycle = CutProven
		if r.State != nil && *r.State == plan.Off {
			s.Cycle = WentDark
		}
	case HeldBack:
		s.Cycle = Committed
	case Reopened: // it took its cut and did not make it
		s.Cycle, s.Missed = Committed, s.Missed+1
	case Failed:
		s.Cycle = Uncut
	default:
	}
}

// IsDark reports whether a supply that stands so will not go on carrying its load.
func (s *Standing) IsDark() bool { return s.IsOut() || s.Cycle != Uncut }

// still takes down that a supply is on battery still, or that its mains are there and it fails for another reason; or that it is not heard:
// where Ebbtide falls away after that, nobody knows for how long its mains may have been gone.
func (l *Ledger) still(r *Record) {
	l.eachSupply(r, func(s *Standing) {
		switch r.Cause {
		case Unheard:
			s.Passed = min(s.Passed, PassedBefore)
			return
		case HeardAgain:
			s.Passed = PassedNow
			return
		default:
		}
		if s.Battery = (Battery{}); r.Carried != nil {
			s.Battery = Battery{On: true, Carried: *r.Carried, At: r.At}
			s.cameDownTo(r.Carried.Left)
		}
	})
}

// spent takes down what a stretch on battery has left of the charge.
func (l *Ledger) spent(r *Record) {
	if r.Discharge != nil {
		l.eachSupply(r, func(s *Standing) {
			s.Carried.Told = true
			s.cameDownTo(r.Discharge.To)
		})
	}
}

// cameDownTo takes down a charge, in percent, that was the lowest, it may be; 0: none was told.
func (s *Standing) cameDownTo(charge float64) {
	if charge > 0 && (s.Charge == 0 || charge < s.Charge) {
		s.Charge = charge
	}
}
