package ledger

// Cause is why a record came about, for what is reckoned from it. The set is closed; where none is given, as in records
// of before there were causes, none is known.
type Cause string

// The causes, with the kinds of record that they stand in.
const (
	Overtime   Cause = "overtime"    // Intent, Failed: the step's time was over, and what was commanded had not come about by itself
	Denied     Cause = "denied"      // Intent, Failed: the command was refused
	Pressed    Cause = "pressed"     // Intent, Failed: the battery may not last for the rest of the plan
	Dropping   Cause = "dropping"    // Intent, Failed: the output that feeds the node is being cut, with time left in the battery
	TakenAlong Cause = "taken-along" // Intent: a host is powered off with VMs on it that were given up
	Skipped    Cause = "skipped"     // Failed: an operator says that a person's step was not done
	Silence    Cause = "silence"     // Proven: no answer for as long as proves it, after it took its stop
	Already    Cause = "already"     // Proven: it was so before anything was commanded
	Failing    Cause = "failing"     // Mains: the supply fails now
	Returned   Cause = "returned"    // Mains: the supply no longer fails
	Cycled     Cause = "cycled"      // Mains: the output of a supply was off, or may have been, and is on again
	Dark       Cause = "dark"        // Mains: the output of a supply that fails, or was told to be cut, is off
	Unseen     Cause = "unseen"      // Mains: the output of a supply that is to be cut may have been off and on again while it was not heard
	Released   Cause = "released"    // Mains: a supply that was to be cut is not any more: nothing moved for long
	AfterAll   Cause = "after-all"   // NoReturn: the supplies have their mains, and something that only a power cycle starts has not lost its power
	Unheard    Cause = "unheard"     // Still: the supply is not heard for a while
	HeardAgain Cause = "heard-again" // Still: it is heard again, and its recharge gate is open
	CameAgain  Cause = "came-again"  // Seen: what took a stop came up since, or may have with its power, and so may what runs on it
	Disproved  Cause = "disproved"   // Seen: what was shown off by its silence is up, by what runs on it
	Armed      Cause = "armed"       // Closed: the outage was only observed, and Ebbtide has been armed since
	Hung       Cause = "hung"        // Intent: a node hangs on its way down although its power is back, and is powered off to be started again
)

// PassedOver comes, in the reason of what was done for want of time, before the names of what was not proven off then.
const PassedOver = "; not proven off: "

// LeftDirty comes before the names of caches that were not proven clean then.
const LeftDirty = "; not proven clean: "

// IsHaste reports whether something was done for want of time.
func (c Cause) IsHaste() bool { return c == Pressed || c == Dropping }
