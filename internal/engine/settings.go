package engine

import (
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Settings are what the engine is made for.
type Settings struct {
	Estate   *plan.Estate
	Policy   power.Policy
	Supplies []power.Supply
	Members  map[string][]plan.Member // selectors as they were expanded into the estate, for the record
	Mode     string                   // "run", ledger.ModeObserve, "simulate"
	Newest   string                   // the newest outage on record, if any: the next id sorts after it, whatever the clock says
}
