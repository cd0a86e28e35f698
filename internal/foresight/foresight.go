// Package foresight is how short the time is: what each battery leaves against what the rest of the plan needs, the slack between the two,
// and how short that makes the time of each node. It asks and answers; what begins for it is the engine's.
package foresight

import (
	"math"
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// Foresight is what is wanted of an estate, and the time that there is for it.
type Foresight struct {
	want.Wants
	Estimate Estimate // the newest
	Known    bool     // there is one
	Times    []Time   // per supply
	Pressed  bool     // the time of any node is short
	raced    power.Race
	last     [][]last // per supply
}

// Time is how short the time is that a supply's battery leaves, as its last reading has it.
type Time struct {
	Battery want.Pressure // of the battery
	Load    want.Pressure // of what hangs on it
	Trusted bool          // it is counted on, beside other feeds: it does not fail, or is heard and gives power
	Gone    bool          // its output has gone off: there is no hurry any more
	Late    bool          // it leaves no more than the time in which what hangs on it is stopped, and its output cut
	Ahead   time.Duration // to its next poll
}

// New knows of no time yet. Of the questions asked before, the newest is serial: an answer to it, or to an older one, is of another estate.
func New(wants want.Wants, serial int) Foresight {
	e := Foresight{Wants: wants, Estimate: Estimate{Serial: serial}, Times: make([]Time, len(wants.Supplies))}
	for k := range e.Supplies {
		e.last = append(e.last, lastOf(e.Graph, e.Supplies[k].Node))
	}
	return e
}

// Answered takes an estimate, if it answers a newer question than the one that is known, and reports whether it does. Where answers take
// long, the newest question has none yet, and there is always a newer one.
func (e *Foresight) Answered(est Estimate) bool {
	if est.Serial <= e.Estimate.Serial {
		return false
	}
	e.Estimate, e.Known = est, true
	return true
}

// Estimate is how long the rest of the plan takes, by trials of it.
type Estimate struct {
	Serial   int             // of the question that it answers
	Need     []time.Duration // what the rest of the down plan takes: the middles of as many equal shares of all trials, ascending
	Hosts    time.Duration   // the part of it that is not stopping VMs, at p95
	Tail     time.Duration   // flush, halt and cut alone, at p99: what the reserve is for
	Whole    time.Duration   // an interrupted power-up and a whole further shutdown, at p95, plus 20%
	Stages   []StageNeed     // by stage: the rest of the plan from there on
	Critical []Critical      // which steps made it so long, most often first
}

// StageNeed is what a stage and all that comes after it take, at p95.
type StageNeed struct {
	Stage plan.Stage    `json:"stage"`
	Need  time.Duration `json:"need"`
}

// Critical is a step and the share of trials in which it was on the critical chain.
type Critical struct {
	Node  string    `json:"node"`
	Verb  plan.Verb `json:"verb"`
	Share float64   `json:"share"`
}

// At gives the time within which a share p of the trials was down: 0 if nothing is known.
func (e *Estimate) At(p float64) time.Duration {
	if len(e.Need) == 0 {
		return 0
	}
	return e.Need[min(int(p*float64(len(e.Need))), len(e.Need)-1)]
}

// Pessimistic is the share of trials that a plan's time covers.
const Pessimistic = 1 - power.Pessimistic

// race is the rest of the plan against a battery: the same for every supply.
func (e *Foresight) race() *power.Race {
	e.raced = power.Race{Need: e.Estimate.Need, Reserve: e.Policy.Reserve, Odds: e.Policy.Odds}
	return &e.raced
}

// Slack is how much longer the rest of the plan may wait, in seconds: see power.Outlook.Slack.
func (e *Foresight) Slack(s *belief.Supply) power.Figure { return s.State.Outlook.Slack(e.race()) }

// IsPast reports whether it is too late for the rest of the plan, as far as that is known.
func (e *Foresight) IsPast(s *belief.Supply) bool {
	slack := e.Slack(s)
	return slack.Known && slack.Value <= 0
}

// GivesOut is the chance that the battery gives out before the rest of the plan, started now, and its reserve have ended.
func (e *Foresight) GivesOut(s *belief.Supply) float64 { return s.State.Outlook.Chance(e.race(), 0) }

// AddFailoverLoad reckons with the load that falls to a supply when another that feeds the same nodes gives out before it.
func (e *Foresight) AddFailoverLoad(s *belief.Supply) {
	if !s.State.Failing() || !s.State.Left.Known || !s.State.Load.Known {
		return
	}
	for k := range e.Supplies {
		other := &e.Supplies[k]
		st := &other.State
		if other == s || !st.Failing() || !st.Load.Known || e.Standing(k).Cycle >= ledger.CutProven {
			continue
		}
		share := e.shared(other.Node, s.Node)
		if share == 0 {
			continue
		}
		own := other.Tracker.Left(e.Now) // without what falls to it in turn
		if own.Known && own.Value < s.State.Left.Value {
			s.State = s.State.Carrying(own.Value, s.Tracker.Rate(s.State.Load.Value+share*s.Tracker.Share(other.Tracker, st.Load.Value)))
		}
	}
}

// shared is the share of the nodes that a supply feeds which another feeds as well.
func (e *Foresight) shared(of, with int) float64 {
	fed, both := 0, 0
	for i := range e.Beliefs {
		if feeds := e.Graph.Feeds(i); slices.Contains(feeds, of) {
			fed++
			if slices.Contains(feeds, with) {
				both++
			}
		}
	}
	if fed == 0 {
		return 0
	}
	return float64(both) / float64(fed)
}

// Facts are what the conditions are judged against. Slack is that of the next poll: what would be too late then starts now.
func (e *Foresight) Facts(s *belief.Supply) power.Facts {
	f := power.Facts{State: s.State, Race: e.race(), Ahead: e.Times[e.Ledger.SupplyOf[s.Node]].Ahead.Seconds()}
	switch {
	case e.HasPassed(e.Ledger.SupplyOf[s.Node]):
		f.AnotherShutdown = power.Known(0)
	case e.Known:
		f.AnotherShutdown = power.Known(e.Estimate.Whole.Seconds())
	}
	return f
}

// Numbers are what a decision about a supply is made from.
func (e *Foresight) Numbers(s *belief.Supply) *ledger.Numbers {
	n := &ledger.Numbers{}
	set := func(to **float64, f power.Figure) {
		if f.Known {
			v := math.Round(f.Value*1000) / 1000
			*to = &v
		}
	}
	set(&n.Left, s.State.Left)
	set(&n.Likely, s.State.Likely)
	set(&n.Charge, s.State.Charge)
	set(&n.Load, s.State.Load)
	if s.State.Left.Known {
		n.By = s.State.By.String()
	}
	if e.Known {
		set(&n.Plan, power.Known(e.Estimate.At(Pessimistic).Seconds()))
		set(&n.PlanLikely, power.Known(e.Estimate.At(0.5).Seconds()))
	}
	if slack := e.Slack(s); slack.Known {
		set(&n.Slack, slack)
		set(&n.Odds, power.Known(e.GivesOut(s)))
	}
	set(&n.Reserve, power.Known(e.Policy.Reserve.Seconds()))
	return n
}

// IsDown reports whether nothing is left to take down of a node.
func (e *Foresight) IsDown(i int) bool {
	if k := e.Ledger.SupplyOf[i]; k >= 0 {
		return e.Standing(k).Cycle >= ledger.CutProven || e.Beliefs[i].Seen.State == plan.Off
	}
	return e.IsOff(i)
}

// HasBegun reports whether a stage was triggered for a supply.
func (e *Foresight) HasBegun(stage plan.Stage, s *belief.Supply) bool {
	at := slices.Index(e.Ledger.Stages, stage)
	return e.Ledger.Outage != nil && at >= 0 && e.Standing(e.Ledger.SupplyOf[s.Node]).Stages[at]
}
