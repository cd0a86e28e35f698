package engine

import (
	"time"

	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// View is what the engine knows now, for the status page and the metrics.
type View struct {
	Outage string    `json:"outage,omitempty"`
	Goal   plan.Goal `json:"goal,omitempty"`
	Drill  bool      `json:"drill,omitempty"` // it is a drill: no supply has failed in it
	Orders
	Progress
	Waiting  string        `json:"waiting,omitempty"` // what it waits for, in words
	Journal  bool          `json:"journal"`           // appends are durable
	Supplies []SupplyView  `json:"supplies"`
	Nodes    []NodeView    `json:"nodes"`
	PlanLeft time.Duration `json:"plan_left,omitempty"` // what the rest of the down plan needs, at p95; 0: not known yet
	// PlanLikely is the same at p50, and Critical what makes it so long.
	PlanLikely time.Duration        `json:"plan_likely,omitempty"`
	Critical   []foresight.Critical `json:"critical,omitempty"`
	// Reserve is the policy's, and Tail what flush, halt and cut take at p99, which it is for.
	Reserve time.Duration `json:"reserve"`
	Tail    time.Duration `json:"tail,omitempty"`
}

// Progress is how far the way down of an outage is.
type Progress struct {
	Begun    bool `json:"begun,omitempty"` // a stage has begun for what fails, or that is off: until then nothing is taken down
	Whole    bool `json:"whole,omitempty"` // and that is the last one, which takes everything
	NoReturn bool `json:"no_return,omitempty"`
}

// Orders are what operators have ordered and not taken back.
type Orders struct {
	Hold    bool `json:"hold,omitempty"`
	Aborted bool `json:"aborted,omitempty"`
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
	Views     []power.Told         `json:"views,omitempty"`
	Deadlines []foresight.Deadline `json:"deadlines,omitempty"`
}

// NodeView is one node.
type NodeView struct {
	ID     string           `json:"id"`
	Type   string           `json:"type"`
	Group  string           `json:"group,omitempty"`
	Seen   plan.Observation `json:"seen"`
	SeenAt time.Time        `json:"seen_at,omitzero"`
	Probed bool             `json:"probed,omitempty"` // there is something to ask it
	// NoAnswer is why it has not answered when it was asked last, in words; "": it has, or nobody knows.
	NoAnswer string       `json:"no_answer,omitempty"`
	Doing    string       `json:"doing,omitempty"` // the verb under way
	InScope  bool         `json:"in_scope,omitempty"`
	Why      string       `json:"why,omitempty"`  // what it waits for, in words
	Asks     bool         `json:"asks,omitempty"` // which is a person
	Waits    want.WhyCode `json:"-"`              // what it waits for, sorted: valid with Why
}

// DrillPreview is what a drill of nodes would do.
type DrillPreview struct {
	Scope   []string // the nodes that it takes, in the estate's order
	On      []string // those of them that are on: what goes down and comes back
	Refusal string   // why not, and after a semicolon what to do instead; "": nothing speaks against it
	Looking bool     // the first look at the estate is not over: what is refused now may not be in a moment
}
