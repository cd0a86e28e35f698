// Package timeline folds the records of an outage into what happened, step by step: the one description from which the
// status, the metrics, the reports and the demo are drawn. It is pure.
package timeline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Timeline is one outage so far. The zero Timeline is ready for Add, whose first record must open an outage.
type Timeline struct {
	Outage      string      `json:"outage"`
	Mode        ledger.Mode `json:"mode,omitempty"`
	Scope       []string    `json:"scope,omitempty"`      // of a drill: what it takes
	Digest      string      `json:"digest,omitempty"`     // of the plan that it began with
	Start       time.Time   `json:"start"`                //
	End         time.Time   `json:"end,omitzero"`         // zero while it is open
	Result      string      `json:"result,omitempty"`     // how it ended, in words
	Supplies    []string    `json:"supplies,omitempty"`   // that failed in it
	Goal        plan.Goal   `json:"goal,omitempty"`       // where it goes now
	NoReturn    time.Time   `json:"no_return,omitzero"`   // when the point of no return was passed in this direction
	Hold        bool        `json:"hold,omitempty"`       //
	Stages      []Stage     `json:"stages,omitempty"`     // as they were triggered
	Steps       []Step      `json:"steps,omitempty"`      // as they began
	Forced      []Forced    `json:"forced,omitempty"`     // commands that did not wait for proof or consent
	Marks       []Mark      `json:"marks,omitempty"`      // what else happened
	Discharges  []Discharge `json:"discharges,omitempty"` // what batteries gave
	NotRestored []string    `json:"not_restored,omitempty"`
	Summary     Summary     `json:"summary"`

	index map[key]int           // the newest step of a node and verb
	nodes map[string]plan.State // of those that were on: On, Off or Starting, as fate says
	pass  int                   // counts changes of direction: a step may come once in each
}

// Stage is a stage that was triggered.
type Stage struct {
	Name     plan.Stage      `json:"name"`
	At       time.Time       `json:"at"`
	Supplies []string        `json:"supplies,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Numbers  *ledger.Numbers `json:"numbers,omitempty"`
}

// State says where a step stands.
type State string

// The states of a step. Only Proven and Forced were shown by a probe.
const (
	Pending State = "pending" // is to be tried again
	Running State = "running" // commanded, or a person was asked; not proven yet
	Proven  State = "proven"
	Failed  State = "failed" // ended without proof
	Stopped State = "forced" // proven, by force
	Open    State = "open"   // the outage was closed without a word on it: this machine can't record its own end
)

// Step is one action on one node.
type Step struct {
	Node     string    `json:"node"`
	Verb     plan.Verb `json:"verb"`
	Rung     plan.Verb `json:"rung"` // of the last command: Force where Stop was not enough
	State    State     `json:"state"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Attempts int       `json:"attempts,omitempty"` // 0: it was so without a command
	Reason   string    `json:"reason,omitempty"`
	// Cause is that of the record which ended it, or of its last command; empty if none is known.
	Cause ledger.Cause `json:"cause,omitempty"`
	// Pass counts how often the direction had turned before it.
	Pass   int `json:"-"`
	course course
	made   bool // a cut: its output has been off since
}

// Took is the time from the first command to the end; 0 while there is no end.
func (s *Step) Took() time.Duration {
	if s.Ended.IsZero() {
		return 0
	}
	return s.Ended.Sub(s.Started)
}

// Forced is a command that took something down without its consent, with the reason.
type Forced struct {
	Node   string       `json:"node"`
	Verb   plan.Verb    `json:"verb"`
	At     time.Time    `json:"at"`
	Reason string       `json:"reason"`
	Cause  ledger.Cause `json:"cause,omitempty"`
}

// Mark is something else that happened.
type Mark struct {
	At   time.Time   `json:"at"`
	Kind ledger.Kind `json:"kind"`
	Text string      `json:"text"`
}

// Summary counts steps by their state, and nodes that were on before the outage by what became of them.
type Summary struct {
	Pending int `json:"pending"`
	Running int `json:"running"`
	Proven  int `json:"proven"`
	Failed  int `json:"failed"`
	Forced  int `json:"forced"`
	Open    int `json:"open"`
	WasOn   int `json:"was_on"` // nodes that were on
	Down    int `json:"down"`   // of those: proven off, and not on again
	Back    int `json:"back"`   // of those: proven on again
}

type key struct {
	node string
	verb plan.Verb
}

// of gives the count of a state; nil for the state of a step that has none yet.
func (s *Summary) of(state State) *int {
	switch state {
	case Pending:
		return &s.Pending
	case Running:
		return &s.Running
	case Proven:
		return &s.Proven
	case Failed:
		return &s.Failed
	case Stopped:
		return &s.Forced
	case Open:
		return &s.Open
	}
	return nil
}

// Drill reports whether it is a drill in which no supply has failed so far.
func (t *Timeline) Drill() bool { return t.Mode == ledger.ModeDrill && len(t.Supplies) == 0 }

// Fold makes the timeline of an outage from its records, oldest first.
func Fold(records []ledger.Record) Timeline {
	var t Timeline
	for i := range records {
		t.Add(records[i])
	}
	return t
}

// Clone makes a copy that later Adds do not change.
func (t *Timeline) Clone() Timeline {
	c := *t
	c.Scope, c.Supplies, c.Stages, c.Steps = slices.Clone(t.Scope), slices.Clone(t.Supplies), slices.Clone(t.Stages), slices.Clone(t.Steps)
	c.Forced, c.Marks, c.NotRestored = slices.Clone(t.Forced), slices.Clone(t.Marks), slices.Clone(t.NotRestored)
	c.Discharges = slices.Clone(t.Discharges)
	c.index, c.nodes = maps.Clone(t.index), maps.Clone(t.nodes)
	return c
}

// mark notes what is no step.
func (t *Timeline) mark(r ledger.Record, parts ...string) {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	t.Marks = append(t.Marks, Mark{At: r.At, Kind: r.Kind, Text: t.told(strings.Join(parts, ": "))})
}
