package ledger

import (
	"time"

	"ebbtide/internal/plan"
)

// Command is the last command to a node.
type Command struct {
	Verb    plan.Verb // of the step
	Rung    plan.Verb // Force, where Stop was not enough
	Op      Op
	Attempt int
	Open    bool // neither proven nor given up nor held back
	Answer  Answer
	Earlier Reach // of the step's earlier commands
	Was     Shown // what the records showed of its power before the step
	Taken   bool  // a stop was accepted, and nothing since has started the node again: see TookStop
	Heard   bool  // the node answered right before
	Cause   Cause
	Reason  string
	At      time.Time // when it was answered, if that is on record, and else when it was to leave
	Asked   time.Time // when the last stop of its step was, before it was powered off, that may have come to the node; zero: none
}

// TookStop reports whether a stop was accepted, and nothing since can have started the node again: no start is under way either.
func (c *Command) TookStop() bool { return c.Taken && (!c.Open || c.Verb != plan.Start) }

// starts follows a start that has come to its node, or may have, or was refused, which need not mean that it is not made: the stop of
// before is void.
func (c *Command) starts() {
	if c.Verb == plan.Start {
		c.Taken = false
	}
}

// mayStart reports whether a start is waited for of whose answer there is no record: it may have come to its node.
func (c *Command) mayStart() bool {
	return c.Open && c.Verb == plan.Start && c.Reach() >= MayHaveReached
}

// asked gives when a stop was to leave that a node may be at while it is told the next.
func (c *Command) asked(next plan.Verb) time.Time {
	switch {
	case next != plan.Force:
		return time.Time{}
	case c.Rung == plan.Stop && c.Reach() != NotReached:
		return c.At
	default:
		return c.Asked
	}
}

// Reach is whether a command has come to its node.
type Reach uint8

// Whether a command has come to its node.
const (
	NotReached Reach = iota
	InVain           // it would not, or not now, each time
	MayHaveReached
	HasReached
)

// Reach reports whether this command has come to its node, or an earlier one of its step.
func (c *Command) Reach() Reach {
	switch c.Answer {
	case WasUnreached:
		return c.Earlier
	case NoAnswer:
		return max(c.Earlier, MayHaveReached)
	case WasDenied:
		if c.Earlier <= InVain {
			return InVain
		}
	default:
	}
	return HasReached
}

// Answer is what is on record of a command's answer.
type Answer uint8

// What is on record of the answer to a command.
const (
	NoAnswer Answer = iota // maybe sent, maybe done
	WasAccepted
	WasDenied    // refused, or not now
	WasUnreached // did not reach its node
	NobodyKnows  // sent, and nobody knows whether it was taken
	WasObeyed    // its node was proven off after it: nothing of it is under way any more
)
