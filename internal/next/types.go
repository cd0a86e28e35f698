package next

import "ebbtide/internal/engine"

// The types of the port are the old engine's until that is deleted.
//
//nolint:revive // each is documented there
type (
	Event       = engine.Event
	Effect      = engine.Effect
	Started     = engine.Started
	Read        = engine.Read
	Finished    = engine.Finished
	Observed    = engine.Observed
	Woke        = engine.Woke
	Order       = engine.Order
	Drill       = engine.Drill
	Estimated   = engine.Estimated
	JournalLost = engine.JournalLost
	JournalBack = engine.JournalBack
	Reload      = engine.Reload
	Append      = engine.Append
	Do          = engine.Do
	Probe       = engine.Probe
	Cancel      = engine.Cancel
	Wake        = engine.Wake
	Estimate    = engine.Estimate
	Notify      = engine.Notify
	Underway    = engine.Underway
	Record      = engine.Record
	RecordKind  = engine.RecordKind
	NodeState   = engine.NodeState
	Numbers     = engine.Numbers
	Cause       = engine.Cause
	Op          = engine.Op
	Outcome     = engine.Outcome
	OrderVerb   = engine.OrderVerb
	Settings    = engine.Settings
	View        = engine.View
	SupplyView  = engine.SupplyView
	NodeView    = engine.NodeView
	Deadline    = engine.Deadline
	Outlook     = engine.Outlook
)

// The names of the port are the old engine's too.
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

	Overtime   = engine.Overtime
	Denied     = engine.Denied
	Pressed    = engine.Pressed
	TakenAlong = engine.TakenAlong
	Silence    = engine.Silence
	Already    = engine.Already
	Failing    = engine.Failing
	Returned   = engine.Returned

	Done        = engine.Done
	Refused     = engine.Refused
	Busy        = engine.Busy
	Unreached   = engine.Unreached
	TimedOut    = engine.TimedOut
	NoSuchThing = engine.NoSuchThing

	Hold    = engine.Hold
	Resume  = engine.Resume
	Abort   = engine.Abort
	Go      = engine.Go
	Confirm = engine.Confirm
	Skip    = engine.Skip

	ModeDrill = engine.ModeDrill

	// Forbidden says that the permit refused a command: Node, Verb, Reason ("rule 3: …"). Nothing was sent.
	Forbidden RecordKind = "forbidden"
	// Cycled says: the output of a supply was off, or may have been, and is on again.
	Cycled Cause = "cycled"
	// Unseen says: the output of a supply that is to be cut may have been off and on again while it was not heard.
	Unseen Cause = "unseen"
	// Released says: a supply that was to be cut is not any more: nothing moved for long.
	Released Cause = "released"
	// Hung says: a node hangs on its way down although its power is back, and is powered off to be started again.
	Hung Cause = "hung"
)
