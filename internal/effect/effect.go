// Package effect is what the engine asks of the shell that drives it.
package effect

import (
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Effect is something that the shell must carry out. Effects are carried out in the order in which Apply returned
// them; an Append is durable before any later effect of the batch begins. The set is closed.
type Effect interface{ effect() }

type (
	// Append makes a record durable.
	Append struct{ Record ledger.Record }
	// Do gives a command to a node. Its end, also by its deadline, comes back as Finished.
	Do struct {
		Op     ledger.Op
		Node   string
		Verb   plan.Verb
		Within time.Duration // for the command to be accepted
		// Settings is what Unprotect puts back, as the snapshot has it; "": not known.
		Settings string
	}
	// Probe asks a node's state.
	Probe struct {
		Op     ledger.Op
		Node   string
		Within time.Duration
	}
	// Cancel ends an operation early. Its Finished still comes.
	Cancel struct{ Op ledger.Op }
	// Wake asks for a Woke event at that time; the newest replaces the one before.
	Wake struct{ At time.Time }
	// Estimate asks how long the rest of the plan takes. The engine goes on without the answer.
	Estimate struct {
		Serial int
		Down   []string // nodes that are still to be taken down, in plan order
		Scope  []string // all nodes of the outage
		// Running are the steps under way, with how long they have been. One that holds no place under the limits, since
		// no command of it has reached its node, has not begun: so a trial needs to know nothing of nodes that don't answer.
		Running []Underway
	}
	// Notify tells people.
	Notify struct {
		Urgent bool
		Text   string
	}
)

// Observing begins what is told of an outage in which everything is asked and nothing is commanded, so that nothing reads as if it had
// happened.
const Observing = "(observing) "

// Underway is a step that is being carried out.
type Underway struct {
	Node string
	Verb plan.Verb // of the last command: Force where Stop was not enough
	For  time.Duration
}

func (Append) effect() {}

func (Do) effect() {}

func (Probe) effect() {}

func (Cancel) effect() {}

func (Wake) effect() {}

func (Estimate) effect() {}

func (Notify) effect() {}
