// Package ledger stands in the place of today's when the old engine does: that one's records are its own.
package ledger

import "ebbtide/internal/engine"

type (
	Record    = engine.Record
	Kind      = engine.RecordKind
	Cause     = engine.Cause
	NodeState = engine.NodeState
	Numbers   = engine.Numbers
	Op        = engine.Op
	Outcome   = engine.Outcome
	OrderVerb = engine.OrderVerb
)

const (
	Opened    = engine.Opened
	Snapshot  = engine.Snapshot
	Widened   = engine.Widened
	Triggered = engine.Triggered
	Intent    = engine.Intent
	Accepted  = engine.Accepted
	Proven    = engine.Proven
	Failed    = engine.Failed
	Reopened  = engine.Reopened
	HeldBack  = engine.HeldBack
	NoReturn  = engine.NoReturn
	Mains     = engine.Mains
	Turned    = engine.Turned
	Ordered   = engine.Ordered
	Asked     = engine.Asked
	Gap       = engine.Gap
	Spent     = engine.Spent
	Closed    = engine.Closed

	Forbidden Kind = "forbidden" // which it has not
	Seen      Kind = "seen"
	Still     Kind = "still"
)

const (
	Overtime   = engine.Overtime
	Denied     = engine.Denied
	Pressed    = engine.Pressed
	TakenAlong = engine.TakenAlong
	Silence    = engine.Silence
	Already    = engine.Already
	Failing    = engine.Failing
	Returned   = engine.Returned

	Cycled   Cause = "cycled" // which it has not
	Dark     Cause = "dark"
	Unseen   Cause = "unseen"
	Released Cause = "released"
	AfterAll Cause = "after-all"
	Hung     Cause = "hung"
)

const (
	Done        = engine.Done
	Refused     = engine.Refused
	Busy        = engine.Busy
	Unreached   = engine.Unreached
	TimedOut    = engine.TimedOut
	NoSuchThing = engine.NoSuchThing
)

const (
	Hold    = engine.Hold
	Resume  = engine.Resume
	Abort   = engine.Abort
	Go      = engine.Go
	Confirm = engine.Confirm
	Skip    = engine.Skip
)

// The modes of a run, in words then.
const (
	ModeDrill    = "drill"
	ModeObserve  = "observe"
	ModeSimulate = "simulate"
)
