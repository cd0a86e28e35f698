package ledger

// Op numbers an operation that the engine asked for. Numbers are not used twice in an outage, also after a crash.
type Op uint64

// Outcome says how an operation ended.
type Outcome string

// The outcomes. Only Done says that it was carried out; of a Do it means accepted, and the proof is a probe's.
const (
	Done        Outcome = "done"
	Refused     Outcome = "refused"     // the system said no: repeating does not help
	Busy        Outcome = "busy"        // the system said not now
	Unreached   Outcome = "unreachable" // the system could not be asked: nothing was done
	TimedOut    Outcome = "timed-out"   // nobody knows whether it was done
	NoSuchThing Outcome = "gone"        // the node no longer exists
)

// OrderVerb is an operator's command.
type OrderVerb string

// The operator's commands.
const (
	Hold    OrderVerb = "hold"    // start nothing new; what runs goes on
	Resume  OrderVerb = "resume"  // end a hold
	Abort   OrderVerb = "abort"   // do not go further down; bring back what went down, through the gate
	Go      OrderVerb = "go"      // start the shutdown of this outage now, whatever the triggers say
	Confirm OrderVerb = "confirm" // a person's step is done, or the power of a supply that can't be heard is back
	Skip    OrderVerb = "skip"    // a person's step is passed over
)
