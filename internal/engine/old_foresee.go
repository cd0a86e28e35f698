package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// slack is how much longer the rest of the plan may wait, in seconds: with the chance that the policy accepts the battery
// gives out sooner than the plan, started so late, and its reserve have ended. It is negative where that is so already,
// and unknown while the battery or the plan is. More battery never lessens it, and a longer plan never adds to it.
func (e *Engine) slack(s *supply) power.Figure {
	if !s.state.Left.Known || len(e.estimate.Need) == 0 {
		return power.Figure{}
	}
	need, reserve := e.estimate.Need, e.settings.Policy.Reserve.Seconds()
	odds := cmp.Or(e.settings.Policy.Odds, power.Pessimistic)
	left, _ := s.state.Outlook.At(odds)
	// With every trial as long as the longest one the chance is less than asked for, and as short as the shortest more.
	low := left.Value - reserve - need[len(need)-1].Seconds()
	high := left.Value - reserve - need[0].Seconds()
	for high-low > slackGrain {
		if mid := (low + high) / 2; e.fails(s, mid) <= odds {
			low = mid
		} else {
			high = mid
		}
	}
	return power.Known(low)
}

// asksSlack tells whether any stage of a policy begins by slack.
func asksSlack(p *power.Policy) bool {
	conditions := []power.Condition{p.Protect, p.Shutdown}
	for _, stage := range p.Shed {
		conditions = append(conditions, stage.When)
	}
	return slices.ContainsFunc(conditions, func(c power.Condition) bool { return slices.Contains(c.Needs(), power.SlackBelow) })
}

// slackGrain is how exactly slack is found, in seconds.
const slackGrain = 0.5

// fails is the chance that the battery gives out before the rest of the plan, started after so many seconds, and its
// reserve have ended.
func (e *Engine) fails(s *supply, after float64) float64 {
	after += e.settings.Policy.Reserve.Seconds()
	sum := 0.0
	for _, need := range e.estimate.Need {
		sum += s.state.Outlook.GivesOut(after + need.Seconds())
	}
	return sum / float64(len(e.estimate.Need))
}

// survive reckons with the load that falls to a supply when another that feeds the same nodes gives out before it.
func (e *Engine) survive(s *supply) {
	if !s.state.Failing() || !s.state.Left.Known || !s.state.Load.Known {
		return
	}
	for i := range e.supplies {
		other := &e.supplies[i]
		st := &other.state
		if other == s || !st.Failing() || !st.Load.Known || e.nodes[other.node].down {
			continue
		}
		share := e.shared(other.node, s.node)
		if share == 0 {
			continue
		}
		own := other.tracker.State(e.now).Left // without what falls to it in turn
		if own.Known && own.Value < s.state.Left.Value {
			s.state = s.state.Carrying(own.Value, s.tracker.Rate(s.state.Load.Value+share*st.Load.Value))
		}
	}
}

// shared is the share of the nodes that a supply feeds which another feeds as well.
func (e *Engine) shared(of, with int) float64 {
	fed, both := 0, 0
	for i := range e.nodes {
		if feeds := e.estate.Feeds(i); slices.Contains(feeds, of) {
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

// facts are what the conditions are judged against. Slack is that of the next poll: what would be too late then starts
// now. It is reckoned where a condition may ask for it, on battery: it is dear.
func (e *Engine) facts(s *supply) power.Facts {
	f := power.Facts{State: s.state}
	if e.asksSlack && s.state.Mains == power.MainsOnBattery {
		f.Slack = e.slack(s)
		f.Slack.Value -= s.ahead.Seconds()
	}
	if e.estimated {
		f.AnotherShutdown = power.Known(e.estimate.Whole.Seconds())
	}
	return f
}

// numbers are what a decision about a supply is made from.
func (e *Engine) numbers(s *supply) *Numbers {
	n := &Numbers{}
	set := func(to **float64, f power.Figure) {
		if f.Known {
			v := math.Round(f.Value*1000) / 1000
			*to = &v
		}
	}
	set(&n.Left, s.state.Left)
	set(&n.Likely, s.state.Likely)
	set(&n.Charge, s.state.Charge)
	set(&n.Load, s.state.Load)
	if s.state.Left.Known {
		n.By = s.state.By.String()
	}
	if e.estimated {
		set(&n.Plan, power.Known(e.estimate.At(pessimistic).Seconds()))
		set(&n.PlanLikely, power.Known(e.estimate.At(0.5).Seconds()))
	}
	if slack := e.slack(s); slack.Known {
		set(&n.Slack, slack)
		set(&n.Odds, power.Known(e.fails(s, 0)))
	}
	set(&n.Reserve, power.Known(e.settings.Policy.Reserve.Seconds()))
	return n
}

// spent puts what a battery gave on record: when its stretch ends, and before its output is cut.
func (e *Engine) spent(s *supply) {
	d, ok := s.tracker.Discharge(e.now)
	if !ok || e.run == nil {
		return
	}
	s.tracker.Told()
	e.record(Record{Kind: Spent, Supplies: []string{e.id(s.node)}, Discharge: &d})
}

// Deadline is when a stage has to start at the latest.
type Deadline struct {
	Stage   string       `json:"stage"`
	Started bool         `json:"started,omitempty"`
	Need    float64      `json:"need"`  // seconds that it and all after it take, pessimistically
	Start   power.Figure `json:"start"` // seconds from now: the battery's time less the reserve and the need
}

// deadlines are reckoned backward from the end of the battery: the reserve first, then each stage with all after it.
func (e *Engine) deadlines(s *supply) []Deadline {
	var list []Deadline
	for _, st := range e.estimate.Stages {
		d := Deadline{Stage: st.Stage, Need: st.Need.Seconds()}
		if s.state.Left.Known {
			d.Start = power.Known(s.state.Left.Value - e.settings.Policy.Reserve.Seconds() - d.Need)
		}
		d.Started = e.run.began(st.Stage, s.node) != nil
		list = append(list, d)
	}
	return list
}

// why says in one sentence why the shutdown for a supply is or is not starting now.
func (e *Engine) why(s *supply) string {
	p := &e.settings.Policy
	began := e.run.began(power.ShutdownStage, s.node)
	switch {
	case s.state.Mains == power.MainsUnknown && !s.state.OutputOff:
		return "nothing is known: it was never heard"
	case began != nil && e.run.goal == plan.Down:
		return "the shutdown has started: " + began.reason
	case e.run != nil && e.run.aborted:
		return "not starting: it was aborted by an operator"
	case e.run != nil && e.run.hold:
		return "not starting anything: it is on hold"
	case s.harmed:
		return e.tells(s)
	case s.state.Mains != power.MainsOnBattery:
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
func (e *Engine) reckon(s *supply) string {
	slack := e.slack(s)
	switch {
	case !s.state.Left.Known:
		return "how long its battery lasts is not known"
	case !slack.Known:
		return "how long the plan takes is not known yet"
	}
	wait := "so it can wait " + power.Roughly(slack.Value)
	if slack.Value < 0 {
		wait = power.Roughly(-slack.Value) + " too long"
	}
	text := fmt.Sprintf("the battery lasts at least %s (by %s), the plan and its reserve take %s at most, %s", power.Roughly(s.state.Left.Value), s.state.By,
		power.Roughly(e.estimate.At(pessimistic).Seconds()+e.settings.Policy.Reserve.Seconds()), wait)
	if !s.state.Proven {
		text += "; the battery is unproven"
	}
	return text
}
