package engine

import (
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// ModeObserve is the mode in which everything is asked and nothing is commanded: the shell sends no command.
const ModeObserve = "observe"

// Observing begins what is told of an outage in that mode, so that nothing reads as if it had happened.
const Observing = "(observing) "

// Settings are what the engine is made for.
type Settings struct {
	Estate   *plan.Estate
	Policy   power.Policy
	Supplies []power.Supply
	Members  map[string][]plan.Member // selectors as they were expanded into the estate, for the record
	Mode     string                   // "run", ModeObserve, "simulate"
	Newest   string                   // the newest outage on record, if any: the next id sorts after it, whatever the clock says
}
