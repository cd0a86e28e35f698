package engine

import (
	"fmt"

	"ebbtide/internal/ledger"
)

// Replay takes a record as resume does: it changes the ledger and nothing else.
func (e *Engine) Replay(r ledger.Record) error { return e.Ledger.Apply(&r) }

// Check holds what the engine keeps against what follows, and says what differs: its ledger against that of a twin that was
// given its records alone (nil: none was), how the steps stand against a judgement from scratch, and that whatever is not where
// it should be has work under way or says what it waits for. The campaigns and the exploration ask it after each event; it costs
// as much as a thousand events.
func (e *Engine) Check(twin *Engine) error {
	if twin != nil {
		if field := e.Ledger.Differs(&twin.Ledger); field != "" {
			return fmt.Errorf("the ledger is not what its records say: %s", field)
		}
	}
	if e.Ledger.Outage == nil {
		return nil
	}
	return e.Works.Check()
}
