package engine

import (
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// View is what the engine knows now, for the status page and the metrics.
type View struct {
	Outage   string        `json:"outage,omitempty"`
	Goal     plan.Goal     `json:"goal,omitempty"`
	Drill    bool          `json:"drill,omitempty"` // it is a drill: no supply has failed in it
	Hold     bool          `json:"hold,omitempty"`
	Aborted  bool          `json:"aborted,omitempty"`
	NoReturn bool          `json:"no_return,omitempty"`
	Waiting  string        `json:"waiting,omitempty"` // what it waits for, in words
	Journal  bool          `json:"journal"`           // appends are durable
	Supplies []SupplyView  `json:"supplies"`
	Nodes    []NodeView    `json:"nodes"`
	PlanLeft time.Duration `json:"plan_left,omitempty"` // what the rest of the down plan needs, at p95; 0: not known yet
	// PlanLikely is the same at p50, and Critical what makes it so long.
	PlanLikely time.Duration `json:"plan_likely,omitempty"`
	Critical   []Critical    `json:"critical,omitempty"`
	// Reserve is the policy's, and Tail what flush, halt and cut take at p99, which it is for.
	Reserve time.Duration `json:"reserve"`
	Tail    time.Duration `json:"tail,omitempty"`
}

// SupplyView is one supply.
type SupplyView struct {
	ID      string       `json:"id"`
	State   power.State  `json:"state"`
	Text    string       `json:"text"` // the state in plain words
	Failing bool         `json:"failing"`
	Cut     bool         `json:"cut,omitempty"`
	Gate    bool         `json:"gate,omitempty"` // the recharge gate is open
	Slack   power.Figure `json:"slack"`          // seconds that the shutdown could still wait
	Odds    power.Figure `json:"odds"`           // the chance that the battery gives out before a shutdown that starts now has ended
	Why     string       `json:"why"`            // why its shutdown is or is not starting now, in a sentence
	// Views are what each way of telling says of the battery, and Deadlines when each stage has to start.
	Views     []power.Told `json:"views,omitempty"`
	Deadlines []Deadline   `json:"deadlines,omitempty"`
}

// NodeView is one node.
type NodeView struct {
	ID      string           `json:"id"`
	Type    string           `json:"type"`
	Group   string           `json:"group,omitempty"`
	Seen    plan.Observation `json:"seen"`
	SeenAt  time.Time        `json:"seen_at,omitzero"`
	Doing   string           `json:"doing,omitempty"` // the verb under way
	InScope bool             `json:"in_scope,omitempty"`
	Why     string           `json:"why,omitempty"` // what it waits for, in words
}

// View makes a copy of what the engine knows.
func (e *Engine) View() View {
	v := View{Journal: !e.journalLost, Reserve: e.settings.Policy.Reserve, Tail: e.estimate.Tail}
	if e.estimated {
		v.PlanLeft, v.PlanLikely, v.Critical = e.estimate.At(pessimistic), e.estimate.At(0.5), e.estimate.Critical
	}
	if r := e.run; r != nil {
		v.Drill = e.inDrill()
		v.Outage, v.Goal, v.Hold, v.Aborted, v.NoReturn, v.Waiting = r.id, r.goal, r.hold, r.aborted, r.noReturn, r.told
	}
	for i := range e.supplies {
		v.Supplies = append(v.Supplies, e.viewOf(&e.supplies[i]))
	}
	for i := range e.nodes {
		n, decl := &e.nodes[i], e.estate.Node(i)
		nv := NodeView{ID: decl.ID, Type: decl.Type, Group: decl.Group, Seen: n.seen, SeenAt: n.seenAt}
		if n.exec != nil {
			nv.Doing = n.exec.rung.String()
		}
		nv.InScope = e.run != nil && e.run.scope[i]
		v.Nodes = append(v.Nodes, nv)
	}
	return v
}

func (e *Engine) viewOf(s *supply) SupplyView {
	v := SupplyView{
		ID: e.id(s.node), State: s.state, Text: s.state.String(), Failing: s.out, Cut: e.nodes[s.node].down, Gate: s.gate,
		Slack: e.slack(s), Why: e.why(s), Views: s.state.Outlook.Told(), Deadlines: e.deadlines(s),
	}
	if v.Slack.Known {
		v.Odds = power.Known(e.fails(s, 0))
	}
	return v
}

// Settings gives what the engine runs on now: after a Reload, the new ones.
func (e *Engine) Settings() Settings { return e.settings }
