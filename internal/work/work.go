package work

import (
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// work is the step that is being made on a node. What was commanded in it is on record, in the ledger's last command.
type work struct {
	step   int
	verb   plan.Verb // of the step
	rung   plan.Verb // of the command: Stop, then Force
	phase  Phase
	op     ledger.Op     // of the command under way, 0: none is
	answer ledger.Answer // to the last command
	pace
	force    force
	guard    guard
	placed   bool   // it holds a place under the limits
	resumed  bool   // its command is from before a crash
	finalAsk bool   // its node was asked once more when its time was over
	asked    int    // how often it went back from its power-off to its stop
	stray    string // it has gone a way that its table does not have; "": it has not
}

// pace is when a step goes on.
type pace struct {
	deadline time.Time // of the rung; it is set once. Zero: no command was given at this rung
	next     time.Time // the next look or try
	pause    time.Duration
	since    time.Time // when the first command was given
	sent     time.Time // and the last one
	untold   bool      // nothing was sent since the rung was last begun once more
	from     time.Time // no look from before it proves anything: it was so already when the command was given
}

// force is why a node is powered off without being asked, or an output cut with something on.
type force struct {
	cause  ledger.Cause
	reason string
}

// guard is how far a step has come in collecting evidence.
type guard struct {
	waits   int   // answers that it waits for
	asked   []int // whose they are, and were
	rounds  int   // in which it asked
	renewed int   // how often it has begun again, since somebody fell silent in its last round, or spoke
	proof   belief.Rounds
}

// Phase is where a step is between its turn and its end.
type Phase uint8

const (
	verifying      Phase = iota // collects evidence that its command may be given
	commanding                  // the command is on its way
	proving                     // it was sent: looks until it is so
	backingOff                  // to be tried again, or looked at, after a while
	waitingForSlot              // to be tried again, as soon as there is a place for it
	asking                      // a person was asked
	ended                       // which nothing leaves
	phases
)

var phaseNames = [phases]string{"verifying", "commanding", "proving", "backing off", "waiting for a slot", "asking a person", "ended"}

func (p Phase) String() string { return phaseNames[p] }

// Moves are the only ways from one phase to another, and what causes them. docs/ENGINE.md is made from this table.
var Moves = [...]Move{
	{verifying, commanding, "the evidence is there, and the permit allows the command"},
	{verifying, proving, "nothing is to be commanded: it comes up with its power; or its time is over: it is looked at once more"},
	{verifying, backingOff, "it is still going the other way, or its time has not come"},
	{verifying, waitingForSlot, "it no longer has a slot under the limits"},
	{verifying, verifying, "some did not answer: they are asked again; or it is to be forced now"},
	{verifying, ended, "what uses it is on, or what it needs is not; or it is so already"},
	{commanding, proving, "accepted, or unknown"},
	{commanding, backingOff, "not now, or it could not be reached; or refused, once, or a hold or a lower risk keeps it from being forced"},
	{commanding, verifying, "refused: the next rung"},
	{commanding, ended, "refused, and there is no other rung; or a look shows it done"},
	{proving, proving, "a look shows nothing yet"},
	{proving, verifying, "a look shows that it was not done; or its time is over: the next try, or the next rung"},
	{proving, backingOff, "its time is over, and a hold or a lower risk keeps it from being forced"},
	{proving, ended, "a look shows it done; or its time is over"},
	{backingOff, proving, "the pause is over: it is looked at before it is told again"},
	{backingOff, verifying, "the pause is over; or its time is over: the next rung"},
	{backingOff, backingOff, "it is still held"},
	{backingOff, ended, "a look shows it done; its time is over; or nothing of it has reached the node, and it is not wanted any more"},
	{waitingForSlot, verifying, "it has a slot again; or it is to be forced now"},
	{waitingForSlot, proving, "its time is over: it is looked at once more"},
	{waitingForSlot, backingOff, "its time is over, and a hold or a lower risk keeps it from being forced"},
	{waitingForSlot, ended, "its time is over; or a look shows it done; or it is not wanted any more"},
	{asking, ended, "confirmed, skipped, or its time is over"},
}

// Move is one way from a phase to another.
type Move struct {
	From, To Phase
	When     string // what causes it
}

var allowed = func() (table [phases][phases]bool) {
	for _, m := range Moves {
		table[m.From][m.To] = true
	}
	return table
}()

// enter takes a step to another phase. If its table does not have that way, that is a fault of ours: the step goes on to the
// end of the event, gives no command, and is held back then.
func (e *Works) enter(w *work, p Phase) {
	if !allowed[w.phase][p] && w.stray == "" {
		w.stray = "its step went from " + w.phase.String() + " to " + p.String() + ", which is no way for a step"
		e.strays = append(e.strays, w)
	}
	w.phase = p
}
