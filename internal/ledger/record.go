package ledger

import (
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Kind names what a record says.
type Kind string

// The kinds of record, with the fields that are valid in each beside Seq, At and Kind. Reason is for people, and its
// wording decides nothing; but that an Ordered record has one says that the order was refused, and that an Intent of a Cut has one that
// the cut waits for no proof.
const (
	Opened    Kind = "opened"    // an outage or a drill begins: Outage, Supplies (failing), Off, Unfit, Replace, Digest, Mode, Members, Nodes (of the whole estate: last seen on, on their way up, or to be put back late); of a drill Scope, By
	Snapshot  Kind = "snapshot"  // what was on before the first action: Nodes
	Widened   Kind = "widened"   // the snapshot grows: a further supply fails: Supplies, Nodes (survey of those that came into scope); or, without Supplies, one that could not be asked answers: Nodes
	Seen      Kind = "seen"      // a node that the outage does not concern is on, or is not any more; or one whose stop was taken is on, which was given up, or before its power came back: Nodes
	Triggered Kind = "triggered" // a stage starts: Stage, Reason, Numbers
	Intent    Kind = "intent"    // a command is about to be given: Op, Node, Verb, Attempt, Reason and Cause (of a forced one), State (where the last look had no answer), Nodes (of a cut: what was not proven off)
	Accepted  Kind = "accepted"  // the command's answer: Op, Node, Verb, Outcome, Reason
	Proven    Kind = "proven"    // a probe showed the step done: Node, Verb, State, Reason, Cause
	Failed    Kind = "failed"    // a step ended without proof: Node, Verb, Outcome (of its command, if it was taken), State, Reason, Cause
	Reopened  Kind = "reopened"  // a proven node was seen otherwise: Node, State, Verb (protect: it is its protection)
	HeldBack  Kind = "held-back" // a commanded step waits anew for what comes before it: Node, Verb, State, Reason
	NoReturn  Kind = "no-return" // the point of no return is passed: Supplies (to be cut and to come back), Node, Verb
	Mains     Kind = "mains"     // a supply's power changed: Supplies, Carriers, Off, Unfit, Replace, Reason, Cause
	Turned    Kind = "turned"    // the direction changed: Format, Goal, Supplies (whose mains are back), Reason, Numbers
	Ordered   Kind = "ordered"   // an operator's command: Order, By, Node, Reason (why refused, else empty)
	Asked     Kind = "asked"     // a person's step was asked for: Node, Verb
	Forbidden Kind = "forbidden" // the permit refused a command, and nothing was sent: Node, Verb, Reason ("rule 3: …")
	Gap       Kind = "gap"       // nobody was there to see: the journal was lost and is back, or an outage is taken up again: Reason
	Still     Kind = "still"     // a supply is on battery still: Supplies, Carried; or, without Carried, its mains are there, and it fails for another reason
	Spent     Kind = "spent"     // a supply's stretch on battery ended, or its output is about to be cut: Supplies, Discharge
	Closed    Kind = "closed"    // the outage is over: Reason, Nodes (not restored)
)

// Mode names what a run is, in its first record.
type Mode string

// The modes.
const (
	ModeRun      Mode = "run"      // it acts
	ModeDrill    Mode = "drill"    // it began as one
	ModeObserve  Mode = "observe"  // everything is asked and nothing is commanded: the shell sends no command
	ModeSimulate Mode = "simulate" // it is played against a model
)

// FormatNow is the format of the records that are written now. Those of 0 are of before each node had a goal of its own.
const FormatNow = 1

// Record is one durable journal entry. Everything shown anywhere is a fold over records.
type Record struct {
	Seq    uint64    `json:"seq"` // from 1 in each outage
	At     time.Time `json:"at"`  // wall time, for people; how long ago a supply was heard last is all that rests on it, and after a crash how long before that a stop was sent
	Kind   Kind      `json:"kind"`
	Outage string    `json:"outage,omitempty"`
	Opening
	Power
	Nodes []NodeState `json:"nodes,omitempty"`
	Step
	Word
	Reason string `json:"reason,omitempty"`
	Cause  Cause  `json:"cause,omitempty"`
}

// Opening is how an outage begins.
type Opening struct {
	Mode    Mode                     `json:"mode,omitempty"`
	Format  int                      `json:"format,omitempty"`  // of the records of this outage: FormatNow in those of today
	Scope   []string                 `json:"scope,omitempty"`   // of a drill: the nodes that it takes, or the supply whose battery it discharges
	Digest  string                   `json:"digest,omitempty"`  // of the plan
	Members map[string][]plan.Member `json:"members,omitempty"` // selectors as expanded for this outage
}

// Power is what a record says of supplies, and of what follows from how they are.
type Power struct {
	Supplies []string   `json:"supplies,omitempty"`
	Carriers []string   `json:"carriers,omitempty"`   // of a supply whose output was off: those that were heard to give power all the while
	Off      bool       `json:"output_off,omitempty"` // of a supply that fails: its output is off
	Replace  bool       `json:"replace,omitempty"`    // the UPS says that its battery is to be replaced
	Unfit    bool       `json:"unfit,omitempty"`      // of a supply that fails: its mains are there, and what the policy watches beside them is not as it should
	Stage    plan.Stage `json:"stage,omitempty"`
	Goal     plan.Goal  `json:"goal,omitempty"`
	Numbers  *Numbers   `json:"numbers,omitempty"`
	// Discharge is what a battery gave, from which its capacity is learned.
	Discharge *power.Discharge `json:"discharge,omitempty"`
	// Carried is what a restart would lose of a stretch on battery.
	Carried *power.Carried `json:"carried,omitempty"`
	// Charge is, of a supply whose mains are back, or whose output may have been off, the percent of a charge that it can have at most.
	Charge float64 `json:"charge,omitempty"`
}

// Step is what a record says of a step of a node, or of a command of it.
type Step struct {
	Op      Op          `json:"op,omitempty"`
	Node    string      `json:"node,omitempty"`
	Verb    *plan.Verb  `json:"verb,omitempty"`
	Attempt int         `json:"attempt,omitempty"`
	Outcome Outcome     `json:"outcome,omitempty"`
	State   *plan.State `json:"state,omitempty"`
}

// Word is what an operator has ordered.
type Word struct {
	Order OrderVerb `json:"order,omitempty"`
	By    string    `json:"by,omitempty"` // who said it
}

// NodeState is one node in a snapshot or a list.
type NodeState struct {
	Node      string     `json:"node"`
	State     plan.State `json:"state"`
	Protected plan.Fact  `json:"protected,omitempty"` // caches and clusters: as set before the outage
	Settings  string     `json:"settings,omitempty"`  // what is put back by Unprotect: plan.Observation.Settings
	Late      bool       `json:"late,omitempty"`      // when an outage begins: an Unprotect of an earlier one may take effect yet
}

// Numbers are what a decision was made from. Durations are in seconds; an absent one was not known.
type Numbers struct {
	Left       *float64 `json:"left,omitempty"`        // battery time left, pessimistic (power.Pessimistic)
	Likely     *float64 `json:"likely,omitempty"`      // as likely more as less
	By         string   `json:"by,omitempty"`          // what Left was told by
	Plan       *float64 `json:"plan,omitempty"`        // time that the rest of the plan needs, at p95
	PlanLikely *float64 `json:"plan_likely,omitempty"` // at p50
	Reserve    *float64 `json:"reserve,omitempty"`     // of the policy
	Slack      *float64 `json:"slack,omitempty"`       // how much longer the plan could have waited
	Odds       *float64 `json:"odds,omitempty"`        // the chance that the battery gives out before the plan and the reserve, started now
	Charge     *float64 `json:"charge,omitempty"`      // percent
	Load       *float64 `json:"load,omitempty"`        // percent
}
