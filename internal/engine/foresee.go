package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// foresight is what is known of how long the rest of the plan takes.
type foresight struct {
	estimate Estimated
	known    bool       // an answer is there
	raced    power.Race // room for race
	asked    time.Time  // when the newest estimate was asked for
	serial   int
	question []part // what it was asked of
	weighs   bool   // slack was weighed then: see weighsSlack
}

// part is what a question says of a node.
type part uint8

const (
	notAsked   part = iota // it is no part of what is asked
	askedDown              // nothing is left to take down of it
	askedUp                // it is to be taken down
	askedBegun             // a step of that is under way
)

// estimated takes an estimate, if it answers a newer question than the one that is known. Where answers take long, the newest question has
// none yet, and there is always a newer one.
func (e *Engine) estimated(ev Estimated) {
	if ev.Serial > e.estimate.Serial {
		e.estimate, e.known = ev, true
		e.beginTest()
	}
}

// askForEstimate asks how long the rest of the plan takes. The engine goes on without the answer.
func (e *Engine) askForEstimate() {
	e.asked, e.weighs = e.Now, e.weighsSlack()
	e.serial++
	ask := Estimate{Serial: e.serial, Scope: make([]string, 0, len(e.nodes)), Down: make([]string, 0, len(e.nodes))}
	e.question = slices.Grow(e.question[:0], len(e.nodes))
	for i := range e.nodes {
		p := e.partOf(i)
		if e.question = append(e.question, p); p == notAsked {
			continue
		}
		ask.Scope = append(ask.Scope, e.ID(i))
		if !e.isDown(i) {
			ask.Down = append(ask.Down, e.ID(i))
		}
		if w := e.nodes[i].work; p == askedBegun {
			ask.Running = append(ask.Running, Underway{Node: e.ID(i), Verb: w.rung, For: max(0, e.Now.Sub(w.since))})
		}
	}
	e.out = append(e.out, ask)
}

// renewEstimate asks again how long the rest of the plan takes, unless it would be the same question, which has the same answer:
// where no step is under way, the time alone changes nothing.
func (e *Engine) renewEstimate() {
	if e.isAnswered() {
		e.asked = e.Now
		return
	}
	e.askForEstimate()
}

// isAnswered reports whether the newest estimate is the answer to what would be asked now.
func (e *Engine) isAnswered() bool {
	if !e.known || e.estimate.Serial != e.serial || e.weighs != e.weighsSlack() || len(e.question) != len(e.nodes) {
		return false
	}
	for i, was := range e.question {
		if p := e.partOf(i); p != was || p == askedBegun {
			return false
		}
	}
	return true
}

// partOf finds what is asked of a node.
func (e *Engine) partOf(i int) part {
	if !e.concerns(i) {
		return notAsked
	}
	if w := e.nodes[i].work; w != nil && e.Course.Steps[w.step].Goal == plan.Down && !w.since.IsZero() && e.given(i) {
		return askedBegun
	}
	if e.isDown(i) {
		return askedDown
	}
	return askedUp
}

// WeighsSlack reports whether slack may decide anything by the newest estimate that was asked for.
func (e *Engine) WeighsSlack() bool { return e.weighs }

// weighsSlack reports whether a supply is on battery for which the shutdown was not triggered. That of one that fails from now
// on is weighed after ten seconds of it (power.SlackBelow), and by then a newer estimate is there.
func (e *Engine) weighsSlack() bool {
	for k := range e.Supplies {
		if e.Supplies[k].State.Mains == power.MainsOnBattery && !e.hasBegun(power.ShutdownStage, &e.Supplies[k]) {
			return true
		}
	}
	return false
}

// isDown reports whether nothing is left to take down of a node.
func (e *Engine) isDown(i int) bool {
	if k := e.Ledger.SupplyOf[i]; k >= 0 {
		return e.Standing(k).Cycle >= ledger.CutProven || e.Beliefs[i].Seen.State == plan.Off
	}
	return e.IsOff(i)
}

// pessimistic is the share of trials that a plan's time covers.
const pessimistic = 1 - power.Pessimistic

// race is the rest of the plan against a battery: the same for every supply.
func (e *Engine) race() *power.Race {
	e.raced = power.Race{Need: e.estimate.Need, Reserve: e.Policy.Reserve, Odds: e.Policy.Odds}
	return &e.raced
}

// slack is how much longer the rest of the plan may wait, in seconds: see power.Outlook.Slack.
func (e *Engine) slack(s *belief.Supply) power.Figure { return s.State.Outlook.Slack(e.race()) }

// givesOut is the chance that the battery gives out before the rest of the plan, started now, and its reserve have ended.
func (e *Engine) givesOut(s *belief.Supply) float64 { return s.State.Outlook.Chance(e.race(), 0) }

// addFailoverLoad reckons with the load that falls to a supply when another that feeds the same nodes gives out before it.
func (e *Engine) addFailoverLoad(s *belief.Supply) {
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
			s.State = s.State.Carrying(own.Value, s.Tracker.Rate(s.State.Load.Value+share*st.Load.Value))
		}
	}
}

// shared is the share of the nodes that a supply feeds which another feeds as well.
func (e *Engine) shared(of, with int) float64 {
	fed, both := 0, 0
	for i := range e.nodes {
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

// facts are what the conditions are judged against. Slack is that of the next poll: what would be too late then starts now.
func (e *Engine) facts(s *belief.Supply) power.Facts {
	f := power.Facts{State: s.State, Race: e.race(), Ahead: e.watch[e.Ledger.SupplyOf[s.Node]].ahead.Seconds()}
	if e.known {
		f.AnotherShutdown = power.Known(e.estimate.Whole.Seconds())
	}
	return f
}

// numbers are what a decision about a supply is made from.
func (e *Engine) numbers(s *belief.Supply) *ledger.Numbers {
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
	if e.known {
		set(&n.Plan, power.Known(e.estimate.At(pessimistic).Seconds()))
		set(&n.PlanLikely, power.Known(e.estimate.At(0.5).Seconds()))
	}
	if slack := e.slack(s); slack.Known {
		set(&n.Slack, slack)
		set(&n.Odds, power.Known(e.givesOut(s)))
	}
	set(&n.Reserve, power.Known(e.Policy.Reserve.Seconds()))
	return n
}

// spent puts what a battery gave on record: when its stretch ends, and before its output is cut.
func (e *Engine) spent(s *belief.Supply) {
	d, ok := s.Tracker.Discharge(e.Now)
	if !ok || e.Ledger.Outage == nil {
		return
	}
	s.Tracker.Told()
	e.record(ledger.Record{Kind: ledger.Spent, Power: ledger.Power{Supplies: []string{e.ID(s.Node)}, Discharge: &d}})
}

// deadlines are reckoned backward from the end of the battery: the reserve first, then each stage with all after it.
func (e *Engine) deadlines(s *belief.Supply) []Deadline {
	var list []Deadline
	for _, st := range e.estimate.Stages {
		d := Deadline{Stage: st.Stage, Need: st.Need.Seconds()}
		if s.State.Left.Known {
			d.Start = power.Known(s.State.Left.Value - e.Policy.Reserve.Seconds() - d.Need)
		}
		d.Started = e.hasBegun(st.Stage, s)
		list = append(list, d)
	}
	return list
}

// hasBegun reports whether a stage was triggered for a supply.
func (e *Engine) hasBegun(stage string, s *belief.Supply) bool {
	at := slices.Index(e.Ledger.Stages, stage)
	return e.Ledger.Outage != nil && at >= 0 && e.Standing(e.Ledger.SupplyOf[s.Node]).Stages[at]
}

// why says in one sentence why the shutdown for a supply is or is not starting now.
func (e *Engine) why(s *belief.Supply) string {
	p, o := e.Policy, e.Ledger.Outage
	switch {
	case s.State.Mains == power.MainsUnknown && !s.State.OutputOff:
		return "nothing is known: it was never heard"
	case e.hasBegun(power.ShutdownStage, s) && e.settings.Mode == ModeObserve:
		return "the shutdown would have started: " + e.Standing(e.Ledger.SupplyOf[s.Node]).Reason
	case e.hasBegun(power.ShutdownStage, s):
		return "the shutdown has started: " + e.Standing(e.Ledger.SupplyOf[s.Node]).Reason
	case e.Standing(e.Ledger.SupplyOf[s.Node]).Fails == ledger.CalledOff:
		return "not starting: it was aborted by an operator"
	case o != nil && o.Orders.Hold:
		return "not starting anything: it is on hold"
	case e.IsUnfit(s):
		return e.Tells(s)
	case s.State.Mains != power.MainsOnBattery:
		return "on line; if its mains failed now: " + e.reckon(s)
	}
	var missed []string
	f := e.facts(s)
	for _, kind := range p.Shutdown.Needs() {
		if !f.Tells(kind) {
			missed = append(missed, string(kind))
		}
	}
	text := "not starting yet: " + e.reckon(s) + "; the shutdown starts at " + p.Shutdown.String()
	if len(missed) > 0 {
		text += " (it tells nothing for " + strings.Join(missed, ", ") + ")"
	}
	return text
}

// reckon is the reckoning behind slack, in words.
func (e *Engine) reckon(s *belief.Supply) string {
	slack := e.slack(s)
	switch {
	case !s.State.Left.Known:
		return "how long its battery lasts is not known"
	case !slack.Known:
		return "how long the plan takes is not known yet"
	}
	wait := "so it can wait " + power.Roughly(slack.Value)
	if slack.Value < 0 {
		wait = power.Roughly(-slack.Value) + " too long"
	}
	text := fmt.Sprintf("the battery lasts at least %s (by %s), the plan and its reserve take %s at most, %s", power.Roughly(s.State.Left.Value), s.State.By,
		power.Roughly(e.estimate.At(pessimistic).Seconds()+e.Policy.Reserve.Seconds()), wait)
	if !s.State.Proven {
		text += "; the battery is unproven"
	}
	return text
}
